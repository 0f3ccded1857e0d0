"""What a line says of an event. Pure."""

from ..actors.end_events import (
    CompensationFinished,
    CompensationStarted,
    SessionCompleted,
    SessionFrozen,
    SessionHandedOver,
    SessionStopped,
    SessionUnwinding,
)
from ..actors.events import (
    AlertRaised,
    AuditAssessed,
    AuditMismatch,
    BudgetSoft,
    CallFinished,
    CallLate,
    CallProbed,
    CallStarted,
    CallStuck,
    ChangeDecided,
    CheckpointStored,
    ConversationPruned,
    Event,
    EventsDropped,
    MessageReceived,
    ModelAnswered,
    ModelAsked,
    ModelPiece,
    ModelSuperseded,
    RetryScheduled,
    SessionParked,
    SessionRestarted,
    SessionResumed,
    SessionRolledBack,
    SessionStarted,
    SessionWoken,
    TrajectoryFellBack,
    TrajectoryRestarted,
)
from ..actors.handover.dossier import headline
from ..actors.people_events import (
    ApprovalDecided,
    ApprovalExpired,
    ApprovalRequested,
    DecisionTaken,
)
from ..actors.upstream_events import BreakerClosed, BreakerHalfOpen, BreakerOpened, UpstreamHeld
from .answers import detail_words
from .left import ask_words
from .rollback_words import rollback_event_words
from .staged_words import staged_event_words
from .terminal import Colour, amount, duration
from .undone import undo_event_words


def event_words(event: Event, at: str = "") -> tuple[str, Colour | None] | None:
    """Return what a line says of an event, or None for one that is not worth a line. Pure.

    ``at`` names the store in lines to type.
    """
    match event:
        case ModelAsked() | ModelPiece() | ModelSuperseded() | ModelAnswered():
            return _model_words(event)
        case CallStarted() | CallFinished() | CallLate() | CallProbed() | CallStuck():
            return _call_words(event)
        case CheckpointStored():
            return f"checkpoint {event.counter} stored", "grey"
        case MessageReceived():
            return f"user: {event.text}", "bold"
        case ApprovalRequested() | ApprovalDecided() | ApprovalExpired():
            return _approval_words(event, at)
        case ChangeDecided():
            return staged_event_words(event)
        case DecisionTaken():
            return _decision_words(event)
        case SessionStarted() | SessionResumed() | SessionRestarted():
            return _session_words(event)
        case SessionParked() | SessionWoken():
            return _parking_words(event)
        case ConversationPruned():
            sizes = f"{amount(event.chars_before)} to {amount(event.chars)} characters"
            return f"conversation pruned from {sizes} ({event.why}, {event.by})", "yellow"
        case SessionUnwinding() | SessionFrozen() | CompensationStarted() | CompensationFinished():
            return undo_event_words(event)
        case SessionRolledBack():
            return rollback_event_words(event)
        case AuditAssessed():
            said = event.problem or "; ".join(event.verdicts)
            return f"a judge was asked about the answer: {said}", "grey"
        case AuditMismatch():
            return f"the answer is not what was done: {'; '.join(event.findings)}", "red"
        case TrajectoryRestarted() | TrajectoryFellBack():
            return _planning_words(event)
        case SessionCompleted() | SessionHandedOver() | SessionStopped():
            return _end_words(event)
        case RetryScheduled() | BudgetSoft() | AlertRaised() | EventsDropped():
            return _warning_words(event)
        case UpstreamHeld() | BreakerOpened() | BreakerHalfOpen() | BreakerClosed():
            return _upstream_words(event)


def _model_words(
    event: ModelAsked | ModelPiece | ModelSuperseded | ModelAnswered,
) -> tuple[str, Colour | None] | None:
    match event:
        case ModelAsked(attempt=1) | ModelPiece():
            return None
        case ModelAsked():
            return f"model asked again, attempt {event.attempt}", "yellow"
        case ModelSuperseded():
            return f"model's attempt {event.attempt} broke off", "yellow"
        case ModelAnswered():
            return _answered(event), None


def _answered(event: ModelAnswered) -> str:
    parts = [event.text] if event.text else []
    if event.calls:
        parts.append(f"calls {', '.join(event.calls)}")
    return f"model: {'; '.join(parts) or 'nothing'}"


