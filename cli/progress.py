"""What happens in sessions, told while it happens: one line an event, and a live line on a terminal.

Lines go to standard error; standard output belongs to the answer.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from msgspec import Struct

from ..actors.approvals.approvals import ApprovalRequest
from ..actors.events import (
    AlertRaised,
    ApprovalDecided,
    ApprovalExpired,
    ApprovalRequested,
    AuditAssessed,
    AuditMismatch,
    BreakerClosed,
    BreakerHalfOpen,
    BreakerOpened,
    BudgetSoft,
    CallFinished,
    CallLate,
    CallProbed,
    CallStarted,
    CallStuck,
    ChangeDecided,
    CheckpointStored,
    CompensationFinished,
    CompensationStarted,
    ConversationPruned,
    DecisionTaken,
    Event,
    EventsDropped,
    MessageReceived,
    ModelAnswered,
    ModelAsked,
    ModelPiece,
    ModelSuperseded,
    RetryScheduled,
    SessionCompleted,
    SessionFrozen,
    SessionHandedOver,
    SessionParked,
    SessionRestarted,
    SessionResumed,
    SessionRolledBack,
    SessionStarted,
    SessionStopped,
    SessionUnwinding,
    SessionWoken,
    TrajectoryFellBack,
    TrajectoryRestarted,
    UpstreamHeld,
)
from ..actors.inspection import ApprovalFact
from .answers import detail_words
from .left import ask_words
from .rollback_words import rollback_event_words
from .staged_words import staged_event_words
from .terminal import Colour, Terminal, amount, duration, fit, one_line, width_left
from .undone import undo_event_words

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def event_words(event: Event, at: str = "") -> tuple[str, Colour | None] | None:
    """Return what a line says of an event, or None for one that is not worth a line. Pure.

    ``at`` names the store in lines to type.
    """
    match event:
        case ModelAsked(attempt=1) | ModelPiece():
            return None
        case ModelAsked():
            return f"model asked again, attempt {event.attempt}", "yellow"
        case ModelSuperseded():
            return f"model's attempt {event.attempt} broke off", "yellow"
        case ModelAnswered():
            return _answered(event), None
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
        case SessionCompleted():
            claims = "; ".join(event.outcome.unverified)
            return f"completed; unverified: {claims}" if claims else "completed", "green"
        case SessionHandedOver():
            detail = detail_words(event.outcome.reason, event.outcome.detail)
            said = f"handed over to a person ({event.outcome.reason})"
            return f"{said}: {detail}" if detail else said, "yellow"
        case SessionStopped():
            return f"stopped ({event.outcome.reason})", "grey"
        case RetryScheduled() | BudgetSoft() | AlertRaised() | EventsDropped():
            return _warning_words(event)
        case UpstreamHeld() | BreakerOpened() | BreakerHalfOpen() | BreakerClosed():
            return _upstream_words(event)


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


# ---------------------------------------------------------------- the live line


class Live(Struct):
    """What the live line of one session says."""

    session_id: str
    step: int = 0
    checkpoint: int = 0
    doing: str = "starting"
    since: float = 0.0
    pieces: int = 0
    parked: bool = False

    def take(self, event: Event, now: float) -> None:
        """Follow an event."""
        self.parked = False
        match event:
            case SessionParked():
                self.rest(now)
            case SessionWoken():
                self._begin("going on", now)
            case ModelAsked():
                self._begin("model", now)
            case ModelPiece():
                self.pieces += len(event.text)
            case ModelAnswered():
                self.step += 1 if event.calls else 0
                self._begin("storing", now)
            case CallStarted():
                self._begin(event.tool, now)
            case CheckpointStored():
                self.checkpoint = event.counter
            case RetryScheduled():
                self._begin(f"waiting to repeat {event.subject}", now)
            case _:
                pass

    def rest(self, now: float) -> None:
        """It waits in the store."""
        self.parked = True
        self._begin("parked", now)

    def _begin(self, doing: str, now: float) -> None:
        self.doing, self.since, self.pieces = doing, now, 0

    def words(self, now: float) -> str:
        """Return the line's text."""
        doing = f"{self.doing} {duration(max(0.0, now - self.since))}"
        streamed = f" · {self.pieces} characters" if self.pieces else ""
        where = f"step {self.step} · checkpoint {self.checkpoint}"
        return f"{self.session_id} · {where} · {doing}{streamed}"


