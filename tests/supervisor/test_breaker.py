"""A budget of repeats and a circuit breaker for one upstream: tables, and laws over random runs."""

import random
from operator import attrgetter

import pytest
from msgspec import Struct

from ukemi import ErrorClass, Failure
from ukemi.supervisor.breaker import (
    DRAIN_S,
    GO,
    RECOVERY_S,
    Answer,
    Breaker,
    Closed,
    Go,
    HalfOpen,
    Open,
    Recovery,
    Verdict,
    Wait,
    Window,
    ask,
    may_repeat,
    report,
    verdict_of,
)
from ukemi.supervisor.policy_limits import BreakerPolicy, RetryBudgetPolicy

POLICY = BreakerPolicy(
    failures_min=3, failure_share=0.5, window_s=10.0, open_s=10.0, recovery_per_s=2.0
)
BUDGET = RetryBudgetPolicy(share_max=0.2, retries_min=3, window_s=10.0)


def ended(*verdicts: Verdict, at: float = 0.0, policy: BreakerPolicy = POLICY) -> Breaker:
    """The breaker after calls that ended at one moment."""
    breaker: Breaker = Closed()
    for verdict in verdicts:
        breaker = report(breaker, at, verdict, None, policy)
    return breaker


# ---------------------------------------------------------------- when it opens


class Opens(Struct):
    rule: str
    verdicts: tuple[Verdict, ...]
    opens: bool
    policy: BreakerPolicy = POLICY


OPENS = [
    Opens("two failures are too few", ("down",) * 2, opens=False),
    Opens("three failures of three are enough", ("down",) * 3, opens=True),
    Opens("three of six are the share", ("up",) * 3 + ("down",) * 3, opens=True),
    Opens("three of seven are not", ("up",) * 4 + ("down",) * 3, opens=False),
    Opens("what says nothing is not counted", ("nothing",) * 9 + ("down",) * 3, opens=True),
    Opens(
        "without a limit it never opens",
        ("down",) * 99,
        opens=False,
        policy=BreakerPolicy(failures_min=None),
    ),
]


@pytest.mark.parametrize("case", OPENS, ids=attrgetter("rule"))
def test_when_it_opens(case: Opens) -> None:
    breaker = ended(*case.verdicts, policy=case.policy)
    assert isinstance(breaker, Open) == case.opens


def test_failures_older_than_the_window_are_forgotten() -> None:
    breaker = ended("down", "down")
    assert isinstance(report(breaker, 8.9, "down", None, POLICY), Open)
    assert isinstance(report(breaker, 10.1, "down", None, POLICY), Closed)


# ---------------------------------------------------------------- what it answers


class Asked(Struct):
    rule: str
    breaker: Breaker
    now: float
    answer: Answer
    after: Breaker | None = None
    roll: float = 0.0
    placed: bool = False


TRIED = HalfOpen(1, 10.0)
BACK = Closed(recovery=Recovery(10.0, 10.0, 2.0))
ASKED = [
    Asked("closed: calls go through", Closed(), 5.0, GO),
    Asked("open: wait for the end of the time", Open(10.0), 4.0, Wait(6.0)),
    Asked("open: those who wait are spread", Open(10.0), 4.0, Wait(8.5), roll=0.5),
    Asked("after the time: one is tried", Open(10.0), 10.0, Go(1), TRIED),
    Asked("while it is tried: wait", TRIED, 12.0, Wait(1.0)),
    Asked("a trial that does not end is given up", TRIED, 20.0, Go(2), HalfOpen(2, 20.0)),
    Asked("a trial that said nothing: the next", HalfOpen(1, None), 11.0, Go(2), HalfOpen(2, 11.0)),
    Asked(
        "answering again: the first goes",
        BACK,
        10.0,
        GO,
        Closed(recovery=Recovery(10.0, 10.5, 2.0)),
    ),
    Asked(
        "the next gets a place behind it",
        Closed(recovery=Recovery(10.0, 10.5, 2.0)),
        10.0,
        Wait(0.5, placed=True),
        Closed(recovery=Recovery(10.0, 11.0, 2.0)),
    ),
    Asked("who has waited for its place goes", BACK, 10.0, GO, placed=True),
    Asked("a while later nobody is paced", BACK, 10.0 + RECOVERY_S, GO, Closed()),
]


@pytest.mark.parametrize("case", ASKED, ids=attrgetter("rule"))
def test_what_it_answers(case: Asked) -> None:
    after, answer = ask(case.breaker, case.now, POLICY, case.roll, placed=case.placed)
    assert answer == case.answer
    assert after == (case.after or case.breaker)


class Reported(Struct):
    rule: str
    verdict: Verdict
    trial: int | None
    after: Breaker


REPORTED = [
    Reported(
        "the trial succeeds: closed, paced", "up", 1, Closed(recovery=Recovery(12.0, 12.0, 2.0))
    ),
    Reported("the trial fails: open again", "down", 1, Open(22.0)),
    Reported("the trial says nothing: the next may try", "nothing", 1, HalfOpen(1, None)),
    Reported("a call that began before decides nothing", "up", None, TRIED),
    Reported("nor does a trial that was given up and fails", "down", 0, TRIED),
    Reported(
        "a slow trial that succeeds after all decides",
        "up",
        0,
        Closed(recovery=Recovery(12.0, 12.0, 2.0)),
    ),
]


@pytest.mark.parametrize("case", REPORTED, ids=attrgetter("rule"))
def test_how_a_trial_ends(case: Reported) -> None:
    assert report(TRIED, 12.0, case.verdict, case.trial, POLICY) == case.after