def _call_words(
    event: CallStarted | CallFinished | CallLate | CallProbed | CallStuck,
) -> tuple[str, Colour | None]:
    if isinstance(event, CallStuck):
        return f"{event.tool} does not end and is left behind", "red"
    name = f"{event.tool} ({event.n}.{event.index})"
    match event:
        case CallStarted():
            again = f", attempt {event.attempt}" if event.attempt > 1 else ""
            return f"{name} started{again}", "grey"
        case CallLate():
            return f"{name} ended late: {event.state.replace('_', ' ')}", "yellow"
        case CallProbed():
            return f"{name} probed: {event.answer.replace('_', ' ')}", "yellow"
        case CallFinished():
            words = event.state.replace("_", " ")
            if event.error_class and event.state != "in_doubt":
                words += f" ({event.error_class})"
            took = f" in {duration(event.elapsed_s)}" if event.elapsed_s else ""
            return f"{name} {words}{took}", None if event.state == "succeeded" else "red"


def _decision_words(event: DecisionTaken) -> tuple[str, Colour | None]:
    said = f"{event.by or 'somebody'} decided about {event.about.rpartition('#')[0]}: {event.what}"
    if event.problem:
        return f"{said}, which changed nothing: {event.problem}", "red"
    return said, "yellow"


def _session_words(
    event: SessionStarted | SessionResumed | SessionRestarted,
) -> tuple[str, Colour | None]:
    match event:
        case SessionStarted():
            return f"started, agent {event.agent}", "bold"
        case SessionResumed():
            return f"resumed at checkpoint {event.counter}", "bold"
        case SessionRestarted():
            return f"restarted: {event.reason}", "yellow"


def _parking_words(event: SessionParked | SessionWoken) -> tuple[str, Colour | None]:
    if isinstance(event, SessionWoken):
        return f"woken ({event.by})", "bold"
    if event.due_at_ms is None:
        return "parked until somebody decides", "grey"
    return f"parked for {duration(max(0, event.due_at_ms - event.at_ms) / 1000)}", "grey"


def _approval_words(
    event: ApprovalRequested | ApprovalDecided | ApprovalExpired, at: str
) -> tuple[str, Colour | None]:
    match event:
        case ApprovalRequested():
            said = ask_words(event.tool, event.arguments, event.risk, event.request, at)
            return said, "yellow"
        case ApprovalDecided():
            changed = ", with other arguments" if event.edited else ""
            return f"{event.by or 'somebody'} {event.verdict} {event.request}{changed}", "yellow"
        case ApprovalExpired():
            return f"{event.request} has expired: it counts as denied", "red"


def _end_words(
    event: SessionCompleted | SessionHandedOver | SessionStopped,
) -> tuple[str, Colour | None]:
    match event:
        case SessionCompleted():
            claims = "; ".join(event.outcome.unverified)
            return f"completed; unverified: {claims}" if claims else "completed", "green"
        case SessionHandedOver():
            detail = detail_words(event.outcome.reason, headline(event.outcome))
            said = f"handed over to a person ({event.outcome.reason})"
            return f"{said}: {detail}" if detail else said, "yellow"
        case SessionStopped():
            return f"stopped ({event.outcome.reason})", "grey"


def _planning_words(
    event: TrajectoryRestarted | TrajectoryFellBack,
) -> tuple[str, Colour | None]:
    if isinstance(event, TrajectoryFellBack):
        return f"no progress, agent {event.agent} takes over: {event.why}", "yellow"
    return f"no progress, begins again at checkpoint {event.counter}: {event.why}", "yellow"


def _warning_words(
    event: RetryScheduled | BudgetSoft | AlertRaised | EventsDropped,
) -> tuple[str, Colour | None]:
    match event:
        case RetryScheduled():
            wait = duration(event.wait_s)
            return f"{event.subject}: {event.error_class}, again in {wait}", "yellow"
        case BudgetSoft():
            used = f"{amount(event.used)} of {amount(event.cap)}"
            return f"budget {event.limit} of {event.account}: {used} used", "yellow"
        case AlertRaised():
            return f"alert: {event.text}", "red"
        case EventsDropped():
            return f"{event.count} events were not shown", "grey"


def _upstream_words(
    event: UpstreamHeld | BreakerOpened | BreakerHalfOpen | BreakerClosed,
) -> tuple[str, Colour | None]:
    match event:
        case UpstreamHeld():
            wait = duration(event.wait_s)
            return f"{event.subject}: waits {wait} for {event.upstream}", "grey"
        case BreakerOpened():
            return f"{event.upstream} fails too often: calls are held back", "red"
        case BreakerHalfOpen():
            return f"{event.upstream} is tried again", "yellow"
        case BreakerClosed():
            return f"{event.upstream} answers again", "green"
