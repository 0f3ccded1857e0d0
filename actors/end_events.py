"""How a session ends, as events: what is undone or left before that, and its outcome."""

from ..stores.records import UndoState
from .event_base import BaseEvent
from .outcome import Completed, HandedOver, Outcome, Stopped


class SessionUnwinding(BaseEvent, frozen=True, tag="session.unwinding"):
    """The session is about to end, and so many of its effects are undone before that."""

    effects: int
    level = "warning"


class SessionFrozen(BaseEvent, frozen=True, tag="session.frozen"):
    """The session ends and none of its effects is undone: a person decides."""

    why: str
    effects: int
    level = "warning"


class CompensationStarted(BaseEvent, frozen=True, tag="compensation.started"):
    """The compensation of a call is about to run."""

    n: int
    index: int
    tool: str
    attempt: int = 1


class CompensationFinished(BaseEvent, frozen=True, tag="compensation.finished"):
    """How the compensation of a call ended."""

    n: int
    index: int
    tool: str
    state: UndoState
    attempts: int = 0
    error_class: str | None = None
    level = "warning"


class SessionCompleted(BaseEvent, frozen=True, tag="session.completed"):
    """The agent answered; the last event of a stream."""

    outcome: Completed
    level = "info"


class SessionHandedOver(BaseEvent, frozen=True, tag="session.handed_over"):
    """A person is needed; the last event of a stream."""

    outcome: HandedOver
    level = "warning"


class SessionStopped(BaseEvent, frozen=True, tag="session.stopped"):
    """Cancelled or denied; the last event of a stream."""

    outcome: Stopped
    level = "info"


SessionEnded = SessionCompleted | SessionHandedOver | SessionStopped
ENDS = (SessionCompleted, SessionHandedOver, SessionStopped)


def ended(session_id: str, at_ms: int, outcome: Outcome) -> SessionEnded:
    """Return the event that says how a session ended."""
    match outcome:
        case Completed():
            return SessionCompleted(session_id=session_id, at_ms=at_ms, outcome=outcome)
        case HandedOver():
            return SessionHandedOver(session_id=session_id, at_ms=at_ms, outcome=outcome)
        case Stopped():
            return SessionStopped(session_id=session_id, at_ms=at_ms, outcome=outcome)
