"""What has become of effects that were to be undone. Folded from the journal, as all state."""

from collections.abc import Iterable

from msgspec import Struct

from ...stores.records import Frozen, Undoing, Undone, UndoState, UndoStep, Unwinding
from ..ledger import CallId, EffectState

LEDGER_STATES: dict[UndoState, EffectState] = {
    "compensated": "compensated",
    "rolled_back": "rolled_back",
    "not_rolled_back": "succeeded",
    "failed": "compensation_failed",
    "in_doubt": "compensation_in_doubt",
    "abandoned": "succeeded",
}
"""How the ledger says it; while another attempt follows, the effect stands as it stood."""


class Undo(Struct):
    """How the undoing of one effect stands.

    ``state`` is None before the first attempt has ended. ``begun``: an attempt has its intent and no
    end, so whether it ran is not known. ``elapsed_s``: seconds that attempts and waits took.
    """

    step: UndoStep
    state: UndoState | None = None
    attempts: int = 0
    begun: bool = False
    key: str | None = None
    content: str = ""
    error_class: str | None = None
    may_have_run: bool = False
    elapsed_s: float = 0.0
    due_at_ms: int | None = None
    by: str = ""

    @property
    def over(self) -> bool:
        """Whether nothing more is tried by itself."""
        return self.state not in (None, "again")


class Unwound:
    """The undoing of a session's effects; changed by `apply` alone."""

    __slots__ = ("_fresh", "frozen", "running", "settled_n", "steps")

    def __init__(self) -> None:
        self.steps: dict[CallId, Undo] = {}
        self.running: Unwinding | None = None
        self.frozen: Frozen | None = None
        self._fresh = False
        self.settled_n = 0
        """Effects of messages before this number were part of something that completed."""

    @property
    def ends(self) -> bool:
        """Whether an unwinding is under way after which the session ends."""
        return self.running is not None and self.running.outcome is not None

    @property
    def left(self) -> list[Undo]:
        """What the unwinding under way has still to do, in order."""
        steps = self.running.steps if self.running is not None else ()
        found = [self.steps[step.n, step.index] for step in steps]
        return [each for each in found if not each.over]

    @property
    def open(self) -> list[Undo]:
        """Compensations that failed or are in doubt, and that no person has settled."""
        return [each for each in self.steps.values() if each.state in ("failed", "in_doubt")]

    def apply(self, entry: Unwinding | Undoing | Undone | Frozen) -> None:
        """Fold one entry in."""
        match entry:
            case Unwinding():
                self.running, self.frozen = entry, None
                for step in entry.steps:
                    self._begin(step)
            case Undoing():
                known = self.steps[entry.n, entry.index]
                known.begun, known.attempts, known.key = True, entry.attempt, entry.key
            case Undone():
                self._undone(entry)
            case Frozen():
                self.frozen, self._fresh = entry, True

    def went_back(self, steps: Iterable[UndoStep]) -> None:
        """The files of these calls are as they were before: nothing of them is left to undo."""
        for step in steps:
            self.steps.setdefault((step.n, step.index), Undo(step, "rolled_back"))

    def came_again(self, calls: Iterable[CallId]) -> None:
        """A rollback was taken back: what these calls did is there again."""
        for call in calls:
            known = self.steps.get(call)
            if known is not None and known.state == "rolled_back":
                del self.steps[call]

    def _begin(self, step: UndoStep) -> None:
        """Undo this effect from here on; where a person asks again, attempts are counted on."""
        before = self.steps.get((step.n, step.index))
        attempts = before.attempts if before is not None else 0
        self.steps[step.n, step.index] = Undo(step, attempts=attempts)

    def _undone(self, entry: Undone) -> None:
        known = self.steps[entry.n, entry.index]
        known.state, known.content, known.begun = entry.state, entry.content, False
        known.attempts = entry.attempts or known.attempts
        known.error_class, known.may_have_run = entry.error_class, entry.may_have_run
        known.elapsed_s, known.by = entry.elapsed_s + entry.wait_s, entry.by
        known.due_at_ms = entry.due_at_ms
        if self.running is not None and self.running.outcome is None and not self.left:
            self.running = None  # the session goes on

    def settled(self) -> None:
        """What is frozen belongs to an end that is stored already."""
        self._fresh = False

    def ended(self, *, completed: bool, next_n: int) -> None:
        """The session has ended; what has completed is undone no more, whatever comes later."""
        self.running = None
        if not self._fresh:
            self.frozen = None  # it was an earlier end that was frozen
        self._fresh = False
        if completed:
            self.settled_n = next_n
