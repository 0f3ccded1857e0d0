"""References and replies: how one talks to a child without holding it."""

from collections.abc import Callable
from typing import Generic, TypeVar, cast

from .child import Child
from .loops import OneShot
from .refusals import ActorGone, AskTimeout
from .services import Services

M = TypeVar("M")
T = TypeVar("T")


class Reply(Generic[T]):
    """Where the answer to one ``ask`` goes. One-shot: what comes late or second is dropped."""

    __slots__ = ("_done", "_error", "_path", "_value", "_waiter", "expired")

    def __init__(self, path: str, waiter: OneShot) -> None:
        self._path = path
        self._waiter = waiter
        self._done = False
        self.expired = False
        self._value: T | None = None
        self._error: BaseException | None = None

    @property
    def open(self) -> bool:
        """Whether somebody still waits for it."""
        return not self._done

    def set(self, value: T) -> None:
        """Answer; synchronous."""
        if not self._done:
            self._value = value
            # As in _finish; a call less for every answer.
            self._done = True
            if not self._waiter.done():
                self._waiter.set_result(None)

    def fail(self, error: BaseException) -> None:
        """Answer with an error, which ``ask`` raises; synchronous."""
        if not self._done:
            self._error = error
            self._finish()

    def abandon(self) -> None:
        """Refuse, since the life that took the message has ended."""
        self.fail(ActorGone(self._path, "ended before it replied"))

    def _finish(self) -> None:
        self._done = True
        if not self._waiter.done():
            self._waiter.set_result(None)

    def expire(self) -> None:
        """Stop waiting, since the time is over; for ``ask`` alone, as is what follows."""
        self.expired = not self._done
        if self.expired:
            self._finish()

    def close(self) -> None:
        """Drop what comes from now on."""
        self._done = True

    def result(self) -> T:
        """Return the answer, or raise the error that was the answer."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return cast(T, self._value)


class Ref(Generic[M]):
    """The address of a child by its path; stays valid over restarts of it and of what is above."""

    __slots__ = ("_child", "_services", "first", "path")

    def __init__(
        self, services: Services, path: str, child: Child | None = None, first: int = 0
    ) -> None:
        self._services = services
        self._child = child
        self.path = path
        # The life that start_child or restart_child started; 0 if that start was ignored, or if
        # the address was made from its path.
        self.first = first

    def __repr__(self) -> str:
        return f"Ref({self.path!r})"

    def tell(self, message: M) -> None:
        """Put a message into the child's mailbox, without waiting.

        The message is kept while the child is being restarted. Order is kept per sender.

        Raises:
            MailboxFull: ``mailbox_max`` messages wait already.
            ActorGone: the child is not running and will not be restarted by itself.
        """
        child = self._child
        if child is None or child.closed:
            child = self._resolve()
        inbox = child.inbox
        if inbox is not None and len(inbox) < child.box_max:
            inbox.append(message)
        elif inbox is None and child.box_max:
            child.inbox = [message]
        else:
            if not child.box_max:
                child.report_unexpected(message)
            raise child.refuse()
        waiter = child.waiter
        if waiter is not None:
            child.waiter = None
            if not waiter.done():
                waiter.set_result(None)

    async def ask(self, build: Callable[[Reply[T]], M], timeout_s: float | None = None) -> T:
        """Send the message that ``build`` makes of a reply port, and wait for the reply.

        Args:
            timeout_s: seconds to wait. None: until the reply, or until the life that took the
                message ends.

        Raises:
            AskTimeout: no reply in time.
            ActorGone: nobody is there, or the life that took the message ended without a reply.
            MailboxFull: ``mailbox_max`` messages wait already.
        """
        services = self._services
        waiter = services.loop.future()
        reply: Reply[T] = Reply(self.path, waiter)
        message = build(reply)
        self.tell(message)
        child = self._child
        assert child is not None  # tell() found it
        child.expect(reply, message)
        # A bound method: a closure would be five objects more for the collector to look at.
        timer = None if timeout_s is None else services.timers.after(timeout_s, reply.expire)
        try:
            await waiter
        finally:
            reply.close()
            child.forget(reply)
            if timer is not None:
                timer.cancel()
        if reply.expired and timeout_s is not None:
            raise AskTimeout(self.path, timeout_s)
        return reply.result()

    def _resolve(self) -> Child:
        child = self._services.find(self.path)
        if child is None or child.closed:
            raise ActorGone(self.path)
        self._child = child
        return child

    def _look(self) -> Child | None:
        if self._child is None or self._child.closed:
            self._child = self._services.find(self.path) or self._child
        return self._child

    @property
    def alive(self) -> bool:
        """Whether a life of the child runs at this moment."""
        child = self._look()
        return child is not None and child.life is not None and child.life.alive

    @property
    def incarnation(self) -> int:
        """Which life of the child is or was the latest, counted from 1; 0 if it never started."""
        child = self._look()
        return child.n if child is not None else 0

    @property
    def info(self) -> object:
        """What the child handed to ``ctx.ready(info)`` in its present life."""
        child = self._look()
        return child.life.info if child is not None and child.life is not None else None
