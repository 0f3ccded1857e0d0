"""Plain functions and fixed answers in the place of a tool's functions."""

import inspect
from collections.abc import Mapping
from typing import Any, cast

from ...actors.tooling.bodies import is_async
from ...actors.tooling.context import current_or_none
from ...actors.tooling.tools import AnyTool
from ..effects import EffectStub
from .stubs import Function, Ok, Stub


class Plain:
    """A plain function as a stub: each call that it answers is one effect.

    The other side is taken to honour keys. Of a tool that is safe to retry it cannot be told whether a
    repeat did anything, so a repeat counts for none.
    """

    def __init__(self, stub: Stub, tool: AnyTool, *, counts: bool) -> None:
        self.stub = EffectStub(name=tool.name, once_per=("key",))
        self._function = _function_of(stub)
        self._tool = tool
        self._counts = counts

    def body(self) -> Function:
        """Return it as the body of its tool, in the tool's own way to run."""
        if is_async(self._function):

            async def in_loop(**given: Any) -> Any:
                known = self._begin(given)
                if known is not None:
                    return known.answer
                return self._end(given, await _called(self._function, given))

            return in_loop

        def in_thread(**given: Any) -> Any:
            known = self._begin(given)
            return (
                known.answer
                if known is not None
                else self._end(given, _called(self._function, given))
            )

        async def in_turn(**given: Any) -> Any:
            return in_thread(**given)

        return in_turn if self._tool.is_async else in_thread

    def _begin(self, given: Mapping[str, Any]) -> Any:
        return self.stub.arrive(self._named(given), counts=self._counts)

    def _end(self, given: Mapping[str, Any], answer: object) -> object:
        self.stub.leave(self._named(given), answer, counts=self._counts)
        return answer

    def _named(self, given: Mapping[str, Any]) -> dict[str, Any]:
        context = current_or_none()
        if self._tool.marks.safe_to_retry and context is not None:
            return {**given, "key": f"{context.session_id} {context.call}"}
        return dict(given)


def _function_of(stub: Stub) -> Function:
    return _always(stub.value) if isinstance(stub, Ok) else cast(Function, stub)


def _always(value: object) -> Function:
    def answer() -> object:
        return value

    return answer


def _called(function: Function, given: Mapping[str, Any]) -> Any:
    """Call a function with what it names of these arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return function(**given)
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return function(**given)
    names = {each.name for each in parameters}
    return function(**{name: value for name, value in given.items() if name in names})


def undo_of(stub: Stub, own: Function | None, counter: EffectStub | None) -> Function:
    """Return a stub of a compensation, which takes back what the stub of its tool counts."""
    answer = answering(stub, own)

    if is_async(answer):

        async def in_loop(**given: Any) -> Any:
            result = await answer(**given)
            if counter is not None:
                counter.cancel()
            return result

        wrapper: Function = in_loop
    else:

        def in_thread(**given: Any) -> Any:
            result = answer(**given)
            if counter is not None:
                counter.cancel()
            return result

        wrapper = in_thread
    return shaped(wrapper, own)


def answering(stub: Stub, own: Function | None) -> Function:
    """Return a stub of a companion of a tool, which takes the arguments of that one."""
    function = _function_of(stub)
    if is_async(function):

        async def in_loop(**given: Any) -> Any:
            return await _called(function, given)

        return shaped(in_loop, own)

    def in_thread(**given: Any) -> Any:
        return _called(function, given)

    return shaped(in_thread, own)


def shaped(wrapper: Function, own: Function | None) -> Function:
    """Give a function the signature of the one that it stands for, so that it is given the same."""
    if own is not None:
        wrapper.__signature__ = inspect.signature(own)  # type: ignore[attr-defined]
        wrapper.__name__ = name_of(own)
    return wrapper


def name_of(function: object) -> str:
    """Return what a function is called, or the type of what can be called."""
    return str(getattr(function, "__name__", type(function).__name__))
