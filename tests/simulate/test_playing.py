"""Sessions played under a policy: every decision is the runtime's, every number can be worked out by hand."""

from typing import Any

import pytest

from ukemi import Policy, Traits
from ukemi.actors import ends, gate, upstreams
from ukemi.actors.simulating import playing
from ukemi.actors.simulating.courses import Fared
from ukemi.actors.simulating.learning import Learned, learned_from
from ukemi.actors.simulating.measures import measured, peak, quantile
from ukemi.actors.simulating.playing import play
from ukemi.actors.simulating.seen import Asked, Fault, Seen, Told, Trace
from ukemi.actors.simulating.traces import Record
from ukemi.actors.simulating.worlds import World, between, reached
from ukemi.cli.simulate_words import recorded_numbers
from ukemi.supervisor import breaker, decide
from ukemi.supervisor.errors import ErrorClass
from ukemi.supervisor.policy_file import parse_policy

READ = Told("shop", Traits(safe_to_retry=True), writes=False)
WRITE = Told("shop", Traits(), writes=True)
KEYED = Told("shop", Traits(accepts_key=True), writes=True)
MODEL = "model m"

STEADY = "jitter = 0.0\n"
NO_BREAKER = "[breaker]\nfailures_min = 'none'\n"


def policy(text: str = "") -> Policy:
    return parse_policy(f"[transient]\n{STEADY}{text}")


def asked(*subjects: str, took_s: float = 1.0, n: int = 1) -> tuple[Asked, ...]:
    return tuple(
        Asked(each, at + n, each == MODEL, took_s=took_s, tokens=10 * (each == MODEL))
        for at, each in enumerate(subjects)
    )


def trace(name: str, *steps: Asked, at: float = 0.0, **fields: Any) -> Trace:
    fields.setdefault("end", "completed")
    return Trace(session_id=name, agent="buyer", at=at, steps=steps, **fields)


def outage(
    start: float, end: float, error_class: ErrorClass = ErrorClass.TRANSIENT, **fields: Any
) -> list[Seen]:
    """Attempts that show exactly when a shop was down, seen by a tool that no session calls."""
    down = [Seen("watch", at, 0.0, "down", error_class, **fields) for at in (start, end - 1e-6)]
    return [Seen("watch", start - 1e-6, 0.0, "up"), *down, Seen("watch", end, 0.0, "up")]


def learned(traces: list[Trace], seen: list[Seen] | None = None, **told: Told) -> Learned:
    known = {"watch": READ, **told}
    return learned_from(
        [Record(each, (), known) for each in traces[1:]]
        + [Record(traces[0], tuple(seen or ()), known)]
    )


def only(known: Learned, under: Policy, seed: int = 1) -> Fared:
    (fared,) = play(World(known, seed), under).sessions
    return fared


def test_the_decisions_are_the_runtimes_own() -> None:
    """Not written a second time: the simulator and the runtime cannot drift apart."""
    used = vars(playing)
    assert used["decide"] is decide.decide
    assert used["Upstreams"] is upstreams.Upstreams
    assert used["verdict_of"] is breaker.verdict_of
    assert used["state_of_failed"] is ends.state_of_failed
    assert used["too_long"] is gate.too_long


def test_a_session_in_fair_weather_takes_what_it_took() -> None:
    known = learned([trace("s", *asked(MODEL, "stock", MODEL))], stock=READ)
    fared = only(known, policy())
    assert (fared.outcome, fared.calls, fared.tokens, fared.retries) == ("completed", 3, 20, 0)
    assert fared.seconds == pytest.approx(3.0)


def test_attempts_are_made_when_the_policy_says() -> None:
    """Down from 0 to 5 s: attempts at 0, 1 and 3 s fail, the fourth at 7 s is answered in 1 s."""
    known = learned([trace("s", *asked("stock"))], outage(0.0, 5.0), stock=READ)
    played = play(World(known, 1), policy())
    assert played.asked["shop"] == pytest.approx([0.0, 1.0, 3.0, 7.0])
    assert played.sessions[0].outcome == "completed"
    assert played.sessions[0].seconds == pytest.approx(8.0)
    assert played.sessions[0].retries == 3


def test_attempts_that_help_nobody_are_wasted() -> None:
    known = learned([trace("s", *asked("stock"))], outage(0.0, 50.0), stock=READ)
    fared = only(known, policy("attempts_max = 3\n"))
    assert (fared.outcome, fared.calls, fared.wasted) == ("blocked", 3, 2)
    assert fared.seconds == pytest.approx(3.0)


