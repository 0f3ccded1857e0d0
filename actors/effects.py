"""The effects of a session as its journal tells of them: what was asked for, and what became of it. Pure.

One record for each write that was begun, in the order in which the calls were first begun, and one for
each call that was answered from the record of an equal one. A read changes nothing, and a write that
was refused before its intent did nothing, so neither is here.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import Struct

from ..stores.records import (
    Allowed,
    Answered,
    CallState,
    Decided,
    Intended,
    JournalEntry,
    Judged,
    Late,
    Probed,
    Resulted,
    RolledBack,
    RollingBack,
    ToolCall,
    Undone,
)
from .ledger import PERSON, RECORD, CallId, EffectState
from .undo.unwound import LEDGER_STATES

EffectStands = CallState | EffectState | Literal["running"]


class EffectRecord(Struct, kw_only=True, omit_defaults=True):
    """One write: what it was asked to do, how it stands, and who says so.

    Attributes:
        state: ``running`` where it was begun and has no result yet; the rest as the ledger has it.
        arguments: those of the run that counts, where a person gave it others than the model.
        content: the result, or the error.
        checkpoint: that of the call's one result; None: there is none yet.
        replayed: the result was not given by the body when it was asked for.
        by: who says how it stands: empty for the body itself, ``probe``, ``record``, ``late``,
            ``again`` for a run that a person allowed, ``person``.
        who: the person's name, where one decided.
        probed: what the probe said last.
        undo: what became of its undoing last, as in `Undone`; ``abandoned`` stands as succeeded.
    """

    n: int
    index: int
    tool: str
    arguments: str
    state: EffectStands = "running"
    attempts: int = 1
    key: str | None = None
    digest: str = ""
    content: str = ""
    checkpoint: int | None = None
    error_class: str | None = None
    blob: str | None = None
    value_type: str | None = None
    replayed: bool = False
    still_running: bool = False
    by: str = ""
    who: str = ""
    probed: str = ""
    undo: str = ""

    @property
    def call(self) -> CallId:
        return self.n, self.index


def records_of(entries: Iterable[JournalEntry]) -> list[EffectRecord]:
    """Return the effects of a journal, in the order in which they were begun."""
    reader = _Reader()
    for entry in entries:
        reader.read(entry)
    return list(reader.found.values())


class _Reader:
    """Effects so far, and what was asked for."""

    def __init__(self) -> None:
        self.found: dict[CallId, EffectRecord] = {}
        self._asked: dict[CallId, ToolCall] = {}
        self._who = ""
        self._undoes = 0
        self._backed: dict[int, tuple[CallId, ...]] = {}

    def read(self, entry: JournalEntry) -> None:
        match entry:
            case Answered():
                self._asked.update(
                    {(entry.n, index): call for index, call in enumerate(entry.calls)}
                )
            case Intended():
                self._intended(entry)
            case Resulted():
                self._resulted(entry)
            case Judged():
                self._judged(entry)
            case Decided():
                self._who = "" if entry.problem else entry.by  # what it did comes right behind it
            case RollingBack():
                self._undoes = entry.undoes
            case RolledBack():
                self._rolled_back(entry)
            case Late() | Allowed() | Probed() | Undone():
                known = self.found.get((entry.n, entry.index))
                if known is not None:
                    self._settle(known, entry)
            case _:
                pass

    def _rolled_back(self, entry: RolledBack) -> None:
        """Files are back; where the rollback takes an earlier one back, that one's effects stand again."""
        if entry.state != "done":
            return
        for call in self._backed.pop(self._undoes, ()):
            self.found[call].state = "succeeded"
        self._backed[entry.n] = tuple(call for call in entry.undone if call in self.found)
        for call in self._backed[entry.n]:
            self.found[call].state = "rolled_back"

    def _judged(self, entry: Judged) -> None:
        """A person may have let the call run with other arguments."""
        asked = self._asked.get((entry.n, entry.index))
        if asked is not None and entry.arguments is not None:
            changed = msgspec.structs.replace(asked, arguments=entry.arguments)
            self._asked[entry.n, entry.index] = changed

    def _intended(self, entry: Intended) -> None:
        call = (entry.n, entry.index)
        asked = self._asked.get(call)
        if call not in self.found:
            arguments = asked.arguments if asked else "{}"
            self.found[call] = EffectRecord(
                n=entry.n, index=entry.index, tool=entry.tool, arguments=arguments
            )
        known = self.found[call]
        known.attempts, known.key, known.digest = entry.attempt, entry.key, entry.digest

    def _resulted(self, entry: Resulted) -> None:
        call = (entry.n, entry.index)
        asked = self._asked.get(call)
        known = self.found.get(call)
        if known is None:
            if entry.by != RECORD and entry.state != "in_doubt":
                return
            name, arguments = (asked.name, asked.arguments) if asked else ("?", "{}")
            known = EffectRecord(n=entry.n, index=entry.index, tool=name, arguments=arguments)
            self.found[call] = known
        known.state, known.content, known.checkpoint = entry.state, entry.content, entry.counter
        known.attempts, known.digest = entry.attempts, entry.digest or known.digest
        known.error_class, known.blob, known.value_type = (
            entry.error_class,
            entry.blob,
            entry.value_type,
        )
        known.replayed, known.still_running, known.by = (
            entry.replayed,
            entry.still_running,
            entry.by,
        )

    def _settle(self, known: EffectRecord, entry: Late | Allowed | Probed | Undone) -> None:
        match entry:
            case Late():
                self._late(known, entry)
            case Allowed():
                known.arguments = entry.arguments or known.arguments
                known.who = self._who
            case Probed():
                known.probed = entry.answer
            case Undone():
                if entry.state != "again":
                    known.state = LEDGER_STATES[entry.state]
                known.undo = entry.state
                if entry.by:
                    known.by, known.who = entry.by, self._who

    def _late(self, known: EffectRecord, entry: Late) -> None:
        if known.state in ("running", "in_doubt"):
            known.still_running = entry.still_running
            if entry.state == "in_doubt":
                return
            known.state, known.content, known.by = entry.state, entry.content, entry.by or "late"
            known.blob, known.value_type = entry.blob, entry.value_type
            known.error_class = entry.error_class
            known.attempts = max(known.attempts, entry.attempt)
            if entry.by == PERSON:
                known.who = self._who
