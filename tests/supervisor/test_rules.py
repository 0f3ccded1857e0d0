"""The decisions of a supervisor as tables: who is restarted, with whom, how often, after what wait."""

from itertools import product
from operator import attrgetter
from typing import NamedTuple

import pytest

from ukemi.supervisor import (
    BRUTAL_KILL,
    Abandoned,
    AutoShutdown,
    ChildType,
    Crashed,
    ErrorClass,
    ExitReason,
    ForeignCancel,
    Killed,
    Normal,
    RestartRule,
    RestartTable,
    RestartType,
    Shutdown,
    StartFailure,
    StartTimedOut,
    Strategy,
    is_normal,
)
from ukemi.supervisor.rules import (
    Activity,
    after_exit,
    after_failed_start,
    attempt_in_row,
    backoff_s,
    count,
    ended_as_asked,
    ends_supervisor,
    reach,
    within_intensity,
    worth_reporting,
)
from ukemi.supervisor.specs import Restart

PERMANENT, TRANSIENT, TEMPORARY = RestartType
BOOM = Crashed(ErrorClass.BUG, "ValueError", "boom")
BUSY = Crashed(ErrorClass.TRANSIENT, "TransientError", "busy")
GAVE_UP = Shutdown("reached_max_restart_intensity", "a", BOOM)
TABLE: RestartTable = {ErrorClass.TRANSIENT: RestartRule(restart=True, delay_s_first=1.0)}


class Exit(NamedTuple):
    rule: str
    restart: Restart
    reason: ExitReason
    again: bool
    told: bool


EXITS = [
    Exit("permanent is restarted after a crash", PERMANENT, BOOM, True, True),
    Exit("permanent is restarted after a normal end, too", PERMANENT, Normal(), True, True),
    Exit("permanent is restarted after shutdown, too", PERMANENT, Shutdown(), True, True),
    Exit("transient is restarted after a crash", TRANSIENT, BOOM, True, True),
    Exit("transient stays down after a normal end", TRANSIENT, Normal(), False, False),
    Exit("transient stays down after shutdown(x)", TRANSIENT, Shutdown("done"), False, False),
    Exit("a supervisor that gave up counts as shut down", TRANSIENT, GAVE_UP, False, False),
    Exit("transient is restarted when killed", TRANSIENT, Killed(), True, True),
    Exit("a foreign cancellation is a crash", TRANSIENT, ForeignCancel(), True, True),
    Exit("a child given up is a crash", TRANSIENT, Abandoned(1.0), True, True),
    Exit("temporary is never restarted", TEMPORARY, BOOM, False, True),
    Exit("temporary ends normally without a word", TEMPORARY, Normal(), False, False),
    Exit("a table restarts a class it names", TABLE, BUSY, True, True),
    Exit("a table leaves down a class it does not name", TABLE, BOOM, False, True),
    Exit("under a table a normal end is final", TABLE, Normal(), False, False),
    Exit("under a table shutdown is final", TABLE, Shutdown(), False, False),
]


@pytest.mark.parametrize("case", EXITS, ids=attrgetter("rule"))
def test_what_follows_an_end(case: Exit) -> None:
    """Restart or not, and whether it is reported."""
    assert after_exit(case.restart, case.reason).restart is case.again
    assert worth_reporting(case.restart, case.reason) is case.told


@pytest.mark.parametrize("error_class", ErrorClass)
def test_a_table_decides_by_the_class_alone(error_class: ErrorClass) -> None:
    """Every class of error, named in the table or not."""
    crash = Crashed(error_class, "E", "text")
    for named in ErrorClass:
        rule = RestartRule(restart=True, delay_s_first=2.0)
        assert after_exit({named: rule}, crash).restart is (named is error_class)


FAILED_STARTS: list[tuple[Restart, ExitReason, bool]] = [
    (PERMANENT, BOOM, True),
    (TRANSIENT, Normal(), True),
    (TABLE, BUSY, True),
    (TABLE, StartTimedOut(1.0), True),
    (TABLE, StartFailure("x", BUSY), True),
    (TABLE, BOOM, False),
    (TABLE, StartFailure("x", BOOM), False),
]


