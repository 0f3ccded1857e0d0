"""The decisions of a supervisor, as pure functions: nothing here knows a task, a clock or a tree."""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TypeVar

from .exits import ExitReason, Killed, Normal, Shutdown, error_class_of, is_normal
from .specs import (
    BRUTAL_KILL,
    AutoShutdown,
    ChildType,
    Restart,
    RestartRule,
    RestartType,
    ShutdownTime,
    Strategy,
)

T = TypeVar("T")

_AT_ONCE = RestartRule(restart=True)
_NEVER = RestartRule(restart=False)


def after_exit(restart: Restart, reason: ExitReason) -> RestartRule:
    """Decide whether a child that ended like this is started again."""
    match restart:
        case RestartType.PERMANENT:
            return _AT_ONCE
        case RestartType.TRANSIENT:
            return _NEVER if is_normal(reason) else _AT_ONCE
        case RestartType.TEMPORARY:
            return _NEVER
        case _:
            return _NEVER if is_normal(reason) else restart.get(error_class_of(reason), _NEVER)


def after_failed_start(restart: Restart, reason: ExitReason) -> RestartRule:
    """Decide whether a restart that failed is tried again: always, unless a table says no."""
    if isinstance(restart, RestartType):
        return _AT_ONCE
    return restart.get(error_class_of(reason), _NEVER)


def worth_reporting(restart: Restart, reason: ExitReason) -> bool:
    """Tell whether this end is unusual for such a child."""
    return restart is RestartType.PERMANENT or not is_normal(reason)


def ended_as_asked(
    restart: Restart,
    shutdown_s: ShutdownTime,
    reason: ExitReason,
    *,
    elixir: bool = False,
    found_dead: bool = False,
) -> bool:
    """Tell whether a child that was told to stop ended as it should; else that is reported.

    ``elixir`` is a dynamic supervisor without a template, which is Elixir's and not OTP's: there
    shutdown(x) is fine for a permanent child too, nothing but a kill for one to be killed, and
    nothing but a normal end for one that was dead before it was told.
    """
    if elixir and found_dead:
        return isinstance(reason, Normal) and restart is not RestartType.PERMANENT
    if elixir and shutdown_s is BRUTAL_KILL:
        return isinstance(reason, Killed)
    if elixir and isinstance(reason, Shutdown):
        return True
    match reason:
        case Killed():
            return shutdown_s is BRUTAL_KILL
        case Shutdown(detail="", cause=None):
            return shutdown_s is not BRUTAL_KILL or restart is not RestartType.PERMANENT
        case Shutdown() | Normal():
            return restart is not RestartType.PERMANENT
        case _:
            return False


def reach(strategy: Strategy, order: Sequence[str], child: str) -> list[str]:
    """Return whom the restart of this child concerns, in start order."""
    match strategy:
        case Strategy.ONE_FOR_ONE:
            return [child]
        case Strategy.ONE_FOR_ALL:
            return list(order)
        case Strategy.REST_FOR_ONE:
            return list(order[order.index(child) :])


def ends_supervisor(auto: AutoShutdown, *, significant: bool, others_left: bool) -> bool:
    """Decide whether this end, which no restart follows, ends the supervisor.

    ``others_left``: another significant child has a process or waits for its restart.
    """
    match auto:
        case AutoShutdown.NEVER:
            return False
        case AutoShutdown.ANY_SIGNIFICANT:
            return significant
        case AutoShutdown.ALL_SIGNIFICANT:
            return significant and not others_left


def within_intensity(
    history: tuple[float, ...], now: float, intensity: int | None, period_s: float
) -> tuple[tuple[float, ...], bool]:
    """Add a restart to the history and tell whether it is still within the limit.

    The window is measured in time alone: neither messages nor successful starts clear it.
    """
    if intensity is None:
        return (), True
    recent = (*(at for at in history if at >= now - period_s), now)
    return recent, len(recent) <= intensity


def backoff_s(rule: RestartRule, attempt: int) -> float:
    """Return the wait in seconds before the attempt-th restart in a row, counted from 1."""
    # 2 ** 60 is beyond any wait; an unbounded exponent would overflow after days of crashes.
    return min(rule.delay_s_max, rule.delay_s_first * 2.0 ** min(max(attempt, 1) - 1, 60))


def attempt_in_row(previous: int, lived_s: float | None, rule: RestartRule) -> int:
    """Return which restart in a row this is; None for a start that failed."""
    return 1 if lived_s is not None and lived_s >= rule.delay_s_max else previous + 1


class Activity(Enum):
    """What a child is doing, as its supervisor sees it."""

    RUNNING = "running"
    RESTARTING = "restarting"
    DOWN = "down"


def count(kinds: Iterable[tuple[ChildType, Activity]], *, template: bool) -> dict[str, int]:
    """Count specifications, running children, supervisors and workers.

    Each child is given by its type and what it is doing. With a template there is one specification,
    whatever the number of instances.
    """
    rows = list(kinds)
    supervisors = sum(1 for kind, _ in rows if kind is ChildType.SUPERVISOR)
    return {
        "specs": 1 if template else len(rows),
        "active": sum(1 for _, activity in rows if activity is Activity.RUNNING),
        "supervisors": supervisors,
        "workers": len(rows) - supervisors,
    }
