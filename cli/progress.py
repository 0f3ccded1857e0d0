"""What happens in sessions, told while it happens: one line an event, and a live line on a terminal.

Lines go to standard error; standard output belongs to the answer.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from msgspec import Struct

from ..actors.approvals.approvals import ApprovalRequest
from ..actors.end_events import ENDS
from ..actors.events import (
    AlertRaised,
    CallStarted,
    CheckpointStored,
    Event,
    ModelAnswered,
    ModelAsked,
    ModelPiece,
    RetryScheduled,
    SessionParked,
    SessionResumed,
    SessionStarted,
    SessionWoken,
)
from ..actors.inspection import ApprovalFact
from ..actors.people_events import ApprovalRequested
from .event_words import event_words
from .left import ask_words
from .terminal import Colour, Terminal, duration, fit, one_line, width_left

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


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
        self.alerts: set[str] = set()
        """Texts of the alerts that were told here."""
        self._sessions: dict[str, Live] = {}
        self._drawn = False
        self._turn = 0

    def tell(self, event: Event) -> None:
        """Tell one event."""
        self._take(event)
        if isinstance(event, ApprovalRequested):
            self._asked.add(event.request)
        if isinstance(event, AlertRaised):
            self.alerts.add(event.text)
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
            if isinstance(event, ENDS):
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