DOUBTS: list[tuple[str, Told, str, int, int]] = [
    # marks, outcome, calls, in doubt: all attempts time out, two are allowed
    ("a read", READ, "blocked", 2, 0),
    ("a write", WRITE, "in_doubt", 1, 1),
    ("a write with a key", KEYED, "blocked", 2, 1),
]


@pytest.mark.parametrize(
    ("told", "outcome", "calls", "in_doubt"),
    [row[1:] for row in DOUBTS],
    ids=[row[0] for row in DOUBTS],
)
def test_money_at_risk(told: Told, outcome: str, calls: int, in_doubt: int) -> None:
    seen = outage(0.0, 50.0, ErrorClass.IN_DOUBT_TIMEOUT, executed="maybe")
    known = learned([trace("s", *asked("pay"))], seen, pay=told)
    under = parse_policy("[in_doubt_timeout]\nattempts_max = 2\n")
    fared = only(known, under)
    assert (fared.outcome, fared.calls, fared.in_doubt) == (outcome, calls, in_doubt)


def test_a_sessions_own_limits_hold() -> None:
    """Time is over during the second wait; a limit of retries before that."""
    seen = outage(0.0, 50.0)
    for limits, seconds in (({"seconds": 2.5}, 2.5), ({"retries": 1.0}, 3.0)):
        known = learned([trace("s", *asked("stock"), limits=limits)], seen, stock=READ)
        fared = only(known, policy("attempts_max = 9\n"))
        assert fared.outcome == "budget"
        assert fared.seconds == pytest.approx(seconds)


def test_a_write_under_way_when_time_is_over_is_in_doubt() -> None:
    for told, in_doubt in ((WRITE, 1), (READ, 0)):
        one = trace("s", *asked("pay", took_s=9.0), limits={"seconds": 5.0})
        fared = only(learned([one], pay=told), policy())
        assert (fared.outcome, fared.in_doubt) == ("budget", in_doubt)


WRONG = Fault(ErrorClass.INVALID_ARGUMENT)


def quotes(*wrong: bool) -> tuple[Asked, ...]:
    steps: list[Asked] = []
    for n, fails in enumerate(wrong, 1):
        steps += [
            Asked(MODEL, n, True, took_s=1.0),
            Asked("quote", n, fault=WRONG if fails else None, took_s=1.0),
        ]
    return tuple(steps)


CORRECTIONS: list[tuple[int, str]] = [
    (0, "planning"),
    (1, "planning"),
    (2, "completed"),
    (3, "completed"),
]


@pytest.mark.parametrize(("most", "outcome"), CORRECTIONS)
def test_corrections_are_counted_as_the_session_counts_them(most: int, outcome: str) -> None:
    """Wrong twice in a row, then right, then wrong once: the series ends with a success."""
    known = learned([trace("s", *quotes(True, True, False, True, False))], quote=READ)
    fared = only(known, parse_policy(f"[invalid_argument]\ncorrections_max = {most}\n"))
    assert fared.outcome == outcome


def test_side_by_side_takes_as_long_as_the_longest() -> None:
    steps = (
        Asked("stock", 1, took_s=1.0),
        Asked("stock", 1, took_s=3.0, beside=True),
        Asked("stock", 2, took_s=1.0),
    )
    fared = only(learned([trace("s", *steps)], stock=READ), policy())
    assert fared.seconds == pytest.approx(4.0)
    assert fared.calls == 3


def crowd(count: int) -> Learned:
    traces = [
        trace(f"s{number}", *asked("stock", took_s=0.1), at=number * 0.01)
        for number in range(count)
    ]
    return learned(traces, outage(0.0, 30.0), stock=READ)


def test_a_breaker_keeps_a_storm_away_here_too() -> None:
    """The runtime's own breaker: without it, every session asks again and again."""
    known = crowd(300)
    alone = policy(f"attempts_max = 'none'\n{NO_BREAKER}[retry_budget]\nshare_max = 'none'\n")
    with_breaker = policy("attempts_max = 'none'\n")
    calls = {
        name: len(play(World(known, 1), under).asked["shop"])
        for name, under in (("alone", alone), ("breaker", with_breaker))
    }
    assert calls["breaker"] < 0.5 * calls["alone"]


