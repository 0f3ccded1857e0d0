"""Restores as journaled operations: written down before the first change, finished or undone after a kill.

Before the first change the journal holds every step with the state before and after it, and the
contents of both are stored. A later start therefore needs no memory: it looks at each path and knows
whether its step is done.
"""

import os
import secrets
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct

from ...supervisor.errors import UsageError
from .changes import Touched
from .entries import path_text
from .objects import ContentLost, Objects
from .plans import Left, Plan
from .rules import Rules
from .steps import Outcome, Walk, contents_of, open_top

State = Literal["running", "stopped", "done", "undoing", "undone"]
"""``running`` after a kill too; ``stopped``: an error ended it; both wait to be finished or undone.
``undoing``: an undo has begun, and it is that which may wait."""


class Record(Struct, frozen=True):
    """A restore as it is kept.

    Attributes:
        restore_id: its name.
        place: the tree's path as the system has it.
        rules: under which the tree is looked at when this is undone.
        plan: what it does.
        state: how far it has come.
        outcomes: what became of its steps, once it has ended.
        undoes: the restore it takes back, if it is an undo.
        at_ms: when it began, in milliseconds since the epoch.
    """

    restore_id: str
    place: bytes
    rules: Rules
    plan: Plan
    state: State = "running"
    outcomes: tuple[Outcome, ...] = ()
    undoes: str = ""
    at_ms: int = 0


