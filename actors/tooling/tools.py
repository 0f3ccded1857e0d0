"""Tools: typed functions a model may call, with what the runtime must know about each."""

import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar, final, overload

import msgspec

from ...supervisor.danger.danger import shows_no_risk
from ...supervisor.errors import UsageError
from ...supervisor.failure import Traits
from .arguments import canonical_defaults
from .bodies import begin_here, is_async, run_in_thread
from .companions import Companion
from .docstring import describe
from .marks import Declared, Effect, Marks, Staged, Undo, settle
from .schema import Parameters, signature_of
from .threads import Threads

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

# What every provider takes as the name of a tool.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_COPIED = ("__module__", "__name__", "__qualname__", "__doc__")


@final
class Tool(Generic[P, R_co]):
    """A function and its marks; called like the function itself, it is the function itself.

    Immutable. ``parameters`` is the JSON Schema the model sees: without ``key`` and without the
    secrets, which the runtime fills in. ``defaults`` stand for what a call leaves out, in the
    canonical form.
    """

    __wrapped__: Callable[P, R_co]
    __name__: str
    name: str
    description: str
    marks: Marks
    traits: Traits
    shows_no_risk: bool
    parameters: Mapping[str, Any]
    is_async: bool
    begins_here: bool
    """Its body is async and takes what the model sent, and no more."""
    compensation: Companion | None
    probe: Companion | None
    commit: Companion | None
    abort: Companion | None
    defaults: Mapping[str, Any]
    _read: Parameters
    _given: Declared
    _optional: frozenset[str]

    def __init__(self, function: Callable[P, R_co], name: str, given: Declared) -> None:
        parameters = signature_of(name, function)
        marks = settle(name, given)
        _check_key(name, marks, parameters)
        _check_secrets(name, marks, parameters)
        hidden = {*marks.secrets, "key"} if marks.accepts_key else set(marks.secrets)
        visible = {key: one for key, one in parameters.items() if key not in hidden}
        described = describe(inspect.getdoc(function), visible)
        read = Parameters(name, visible, described)
        defaults = _defaults_of(visible)
        # Straight into the dictionary: setting attributes is refused from the first moment on.
        vars(self).update(
            {key: getattr(function, key) for key in _COPIED if hasattr(function, key)},
            __wrapped__=function,
            name=name,
            description=described.text,
            marks=marks,
            traits=Traits(
                safe_to_retry=marks.safe_to_retry,
                accepts_key=marks.accepts_key,
                undone=marks.undo == "compensate",
            ),
            shows_no_risk=shows_no_risk(marks.danger, marks.upstream, visible, defaults),
            parameters=read.schema,
            is_async=is_async(function),
            begins_here=is_async(function) and not hidden,
            compensation=_compensation_of(name, marks, parameters),
            probe=_probe_of(name, marks, parameters),
            commit=_staging_of(name, marks, parameters, "commit"),
            abort=_staging_of(name, marks, parameters, "abort"),
            defaults=defaults,
            _read=read,
            _given=given,
            _optional=frozenset(
                key for key, one in parameters.items() if one.default is not inspect.Parameter.empty
            ),
        )

    def staged(self) -> "Tool[P, R_co]":
        """Return this tool, run in a private copy of the working directory first; see `Marks`.

        Raises:
            UsageError: it is no write, or says that it writes no files.
        """
        return Tool(self.__wrapped__, self.name, msgspec.structs.replace(self._given, staged=True))

    def with_body(self, function: Callable[..., Any], **marks: Any) -> "Tool[..., Any]":
        """Return this tool with another function of the same signature, and these marks; for tests.

        Raises:
            UsageError: as for `tool`.
        """
        return Tool(function, self.name, msgspec.structs.replace(self._given, **marks))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function directly: no check, no runtime, no thread."""
        return self.__wrapped__(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.name} ({self.marks.effect})>"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"tool {self.name!r} cannot be changed; define another one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"tool {self.name!r} cannot be changed; define another one")

    def check(self, arguments: str) -> dict[str, object]:
        """Validate and convert what the model sent, the JSON text of one object.

        Arguments that were not sent are left out; the function has its own defaults.

        Raises:
            InvalidArgument: ``fields`` names each wrong, missing or unknown argument, with a path
                such as ``items[0].sku``; the message says what was expected and what came.
        """
        return self._read.check(arguments)

    async def call(
        self,
        arguments: Mapping[str, object],
        *,
        key: str | None = None,
        secrets: Mapping[str, str] | None = None,
        threads: Threads | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> object:
        """Run the body once: an async one here, any other in a worker thread.

        Args:
            arguments: as `check` returns them.
            key: the idempotency key; goes to tools that accept one, and to no other.
            secrets: by name; only the parameters named in the tool's marks are filled from it.
            threads: where sync bodies run, and where those that outlive a cancelled call are
                kept; None: a pool for this call alone, whose late outcome nobody learns.
            on_start: called right before the body starts. While a sync body waits for a free
                thread, it has not started: a call cancelled before that had no effect.

        Raises:
            UsageError: a secret that the tool needs was not given, or no key to one that needs it.
            TransientError: the body did not start, as in `Threads.run`.
            Exception: whatever the body raises.
        """
        return await self.begin(
            arguments, key=key, secrets=secrets, threads=threads, on_start=on_start
        )

    def begin(
        self,
        arguments: Mapping[str, object],
        *,
        key: str | None = None,
        secrets: Mapping[str, str] | None = None,
        threads: Threads | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> Awaitable[object]:
        """Begin what `call` does, and return what is left to be awaited; await it at once."""
        given = arguments
        if self.marks.accepts_key or self.marks.secrets:
            given = {**arguments, **self._filled(key, secrets or {})}
        if self.is_async:
            return begin_here(self.__wrapped__, given, on_start)
        return run_in_thread(self.__wrapped__, given, self.name, threads, on_start)

    def needs(self, parameter: str) -> bool:
        """Tell whether the function cannot be called without this parameter."""
        return parameter not in self._optional

    def _filled(self, key: str | None, secrets: Mapping[str, str]) -> dict[str, str]:
        filled = {name: secrets[name] for name in self.marks.secrets if name in secrets}
        if self.marks.accepts_key and key is not None:
            filled["key"] = key
        needed = [*self.marks.secrets, *(["key"] if self.marks.accepts_key else [])]
        missing = [name for name in needed if name not in filled and self.needs(name)]
        if missing:
            raise UsageError(f"tool {self.name!r} was called without {', '.join(missing)}")
        return filled


AnyTool = Tool[..., Any]


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    effect: Effect = "write",
    safe_to_retry: bool | None = None,
    accepts_key: bool = False,
    probe: Callable[..., Any] | None = None,
    compensate: Callable[..., Any] | None = None,
    undo: Undo | None = None,
    danger: str | None = None,
    resource: str | Callable[..., str | Sequence[str]] | None = None,
    success: Callable[[Any], bool] | None = None,
    upstream: str | None = None,
    timeout_s: float | None = None,
    staged: bool | Staged = False,
    secrets: tuple[str, ...] | list[str] = (),
    overlap: bool | None = None,
    workspace: bool | None = None,
    paths: str | Callable[..., str | Sequence[str]] | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(function: Any = None, /, *, name: str | None = None, **given: Any) -> Any:
    """Make a tool of a typed function, sync or async; use it bare or with marks.

    Without marks a tool counts as a write that must not run twice. A read is safe to retry and to
    overlap unless it says otherwise; a write is neither. ``undo`` is "keep", or "compensate" where
    ``compensate`` is given. The schema comes from the type hints, the description from the
    docstring. See `Marks` for what each mark means.

    Raises:
        UsageError: the definition cannot work; the message names the tool, the value, the way out.
    """
    unknown = [mark for mark in given if mark not in Declared.__struct_fields__]
    if unknown:
        known = ", ".join(("name", *Declared.__struct_fields__))
        raise UsageError(f"@tool does not know {', '.join(unknown)}; it takes {known}")
    declared = Declared(**given)

    def define(function: Callable[..., Any]) -> AnyTool:
        return Tool(function, _name_of(function, name), declared)

    return define if function is None else define(function)


def _name_of(function: object, name: str | None) -> str:
    """Return the tool's name once what it names can be a tool at all."""
    reason = _not_a_function(function)
    if reason is not None:
        raise UsageError(f"@tool cannot make a tool of {function!r}: {reason}")
    found: object = name if name is not None else getattr(function, "__name__", None)
    if found is None:
        raise UsageError(f"@tool needs a name for {function!r}; pass name=")
    if not isinstance(found, str) or not _NAME.match(found):
        raise UsageError(
            f"tool name {found!r} is not one that model providers take: "
            "1 to 64 letters, digits, _ or -; pass name="
        )
    return found


