"""What is concluded from many worlds, what is not, and what is said of the record."""

from typing import Any

import pytest
from known_world import run

from ukemi import Policy, Traits
from ukemi.actors.simulating.learning import Learned, learned_from
from ukemi.actors.simulating.seen import Asked, Seen, Told, Trace, Weather
from ukemi.actors.simulating.summary import (
    LEVEL,
    Estimate,
    assumed,
    attained,
    cannot_say,
    estimate,
    replayed,
    simulate,
    verdict,
)
from ukemi.actors.simulating.traces import Record
from ukemi.actors.simulating.worlds import World
from ukemi.supervisor.errors import ErrorClass
from ukemi.supervisor.policy_file import parse_policy

READ = Told("shop", Traits(safe_to_retry=True), writes=False)
TRANSIENT = ErrorClass.TRANSIENT


def recorded(sessions: int, failures: int = 0) -> Learned:
    """Sessions of one call each, and failures of one tool by themselves."""
    step = Asked("stock", 1, took_s=1.0)
    records: list[Record] = []
    for number in range(sessions):
        at = 10.0 * number
        trace = Trace(session_id=f"s{number}", agent="a", at=at, steps=(step,), end="completed")
        seen = [Seen("stock", at, 1.0, "up")]
        if number < failures:
            seen.insert(0, Seen("stock", at - 1.0, 0.0, "down", TRANSIENT))
        records.append(Record(trace, tuple(seen), {"stock": READ}))
    return learned_from(records)


SAID: list[tuple[int, int, float, str, bool]] = [
    # sessions, failures, unsure, metric, whether it is said
    (19, 19, 0.0, "completed", False),
    (20, 0, 0.0, "completed", True),
    (20, 4, 0.0, "wasted", False),
    (20, 5, 0.0, "wasted", True),
    (20, 5, 0.0, "seconds_p50", True),
    (99, 9, 0.0, "seconds_p99", False),
    (100, 9, 0.0, "seconds_p99", True),
    (100, 9, 0.2, "completed", True),
    (100, 9, 0.21, "completed", False),
]


@pytest.mark.parametrize(("sessions", "failures", "unsure", "metric", "said"), SAID)
def test_too_little_is_no_ground_for_a_number(
    sessions: int, failures: int, unsure: float, metric: str, said: bool
) -> None:
    why = cannot_say(recorded(sessions, failures), metric, unsure)
    assert bool(why) is not said
    assert said or any(letter.isdigit() for letter in why)  # it says how much there is


def test_an_interval_holds_its_share_of_the_worlds() -> None:
    """Forty-five numbers: the least and the most are left out, as 95 % need."""
    values = [float(each) for each in range(1, 80)]
    found = estimate(values)
    assert (found.value, found.low, found.high) == (40.0, 2.0, 78.0)
    assert estimate([3.0]) == Estimate(3.0, 3.0, 3.0)
    assert attained(39) == pytest.approx(LEVEL)
    assert attained(1000) == LEVEL
    assert attained(9) == pytest.approx(0.8)
    assert attained(1) == 0.0


VERDICTS = [
    (Estimate(2.0, 1.0, 3.0), "more"),
    (Estimate(-2.0, -3.0, -1.0), "less"),
    (Estimate(0.5, -1.0, 2.0), "not shown"),
    (Estimate(1.0, 0.0, 2.0), "not shown"),
    (Estimate(0.0, 0.0, 0.0), "the same"),
    (Estimate(2.0, 1.0, 3.0, "too little"), "cannot say"),
]


@pytest.mark.parametrize(("difference", "said"), VERDICTS)
def test_a_difference_is_shown_where_all_worlds_agree(difference: Estimate, said: str) -> None:
    assert verdict(difference) == said


def test_policies_are_compared_within_each_world() -> None:
    """A policy against itself differs in nothing, however much worlds differ."""
    known = recorded(30, 12)
    same = Policy()
    report = simulate(known, [("one", same), ("two", same)], seeds=6)
    first, second = report.outlooks
    assert first.differences == {}
    assert {verdict(each) for each in second.differences.values()} <= {"the same", "cannot say"}
    hasty = parse_policy("[transient]\nattempts_max = 1\n")
    _, other = simulate(known, [("one", same), ("hasty", hasty)], seeds=39).outlooks
    assert verdict(other.differences["completed"]) == "less"


@pytest.mark.slow
def test_outages_at_other_times_are_as_many_and_as_long() -> None:
    """Drawn anew in each world: on average as many as recorded, of about the recorded length."""
    _, records = run(1, 100)
    known = learned_from(records)
    spells = [each for each in known.places["warehouse"].found.spells if each.kind == "down"]
    counts: list[int] = []
    for seed in range(60):
        world = World(known, seed, outages="drawn")
        hours = world.hours("warehouse", "down")
        counts.append(len(hours))
        assert all(known.began <= each.start < known.until for each in hours)
    assert sum(counts) / len(counts) == pytest.approx(len(spells), rel=0.35)


def test_it_says_what_is_replayed_and_what_is_assumed() -> None:
    seen = [
        *(
            Seen("stock", at, 0.1, weather, None if weather == "up" else TRANSIENT)
            for at, weather in _days()
        ),
    ]
    step = Asked("stock", 1, took_s=1.0)
    trace = Trace(session_id="s", agent="a", at=0.0, steps=(step,), end="completed")
    known = learned_from([Record(trace, tuple(seen), {"stock": READ})])
    told = "\n".join(replayed(known))
    assert "shop: 2 outages, 1 without an end in the record, 1 failure by itself in" in told
    assert "never in the others; 1 end is recorded, 5 would give a curve" in "\n".join(
        assumed(known, "replayed")
    )


def _days() -> list[tuple[float, Weather]]:
    letters: dict[str, Weather] = {".": "up", "x": "down"}
    return [(float(at), letters[each]) for at, each in enumerate("..x...xxx....xxx")]


def test_tools_of_one_upstream_may_fail_apart() -> None:
    """One tool of a shop is down for good while others are answered: that is not the shop."""
    seen: dict[str, list[Seen]] = {"stock": [], "pay": []}
    for at in range(0, 60, 3):
        seen["stock"].append(Seen("stock", float(at), 0.1, "up"))
        seen["pay"].append(Seen("pay", at + 1.0, 0.1, "down", TRANSIENT))
    step = Asked("stock", 1, took_s=1.0)
    trace = Trace(session_id="s", agent="a", at=0.0, steps=(step,), end="completed")
    told = {"stock": READ, "pay": READ}
    known = learned_from([Record(trace, (*seen["stock"], *seen["pay"]), told)])
    assert known.apart == ("shop",)
    assert known.places[known.subjects["pay"].place].found.spells
    assert not known.places[known.subjects["stock"].place].found.spells
    both: dict[str, Any] = {
        name: [Seen(name, each.begin, 0.1, "down", TRANSIENT) for each in of]
        for name, of in seen.items()
    }
    whole = learned_from([Record(trace, (*both["stock"], *both["pay"]), told)])
    assert whole.apart == ()
