"""What the body of a child is given: its mailbox, its clock, and its duties at the end."""

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

import anyio
from anyio import CancelScope, CapacityLimiter
from anyio.lowlevel import checkpoint

from .address import Ref
from .blocking import BlockingCall, describe_call
from .child import Child, Life
from .exits import ExitReason
from .refusals import ActorGone, MailboxFull
from .reports import LateOutcome
from .services import Services
from .timers import Timer

M = TypeVar("M")
T = TypeVar("T")

# A body that always finds messages would never let others run.
_MESSAGES_PER_ROUND = 256
# What a context begins with; never added to, so that one list does for all of them.
_NO_BATCH: list[Any] = []


class Context(Generic[M]):
    """One life of a child, seen from inside."""

    __slots__ = ("_batch", "_future", "_life", "_ready", "_services", "_tally")

    def __init__(self, life: Life, services: Services, ready: Callable[[object], None]) -> None:
        self._life = life
        self._services = services
        self._ready = ready
        self._future = services.loop.future
        self._batch: list[M] = _NO_BATCH
        self._tally = 0

    @property
    def ref(self) -> Ref[M]:
        """The child's own address, to be handed to others."""
        child = self._life.child
        return Ref(self._services, child.path, child)

    @property
    def incarnation(self) -> int:
        """Which life this is, counted from 1."""
        return self._life.n

    @property
    def stop_asked(self) -> ExitReason | None:
        """What it was told to end with, or None. In a clean-up it tells killed from shut down."""
        return self._life.asked

    def find(self, path: str) -> Ref[Any]:
        """Return the address of another child of this tree."""
        return Ref(self._services, path)

    def now(self) -> float:
        """Return the kernel's monotonic seconds."""
        return self._services.now()

    def ready(self, info: object = None) -> None:
        """Report that the start is done; a second call does nothing.

        With ``wait_ready`` the next sibling starts in the loop's next round. ``info`` is what
        ``ref.info`` shows.
        """
        self._ready(info)

    async def receive(self) -> M:
        """Take the next message, waiting for it.

        A message is taken once: if this life crashes while it handles one, that one is lost and an
        ``ask`` in it is refused; those not taken yet wait for the next life.
        """
        life = self._life
        child = life.child
        while True:
            if self._batch:
                if self._tally < _MESSAGES_PER_ROUND:
                    self._tally += 1
                    return self._batch.pop()
                self._tally = 0
                await checkpoint()
            elif child.life is not life:
                raise self._lost()
            elif child.inbox:
                batch: list[M] = child.inbox
                child.inbox = None
                if len(batch) == 1 and self._tally < _MESSAGES_PER_ROUND:
                    # The usual case of a question and its answer, without a turn of this loop.
                    self._tally += 1
                    return batch[0]
                batch.reverse()
                self._batch = batch
            else:
                # If this is cancelled the waiter is done, and a message leaves it alone.
                waiter = child.waiter = self._future()
                await waiter
                self._tally = 0

    async def take(self) -> list[M]:
        """Take all messages that wait, at least one, waiting for it."""
        if self._batch:
            batch, self._batch = self._batch[::-1], []
        else:
            batch = await self._take()
        self._tally += len(batch)
        if self._tally >= _MESSAGES_PER_ROUND:
            self._tally = 0
            self._batch = batch[::-1]  # not lost if we are cancelled here
            await checkpoint()
            batch, self._batch = self._batch[::-1], []
        return batch

    def receive_nowait(self) -> M | None:
        """Take the next message, or None if there is none."""
        if not self._batch:
            self._batch = self._mine().take()[::-1]
        return self._batch.pop() if self._batch else None

    async def _take(self) -> list[M]:
        child = self._mine()
        while not child.inbox:
            waiter = child.waiter = self._future()
            await waiter
            child = self._mine()
        return child.take()

    def _mine(self) -> Child:
        """Return the child, unless this life was given up and its address is another's by now."""
        child = self._life.child
        if child.life is not self._life:
            raise self._lost()
        return child

    def _lost(self) -> ActorGone:
        path = self._life.child.path
        return ActorGone(path, "was given up; this life has no mailbox any more")

    def put_back(self) -> None:
        """Return what was fetched but not received; called when the body has ended."""
        if self._batch:
            child = self._life.child
            if child.life is self._life:
                child.put_back(self._batch[::-1])
            self._batch = []

    def after(self, seconds: float, message: M) -> Timer:
        """Send itself a message in so many seconds, unless this life has ended by then."""
        return self._services.timers.after(seconds, partial(self._remind, message))

    def _remind(self, message: M) -> None:
        if self._life.alive:
            try:
                self.ref.tell(message)
            except (ActorGone, MailboxFull):
                # A reminder has no sender to refuse to; it is as lost as a message in a full box.
                self._life.child.report_unexpected(message)

    def cleanup(self, seconds: float) -> CancelScope:
        """Return a scope for clean-up: shielded from cancellation, ended after so many seconds.

        The only way to await something while being stopped::

            finally:
                with ctx.cleanup(2.0):
                    await connection.close()
        """
        return anyio.move_on_after(seconds, shield=True)

    async def run_blocking(
        self,
        work: Callable[..., T],
        *args: object,
        limiter: CapacityLimiter | None = None,
        name: str = "",
        on_late: Callable[[LateOutcome], object] | None = None,
    ) -> T:
        """Run a plain function in a thread.

        When this is cancelled the caller is released at once and the thread runs on: its effect
        is in doubt. Its outcome is reported as ``LateOutcome``, to ``on_late`` too.

        Args:
            limiter: how many such threads at a time. Give each kind of work its own: stuck calls
                keep their place, and the default one is shared by the whole program.
        """
        child = self._life.child
        call: BlockingCall[T] = BlockingCall(
            self._services,
            (child.owner.label, child.id),
            name or describe_call(work),
            partial(work, *args),
            on_late,
        )
        return await call.run(limiter)
