"""A handle on a supervisor, by its path; valid over restarts, like a reference."""

from collections.abc import Callable
from typing import Any, cast

from . import calls
from .address import Ref
from .calls import ChildCount, ChildInfo
from .child import Child
from .errors import ErrorClass
from .events import Call
from .exits import ExitReason, Killed
from .machine import Machine
from .refusals import SupervisorGone
from .services import Services
from .specs import Spec


class Supervisor:
    """Manage children by call.

    A supervisor handles one thing at a time, in the order of arrival; a call waits for its turn.
    If the caller is cancelled meanwhile, the call is carried out all the same.

    Every call raises ``SupervisorGone`` if the supervisor is not running, or ends before its turn.
    """

    def __init__(
        self, services: Services, look_up: Callable[[str], Machine | None], path: str
    ) -> None:
        self._services = services
        self._look_up = look_up
        self._last: Machine | None = None
        self.path = path

    def __repr__(self) -> str:
        return f"Supervisor({self.path!r})"

    @property
    def alive(self) -> bool:
        """Whether it runs at this moment."""
        return self._look_up(self.path) is not None

    async def start_child(self, spec: Spec | str) -> Ref[Any]:
        """Add a child at the end of the order and start it; with a template, give its id alone.

        Returns its address; ``ref.first`` is 0 if the body answered ``IgnoreStart``.

        Raises:
            StartFailed: it did not start; nothing is kept of it and nothing is retried.
            AlreadyStarted: the id is taken and runs.
            AlreadyPresent: the id is taken by a child that is down or being restarted.
            ChildLimitReached: ``children_max`` children are there.
            InvalidSpec: it does not fit this supervisor.
        """
        return self._ref(*cast("calls.Begun", await self._call(calls.start_child(spec))))

    def start_child_soon(self, spec: Spec | str) -> Ref[Any]:
        """Start a child of a dynamic supervisor without waiting; messages can be sent at once.

        It is started at once even while the supervisor is busy with another child. If it does not
        get ready this is reported, and told to ``on_give_up``.

        Raises:
            AlreadyStarted, ChildLimitReached, InvalidSpec: as in ``start_child``.
            NotForDynamic: this supervisor is not dynamic.
        """
        return self._ref(calls.start_child_soon(self._machine(), spec))

    async def terminate_child(self, id: str, incarnation: int | None = None) -> None:
        """Stop a child within its time. Its specification stays, unless temporary or dynamic.

        Args:
            incarnation: stop this life only, and leave a later one alone.

        Raises:
            ChildNotFound: there is no such child, or its life is another by now.
        """
        await self._call(calls.terminate_child(id, incarnation))

    async def restart_child(self, id: str) -> Ref[Any]:
        """Start a child that is down.

        Raises:
            ChildRunning, ChildRestarting, ChildNotFound: it is not down.
            StartFailed: it did not start; its specification stays.
            NotForDynamic: a dynamic supervisor keeps no child that is down.
        """
        return self._ref(*cast("calls.Begun", await self._call(calls.restart_child(id))))

    async def delete_child(self, id: str) -> None:
        """Remove the specification of a child that is down.

        Raises:
            ChildRunning, ChildRestarting, ChildNotFound: it is not down.
            NotForDynamic: a dynamic supervisor keeps no child that is down.
        """
        await self._call(calls.delete_child(id))

    async def which_children(self) -> list[ChildInfo]:
        """List the children, the last started first."""
        return cast(list[ChildInfo], await self._call(calls.which_children))

    async def count_children(self) -> ChildCount:
        """Count specifications, running children, supervisors and workers."""
        return cast(ChildCount, await self._call(calls.count_children))

    async def get_childspec(self, id: str) -> Spec:
        """Return the specification of a child.

        Raises:
            ChildNotFound: there is no such child.
        """
        return cast(Spec, await self._call(calls.get_childspec(id)))

    def kill_child(
        self, id: str, reason: str = "", error_class: ErrorClass = ErrorClass.UNKNOWN
    ) -> None:
        """Cancel a child now. It counts as an abnormal end, so its restart type decides.

        If it has not ended within the kernel's ``kill_grace_s`` it is given up.

        Raises:
            ChildNotFound: there is no such child.
        """
        calls.kill_child(self._machine(), id, Killed(reason, error_class))

    def stop_child_soon(self, id: str) -> None:
        """Ask a child of a dynamic supervisor to stop, and do not keep the supervisor waiting.

        It has its shutdown time and is forgotten afterwards; ``wait_child`` waits for that.

        Raises:
            ChildNotFound: there is no such child.
        """
        calls.stop_child_soon(self._machine(), id)

    async def wait_child(self, id: str) -> ExitReason | None:
        """Wait until a child is gone for good, and return how it ended; at once if it is not there.

        Also returns when the supervisor itself ends or is restarted.
        """
        machine = self._look_up(self.path)
        child = machine.kids.get(id) if machine is not None else None
        if child is None:
            return None
        gone = self._services.loop.future()
        watchers = child.watchers = child.watchers if child.watchers is not None else []

        def tell() -> None:
            if not gone.done():
                gone.set_result(None)

        watchers.append(tell)
        try:
            await gone
        finally:
            if tell in watchers:
                watchers.remove(tell)
        return child.final

    def _ref(self, child: Child, first: int = 0) -> Ref[Any]:
        return Ref(self._services, child.path, child, first)

    def _machine(self) -> Machine:
        machine = self._last
        if machine is not None and machine.accepting:  # so no other can be at this path
            return machine
        machine = self._last = self._look_up(self.path)
        if machine is None:
            raise SupervisorGone(self.path)
        return machine

    async def _call(self, script: calls.Script) -> object:
        call = Call(script, self._services.loop.future())
        self._machine().post(call)
        assert call.done is not None
        await call.done
        if call.error is not None:
            raise call.error
        return call.value
