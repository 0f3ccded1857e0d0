"""The one way into a session's journal: entries in order, one row under way at a time.

What is appended is folded into the state at once, in the order in which it will be stored; nothing
that depends on it being durable goes on before the acknowledgement. Text turns ride along: they
wait for the next row that somebody needs stored.
"""

from collections.abc import Sequence
from typing import Protocol

from ..stores.base import Append, Conflict, Done, Facts, Fenced, Head, StoreFailed, Written
from ..stores.records import JournalEntry, Resulted, SessionStatus, encode_entry, join_row
from ..supervisor.errors import UkemiError
from ..supervisor.loops import OneShot
from .checkpoint import CheckpointActor
from .latch import Futures
from .state import SessionState

Blob = tuple[str, bytes]


class Acknowledgement:
    """Waits for one row; several may wait for the same.

    A future for each waiter: on the step path an event of anyio's costs several times as much.
    """

    __slots__ = ("_futures", "_others", "_waiter", "error", "stored")

    def __init__(self, futures: Futures) -> None:
        self._futures = futures
        # Nearly always the only one.
        self._waiter: OneShot | None = None
        self._others: tuple[OneShot, ...] = ()
        self.stored = False
        self.error: UkemiError | None = None

    def set(self, error: UkemiError | None) -> None:
        """The row is durable, or will not become so by itself."""
        self.stored, self.error = error is None, error
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():  # done: whoever waited was cancelled
            waiter.set_result(None)
        if self._others:
            others, self._others = self._others, ()
            for other in others:
                if not other.done():
                    other.set_result(None)

    async def wait(self) -> None:
        """Return once the row is durable.

        Raises:
            StoreError: it was refused, or the store failed for longer than it is waited for.
        """
        if not self.stored and self.error is None:
            waiter = self._futures.future()
            if self._waiter is None:
                self._waiter = waiter
            else:
                self._others = (*self._others, waiter)
            await waiter
        if self.error is not None:
            raise self.error


class _Row:
    """A row under way: what was asked for, kept until the store has answered."""

    __slots__ = ("_journal", "acknowledgement", "write")

    def __init__(self, journal: "Journal", write: Append, acknowledgement: Acknowledgement) -> None:
        self._journal = journal
        self.write = write
        self.acknowledgement = acknowledgement

    def done(self, written: Written) -> None:
        """The store has answered."""
        self._journal.answered(self, written)


class Keeper(Protocol):
    """Who keeps a journal: the session that is driven here."""

    def stored(self, entries: Sequence[JournalEntry], /) -> None:
        """Hear of the entries of a row, once it is durable."""
        ...