class Report(Struct, frozen=True):
    """What a restore did, path by path.

    Attributes:
        restore_id: with which it can be undone, or finished; empty if nothing was to be done.
        state: ``done``, or ``stopped`` by an error.
        outcomes: of every step.
        left: what was planned to be left alone.
    """

    restore_id: str
    state: State
    outcomes: tuple[Outcome, ...] = ()
    left: tuple[Left, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether everything the session changed is as it was at the target."""
        bad = ("changed meanwhile", "failed", "not tried")
        return not self.left and all(one.did not in bad for one in self.outcomes)

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths that were changed, as text."""
        did = ("restored", "deleted")
        return tuple(path_text(one.path) for one in self.outcomes if one.did in did)


class RestoreUnknown(UsageError):
    """No restore of this name is kept."""


class Journal:
    """The restores that are kept beside the contents."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def begin(self, record: Record) -> None:
        """Write a restore down, unless another one is open for the same tree.

        Raises:
            UsageError: one is; finish or undo it first.
        """
        with self._objects.writing() as connection:
            query = "SELECT id FROM restore WHERE place = ? AND state IN ('running', 'stopped')"
            row = connection.execute(query, (record.place,)).fetchone()
            if row is not None and row[0] != record.undoes:
                raise UsageError(f"restore {row[0]} of this tree is open: finish or undo it first")
            connection.execute("INSERT INTO restore VALUES (?, ?, ?, ?, ?)", _row(record))
            if record.undoes:
                update = "UPDATE restore SET state = 'undoing' WHERE id = ?"
                connection.execute(update, (record.undoes,))

    def end(self, *records: Record) -> None:
        """Write down how restores stand, together."""
        with self._objects.writing() as connection:
            for record in records:
                connection.execute("REPLACE INTO restore VALUES (?, ?, ?, ?, ?)", _row(record))

    def get(self, restore_id: str) -> Record:
        """Return a restore.

        Raises:
            RestoreUnknown: there is none of this name.
        """
        with self._objects.reading() as connection:
            query = "SELECT body FROM restore WHERE id = ?"
            row = connection.execute(query, (restore_id,)).fetchone()
        if row is None:
            raise RestoreUnknown(f"no restore {restore_id!r} is kept")
        return _decoder.decode(row[0])

    def pending(self) -> list[Record]:
        """Return the restores that a kill or an error left open, oldest first."""
        query = "SELECT body FROM restore WHERE state IN ('running', 'stopped') ORDER BY at, id"
        with self._objects.reading() as connection:
            return [_decoder.decode(body) for (body,) in connection.execute(query)]

    def roots(self) -> list[str]:
        """Return the trees that kept restores need."""
        with self._objects.reading() as connection:
            bodies = connection.execute("SELECT body FROM restore").fetchall()
        plans = [_decoder.decode(body).plan for (body,) in bodies]
        return [root for plan in plans for root in (plan.target, plan.current)]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Record)


def _row(record: Record) -> tuple[str, bytes, str, int, bytes]:
    at_s = record.at_ms // 1000
    return record.restore_id, record.place, record.state, at_s, _encoder.encode(record)


class Restorer:
    """Begins, finishes and takes back restores of any tree.

    Args:
        objects: the contents, and the journal.
        synced: whether what is done survives a power cut.

    ``pause`` is called between two steps; what it raises leaves the restore open.
    """

    def __init__(self, objects: Objects, *, synced: bool) -> None:
        self._objects = objects
        self._synced = synced
        self.journal = Journal(objects)

    def begin(
        self,
        place: bytes,
        rules: Rules,
        plan: Plan,
        pause: Callable[[], None],
        undoes: str = "",
        restore_id: str = "",
    ) -> Report:
        """Do a plan.

        Args:
            restore_id: a name that was never used; empty: a fresh one. Who writes it down beforehand
                finds out after a kill whether this had begun.

        Raises:
            ContentLost: a content it needs is not stored; nothing was changed.
            UsageError: another restore of this tree is open.
            OSError: the tree cannot be opened; the restore is left open.
        """
        if not plan.steps:
            self.journal.end(*self._taken_back(undoes))
            return Report("", "done", left=plan.left)
        wanted = contents_of(plan.steps)
        gone = self._objects.renew(wanted.values())
        lost = [path_text(path) for path, digest in wanted.items() if digest in gone]
        if lost:
            raise ContentLost(f"the contents of {lost[:5]} are not stored any more")
        record = Record(
            restore_id=restore_id or secrets.token_hex(6),
            place=place,
            rules=rules,
            plan=plan,
            undoes=undoes,
            at_ms=int(self._objects.clock() * 1000),
        )
        self.journal.begin(record)
        return self._walk(record, pause)

    def finish(self, restore_id: str, pause: Callable[[], None]) -> Report:
        """Do what an open restore has not done yet; of one that has ended, report again.

        Raises:
            RestoreUnknown: there is none of this name.
        """
        record = self.journal.get(restore_id)
        if record.state in ("done", "undoing", "undone"):
            return Report(restore_id, record.state, record.outcomes, record.plan.left)
        return self._walk(record, pause)

    def _walk(self, record: Record, pause: Callable[[], None]) -> Report:
        top = open_top(os.fsdecode(record.place))
        try:
            walk = self._walk_of(top, record)
            walk.clean(record.plan.steps)
            outcomes = walk.all(record.plan.steps, pause)
        finally:
            os.close(top)
        halted = any(one.did in ("failed", "not tried") for one in outcomes)
        ended = msgspec.structs.replace(
            record, state="stopped" if halted else "done", outcomes=outcomes
        )
        taken_back = [] if halted else self._taken_back(record.undoes)
        self.journal.end(ended, *taken_back)
        return Report(ended.restore_id, ended.state, outcomes, record.plan.left)

    def _taken_back(self, undone: str) -> list[Record]:
        """Return how a restore stands after its undo, and so what that had undone itself."""
        if not undone:
            return []
        record = self.journal.get(undone)
        changed = [msgspec.structs.replace(record, state="undone")]
        if record.undoes:
            first = self.journal.get(record.undoes)
            whole = first.outcomes and all(one.did != "not tried" for one in first.outcomes)
            changed.append(msgspec.structs.replace(first, state="done" if whole else "stopped"))
        return changed

    def _walk_of(self, top: int, record: Record) -> Walk:
        return Walk(top, record.restore_id, self._objects.get, synced=self._synced)

    def before_undo(self, record: Record) -> dict[bytes, Touched]:
        """Tidy up after an interrupted walk, and return what the restore may have changed."""
        top = open_top(os.fsdecode(record.place))
        try:
            walk = self._walk_of(top, record)
            walk.clean(record.plan.steps)
            walk.close_folders(record.plan.steps)
            return {
                step.path: Touched(step.now, None if walk.between(step) else step.want)
                for step in record.plan.steps
            }
        finally:
            os.close(top)
