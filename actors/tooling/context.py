"""Where a tool's body runs: which session, which call, which attempt.

The runtime sets it around each body. It is a context variable, so parallel bodies, their tasks and
their threads each see their own.
"""

from contextvars import ContextVar
from typing import Protocol

from msgspec import Struct

from ...supervisor.errors import UsageError


class CallContext(Struct, frozen=True, kw_only=True):
    """What a body may know of its call.

    ``call`` is the number of the assistant message and the index in it: with ``session_id`` the
    call's name, the same in every attempt and after every restart. ``deadline`` is on the event
    loop's clock (`anyio.current_time`); None: no limit. ``key`` is the idempotency key, for tools
    that accept one. ``undo``: the body is the compensation of that call;
    ``probe``: it is asked whether that call took effect.
    """

    session_id: str
    agent: str
    tool: str
    call: tuple[int, int]
    attempt: int = 1
    key: str | None = None
    deadline: float | None = None
    working_directory: str = ""
    undo: bool = False
    probe: bool = False


class UnderWay(Protocol):
    """An attempt that says what its body may know of the call, once the body asks."""

    def context(self) -> CallContext: ...


running: ContextVar[CallContext | UnderWay] = ContextVar("ukemi_call")
"""The call that runs here; set by whoever runs its body, and by `calling`."""


def current() -> CallContext:
    """Return the call this code runs for; works in async bodies, their tasks, and in threads.

    Raises:
        UsageError: no tool call is running here.
    """
    context = current_or_none()
    if context is None:
        raise UsageError(
            "current() works only while a tool's body runs; "
            "outside of a session, open a call with `with calling(CallContext(...))`"
        )
    return context


def current_or_none() -> CallContext | None:
    """Return the call this code runs for, or None outside of one."""
    found = running.get(None)
    return found if found is None or isinstance(found, CallContext) else found.context()


class calling:
    """Run a block as the body of this call."""

    __slots__ = ("_context", "_token")

    def __init__(self, context: CallContext) -> None:
        self._context = context

    def __enter__(self) -> CallContext:
        self._token = running.set(self._context)
        return self._context

    def __exit__(self, *exc: object) -> None:
        running.reset(self._token)
