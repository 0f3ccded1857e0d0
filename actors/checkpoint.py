"""The checkpoint actor: the only writer of the store, with natural group commit.

It takes everything that is waiting, commits it in one transaction, and acknowledges after COMMIT.
A passing fault of the store is waited out here, so that it never repeats a tool: the write is
tried again alone, the step that led to it is not.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import anyio
from msgspec import Struct

from ..stores.base import (
    Append,
    Conflict,
    Create,
    Done,
    Fenced,
    SessionExists,
    Store,
    StoreError,
    StoreFailed,
    Write,
    Written,
)
from ..supervisor import ActorGone, Context, MailboxFull, Ref, Reply
from ..supervisor.clock import Clock
from ..supervisor.collector import COLLECTOR
from ..supervisor.errors import UkemiError
from ..supervisor.loops import Loop, OneShot, current_loop

BATCH_MAX = 1024
"""Writes in one transaction at most: bounds what a failing one can touch."""

MAILBOX_MAX = 200_000
"""Each active session has at most one write under way, so this is a number of sessions."""

_DELAY_S_FIRST = 0.05
_DELAY_S_MAX = 1.0


class Commit(Protocol):
    """A write that is asked for; ``done`` is called once, synchronously, after COMMIT or with the refusal."""

    @property
    def write(self) -> Write: ...
    @property
    def done(self) -> Callable[[Written], None]: ...


class Asked(Struct, frozen=True):
    """A write, and who is told of it."""

    write: Write
    done: Callable[[Written], None]


class CheckpointActor:
    """Owns the store's writer.

    Args:
        retry_s_max: seconds for which a store that fails is tried again; then the writes of the
            batch fail with `StoreFailed` and their sessions keep what they wanted to store.
        on_fault: told of each failing commit and of an acknowledgement that raised.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        retry_s_max: Callable[[], float],
        on_fault: Callable[[str], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._retry_s_max = retry_s_max
        self._on_fault = on_fault
        self.ref: Ref[Commit] | None = None
        self.commits = 0
        self._loop: Loop | None = None

    def future(self) -> OneShot:
        """Return a future of the loop that this actor serves."""
        if self._loop is None:
            self._loop = current_loop()
        return self._loop.future()

    async def run(self, ctx: Context[Commit]) -> None:
        """Serve until the runtime stops; what waits at the end is still committed."""
        self.ref = ctx.ref
        ctx.ready()
        while True:
            # Named nowhere while the next is waited for: a row leads to all of its session.
            await self._serve_all(await ctx.take())

    async def _serve_all(self, waiting: list[Commit]) -> None:
        for start in range(0, len(waiting), BATCH_MAX):
            await self._serve(waiting[start : start + BATCH_MAX])
            COLLECTOR.look()  # work was done: a second is long for what its tools may leave

    def submit(self, commit: Commit) -> None:
        """Ask for a write without waiting; a refusal to take it is reported like any other."""
        try:
            if self.ref is None:
                raise ActorGone("checkpoint", "the checkpoint actor has not started")
            self.ref.tell(commit)
        except (ActorGone, MailboxFull) as error:
            commit.done(StoreFailed(f"the checkpoint actor takes no writes now: {error}"))

    async def commit(self, write: Write) -> Done:
        """Do one write and return once it is durable.

        Raises:
            StoreError: the write was refused, or the store failed for longer than it is waited for.
        """
        if self.ref is None:
            raise StoreFailed("the checkpoint actor has not started")
        try:
            written = await self.ref.ask(partial(_commit_for, write))
        except (ActorGone, MailboxFull) as error:
            raise StoreFailed(f"the checkpoint actor did not answer: {error}") from error
        if isinstance(written, Done):
            return written
        raise written

    async def _serve(self, batch: list[Commit]) -> None:
        written = await self._commit([commit.write for commit in batch])
        for commit, result in zip(batch, written, strict=True):
            try:
                commit.done(result)
            except Exception as error:  # noqa: BLE001 - one session's fault must not cost the others their answer
                self._on_fault(f"an acknowledgement raised {type(error).__name__}: {error}")

    async def _commit(self, writes: list[Write]) -> list[Written]:
        began_at = self._clock.now()
        delay_s = _DELAY_S_FIRST
        failed = False
        while True:
            try:
                written = await self._store.commit(writes)
                if failed:
                    written = [
                        await self._arrived(write, result)
                        for write, result in zip(writes, written, strict=True)
                    ]
            except Exception as error:  # noqa: BLE001 - whatever a store raises, its callers get an answer
                self._on_fault(f"the store failed: {type(error).__name__}: {error}")
                failed = True
                if self._clock.now() + delay_s > began_at + self._retry_s_max():
                    return [_failed(error)] * len(writes)
                await anyio.sleep(delay_s)
                delay_s = min(delay_s * 2, _DELAY_S_MAX)
            else:
                self.commits += 1
                return written

    async def _arrived(self, write: Write, result: Written) -> Written:
        """Acknowledge a write that was refused because its failed first try had been stored.

        A connection may break behind COMMIT, and then nobody is told. A row under our own epoch
        is ours: a session has one write under way.
        """
        if not isinstance(result, (Conflict, Fenced, SessionExists)):
            return result
        match write:
            case Append(session_id=session_id, epoch=epoch, seq=seq):
                head = await self._store.head(session_id)
                ours = (head.epoch, head.seq) == (epoch, seq)
            case Create(session_id=session_id, owner=owner):
                head = await self._store.head(session_id)
                ours = (head.epoch, head.seq, head.owner) == (1, 1, owner)
            case _:
                return result
        return Done(head.epoch, head.seq) if ours else result


def _commit_for(write: Write, reply: Reply[Written]) -> Commit:
    return Asked(write, reply.set)


def _failed(error: Exception) -> UkemiError:
    if isinstance(error, StoreError):
        return error
    return StoreFailed(f"{type(error).__name__}: {error}")
