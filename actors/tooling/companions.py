"""Functions declared beside a tool, such as ``compensate``: read from their signatures.

A companion is called with keywords: the arguments of the tool's call by their own names,
``result``, which is what the call returned, and ``key``, an idempotency key of the companion's
own. It takes those it names and no others, so that it can be a plain function of a service. Where
the model left an argument out, the companion is given the tool's default, as the call was.

Everything it is given comes from the store, or from the code: a process that was killed between
the call and its companion loses nothing.
"""

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, final

import msgspec

from ...supervisor.classify import declared_failure, expressly_failed
from ...supervisor.errors import ErrorClass, ToolBug, UsageError
from ...supervisor.failure import Failure
from .bodies import is_async, run_body
from .marks import Marks
from .threads import Threads

RESULT = "result"
KEY = "key"


@final
class Companion:
    """A function that goes with a tool, and how it is called. Immutable once made.

    Attributes:
        name: the function's own name.
        takes_result: whether it wants what the call returned.
        takes_key: whether it wants a key, and so may be called again with the same one.
        safe_to_retry: whether it is a tool itself, marked so.
        timeout_s, upstream: its own where it is a tool itself, else those of the tool.
    """

    def __init__(
        self,
        tool: str,
        mark: str,
        function: Callable[..., Any],
        marks: Marks,
        parameters: Mapping[str, inspect.Parameter],
        *,
        takes_result: bool,
    ) -> None:
        own: Any = getattr(function, "marks", None)
        self.marks = own if isinstance(own, Marks) else None
        self.function: Callable[..., Any] = (
            getattr(function, "__wrapped__") if self.marks else function  # noqa: B009
        )
        self.name = getattr(function, "__name__", mark)
        self.is_async = is_async(self.function)
        self.safe_to_retry = self.marks is not None and self.marks.safe_to_retry
        self.timeout_s = (self.marks and self.marks.timeout_s) or marks.timeout_s
        self.upstream = (self.marks and self.marks.upstream) or marks.upstream
        self._tool = tool
        self._where = f"tool {tool!r}: {mark}={self.name}"
        own_parameters = _parameters(self._where, self.function)
        self._all = any(one.kind is one.VAR_KEYWORD for one in own_parameters.values())
        self._names = {name for name, one in own_parameters.items() if one.kind not in _GATHERING}
        self.takes_key = KEY in self._names
        self.takes_result = takes_result and (RESULT in self._names or self._all)
        self._defaults = {
            name: one.default
            for name, one in parameters.items()
            if one.default is not inspect.Parameter.empty and (self._all or name in self._names)
        }
        self._check(own_parameters, parameters, takes_result=takes_result)
        self._result_type = self._read_result_type() if self.takes_result else None

    def given(
        self,
        arguments: Mapping[str, object],
        *,
        result: tuple[str, str | None] | None = None,
        key: str | None = None,
        secrets: Mapping[str, str] | None = None,
    ) -> dict[str, object]:
        """Return the keywords it is called with.

        Args:
            arguments: those of the tool's call, as `Tool.check` returns them.
            result: text and type of the call's recorded result.
            key: the companion's own key.
            secrets: those of the tool, by name.

        Raises:
            ToolBug: the recorded result is not of the type that it is annotated with.
        """
        known = {**self._defaults, **arguments, **(secrets or {})}
        found = {name: one for name, one in known.items() if self._all or name in self._names}
        if self.takes_key and key is not None:
            found[KEY] = key
        if self.takes_result and result is not None:
            found[RESULT] = self._read(*result)
        return found

    async def call(
        self,
        given: Mapping[str, object],
        *,
        threads: Threads | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> object:
        """Run it once; arguments and errors as in `run_body`."""
        return await run_body(
            self.function,
            given,
            name=self._tool,
            in_loop=self.is_async,
            threads=threads,
            on_start=on_start,
        )

    # ------------------------------------------------------------ at definition

    def _check(
        self,
        own: Mapping[str, inspect.Parameter],
        tools: Mapping[str, inspect.Parameter],
        *,
        takes_result: bool,
    ) -> None:
        given = {*tools, KEY, *((RESULT,) if takes_result else ())}
        for name, one in own.items():
            needed = one.default is inspect.Parameter.empty and one.kind not in _GATHERING
            if needed and one.kind is inspect.Parameter.POSITIONAL_ONLY:
                raise UsageError(f"{self._where} has positional-only {name}; drop the /")
            if needed and name not in given:
                arguments = ", ".join(name for name in tools if name != KEY) or "none"
                extras = "result and key" if takes_result else "key"
                raise UsageError(
                    f"{self._where} needs {name!r}, which it is not given; it is given the "
                    f"arguments of {self._tool} ({arguments}), and {extras}"
                )
        if takes_result and RESULT in tools and RESULT in self._names:
            raise UsageError(
                f"{self._where} takes {RESULT!r}, which is what {self._tool} returned, but "
                f"{self._tool} has an argument of that name too; give the argument another name"
            )

    def _read_result_type(self) -> Any:
        """Return the annotation of ``result``; Any where there is none, or none to be found."""
        try:
            hints = typing.get_type_hints(inspect.unwrap(self.function))
        except (NameError, TypeError, AttributeError, SyntaxError):
            return Any
        return readable(hints.get(RESULT, Any), where=f"{self._where} annotates {RESULT!r}")

    # ------------------------------------------------------------ at the call

    def _read(self, text: str, value_type: str | None) -> object:
        return read_recorded(text, value_type, self._result_type, where=self._where)


def readable(found: Any, *, where: str) -> Any:
    """Return the type that recorded results are read as.

    Raises:
        UsageError: nothing of that type can be read back.
    """
    if found is object:
        return Any
    try:
        msgspec.json.schema(found)  # a decoder takes any class, and fails at each value of it
    except (TypeError, ValueError, NameError) as error:
        raise UsageError(
            f"{where} with {found}, which cannot be read from what "
            f"is stored: {error}; use plain data, a dataclass, a TypedDict or a Struct"
        ) from error
    return found


def read_recorded(text: str, value_type: str | None, of: Any, *, where: str) -> object:
    """Return a result from its recorded text.

    Raises:
        ToolBug: it is not of the type that it is annotated with.
    """
    if of is str:
        return text
    try:
        if value_type is not None:
            return msgspec.json.decode(text, type=of)
        return _of_text(text, of)
    except (msgspec.MsgspecError, ValueError) as error:
        if of is Any:
            return text  # an object that says itself how it is shown
        raise ToolBug(
            f"{where}: the recorded result is not of the type {of}: {error}",
            may_have_executed="no",
        ) from error


_GATHERING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _parameters(where: str, function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(f"{where} yields; return instead")
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{where}: its signature cannot be read: {error}") from error


def _of_text(text: str, of: Any) -> object:
    """Return a result that was text, bytes or None, as which all of them are recorded."""
    if of is bytes:
        return text.encode()
    if text == "":
        try:
            return msgspec.convert(None, of) if of is not Any else ""
        except msgspec.ValidationError:
            pass  # it was the empty text
    try:
        return msgspec.convert(text, of)
    except msgspec.ValidationError:
        return msgspec.json.decode(text, type=of)  # as a person writes it


def failure_told(value: object) -> Failure | None:
    """Return the failure that a normal return tells of, also one that nobody recognises. Pure.

    Of a call's own return the model is told, and judges. Of a companion's, nobody is. So one that
    says expressly that it failed did, and False is what a function returns that did nothing.
    """
    if value is False:
        return Failure(error_class=ErrorClass.UNKNOWN, message="it returned False")
    failure = declared_failure(value)
    if failure is None or (
        failure.error_class is ErrorClass.UNKNOWN and not expressly_failed(value)
    ):
        return None
    return failure