class Journal:
    """Appends of one session, owned under one epoch."""

    __slots__ = (
        "_blobs",
        "_checkpoint",
        "_encoded",
        "_entries",
        "_facts",
        "_flying",
        "_keeper",
        "_next",
        "_row_counter",
        "_state",
        "_status",
        "_taken",
        "_waiting",
        "counter",
        "epoch",
        "fenced",
        "next_n",
        "seq",
    )

    def __init__(
        self,
        state: SessionState,
        checkpoint: CheckpointActor,
        keeper: Keeper,
        *,
        epoch: int,
        seq: int,
    ) -> None:
        self._state = state
        self._checkpoint = checkpoint
        self._keeper: Keeper | None = keeper
        self.epoch = epoch
        self.seq = seq
        self.counter = self._row_counter = state.counter
        self.next_n = state.next_n
        self._encoded: list[bytes] = []
        self._waiting: list[JournalEntry] = []
        self._blobs: tuple[Blob, ...] = ()
        self._status: SessionStatus = "running"
        self._facts: Facts | None = None
        self._taken: tuple[str, ...] = ()
        self._next: Acknowledgement | None = None
        self._flying: _Row | None = None
        self._entries: Sequence[JournalEntry] = ()
        self.fenced = False

    def take_n(self) -> int:
        """Give out the next message number."""
        n, self.next_n = self.next_n, self.next_n + 1
        return n

    def take_counter(self) -> int:
        """Give out the next checkpoint counter."""
        self.counter += 1
        return self.counter

    def ride(self, entry: JournalEntry) -> None:
        """Add an entry that is stored with the next row.

        Raises:
            TypeError, UnicodeEncodeError, OverflowError: it cannot be stored; nothing has changed.
        """
        self._encoded.append(encode_entry(entry))
        self._waiting.append(entry)
        self._state.apply(entry)

    def append(
        self,
        *entries: JournalEntry,
        blobs: Sequence[Blob] = (),
        status: SessionStatus = "running",
        facts: Facts | None = None,
        taken: tuple[str, ...] = (),
    ) -> Acknowledgement:
        """Add entries and start storing them; the acknowledgement says when they are durable.

        A ``status`` other than running ends the ownership with this row. ``taken`` names the
        posted decisions that these entries apply.

        Raises:
            TypeError, UnicodeEncodeError, OverflowError: it cannot be stored; nothing has changed.
        """
        # What cannot be stored must fail here, before anybody believes that it happened.
        if len(entries) == 1:
            self._encoded.append(encode_entry(entries[0]))
        else:
            self._encoded += [encode_entry(entry) for entry in entries]
        self._waiting += entries
        if blobs:
            self._blobs = (*self._blobs, *blobs)
        self._status = status
        if facts is not None:
            self._facts = facts
        if taken:
            self._taken += taken
        apply = self._state.apply
        for entry in entries:
            apply(entry)
            if type(entry) is Resulted:
                self._row_counter = entry.counter
        if self._next is None:
            self._next = Acknowledgement(self._checkpoint)
        acknowledgement = self._next
        if self._flying is None:
            self._launch()
        elif self._flying.acknowledgement.error is not None:
            self._fail_next(self._flying.acknowledgement.error)
        return acknowledgement

    def _fail_next(self, error: UkemiError) -> None:
        """Tell whoever waits for the next row that the one before it is not stored.

        The row in front goes on only by `recover`: perhaps nobody else waits for it, and so nobody
        would ever ask for that. What is to be stored is kept, and goes out behind it.
        """
        if self._next is not None:
            self._next.set(error)
            self._next = Acknowledgement(self._checkpoint)

    async def recover(self, head: Head) -> None:
        """Go on after the checkpoint actor or the store failed: ``head`` is what is stored.

        The row under way is acknowledged where it arrived after all, and submitted again where it
        did not. Returns once everything that was to be stored is durable, riders aside.

        Raises:
            Fenced: the session has been taken over meanwhile.
            StoreError: the store fails again.
        """
        if head.epoch != self.epoch:
            self.fenced = True
            raise Fenced(f"session {head.session_id} was taken over (epoch {head.epoch})")
        row = self._flying
        if row is not None and head.seq >= row.write.seq:
            self.answered(row, Done(self.epoch, row.write.seq))
        elif row is not None:
            if row.acknowledgement.error is not None:
                # It has told its waiters; the next try needs a new one.
                row.acknowledgement = Acknowledgement(self._checkpoint)
            self._checkpoint.submit(row)
        while self._flying is not None:
            await self._flying.acknowledgement.wait()

    def abandon(self, error: UkemiError) -> None:
        """Nothing more will be stored from here: tell whoever still waits for it."""
        for acknowledgement in (self._flying and self._flying.acknowledgement, self._next):
            if acknowledgement and not acknowledgement.stored:
                acknowledgement.set(error)

    def release(self) -> None:
        """Nothing more is stored from here: lead back to nobody, so that all of it is freed at once."""
        self._keeper = None

    def unsaved(self) -> list[JournalEntry]:
        """Return what is known here and not acknowledged by the store."""
        return [*self._entries, *self._waiting]

    def _launch(self) -> None:
        """Start storing everything that waits as one row."""
        acknowledgement = self._next
        assert acknowledgement is not None
        self._entries, self._waiting = self._waiting, []
        self._next = None
        append = Append(
            session_id=self._state.session_id,
            epoch=self.epoch,
            seq=self.seq + 1,
            counter=self._row_counter,
            body=join_row(self._encoded),
            blobs=self._blobs,
            status=self._status,
            facts=self._facts,
            taken=self._taken,
        )
        self._encoded.clear()
        self._blobs, self._facts, self._taken = (), None, ()
        row = self._flying = _Row(self, append, acknowledgement)
        self._checkpoint.submit(row)

    def answered(self, row: _Row, written: Written) -> None:
        """The store has answered for a row."""
        if row is not self._flying:
            return  # answered already, by way of resubmit
        if isinstance(written, Done):
            self._flying = None
            self.seq = row.write.seq
            entries, self._entries = self._entries, ()
            if self._keeper is not None:
                self._keeper.stored(entries)
            row.acknowledgement.set(None)
            if self._next is not None:
                self._launch()
            return
        if isinstance(written, StoreFailed):
            # Kept under way: whoever restarts the session submits it again.
            row.acknowledgement.set(written)
            self._fail_next(written)
            return
        self._flying = None
        self.fenced = self.fenced or isinstance(written, (Fenced, Conflict))
        row.acknowledgement.set(written)
        if self._next is not None:
            self._next.set(written)
            self._next = None
