"""A child: the record that survives restarts, and is the address its messages wait at."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from .exits import ExitReason
from .refusals import ActorGone, MailboxFull
from .reports import MessagesDropped, UnexpectedMessage
from .rules import Activity
from .specs import ChildSpec, ChildType, Spec

if TYPE_CHECKING:
    from .services import Services
    from .timers import Timer


class Waker(Protocol):
    """What a message wakes: a future of a waiting body, or an idle child without a task."""

    def done(self) -> bool: ...
    def set_result(self, result: None, /) -> object: ...


class Pending(Protocol):
    """A reply that somebody waits for."""

    def abandon(self) -> None: ...


class Owner(Protocol):
    """The supervisor of a child, as the child sees it."""

    @property
    def path(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def services(self) -> "Services": ...
    def child_exited(self, child: "Child", life: "Life") -> None: ...
    def child_ready(self) -> None: ...


class Life:
    """One incarnation of a child: a task, or a supervisor with its children."""

    __slots__ = ("alive", "asked", "child", "ignored", "info", "n", "ready", "reason", "since")

    def __init__(self, child: "Child", now: float) -> None:
        self.child = child
        # A start that fails is no life: its number is used again.
        self.n = child.n + 1
        self.alive = True
        self.ready = False
        self.ignored = False
        self.info: object = None
        self.reason: ExitReason | None = None
        # Set when it was told to stop; an end on demand of its supervisor is not a crash.
        self.asked: ExitReason | None = None
        self.since = now

    def become_ready(self) -> None:
        self.ready = True
        self.child.n = self.n

    def begin(self) -> None:
        """Start running; synchronous."""
        raise NotImplementedError

    def ask_stop(self) -> None:
        """Tell it to stop in its own time."""
        raise NotImplementedError

    def kill(self, reason: ExitReason) -> None:
        """Cancel it, with this as its exit whatever it does now."""
        raise NotImplementedError

    def give_up(self, after_s: float) -> None:
        """Treat it as ended although it runs."""
        raise NotImplementedError


class Child:
    """Specification, state, mailbox. Made once per entry in a supervisor's list."""

    __slots__ = (
        "asks",
        "attempts",
        "box_max",
        "closed",
        "final",
        "history",
        "id",
        "inbox",
        "life",
        "lives",
        "n",
        "owner",
        "restarting",
        "spec",
        "timer",
        "waiter",
        "watchers",
    )

    def __init__(self, owner: Owner, spec: Spec, id: str, n: int = 0) -> None:
        self.owner = owner
        self.spec = spec
        # Instances of a template share its specification, and differ in this.
        self.id = id
        self.n = n
        self.life: Life | None = None
        self.restarting = False
        # Refuses messages: ended for good, or stopped and not to be restarted by itself.
        self.closed = False
        self.inbox: list[Any] | None = None
        self.box_max = spec.mailbox_max if isinstance(spec, ChildSpec) else 0
        self.waiter: Waker | None = None
        self.asks: dict[Pending, object] | None = None
        self.watchers: list[Callable[[], object]] | None = None
        self.history: tuple[float, ...] = ()
        self.attempts = 0
        self.timer: Timer | None = None
        self.final: ExitReason | None = None
        # Of a supervisor: how often each of its static children has lived.
        self.lives: dict[str, int] | None = None

    @property
    def path(self) -> str:
        above = self.owner.path
        return f"{above}/{self.id}" if above else self.id

    @property
    def type(self) -> ChildType:
        return self.spec.type if isinstance(self.spec, ChildSpec) else ChildType.SUPERVISOR

    @property
    def activity(self) -> Activity:
        if self.life is not None:
            return Activity.RUNNING
        return Activity.RESTARTING if self.restarting else Activity.DOWN

    def refuse(self) -> Exception:
        """Return why a message was not taken, for a full box or a supervisor."""
        if not isinstance(self.spec, ChildSpec):
            return ActorGone(self.path, "is a supervisor and reads no messages")
        return MailboxFull(self.path, len(self.inbox or ()))

    def report_unexpected(self, message: object) -> None:
        kind = type(message).__qualname__
        self.owner.services.report(
            UnexpectedMessage(supervisor=self.owner.label, child=self.id, type_name=kind)
        )

    def take(self) -> list[Any]:
        box, self.inbox = self.inbox, None
        return box if box is not None else []

    def put_back(self, messages: list[Any]) -> None:
        """Return messages that were taken and not handled to the head of the box."""
        if messages:
            self.inbox = messages + (self.inbox or [])

    def expect(self, reply: Pending, message: object) -> None:
        asks = self.asks
        if asks is None:
            self.asks = {reply: message}
        else:
            asks[reply] = message

    def forget(self, reply: Pending) -> None:
        asks = self.asks
        if asks is not None:
            asks.pop(reply, None)
            if not asks:
                self.asks = None

    def life_ended(self) -> None:
        """Refuse the asks that this life took and can no longer answer."""
        self.waiter = None
        if self.asks:
            waiting = {id(message) for message in self.inbox or ()}
            for reply, message in list(self.asks.items()):
                if id(message) not in waiting:
                    reply.abandon()
                    self.forget(reply)

    def close(self) -> None:
        """Refuse messages from now on, and answer those that wait."""
        self.closed = True
        self.restarting = False
        if self.timer is not None:
            self.cancel_timer()
        unread = len(self.take()) if self.inbox else 0
        self.life_ended()
        if unread:
            owner = self.owner
            owner.services.report(
                MessagesDropped(supervisor=owner.label, child=self.id, count=unread)
            )

    def bury(self, reason: ExitReason | None) -> None:
        """Close for good and tell those who wait for the end."""
        self.final = reason
        self.close()
        watchers, self.watchers = self.watchers, None
        for watcher in watchers or ():
            watcher()

    def cancel_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