def test_the_same_seed_is_the_same_run_and_another_is_not() -> None:
    known = crowd(40)
    jittered = parse_policy("[transient]\nattempts_max = 9\n")
    first, again, other = (play(World(known, seed), jittered) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_two_policies_meet_the_same_luck() -> None:
    """What differs between policies in one world is their doing: equal policies, equal runs."""
    known = crowd(40)
    one = play(World(known, 3), parse_policy("[transient]\nattempts_max = 5\n"))
    two = play(
        World(known, 3),
        parse_policy("[transient]\nattempts_max = 5\n[planning]\nrepeats_max = 9\n"),
    )
    assert one == two


# ---------------------------------------------------------------- what no record tells


def cut_off(name: str = "cut") -> Trace:
    return trace(name, *asked(MODEL, "stock"), end="open", outcome="blocked")


def test_a_session_that_was_cut_off_goes_on_like_one_that_completed() -> None:
    whole = trace("whole", *asked(MODEL, "stock", MODEL, "pay", MODEL))
    known = learned([whole, cut_off()], stock=READ, pay=READ)
    cut, complete = play(World(known, 1), policy()).sessions
    assert (cut.outcome, cut.calls, cut.unsure) == ("completed", 5, False)
    assert complete.calls == 5


def test_where_none_has_completed_nobody_knows() -> None:
    fared = only(learned([cut_off()], stock=READ), policy())
    assert (fared.outcome, fared.calls, fared.unsure) == ("completed", 2, True)


def test_an_outage_without_an_end_ends_at_once_or_never() -> None:
    """Both bounds, half of the worlds each; who meets it is unsure."""
    seen = outage(0.0, 50.0)[:-1]
    known = learned([trace("s", *asked("stock"), at=60.0)], seen, stock=READ)
    even, odd = only(known, policy(), seed=2), only(known, policy(), seed=3)
    assert (even.outcome, odd.outcome) == ("completed", "blocked")
    assert even.unsure and odd.unsure


@pytest.mark.parametrize(
    "text",
    [
        "[transient]\nattempts_max = 'none'\ntime_budget_s = 'none'\n",
        "[transient]\nattempts_max = 'none'\ntime_budget_s = 'none'\ndelay_s_first = 0.0\ndelay_s_max = 0.0\n",
        "[transient]\nattempts_max = 'none'\ntime_budget_s = 'none'\n[breaker]\nfailures_min = 1\n",
    ],
)
def test_a_policy_without_limits_and_an_outage_without_an_end_do_not_hang(text: str) -> None:
    """The runtime would wait for ever; the simulator says so and ends."""
    seen = outage(0.0, 50.0)[:-1]
    traces = [trace(f"s{number}", *asked("stock"), at=60.0 + number) for number in range(3)]
    known = learned(traces, seen, stock=READ)
    played = play(World(known, 3), parse_policy(text))
    assert {each.outcome for each in played.sessions} == {"unending"}


def test_corrections_that_were_cut_off_help_at_once_or_never() -> None:
    cut = trace("s", *quotes(True), end="open", outcome="planning")
    known = learned([cut], quote=READ)
    under = parse_policy("[invalid_argument]\ncorrections_max = 5\n")
    even, odd = only(known, under, seed=2), only(known, under, seed=3)
    assert (even.outcome, odd.outcome) == ("completed", "planning")


@pytest.mark.parametrize("roll", [0.0, 0.3, 0.999])
def test_a_length_lies_between_its_bounds(roll: float) -> None:
    assert 2.0 <= between(2.0, 50.0, roll) < 50.0
    assert between(7.0, 7.0, roll) == 7.0


# ---------------------------------------------------------------- measures and work


def test_measures_are_those_of_the_run() -> None:
    known = learned(
        [trace("a", *asked("stock")), trace("b", *asked("stock", "stock"), at=100.0)],
        outage(0.0, 50.0),
        stock=READ,
    )
    found = measured(play(World(known, 1), policy("attempts_max = 2\n")))
    assert found.numbers == {
        "completed": 0.5,
        "handed_over": 0.5,
        "seconds_p50": 1.0,
        "seconds_p99": 2.0,
        "calls": 4,
        "tokens": 0,
        "retries": 1,
        "wasted": 1,
        "peak_per_s": 1,
        "in_doubt": 0,
    }
    assert found.reasons == {"blocked": 1}


def test_quantiles_and_peaks() -> None:
    assert [quantile([1.0, 2.0, 3.0, 4.0], share) for share in (0.0, 0.5, 0.99)] == [1.0, 2.0, 4.0]
    assert quantile([], 0.5) == 0.0
    assert peak([0.0, 0.5, 0.99, 1.0, 5.0]) == 3
    assert peak([]) == 0


def test_work_grows_with_the_calls_and_nothing_else() -> None:
    """Two times are waited for per call in fair weather: none is looked at twice."""
    for sessions in (20, 80):
        traces = [
            trace(f"s{number}", *asked(*[MODEL, "stock"] * 50), at=float(number))
            for number in range(sessions)
        ]
        known = learned(traces, stock=READ)
        steps = 0

        class Counting(playing._Player):  # pyright: ignore[reportPrivateUsage]
            def _until(self, session: Any, wake: float) -> Any:
                nonlocal steps
                steps += 1
                return super()._until(session, wake)

        played = Counting(World(known, 1), policy()).play()
        assert sum(each.calls for each in played.sessions) == sessions * 100
        assert (steps, played.decisions) == (sessions * 100, 0)


DENIED = Fault(ErrorClass.PERMISSION_DENIED)


def test_others_fates_are_met_too() -> None:
    """Of those that came further, half were denied the next call: so is half of those cut off before it."""
    whole = [trace(f"w{n}", *asked(MODEL, "stock", MODEL, "pay", MODEL)) for n in range(10)]
    step = Asked("pay", 4, fault=DENIED, took_s=1.0)
    denied = [
        trace(f"d{n}", *asked(MODEL, "stock", MODEL), step, end="open", outcome="permission")
        for n in range(10)
    ]
    cut = [cut_off(f"c{n:02}") for n in range(40)]
    known = learned([*whole, *denied, *cut], stock=READ, pay=READ)
    played = play(World(known, 1), policy()).sessions
    ends = [fared.outcome for fared in played[:40]]
    assert ends.count("permission") + ends.count("completed") == 40
    assert 10 <= ends.count("permission") <= 30
    assert not any(fared.unsure for fared in played)


def test_one_goes_on_like_another_that_was_cut_off_later_and_then_like_a_third() -> None:
    whole = trace("whole", *asked(*[MODEL, "stock"] * 3, MODEL))
    later = [
        trace(f"later{n}", *asked(*[MODEL, "stock"] * 2), end="open", outcome="blocked")
        for n in range(30)
    ]
    known = learned([whole, *later, cut_off()], stock=READ)
    for fared in play(World(known, 1), policy()).sessions:
        assert (fared.outcome, fared.calls, fared.unsure) == ("completed", 7, False)


def test_an_end_that_no_policy_helps_is_met_by_who_goes_on_like_it() -> None:
    wrong = trace("wrong", *asked(MODEL, "stock", MODEL), end="handed_over", reason="mismatch")
    known = learned([wrong, cut_off()], stock=READ)
    assert {each.outcome for each in play(World(known, 1), policy()).sessions} == {"mismatch"}


REACHED: list[tuple[tuple[float, ...], float, float, float, float | None]] = [
    # answers behind it, share that fails, roll; the last in the spell, the first behind it
    ((), 1.0, 0.5, 9.0, None),
    ((10.0, 11.0, 12.0), 1.0, 0.0, 9.0, 10.0),
    ((10.0, 11.0, 12.0), 0.5, 0.6, 9.0, 10.0),
    ((10.0, 11.0, 12.0), 0.5, 0.4, 10.0, 11.0),
    ((10.0, 11.0, 12.0), 0.5, 0.2, 11.0, 12.0),
    ((10.0, 11.0, 12.0), 0.5, 0.0, 11.0, 12.0),
]


@pytest.mark.parametrize(("answers", "share", "roll", "last", "behind"), REACHED)
def test_where_a_share_fails_the_next_answers_may_be_in_the_spell(
    answers: tuple[float, ...], share: float, roll: float, last: float, behind: float | None
) -> None:
    assert reached(answers, 9.0, share, roll) == (last, behind)


@pytest.mark.parametrize("reason", ["cancelled", "denied", "rolled_back", "imported"])
def test_who_was_stopped_is_not_handed_over(reason: str) -> None:
    """Neither played nor as recorded, side by side."""
    stopped = trace("s", *asked("stock"), end="stopped", reason=reason, outcome=reason)
    known = learned([stopped, trace("t", *asked("stock"), outcome="completed")], stock=READ)
    numbers = measured(play(World(known, 1), policy())).numbers
    assert (numbers["completed"], numbers["handed_over"]) == (0.5, 0.0)
    recorded = recorded_numbers(known)
    assert (recorded["completed"], recorded["handed_over"]) == (0.5, 0.0)