def test_an_open_breaker_hears_nothing_of_calls_that_began_before() -> None:
    verdicts: tuple[Verdict, ...] = ("up", "down", "nothing")
    for verdict in verdicts:
        assert report(Open(10.0), 3.0, verdict, None, POLICY) == Open(10.0)


VERDICTS: dict[ErrorClass, Verdict] = {
    ErrorClass.TRANSIENT: "down",
    ErrorClass.IN_DOUBT_TIMEOUT: "down",
    ErrorClass.RATE_LIMITED: "nothing",
    ErrorClass.INVALID_ARGUMENT: "up",
    ErrorClass.CONTEXT_OVERFLOW: "up",
    ErrorClass.PERMISSION_DENIED: "up",
    ErrorClass.BUSINESS_REJECTED: "up",
    ErrorClass.CONTENT_REFUSED: "up",
    ErrorClass.RESOURCE_EXHAUSTED: "nothing",
    ErrorClass.PLANNING: "nothing",
    ErrorClass.CANCELLED: "nothing",
    ErrorClass.BUG: "nothing",
    ErrorClass.UNKNOWN: "nothing",
}


def test_every_class_says_up_down_or_nothing() -> None:
    assert {each: verdict_of(Failure(error_class=each)) for each in ErrorClass} == VERDICTS


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize("seed", range(20))
def test_law_nothing_goes_out_while_open_but_one_trial_at_a_time(seed: int) -> None:
    """A random run: calls start and end in any order, up or down."""
    chance = random.Random(seed)
    breaker: Breaker = Closed()
    now, trial_at = 0.0, None
    running: list[int | None] = []
    for _ in range(3000):
        now += chance.random() * 0.5
        if running and chance.random() < 0.5:
            trial = running.pop(chance.randrange(len(running)))
            verdicts: tuple[Verdict, ...] = ("up", "down", "down", "nothing")
            verdict = chance.choice(verdicts)
            before = breaker
            breaker = report(breaker, now, verdict, trial, POLICY)
            if isinstance(before, HalfOpen) and not isinstance(breaker, HalfOpen):
                assert trial is not None
                assert trial == before.trial or verdict == "up"
            continue
        before = breaker
        breaker, answer = ask(breaker, now, POLICY, chance.random())
        if isinstance(answer, Wait):
            assert answer.seconds > 0.0
            continue
        running.append(answer.trial)
        if isinstance(before, Open):
            assert now >= before.until
        if not isinstance(before, Closed):
            assert answer.trial is not None
            assert (
                isinstance(before, Open)
                or trial_at is None
                or before.since is None
                or (now >= before.since + POLICY.open_s)
            )
            trial_at = now


@pytest.mark.parametrize("seed", range(10))
def test_law_a_recovery_lets_those_who_wait_through_one_by_one(seed: int) -> None:
    """A thousand who wait come back at the pace, not all at once."""
    chance = random.Random(seed)
    policy = BreakerPolicy(recovery_per_s=20.0)
    breaker = report(HalfOpen(1, 0.0), 0.0, "up", 1, policy, held=1000)
    started: list[float] = []
    for now in sorted(chance.random() * 5.0 for _ in range(1000)):
        breaker, answer = ask(breaker, now, policy, chance.random())
        started.append(now + (answer.seconds if isinstance(answer, Wait) else 0.0))
    started.sort()
    for second in range(int(DRAIN_S)):
        assert sum(second <= at < second + 1 for at in started) <= 51
    assert started[-1] <= DRAIN_S + 1.0


def test_a_few_who_wait_are_let_through_at_the_pace_of_the_policy() -> None:
    back = report(HalfOpen(1, 0.0), 0.0, "up", 1, BreakerPolicy(recovery_per_s=20.0), held=3)
    assert back == Closed(recovery=Recovery(0.0, 0.0, 20.0))
    unpaced = report(HalfOpen(1, 0.0), 0.0, "up", 1, BreakerPolicy(recovery_per_s=None), held=3)
    assert unpaced == Closed()


@pytest.mark.parametrize("seed", range(20))
def test_law_repeats_stay_within_their_share_of_first_calls(seed: int) -> None:
    """Whenever a repeat is let through: those open or failed are within floor and share."""
    chance = random.Random(seed)
    window, now = Window(), 0.0
    calls: list[float] = []
    repeats: list[float] = []
    for _ in range(4000):
        now += chance.random() * 0.1
        if chance.random() < 0.3:
            window = window.add(now, BUDGET.window_s, 1, 0)
            calls.append(now)
        elif may_repeat(window, now, BUDGET):
            window = window.add(now, BUDGET.window_s, 0, 1)
            repeats.append(now)
            # The window moves by a tenth at a time.
            within = sum(at >= int(now) - 9.0 for at in repeats)
            first = sum(at >= int(now) - 9.0 for at in calls)
            assert within <= BUDGET.retries_min + 0.2 * first
            if chance.random() < 0.3:  # it succeeds
                window = window.take_back(now, BUDGET.window_s, 1)
                repeats.pop()
    assert repeats


def test_what_is_taken_back_was_counted_in_its_own_time() -> None:
    """A success long after the repeat must not make room twice."""
    window = Window().add(0.0, 10.0, 0, 1).add(9.5, 10.0, 0, 1)
    assert window.take_back(0.0, 10.0, 1).sums(9.5, 10.0) == (0, 1)
    late = window.add(10.5, 10.0, 0, 1)  # the first slot is out of the window by now
    assert late.take_back(0.0, 10.0, 1).sums(10.5, 10.0) == (0, 2)


def test_without_a_share_repeats_have_no_budget() -> None:
    window = Window().add(0.0, 10.0, 0, 10_000)
    assert may_repeat(window, 0.0, RetryBudgetPolicy(share_max=None))
    assert not may_repeat(window, 0.0, RetryBudgetPolicy())
