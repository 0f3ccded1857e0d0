"""A tool's functions, watched: what they do, how they end, and the faults that strike around them.

The function keeps its signature, so the runtime treats the tool as it would the real one.
"""

import asyncio
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import coroutine
from typing import Any, cast

import anyio
import msgspec

from ...actors.tooling.bodies import is_async
from ...actors.tooling.context import CallContext, current
from ...actors.tooling.marks import NotDone
from ...actors.tooling.tools import AnyTool, Tool
from .planted import error_text, value_text
from .record import BodyKind, BodyRun
from .world import Killed, World, kind_of, never, strikes_after, strikes_before

Function = Callable[..., Any]

_SAID_CHARS_MAX = 500


def watched(tool: AnyTool, body: Function, world: World, *, undo: Any, probe: Any) -> AnyTool:
    """Return a tool that runs this body, this compensation and this probe under the world's eye."""
    marks: dict[str, Any] = {}
    if undo is not None:
        marks["compensate"] = _companion(undo, tool, world)
    if probe is not None:
        marks["probe"] = _companion(probe, tool, world)
    return tool.with_body(_function(body, tool.__wrapped__, tool, world), **marks)


def _companion(function: Any, tool: AnyTool, world: World) -> Any:
    if isinstance(function, Tool):
        own = cast(AnyTool, function)
        return own.with_body(_function(own.__wrapped__, own.__wrapped__, tool, world))
    return _function(function, function, tool, world)


def _function(body: Function, shown: Function, tool: AnyTool, world: World) -> Function:
    """Return a function with the signature of ``shown`` that runs the body."""
    if is_async(body):

        async def in_loop(*args: Any, **given: Any) -> Any:
            return await _Watched(tool, world).in_loop(functools.partial(body, *args, **given))

        wrapper: Function = in_loop
    else:

        def in_thread(*args: Any, **given: Any) -> Any:
            return _Watched(tool, world).in_thread(functools.partial(body, *args, **given))

        wrapper = in_thread
    functools.update_wrapper(wrapper, shown)
    # A callable object has no name to take over.
    wrapper.__signature__ = inspect.signature(shown)  # type: ignore[attr-defined]
    return wrapper


