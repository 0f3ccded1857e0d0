"""The policy document: defaults, what it takes, and what it refuses by name."""

from pathlib import Path

import pytest

from ukemi import Policy, UsageError
from ukemi.supervisor.policy_file import load_policy, parse_policy

BAD = [
    ("[transient]\nattempts = 3", "attempts"),
    ("[transiennt]\nattempts_max = 3", "transiennt"),
    ("[transient]\nattempts_max = 0", "attempts_max=0"),
    ('[transient]\nattempts_max = "many"', "attempts_max"),
    ("[transient]\ndelay_s_first = 9\ndelay_s_max = 1", "delay_s_first=9"),
    ("[transient]\ndelay_s_first = -1", "delay_s_first=-1"),
    ("[transient]\ntime_budget_s = nan", "time_budget_s=nan"),
    ("[rate_limited]\ndelay_s_max = inf", "delay_s_max=inf"),
    ("[invalid_argument]\ncorrections_max = -1", "corrections_max=-1"),
    ("[budget]\nsoft_share = 0", "soft_share=0"),
    ("[storage]\ncheckpoints_kept = 0", "checkpoints_kept=0"),
    ("[restarts]\nintensity = -2", "intensity=-2"),
    ("[transient\n", "line 1"),
]


@pytest.mark.parametrize(("text", "named"), BAD, ids=[named for _, named in BAD])
def test_bad_policies_name_source_and_key(text: str, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_policy(text, "here.toml")
    assert "here.toml" in str(caught.value) and named in str(caught.value)


def test_a_missing_key_takes_the_default_and_none_is_no_limit() -> None:
    policy = parse_policy('[transient]\nattempts_max = "none"\n[rate_limited]\ndelay_s_max = 5')
    assert policy.transient.attempts_max is None
    assert policy.transient.delay_s_max == Policy().transient.delay_s_max
    assert policy.rate_limited.delay_s_max == 5.0


def test_a_policy_comes_as_itself_as_a_file_or_as_nothing(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("[transient]\nattempts_max = 2\n")
    assert load_policy(str(file)).transient.attempts_max == 2
    assert load_policy(None) == Policy()
    own = Policy()
    assert load_policy(own) is own


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.toml"):
        load_policy(tmp_path / "absent.toml")