@pytest.mark.parametrize(("restart", "reason", "again"), FAILED_STARTS)
def test_a_restart_that_failed_is_tried_again(
    restart: Restart, reason: ExitReason, again: bool
) -> None:
    """Always with a restart type; with a table as it says."""
    assert after_failed_start(restart, reason).restart is again


STOPS = [
    (PERMANENT, 5.0, Shutdown(), True),
    (PERMANENT, 5.0, Normal(), False),
    (PERMANENT, 5.0, Shutdown("x"), False),
    (TRANSIENT, 5.0, Normal(), True),
    (TRANSIENT, 5.0, Shutdown("x"), True),
    (TRANSIENT, 5.0, BOOM, False),
    (TEMPORARY, 5.0, Killed(), False),
    (TEMPORARY, 5.0, Abandoned(5.0), False),
    (PERMANENT, BRUTAL_KILL, Killed(), True),
    (PERMANENT, BRUTAL_KILL, Shutdown(), False),
    (TRANSIENT, BRUTAL_KILL, Shutdown(), True),
    (TRANSIENT, BRUTAL_KILL, BOOM, False),
]


@pytest.mark.parametrize(("restart", "shutdown_s", "reason", "well"), STOPS)
def test_who_ended_as_asked(
    restart: RestartType, shutdown_s: float, reason: ExitReason, well: bool
) -> None:
    """What is not as asked is reported as shutdown_error."""
    assert ended_as_asked(restart, shutdown_s, reason) is well


ELIXIR_STOPS = [
    (PERMANENT, 5.0, Shutdown("x"), True),
    (PERMANENT, 5.0, Normal(), False),
    (TRANSIENT, 5.0, Normal(), True),
    (TRANSIENT, 5.0, BOOM, False),
    (PERMANENT, BRUTAL_KILL, Killed(), True),
    (TRANSIENT, BRUTAL_KILL, Shutdown(), False),
    (TRANSIENT, BRUTAL_KILL, Normal(), False),
]


@pytest.mark.parametrize(("restart", "shutdown_s", "reason", "well"), ELIXIR_STOPS)
def test_who_ended_as_asked_by_elixir(
    restart: RestartType, shutdown_s: float, reason: ExitReason, well: bool
) -> None:
    """Its dynamic supervisor forgives shutdown(x), and wants who is killed to have been alive."""
    assert ended_as_asked(restart, shutdown_s, reason, elixir=True) is well


@pytest.mark.parametrize(
    ("restart", "reason", "well"),
    [
        (TRANSIENT, Normal(), True),
        (PERMANENT, Normal(), False),
        (TRANSIENT, Shutdown(), False),
        (TRANSIENT, Shutdown("x"), False),
        (TRANSIENT, BOOM, False),
    ],
)
def test_who_was_dead_before_it_was_told(
    restart: RestartType, reason: ExitReason, well: bool
) -> None:
    """Elixir tells of all but a normal end; OTP makes no difference."""
    found = ended_as_asked(restart, 5.0, reason, elixir=True, found_dead=True)
    assert found is well
    assert ended_as_asked(restart, 5.0, reason, found_dead=True) is ended_as_asked(
        restart, 5.0, reason
    )


@pytest.mark.parametrize(
    ("strategy", "child", "expected"),
    [
        (Strategy.ONE_FOR_ONE, "b", "b"),
        (Strategy.ONE_FOR_ALL, "b", "abcd"),
        (Strategy.REST_FOR_ONE, "b", "bcd"),
        (Strategy.REST_FOR_ONE, "a", "abcd"),
        (Strategy.REST_FOR_ONE, "d", "d"),
    ],
)
def test_whom_a_restart_concerns(strategy: Strategy, child: str, expected: str) -> None:
    """In start order; they are stopped in the reverse of it."""
    assert reach(strategy, "abcd", child) == list(expected)


def test_the_child_itself_is_always_in_reach() -> None:
    """Law: for every strategy and child, and nobody is named twice or out of order."""
    for strategy, child in product(Strategy, "abcd"):
        found = reach(strategy, "abcd", child)
        assert child in found
        assert found == sorted(set(found))