def _not_a_function(function: object) -> str | None:
    if isinstance(function, Tool):
        return "it is one already"
    if isinstance(function, functools.partial):
        return "a bound argument would stay open to the model; write a small function instead"
    if isinstance(function, staticmethod | classmethod):
        return "put @tool below @staticmethod, or make a tool of the bound method"
    if isinstance(function, type) or not callable(function):
        return "it is no function; decorate a function"
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return "it yields; return the whole result instead"
    return None


def _compensation_of(
    name: str, marks: Marks, parameters: Mapping[str, inspect.Parameter]
) -> Companion | None:
    function = marks.compensate
    if function is None:
        return None
    return Companion(name, "compensate", function, marks, parameters, takes_result=True)


def _probe_of(
    name: str, marks: Marks, parameters: Mapping[str, inspect.Parameter]
) -> Companion | None:
    function = marks.probe
    if function is None:
        return None
    return Companion(name, "probe", function, marks, parameters, takes_result=False)


def _staging_of(
    name: str, marks: Marks, parameters: Mapping[str, inspect.Parameter], part: str
) -> Companion | None:
    function = getattr(marks.staged, part) if isinstance(marks.staged, Staged) else None
    if function is None:
        return None
    return Companion(name, part, function, marks, parameters, takes_result=True)