class _Watched:
    """One time that a function runs."""

    def __init__(self, tool: AnyTool, world: World) -> None:
        self._tool = tool
        self._world = world
        self._context: CallContext = current()
        self._kind: BodyKind = kind_of(self._context)
        self._run: BodyRun | None = None
        self._fault = ""

    # ------------------------------------------------------------ the two ways to run

    async def in_loop(self, body: Callable[[], Awaitable[Any]]) -> Any:
        try:
            self._begin()
            if self._fault == "hang":
                self._struck()
                coro = cast("Coroutine[Any, Any, Any]", body())
                value = await _left_waiting(coro, self._entered)
            else:
                value = await body()
            self._entered.result = _shown(value)
            if self._fault == "late":
                self._struck()
                await anyio.sleep(self._late_s())
            return self._returned(value)
        except Killed:
            self._killed()
            await never()
        except BaseException as error:
            self._raised(error, cancelled=_is_cancelled(error))
            raise

    def in_thread(self, body: Callable[[], Any]) -> Any:
        try:
            self._begin()
            value = body()
            if inspect.isawaitable(value):
                return self._awaited(value)
            self._entered.result = _shown(value)
            if self._fault in ("hang", "late"):
                self._struck()
                self._sleep(None if self._fault == "hang" else self._late_s())
            return self._returned(value)
        except Killed:
            self._killed()
            raise
        except BaseException as error:
            self._raised(error, cancelled=False)
            raise

    async def _awaited(self, value: Awaitable[Any]) -> Any:
        """A plain wrapper around an async function: the rest of it runs in the loop."""
        try:
            return self._returned(await value)
        except Killed:
            self._killed()
            await never()
        except BaseException as error:
            self._raised(error, cancelled=_is_cancelled(error))
            raise

    # ------------------------------------------------------------ around the body

    @property
    def _entered(self) -> BodyRun:
        assert self._run is not None  # made when it began
        return self._run

    def _begin(self) -> None:
        world = self._world
        world.live()
        self._run = world.enter(self._kind, self._tool.name, self._context)
        self._fault = world.due(self._kind, self._run.call)
        if strikes_before(self._fault) and not self._strikes_inside():
            world.strike(self._fault, self._run)

    def _struck(self) -> None:
        self._world.seen.struck += 1
        self._entered.planned = True

    def _strikes_inside(self) -> bool:
        """Whether this fault waits for the body to reach a stub."""
        cell = self._world.cell
        assert cell is not None  # or no fault was due
        if self._kind == "undo" and self._fault == "kill_before":
            return False
        return cell.step.inside

    def _returned(self, value: Any) -> Any:
        world, run = self._world, self._entered
        world.live()
        fault = world.due(self._kind, run.call)
        if strikes_after(fault):
            world.strike(fault, run)
        run.how, run.said = "returned", _shown(value)
        if self._kind == "probe":
            run.answer = _probe_answer(value)
            run.effects_then = world.standing(run.call)
        if run.asleep and _cancelled_from_outside():
            run.swallowed = f"it returned {run.said}"
        world.search(f"{self._what()}: its result", value_text(value), raw=True)
        world.leave(run)
        return value

    def _raised(self, error: BaseException, *, cancelled: bool) -> None:
        run = self._run
        if run is None:
            return
        run.how = "cancelled" if cancelled else "raised"
        run.said = f"{type(error).__name__}: {error}"[:_SAID_CHARS_MAX]
        if run.asleep and not cancelled and _cancelled_from_outside():
            run.swallowed = f"it raised {run.said}"
        self._world.search(f"{self._what()}: its error", error_text(error), raw=True)
        self._world.leave(run)

    def _killed(self) -> None:
        # One that slept on purpose is woken when all is over: it never ended.
        if self._run is not None and not self._run.asleep:
            self._run.how = "killed"

    def _what(self) -> str:
        of = {"call": "", "undo": "compensation of ", "probe": "probe of "}[self._kind]
        return f"{of}{self._tool.name}"

    # ------------------------------------------------------------ waiting

    def _late_s(self) -> float:
        return 1.5 * (self._tool.marks.timeout_s or 0.0) + 1.0

    def _sleep(self, seconds: float | None) -> None:
        """Sleep in a thread: for so many seconds of the loop's time, or until the run is over."""
        life = self._world.live()
        awake = threading.Event()
        if seconds is not None:
            life.loop.call_soon_threadsafe(lambda: life.loop.call_later(seconds, awake.set))
        self._entered.asleep = True
        life.asleep += 1
        try:
            (life.over if seconds is None else awake).wait()
        finally:
            life.asleep -= 1
        if seconds is None:
            raise Killed


@coroutine
def _left_waiting(coro: Coroutine[Any, Any, Any], run: BodyRun) -> Generator[Any, Any, Any]:
    """Run a body up to where it waits for the first time, and never give it what it waits for.

    Its own limits still work, and so do its answers to a cancellation: they are raised inside of it. A
    body that waits for nothing gets its end, and its answer never comes.
    """
    try:
        waits_for = coro.send(None)
    except StopIteration:
        run.asleep = True
        yield from never().__await__()
        raise AssertionError("never came") from None
    run.asleep = True
    if isinstance(waits_for, asyncio.Future):
        # What says to the loop that the task waits for it; the task does not.
        cast(Any, waits_for)._asyncio_future_blocking = False
    try:
        yield from never().__await__()
        raise AssertionError("never came")
    except BaseException as error:  # noqa: BLE001 - whatever ends the wait is the body's to answer
        ended: BaseException = error
    return (yield from _go_on(coro, ended))


def _go_on(coro: Coroutine[Any, Any, Any], error: BaseException) -> Generator[Any, Any, Any]:
    """Raise an error where a body waits, and run it from there on as its task would."""
    try:
        waits_for = coro.throw(error)
        while True:
            try:
                got = yield waits_for
            except BaseException as raised:  # noqa: BLE001 - it is the body's
                waits_for = coro.throw(raised)
            else:
                waits_for = coro.send(got)
    except StopIteration as done:
        return done.value


def _is_cancelled(error: BaseException) -> bool:
    return isinstance(error, asyncio.CancelledError) and _cancelled_from_outside()


def _cancelled_from_outside() -> bool:
    try:
        return anyio.current_effective_deadline() == float("-inf")
    except Exception:  # noqa: BLE001 - in a thread there is no loop to ask
        return False


def _probe_answer(value: object) -> str:
    if isinstance(value, NotDone):
        return "not_done"
    return "unclear" if value is None or value is False else "done"


def _shown(value: object) -> str:
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, msgspec.MsgspecError):
        text = value_text(value).partition("\n")[0]
    return text[:_SAID_CHARS_MAX]
