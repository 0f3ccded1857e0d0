"""What supervisors tell: who, whose child, why, and what is done about it."""

from typing import Literal

from msgspec import Struct

from .exits import ExitReason

Action = Literal["restart", "restart_later", "left_down", "forgotten", "gives_up"]


class _Report(Struct, frozen=True, kw_only=True, tag_field="report"):
    supervisor: str
    child: str


class ChildTerminated(_Report, frozen=True, kw_only=True, tag="child_terminated"):
    """A child ended in a way worth telling: abnormally, or at all if it is permanent."""

    reason: ExitReason
    action: Action


class StartError(_Report, frozen=True, kw_only=True, tag="start_error"):
    """A child did not start, at the start of its supervisor or in a restart."""

    reason: ExitReason


class ShutdownFault(_Report, frozen=True, kw_only=True, tag="shutdown_error"):
    """A child that was being stopped ended otherwise than asked."""

    reason: ExitReason


class RestartScheduled(_Report, frozen=True, kw_only=True, tag="restart_scheduled"):
    """A child will be started again after a wait."""

    reason: ExitReason
    delay_s: float
    attempt: int


class MaxIntensity(_Report, frozen=True, kw_only=True, tag="max_intensity"):
    """Too many restarts: the supervisor stops its children and ends; its parent decides."""

    reason: ExitReason
    intensity: int
    period_s: float


class ChildGivenUp(_Report, frozen=True, kw_only=True, tag="child_given_up"):
    """A child will not be restarted: over its own limit, or no restart for this class of error."""

    reason: ExitReason
    over_limit: bool


class StuckChild(_Report, frozen=True, kw_only=True, tag="stuck_child"):
    """A child did not end in time after its cancellation. It is left behind, still running."""

    after_s: float


class StuckChildEnded(_Report, frozen=True, kw_only=True, tag="stuck_child_ended"):
    """A child that had been given up has ended after all."""

    reason: ExitReason


class LateOutcome(_Report, frozen=True, kw_only=True, tag="late_outcome"):
    """A thread ended after its caller had been cancelled: its effect did happen or did not."""

    call: str
    ok: bool
    value: object = None
    error: str = ""


class MessagesDropped(_Report, frozen=True, kw_only=True, tag="messages_dropped"):
    """A child ended for good with this many messages unread; asks among them were refused."""

    count: int


class UnexpectedMessage(_Report, frozen=True, kw_only=True, tag="unexpected_message"):
    """Somebody sent a message to a supervisor, which reads none."""

    type_name: str


class StillRunning(_Report, frozen=True, kw_only=True, tag="still_running"):
    """At closing: children that do not end, and threads that outlive their calls."""

    children: tuple[str, ...]
    threads: tuple[str, ...]


Report = (
    ChildTerminated
    | StartError
    | ShutdownFault
    | RestartScheduled
    | MaxIntensity
    | ChildGivenUp
    | StuckChild
    | StuckChildEnded
    | LateOutcome
    | MessagesDropped
    | UnexpectedMessage
    | StillRunning
)


class _Progress(Struct, frozen=True, tag_field="progress"):
    path: str


class Starting(_Progress, frozen=True, tag="starting"):
    """A supervisor begins to start; none of its children was touched yet."""


class Started(_Progress, frozen=True, tag="started"):
    """A child runs; a supervisor: all its children are up."""

    incarnation: int


class StartFailing(_Progress, frozen=True, tag="start_failed"):
    """A start came to nothing."""

    reason: ExitReason


class Ignored(_Progress, frozen=True, tag="ignored"):
    """A start was answered by IgnoreStart."""


class Exited(_Progress, frozen=True, tag="exited"):
    """A life ended."""

    incarnation: int
    reason: ExitReason


Progress = Starting | Started | StartFailing | Ignored | Exited
