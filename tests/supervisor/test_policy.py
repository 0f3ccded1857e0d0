"""The policy document: defaults, what it takes, and what it refuses by name."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ukemi import Policy, RetryPolicy, UsageError
from ukemi.supervisor.policy import Policies, resolve, tenant_policy
from ukemi.supervisor.policy_file import format_policy, load_policy, parse_policy
from ukemi.supervisor.policy_limits import AdmissionPolicy, ConcurrencyPolicy, TenancyPolicy

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
    ("transient = 3", "transient = 3"),
    ("[transient]\njitter = 1.5", "jitter=1.5"),
    ('[transient]\ndelay_s_max = "none"', 'delay_s_max = "none"'),
    ('[unknown]\nalert = "no"', '[unknown] alert = "no"'),
    ("[retry_budget]\nshare_max = -0.1", "share_max=-0.1"),
    ("[breaker]\nopen_s = 0", "open_s=0"),
    ("[breaker]\nfailure_share = 2", "failure_share=2"),
    ("[content_refused]\nconclusions_max = -1", "conclusions_max=-1"),
    ("[cancelled]\nattempts_max = 1", "[cancelled]"),
    ("[tool.pay.transient]\nattempts = 3", "[tool.pay.transient] has no key 'attempts'"),
    ("[tool.pay.transiennt]\nattempts_max = 3", "did you mean 'transient'"),
    ("[tool.pay.breaker]\nopen_s = 3", "[tool.pay.breaker]"),
    ("[tool.pay]\ntransient = 3", "tool.pay.transient = 3"),
    ("[tool]\npay = 3", "[tool] pay = 3"),
    ('[agent.buyer.transient]\nattempts_max = "x"', "[agent.buyer.transient] attempts_max='x'"),
    ("[agent.buyer.transient]\ndelay_s_first = 99", "[agent.buyer.transient] delay_s_first=99"),
    (
        "[agent.a.transient]\ndelay_s_max = 5\n[tool.t.transient]\ndelay_s_first = 9",
        "[tool.t.transient] delay_s_first=9",
    ),
    ('[upstream."a b".breaker]\nopen_s = 0', '[upstream."a b".breaker] open_s=0'),
    ("[upstream.shop.transient]\nattempts_max = 1", "[upstream.shop.transient]"),
    ("[admission]\nsessions_max = 0", "sessions_max=0"),
    ("[admission]\nsessions_max = 2.5", "[admission] sessions_max = 2.5"),
    ('[admission]\nwaiting_max = "none"', '[admission] waiting_max = "none"'),
    ("[admission]\nwaiting_max = -1", "waiting_max=-1"),
    ("[tenancy]\nsessions_max = 0", "sessions_max=0"),
    ("[concurrency]\ncalls_max = true", "[concurrency] calls_max = true"),
    ("[tenant.acme.tenancy]\nsessions_max = 0", "[tenant.acme.tenancy] sessions_max=0"),
    ("[tenant.acme.admission]\nsessions_max = 1", "[tenant.acme.admission]"),
    ("[tenant.acme.tenancy]\ncalls_max = 1", "[tenant.acme.tenancy] has no key 'calls_max'"),
    ("[tenant]\nacme = 3", "[tenant.acme.tenancy]"),
    ("[upstream.shop.concurrency]\ncalls_max = 0", "[upstream.shop.concurrency] calls_max=0"),
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


LAYERS = """
[transient]
attempts_max = 5
delay_s_max = 20
[agent.buyer.transient]
attempts_max = 2
[tool.pay.transient]
delay_s_first = 2
[tool.pay.invalid_argument]
corrections_max = "none"
[agent.buyer.invalid_argument]
corrections_max = 1
"""


def test_the_most_specific_value_of_each_key_wins() -> None:
    """Tool over agent over document over default, key by key."""
    policy = parse_policy(LAYERS)
    assert resolve(policy).transient == RetryPolicy(attempts_max=5, delay_s_max=20.0)
    buyer = resolve(policy, "buyer").transient
    assert buyer == RetryPolicy(attempts_max=2, delay_s_max=20.0)
    both = resolve(policy, "buyer", "pay")
    assert both.transient == RetryPolicy(attempts_max=2, delay_s_max=20.0, delay_s_first=2.0)
    assert both.invalid_argument.corrections_max is None
    assert resolve(policy, "other", "pay").transient.attempts_max == 5


def test_names_without_sections_get_the_document_itself() -> None:
    policy = parse_policy(LAYERS)
    assert resolve(policy, "nobody", "nothing") is policy


def test_a_lookup_is_worked_out_once_and_anew_after_a_reload() -> None:
    policies = Policies(parse_policy(LAYERS))
    first = policies.of("buyer", "pay")
    assert policies.of("buyer", "pay") is first
    assert policies.of("buyer", "a name a model made up") is policies.of("buyer", "another")
    policies.replace(Policy())
    assert policies.of("buyer", "pay") == Policy()


def test_an_upstream_has_its_own_values_over_the_document() -> None:
    text = "[breaker]\nopen_s = 7\n[upstream.shop.breaker]\nfailures_min = 2"
    policies = Policies(parse_policy(text))
    assert policies.upstream("shop").breaker.failures_min == 2
    assert policies.upstream("shop").breaker.open_s == 7.0
    assert policies.upstream("other").breaker.failures_min == 20


def test_a_tenant_has_its_own_values_over_the_document() -> None:
    text = "[tenancy]\nsessions_max = 9\n[tenant.acme.tenancy]\nsessions_max = 2"
    policy = parse_policy(text)
    assert tenant_policy(policy, "acme").sessions_max == 2
    assert tenant_policy(policy, "other").sessions_max == 9
    assert resolve(policy, "agent", "tool") is policy


@pytest.mark.parametrize(
    "made",
    [
        lambda: AdmissionPolicy(sessions_max=0),
        lambda: AdmissionPolicy(sessions_max=True),
        lambda: AdmissionPolicy(waiting_max=1.5),  # type: ignore[arg-type]
        lambda: TenancyPolicy(sessions_max="3"),  # type: ignore[arg-type]
        lambda: ConcurrencyPolicy(calls_max=-1),
    ],
)
def test_limits_made_in_code_are_checked_like_those_of_a_file(made: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="must be a whole number"):
        made()


@pytest.mark.parametrize(
    "text",
    [
        "",
        LAYERS,
        '[breaker]\nfailures_min = "none"\n[upstream."gpt-4.1".retry_budget]\nshare_max = 1',
        '[tenant."a b".tenancy]\nsessions_max = 3\n[concurrency]\ncalls_max = 2',
    ],
    ids=["defaults", "layers", "upstreams", "tenants"],
)
def test_what_is_printed_loads_to_the_same_policy(text: str) -> None:
    policy = parse_policy(text)
    assert parse_policy(format_policy(policy), "printed") == policy