@pytest.mark.parametrize(
    ("auto", "significant", "others_left", "ends"),
    [
        (AutoShutdown.NEVER, True, False, False),
        (AutoShutdown.ANY_SIGNIFICANT, True, True, True),
        (AutoShutdown.ANY_SIGNIFICANT, False, False, False),
        (AutoShutdown.ALL_SIGNIFICANT, True, True, False),
        (AutoShutdown.ALL_SIGNIFICANT, True, False, True),
        (AutoShutdown.ALL_SIGNIFICANT, False, False, False),
    ],
)
def test_whether_an_end_ends_the_supervisor(
    auto: AutoShutdown, significant: bool, others_left: bool, ends: bool
) -> None:
    """Only significant children count; ``all`` waits for the last of them."""
    found = ends_supervisor(auto, significant=significant, others_left=others_left)
    assert found is ends


def crashes(times: list[float], intensity: int | None, period_s: float) -> list[bool]:
    history: tuple[float, ...] = ()
    allowed: list[bool] = []
    for now in times:
        history, within = within_intensity(history, now, intensity, period_s)
        allowed.append(within)
    return allowed


@pytest.mark.parametrize(
    ("rule", "times", "intensity", "expected"),
    [
        ("the first restart is too many for 0", [0.0], 0, [False]),
        ("exactly the limit is fine, one more is not", [0, 1, 2], 2, [True, True, False]),
        ("a restart is forgotten after the period", [0, 1, 6.1, 6.2, 6.3], 2, [True] * 4 + [False]),
        ("the window slides", [0, 4, 5.1, 9.2], 2, [True] * 4),
        ("at its very edge a restart still counts", [0, 5], 1, [True, False]),
        ("no limit", [0.0] * 50, None, [True] * 50),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_intensity(
    rule: str, times: list[float], intensity: int | None, expected: list[bool]
) -> None:
    """At most so many restarts within the period, five seconds here."""
    assert crashes(times, intensity, 5.0) == expected


def test_the_history_stays_small() -> None:
    """It holds the restarts of one period, and nothing at all without a limit."""
    history: tuple[float, ...] = ()
    for second in range(1_000):
        history, _ = within_intensity(history, float(second), 10**9, 5.0)
        assert len(history) <= 6
    assert within_intensity(history, 0.0, None, 5.0) == ((), True)


def test_backoff_doubles_up_to_its_limit() -> None:
    """First and last wait, and no overflow after days of crashes."""
    rule = RestartRule(restart=True, delay_s_first=0.5, delay_s_max=10.0)
    assert [backoff_s(rule, attempt) for attempt in range(1, 7)] == [0.5, 1, 2, 4, 8, 10]
    assert backoff_s(rule, 10**6) == 10.0
    assert backoff_s(RestartRule(restart=True), 5) == 0.0


def test_a_long_life_begins_a_new_row() -> None:
    """Measured in time: a start that succeeds and dies soon after does not count as recovery."""
    rule = RestartRule(restart=True, delay_s_first=1.0, delay_s_max=10.0)
    assert attempt_in_row(3, 9.9, rule) == 4
    assert attempt_in_row(3, 10.0, rule) == 1
    assert attempt_in_row(3, None, rule) == 4


def test_counting() -> None:
    """Types count alive or not, and a template is one specification."""
    rows = [
        (ChildType.WORKER, Activity.RUNNING),
        (ChildType.WORKER, Activity.RESTARTING),
        (ChildType.SUPERVISOR, Activity.DOWN),
    ]
    assert count(rows, template=False) == {
        "specs": 3,
        "active": 1,
        "supervisors": 1,
        "workers": 2,
    }
    assert count(rows, template=True)["specs"] == 1


def test_only_two_ends_are_normal() -> None:
    """Law: whatever is not a return or a shutdown restarts a transient child."""
    ends: list[ExitReason] = [Normal(), Shutdown(), BOOM, Killed(), ForeignCancel()]
    ends += [Abandoned(1.0), StartTimedOut(1.0), StartFailure("a", BOOM)]
    assert [is_normal(end) for end in ends] == [True, True] + [False] * 6
    for end in ends:
        assert after_exit(TRANSIENT, end).restart is not is_normal(end)