class Progress:
    """Tells events on a stream, with a live line where a person looks on.

    Args:
        several: more than one session runs, so each line begins with its session.
        live: whether the last line is rewritten in place.
        at: what lines to type say of the store; nothing for the usual one.
    """

    def __init__(
        self,
        stream: TextIO,
        terminal: Terminal,
        *,
        several: bool = False,
        live: bool = False,
        at: str = "",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._terminal = terminal
        self._several = several
        self._live = live
        self._at = at
        self._now = now
        self._asked: set[str] = set()
        self._sessions: dict[str, Live] = {}
        self._drawn = False
        self._turn = 0

    def tell(self, event: Event) -> None:
        """Tell one event."""
        self._take(event)
        if isinstance(event, ApprovalRequested):
            self._asked.add(event.request)
        said = event_words(event, self._at)
        if said is not None and not (self._live and isinstance(event, CallStarted)):
            named = self._several or isinstance(event, SessionStarted | SessionResumed)
            start = f"{event.session_id}  " if named and event.session_id else ""
            self.line(f"{start}{one_line(said[0])}", said[1])
        else:
            self.refresh()

    def ask(self, session_id: str, asked: ApprovalFact | ApprovalRequest) -> None:
        """Tell what a person is asked, unless that was told before."""
        if asked.request not in self._asked:
            self._asked.add(asked.request)
            said = ask_words(asked.tool, asked.arguments, asked.risk, asked.request, self._at)
            self.line(f"{self._start(session_id)}{one_line(said)}", "yellow")

    def rest(self, session_id: str) -> None:
        """Tell that a session was parked before its events were listened to."""
        if self._live:
            live = self._sessions.setdefault(session_id, Live(session_id))
            live.rest(self._now())
        self.line(f"{self._start(session_id)}parked", "grey")

    def _start(self, session_id: str) -> str:
        return f"{session_id}  " if self._several else ""

    def follow(self, event: Event) -> None:
        """Let an event show in the live line only."""
        self._take(event)
        self.refresh()

    def _take(self, event: Event) -> None:
        if self._live and event.session_id:
            live = self._sessions.setdefault(event.session_id, Live(event.session_id))
            live.take(event, self._now())
            if isinstance(event, SessionCompleted | SessionHandedOver | SessionStopped):
                del self._sessions[event.session_id]

    def line(self, text: str, colour: Colour | None = None) -> None:
        """Write one line; on a terminal above the live line."""
        if self._live:
            text = fit(text, self._terminal.width)
        self._put(f"{self._wiping()}{self._terminal.paint(text, colour)}\n{self._live_line()}")

    def refresh(self) -> None:
        """Draw the live line anew."""
        if self._live:
            self._put(self._wiping() + self._live_line())

    def close(self) -> None:
        """Take the live line away."""
        self._sessions.clear()
        self._put(self._wiping())

    def _wiping(self) -> str:
        drawn, self._drawn = self._drawn, False
        return "\r\x1b[K" if drawn else ""

    def _live_line(self) -> str:
        if not self._live or not self._sessions:
            return ""
        self._drawn = True
        self._turn += 1
        spin = self._terminal.pick(SPINNER[self._turn % len(SPINNER)], "*")
        text = fit(self._words(), width_left(self._terminal, spin, "  "))
        return f"{spin} {self._terminal.paint(text, 'blue')}"

    def _words(self) -> str:
        lives = list(self._sessions.values())
        if len(lives) == 1:
            return lives[0].words(self._now())
        checkpoints = sum(live.checkpoint for live in lives)
        parked = sum(live.parked for live in lives)
        waiting = f" · {parked} parked" if parked else ""
        at_work = next((live for live in reversed(lives) if not live.parked), lives[-1])
        said = f"{len(lives)} sessions{waiting} · {checkpoints} checkpoints"
        return f"{said} · {at_work.words(self._now())}"

    def _put(self, text: str) -> None:
        # Looking on is not worth a session: whoever reads this may have gone.
        with suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()
