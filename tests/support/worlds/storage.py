"""The store of a world: it fails by plan, it outlives the process, and it tells what is committed."""

from collections.abc import Sequence
from random import Random
from typing import Any

import anyio
from anyio.lowlevel import checkpoint
from msgspec import Struct, field

from ukemi.stores.base import Append, Create, Done, Post, StoreFailed, Write, Written
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import (
    Answered,
    Decided,
    Ended,
    Intended,
    JournalEntry,
    Judged,
    Resulted,
    Said,
    StagedCheck,
    Undoing,
    decode_row,
)
from ukemi.testing.passing_on import PassingOn

from .outside import CallId, Outside
from .plan import StoreFault


class Committed(Struct):
    """What is durable of one session, as it was committed row by row."""

    entries: list[JournalEntry] = field(default_factory=list[JournalEntry])
    seq: int = 0
    newest_n: int = 0
    counter: int = 0
    intents: dict[CallId, int] = field(default_factory=dict[CallId, int])
    undoings: dict[CallId, int] = field(default_factory=dict[CallId, int])
    judged: dict[CallId, Judged] = field(default_factory=dict[CallId, Judged])
    checked: set[CallId] = field(default_factory=set[CallId])
    answered: dict[str, CallId] = field(default_factory=dict[str, CallId])
    resulted: dict[CallId, Resulted] = field(default_factory=dict[CallId, Resulted])
    said: set[str] = field(default_factory=set[str])
    posts: dict[str, Post] = field(default_factory=dict[str, Post])
    decided: dict[str, Decided] = field(default_factory=dict[str, Decided])
    ended: Ended | None = None

    def add(self, entry: JournalEntry) -> None:
        """Take in an entry that was committed."""
        self.entries.append(entry)
        match entry:
            case Intended():
                self.intents[entry.n, entry.index] = entry.attempt
            case Undoing():
                self.undoings[entry.n, entry.index] = entry.attempt
            case Judged():
                self.judged[entry.n, entry.index] = entry
            case StagedCheck(problem=""):
                self.checked.add((entry.n, entry.index))
            case Answered():
                self.answered |= {each.id: (entry.n, at) for at, each in enumerate(entry.calls)}
            case Resulted():
                self.resulted[entry.n, entry.index] = entry
            case Said():
                self.said.add(entry.text)
            case Decided():
                self.decided[entry.about] = entry
            case Ended():
                self.ended = entry
            case _:
                pass


class Kept(MemoryStore):
    """What outlives every process; it takes note of each write in the instant in which that is kept."""

    def __init__(self, outside: Outside) -> None:
        super().__init__()
        self._outside = outside

    def _write(self, write: Write) -> Written:
        result = super()._write(write)
        self._took(write, result)
        return result

    def _took(self, write: Write, result: Written) -> None:
        outside = self._outside
        name = type(write).__name__.lower()
        if not isinstance(result, Done):
            outside.note(f"store refused {name}: {result}")
            return
        if isinstance(write, Create | Append):
            known = outside.committed.setdefault(write.session_id, Committed())
            known.seq, known.counter = result.seq, max(known.counter, _counter(write))
            entries = decode_row(write.body)
            for entry in entries:
                known.add(entry)
                known.newest_n = max(known.newest_n, getattr(entry, "n", 0))
                if isinstance(entry, Ended) and entry.status == "completed":
                    at = (outside.now(), known.newest_n)
                    outside.completed_at.setdefault(write.session_id, []).append(at)
                if isinstance(entry, Undoing):
                    call = (entry.n, entry.index)
                    outside.undoing_at.setdefault((write.session_id, call), outside.now())
            shown = " ".join(_shown(entry) for entry in entries)
            outside.note(f"stored {write.session_id} {result.seq}: {shown}")
            if outside.secret.encode() in write.body:
                outside.broken(f"the secret is in a row of {write.session_id}")
        elif isinstance(write, Post):
            outside.committed[write.session_id].posts[write.about] = write
            outside.note(f"posted {write.session_id} {write.about}")


class WorldStore(PassingOn):
    """The store as one life of the process sees it.

    Args:
        inner: what outlives the process.
        number: of the life; a store of an earlier life does nothing any more.
    """

    def __init__(
        self, inner: Kept, outside: Outside, faults: Sequence[StoreFault], number: int
    ) -> None:
        super().__init__(inner)
        self._outside = outside
        self._faults = faults
        self._life = number
        self._dice = Random(f"store {outside.seed} {number}")
        self.cut_off_until = 0.0
        """Until then nothing goes to the store, and nothing comes back."""

    def _alive(self) -> None:
        self._outside.alive(self._life)

    async def _reached(self) -> None:
        left_s = self.cut_off_until - self._outside.now()
        if left_s > 0:
            await anyio.sleep(left_s)
        self._alive()

    async def open(self) -> None:
        self._alive()
        await self.inner.open()

    async def close(self) -> None:
        self._alive()  # what is kept stays open: another process may use it

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        results: list[Written] = []
        # As the real ones do: who is cancelled meanwhile still gets the result.
        with anyio.CancelScope(shield=True):
            results = await self._commit(list(writes))
        return results

    async def _commit(self, writes: list[Write]) -> list[Written]:
        outside = self._outside
        self._alive()
        outside.commits += 1
        fault = self._due(outside.commits, ("fail", "lost", "slow"))
        outside.reach("commit_before", self._life)
        if fault is not None:
            outside.note(f"store {fault.do}")
        wait_s = fault.delay_s if fault is not None and fault.do == "slow" else 0.0
        await anyio.sleep(wait_s or self._dice.random() * 0.02)
        await self._reached()
        if fault is not None and fault.do == "fail":
            raise StoreFailed("planned: nothing was stored")
        results = await self.inner.commit(writes)
        outside.reach("commit_after", self._life)
        await anyio.sleep(self._dice.random() * 0.01)
        await self._reached()
        if fault is not None and fault.do == "lost":
            raise StoreFailed("planned: it was stored, and the answer got lost")
        return results

    def _due(self, number: int, kinds: tuple[str, ...]) -> StoreFault | None:
        for fault in self._faults:
            if fault.do in kinds and fault.at <= number < fault.at + fault.times:
                return fault
        return None

    async def before_read(self) -> None:
        outside = self._outside
        self._alive()
        outside.reads += 1
        await checkpoint()
        await self._reached()
        if self._due(outside.reads, ("read",)) is not None:
            outside.note("store read fails")
            raise StoreFailed("planned: it could not be read")


def _counter(write: Create | Append) -> int:
    return write.counter if isinstance(write, Append) else 0


def _shown(entry: JournalEntry) -> str:
    """Return an entry in a word or two, for the trace."""
    data: Any = entry
    words = [type(entry).__name__.lower()]
    if hasattr(entry, "index"):
        words.append(f"{data.n}.{data.index}")
    words += [
        str(getattr(data, name))
        for name in ("state", "attempt", "verdict", "about")
        if hasattr(data, name)
    ]
    return ":".join(words)