def _defaults_of(visible: Mapping[str, inspect.Parameter]) -> Mapping[str, Any]:
    """Return what stands for arguments that a call leaves out, where calls are compared."""
    return canonical_defaults(
        {
            key: one.default
            for key, one in visible.items()
            if one.default is not inspect.Parameter.empty
        }
    )


def _check_key(name: str, marks: Marks, parameters: Mapping[str, inspect.Parameter]) -> None:
    key = parameters.get("key")
    if not marks.accepts_key:
        if key is not None:
            raise UsageError(
                f"tool {name!r}: a parameter called 'key' is the idempotency key; "
                "declare accepts_key=True, or give the parameter another name"
            )
        return
    keyword = key is not None and key.kind is inspect.Parameter.KEYWORD_ONLY
    if key is None or not keyword or key.annotation not in (str, str | None):
        raise UsageError(
            f"tool {name!r}: accepts_key=True needs a keyword-only parameter for the key: "
            f"def {name}(..., *, key: str)"
        )


def _check_secrets(name: str, marks: Marks, parameters: Mapping[str, inspect.Parameter]) -> None:
    for secret in marks.secrets:
        if secret not in parameters:
            known = ", ".join(parameters) or "none"
            raise UsageError(
                f"tool {name!r}: secrets names {secret!r}, which is no parameter; it has: {known}"
            )
        if secret == "key":
            raise UsageError(f"tool {name!r}: 'key' is the idempotency key, not a secret")
        if parameters[secret].annotation not in (str, str | None):
            raise UsageError(f"tool {name!r}: the secret {secret!r} must be annotated str")
