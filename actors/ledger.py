"""The ledger of a session: how each call stands that may have changed something outside it.

A write has an entry from its intent on; a read has none. Folded from the journal, as all state:

    intent --- running --+-- succeeded: an effect, kept in the order of success
                         +-- failed, refused: it certainly did not take effect; dropped here
                         +-- in doubt --+-- done: an effect, found late
                                        +-- not done: dropped
                                        +-- abandoned: dropped, and its equals stay closed
                                        +-- allowed again by a person: running, as above

``open`` holds what is unsettled, ``effects`` what took effect, ``answers`` what an equal call is told
once where the model had been told "effect unknown". ``abandoned`` are doubts that nobody settled:
unlike a refusal they stay closed whatever the user says next, since it does not become known by that.
Entries name calls; arguments and results are in
the journal, and `effects.records_of` reads them together.
"""

from typing import Literal

from msgspec import Struct

from ..stores.records import Allowed, Intended, Late, Resulted, ToolCall
from .nothing import NO_DICT, NO_NAMES, own

CallId = tuple[int, int]
"""A call's identity in its session: number of the assistant message, index in it."""

PERSON = "person"
"""Who answered a doubt, where somebody looked."""
PROBE = "probe"
"""Who answered, where the tool's own probe found that the call had taken effect."""
RECORD = "record"
"""Who answered, where an equal call had taken effect and the ledger knew how it ended."""
AGAIN = "again"
"""Who answered, where a person had the call run again."""
FOUND_OUT = (PERSON, PROBE)
"""Who answers long after the call took effect: its place among the effects is where it was made."""
BODY = ""
"""Who answered, where the body itself came back."""

EffectState = Literal[
    "succeeded", "compensated", "compensation_failed", "compensation_in_doubt", "rolled_back"
]
"""What became of an effect; ``succeeded``: it stands."""


class CallEntry(Struct):
    """A call that is not settled: its intent, and the doubt about it.

    ``doubtful``: an attempt before the last may have taken effect as well. ``again``: a person has
    allowed another run, or that run has its intent. ``late`` is how the body ended before the call
    had a result; the result will say so.
    """

    tool: str
    digest: str
    key: str | None
    attempts: int
    arguments: str = "{}"
    in_doubt: bool = False
    still_running: bool = False
    doubtful: bool = False
    again: Literal["allowed", "begun"] | None = None
    late: Late | None = None
    edited: bool = False


class Effect(Struct):
    """A write that took effect.

    ``counter`` is the checkpoint of its result; 0 where that became known later. ``by`` says who
    found out. ``arguments`` is None where they are those the model asked with, in the journal.
    """

    tool: str
    digest: str
    key: str | None
    attempts: int
    counter: int = 0
    by: str = BODY
    arguments: str | None = None
    state: EffectState = "succeeded"


class Answer(Struct, frozen=True):
    """What an equal call is told: the result of this call, which became known late."""

    call: CallId
    content: str
    blob: str | None = None
    value_type: str | None = None


class Ledger:
    """The entries of one session; changed by the fold alone."""

    __slots__ = ("abandoned", "again", "answers", "effects", "open")

    def __init__(self) -> None:
        self.open: dict[CallId, CallEntry] = NO_DICT
        self.effects: dict[CallId, Effect] = NO_DICT
        self.answers: dict[str, Answer] = NO_DICT
        self.again: dict[CallId, CallEntry] = NO_DICT
        self.abandoned = NO_NAMES

    @property
    def in_doubt(self) -> dict[CallId, CallEntry]:
        """Calls whose effect is unknown, in the order in which they were asked for."""
        return {call: self.open[call] for call in sorted(self.open) if self.open[call].in_doubt}

    # ------------------------------------------------------------ the fold

    def intended(self, entry: Intended, asked: ToolCall | None) -> None:
        """An attempt is about to begin."""
        call = (entry.n, entry.index)
        known = self.open.get(call)
        if known is None:
            arguments = asked.arguments if asked else "{}"
            known = CallEntry(entry.tool, entry.digest, entry.key, entry.attempt, arguments)
            self.open = own(self.open)
            self.open[call] = known
        elif known.again is not None:
            known.again = "begun"
        known.digest, known.key = entry.digest, entry.key
        known.attempts, known.doubtful = entry.attempt, entry.doubtful

    def resulted(self, entry: Resulted, asked: ToolCall) -> bool:
        """Take a call's one result; tell whether a write took effect."""
        call = (entry.n, entry.index)
        if entry.state == "in_doubt":
            self._doubt(call, entry, asked)
            return False
        if entry.by == RECORD:
            self.answers.pop(entry.digest, None)  # once: another equal call is meant as such
        known = self.open.pop(call, None)
        if known is None or entry.state != "succeeded":
            return False
        self._took_effect(call, known, entry.counter, entry.by)
        return True

    def _doubt(self, call: CallId, entry: Resulted, asked: ToolCall) -> None:
        known = self.open.get(call)
        if known is None:
            # A doubt without an intent: a history from elsewhere.
            known = CallEntry(asked.name, entry.digest, None, entry.attempts, asked.arguments)
            self.open = own(self.open)
            self.open[call] = known
        known.in_doubt, known.still_running = True, entry.still_running

    def late(self, entry: Late) -> None:
        """Take what became known after an attempt was given up."""
        call = (entry.n, entry.index)
        known = self.open.get(call)
        if known is None or (known.again == "begun" and entry.by == BODY):
            return  # the run that a person allowed has the word
        if not known.in_doubt:
            if entry.state != "in_doubt":
                known.late = entry  # its result is still to come
            return
        known.again = None
        self.again.pop(call, None)
        if entry.state == "in_doubt":
            known.still_running = entry.still_running
            return
        del self.open[call]
        if entry.state == "succeeded":
            self._took_effect(call, known, 0, entry.by)
            self.answers = own(self.answers)
            self.answers[known.digest] = Answer(call, entry.content, entry.blob, entry.value_type)
        elif entry.state == "denied":
            self.abandoned |= {known.digest}

    def allowed(self, entry: Allowed) -> None:
        """A person lets a call in doubt run again, perhaps with other arguments."""
        call = (entry.n, entry.index)
        known = self.open.get(call)
        if known is None or not known.in_doubt:
            return
        if entry.arguments is not None:
            known.arguments, known.edited = entry.arguments, True
        known.digest, known.key = entry.digest, entry.key
        known.again = "allowed"
        self.again = own(self.again)
        self.again[call] = known

    def ended(self) -> None:
        """The session has ended: nobody runs again what a person allowed before that."""
        for known in self.again.values():
            known.again = None
        self.again.clear()

    def _took_effect(self, call: CallId, known: CallEntry, counter: int, by: str) -> None:
        arguments = known.arguments if known.edited else None
        later = self._later_than(call) if by in FOUND_OUT else []
        moved = {other: self.effects.pop(other) for other in later}
        self.effects = own(self.effects)
        self.effects[call] = Effect(
            known.tool, known.digest, known.key, known.attempts, counter, by, arguments
        )
        self.effects.update(moved)

    def _later_than(self, call: CallId) -> list[CallId]:
        """Return the effects that came behind a call's own, of which nobody knew at the time.

        Those of later calls, and of calls that a person had run again; the rest of the order stands.
        """
        calls = list(self.effects)
        later = (at for at, each in enumerate(calls) if self._is_later(each, call))
        return calls[next(later, len(calls)) :]

    def _is_later(self, other: CallId, call: CallId) -> bool:
        return other > call or self.effects[other].by == AGAIN
