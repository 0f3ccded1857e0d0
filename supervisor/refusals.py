"""Errors of use: what the tree refuses, with the value and the way out in the message."""

from .errors import UkemiError, UsageError
from .exits import ExitReason, describe


class InvalidSpec(UsageError):
    """A specification cannot be used; nothing was started."""


class ActorGone(UkemiError):
    """Nobody is at this address: never started, ended for good, or died before it replied."""

    def __init__(self, path: str, why: str = "is not running") -> None:
        super().__init__(f"{path!r} {why}; start it again, or look it up with kernel.tree()")
        self.path = path


class MailboxFull(UkemiError):
    """The message was not accepted, since this many already wait."""

    def __init__(self, path: str, waiting: int) -> None:
        super().__init__(
            f"{path!r} has {waiting} messages waiting, its mailbox_max; try later, or use ask()"
        )
        self.path = path
        self.waiting = waiting


class AskTimeout(UkemiError, TimeoutError):
    """No reply in time; the message may still be handled, its reply will be dropped."""

    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__(f"{path!r} did not reply within {timeout_s:g} s")
        self.path = path
        self.timeout_s = timeout_s


class StartFailed(UkemiError):
    """A child, or the whole tree, did not start; nothing of it is left running."""

    def __init__(self, child: str, reason: ExitReason) -> None:
        super().__init__(f"{child!r} did not start: {describe(reason)}")
        self.child = child
        self.reason = reason


class AlreadyStarted(UkemiError):
    """A child of this id runs."""

    def __init__(self, child: str, incarnation: int) -> None:
        super().__init__(f"{child!r} is already running; terminate_child it first")
        self.child = child
        self.incarnation = incarnation


class AlreadyPresent(UkemiError):
    """The id is taken by a child that does not run at the moment."""

    def __init__(self, child: str) -> None:
        super().__init__(f"{child!r} is there, not running; restart_child or delete_child it")
        self.child = child


class ChildNotFound(UkemiError):
    """The supervisor has no such child."""

    def __init__(self, child: str, supervisor: str) -> None:
        super().__init__(f"supervisor {supervisor!r} has no child {child!r}; see which_children()")
        self.child = child


class ChildRunning(UkemiError):
    """The call needs a child that is down."""

    def __init__(self, child: str) -> None:
        super().__init__(f"{child!r} is running; terminate_child it first")
        self.child = child


class ChildRestarting(UkemiError):
    """The call needs a child that is down, and this one waits for its next start."""

    def __init__(self, child: str) -> None:
        super().__init__(f"{child!r} is being restarted; terminate_child ends the attempts")
        self.child = child


class ChildLimitReached(UkemiError):
    """``children_max`` children are there; nothing was started."""

    def __init__(self, supervisor: str, children_max: int) -> None:
        super().__init__(f"supervisor {supervisor!r} has {children_max} children, its children_max")
        self.children_max = children_max


class NotForDynamic(UkemiError):
    """Children of a dynamic supervisor are forgotten when they end; there is nothing to keep."""

    def __init__(self, call: str, supervisor: str) -> None:
        super().__init__(f"{call} does not apply to the dynamic supervisor {supervisor!r}")


class SupervisorGone(UkemiError):
    """The supervisor is not running, or ended before it came to this call."""

    def __init__(self, path: str, reason: ExitReason | None = None) -> None:
        why = f": {describe(reason)}" if reason is not None else ""
        super().__init__(f"supervisor {path!r} is not running{why}")
        self.path = path
        self.reason = reason


class TreeGaveUp(UkemiError):
    """The root supervisor ended by itself: a failure that no restart cured reached the top."""

    def __init__(self, path: str, reason: ExitReason) -> None:
        super().__init__(f"the tree {path!r} gave up: {describe(reason)}")
        self.path = path
        self.reason = reason


class KernelNotClosed(UkemiError):
    """These children did not end within ``close_s_max``; the loop cannot end while they run."""

    def __init__(self, names: tuple[str, ...], close_s_max: float) -> None:
        listed = ", ".join(names[:10]) + (" ..." if len(names) > 10 else "")
        super().__init__(
            f"{len(names)} children still run {close_s_max:g} s after closing began: {listed}; "
            "mend what swallows their cancellation, or end the process"
        )
        self.names = names
