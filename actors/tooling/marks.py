"""What a tool declares about itself, checked where it is defined."""

import math
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, Literal, TypeVar, cast

from msgspec import Struct

from ...supervisor.errors import UsageError

Effect = Literal["read", "write"]
Undo = Literal["rollback", "compensate", "keep"]

EFFECTS: tuple[Effect, ...] = ("read", "write")
_Word = TypeVar("_Word", bound=str)

UNDOS: tuple[Undo, ...] = ("rollback", "compensate", "keep")


class NotDone(Enum):
    """Annotates a ``probe``; `NOT_DONE` is its one value."""

    NOT_DONE = "not done"


class Staged(Struct, frozen=True):
    """How a tool whose effect is no file is staged: its body prepares, and checks come before the rest.

    Each function is a companion of the tool: it is called with the arguments of the call by their
    names, ``result``, which is what the body returned, and ``key``; it takes those it names.

    Attributes:
        commit: does it. What it returns is the result of the call; None: what the body returned.
            One that takes ``key``, or is itself a tool that is safe to retry, may be called again after
            a crash; of any other it is asked whether it took effect.
        abort: gives up what was prepared. It may be called more than once.
    """

    commit: Callable[..., Any]
    abort: Callable[..., Any] | None = None


NOT_DONE: Final = NotDone.NOT_DONE
"""What a ``probe`` returns where the call did not take effect, and will not any more."""


class Marks(Struct, frozen=True, kw_only=True):
    """What the runtime may do with a tool, and what it must not.

    ``effect``: a write changes something outside the session; a tool without marks is a write.
    ``safe_to_retry``: running it twice does no harm. ``accepts_key``: it takes an idempotency key,
    made by the runtime. ``probe`` answers "did it happen?" with what the call returned, or with
    `NOT_DONE`. ``compensate`` does the opposite.
    ``undo``: what becomes of the effect if a later step fails. ``danger``: the kind of risk, such
    as "money". ``resource``: names what a call touches. ``success``: judges a normal return.
    ``upstream``: what it talks to, shared by all tools of the same name. ``timeout_s``: seconds;
    None: the session's own deadline is the limit. ``staged``: it runs in a private copy of the working
    directory, and what it changed there is checked before it is carried over; or, as `Staged`, its
    body prepares what a ``commit`` function then does.
    ``secrets``: parameters the runtime fills, which the model never sees. ``overlap``: may run
    beside other calls of the same message. ``workspace``: it may write into the session's working
    directory, so that is kept before and after it; so it is by default where files are its undo.
    ``paths``: the parameter that names the only path it may write, or a function of its arguments
    that returns them; then only those are looked at.
    """

    effect: Effect = "write"
    safe_to_retry: bool = False
    accepts_key: bool = False
    probe: Callable[..., Any] | None = None
    compensate: Callable[..., Any] | None = None
    undo: Undo = "keep"
    danger: str | None = None
    resource: str | Callable[..., str | Sequence[str]] | None = None
    success: Callable[[Any], bool] | None = None
    upstream: str | None = None
    timeout_s: float | None = None
    staged: bool | Staged = False
    secrets: tuple[str, ...] = ()
    overlap: bool = False
    workspace: bool = False
    paths: str | Callable[..., str | Sequence[str]] | None = None

    @property
    def ledgered(self) -> bool:
        """Whether the ledger has its calls from their intent on: a repeat may do harm, or there is an
        effect to know of."""
        return self.effect == "write" or not self.safe_to_retry


class Declared(Struct, frozen=True, kw_only=True):
    """The marks as given; None and () stand for "not said". Anything a caller may pass."""

    effect: Any = "write"
    safe_to_retry: Any = None
    accepts_key: Any = False
    probe: Any = None
    compensate: Any = None
    undo: Any = None
    danger: Any = None
    resource: Any = None
    success: Any = None
    upstream: Any = None
    timeout_s: Any = None
    staged: Any = False
    secrets: Any = ()
    overlap: Any = None
    workspace: Any = None
    paths: Any = None


def settle(name: str, given: Declared) -> Marks:
    """Check the declaration of one tool and fill in what it leaves open.

    Raises:
        UsageError: a mark has an impossible value, or two marks contradict each other.
    """
    effect: Effect = _one_of(name, "effect", given.effect, EFFECTS)
    undo: Undo = "keep" if given.compensate is None else "compensate"
    if given.undo is not None:
        undo = _one_of(name, "undo", given.undo, UNDOS)
    _boolean(name, "accepts_key", given.accepts_key)
    staged = _staged(name, given.staged)
    marks = Marks(
        effect=effect,
        safe_to_retry=_boolean(name, "safe_to_retry", given.safe_to_retry, effect == "read"),
        accepts_key=bool(given.accepts_key),
        probe=_function(name, "probe", given.probe),
        compensate=_function(name, "compensate", given.compensate),
        undo=undo,
        danger=_word(name, "danger", given.danger),
        resource=_texts(name, "resource", given.resource),
        success=_function(name, "success", given.success),
        upstream=_word(name, "upstream", given.upstream),
        timeout_s=_seconds(name, given.timeout_s),
        staged=staged,
        secrets=_names(name, given.secrets),
        overlap=_boolean(name, "overlap", given.overlap, effect == "read"),
        workspace=_boolean(
            name,
            "workspace",
            given.workspace,
            undo == "rollback" or given.paths is not None or staged is True,
        ),
        paths=_texts(name, "paths", given.paths),
    )
    _agree(name, marks)
    return marks


def _agree(name: str, marks: Marks) -> None:
    """Refuse marks that contradict each other."""
    if marks.undo == "compensate" and marks.compensate is None:
        raise UsageError(
            f'tool {name!r}: undo="compensate" needs compensate=, the function that does it'
        )
    if marks.effect == "read":
        _read_has_no_effect(name, marks)
    if marks.undo == "rollback" and not marks.workspace:
        raise UsageError(
            f'tool {name!r}: undo="rollback" puts files back, and workspace=False says that it '
            "writes none; drop one of them"
        )
    if marks.staged is True and not marks.workspace:
        raise UsageError(
            f"tool {name!r}: staged=True stages files, and workspace=False says that it writes none; "
            "drop one of them, or stage it with Staged(commit=...)"
        )
    if marks.paths is not None and not marks.workspace:
        raise UsageError(f"tool {name!r}: paths= needs workspace=True, which is the default")
    if marks.safe_to_retry and marks.probe is not None:
        raise UsageError(
            f"tool {name!r}: safe_to_retry=True and probe= contradict each other: a tool safe to "
            "retry simply runs again and its probe would never be asked; drop one of them"
        )


def _read_has_no_effect(name: str, marks: Marks) -> None:
    pointless = {
        "accepts_key": marks.accepts_key,
        "probe": marks.probe is not None,
        "compensate": marks.compensate is not None,
        "undo": marks.undo != "keep",
        "staged": marks.staged is not False,
        "workspace": marks.workspace,
    }
    for mark, given in pointless.items():
        if given:
            raise UsageError(
                f'tool {name!r}: {mark} is for writes, but effect="read" says that it changes '
                f'nothing; drop {mark}, or declare effect="write"'
            )


def _one_of(name: str, mark: str, value: Any, allowed: tuple[_Word, ...]) -> _Word:
    for word in allowed:
        if value == word:
            return word
    choices = ", ".join(repr(word) for word in allowed)
    raise UsageError(f"tool {name!r}: {mark}={value!r} is unknown; use one of {choices}")


def _boolean(name: str, mark: str, value: Any, default: bool = False) -> bool:
    if value is None:
        return default
    if isinstance(value, bool):
        return value
    raise UsageError(f"tool {name!r}: {mark}={value!r} must be True or False")


def _staged(name: str, value: Any) -> bool | Staged:
    if isinstance(value, Staged):
        _function(name, "staged.commit", value.commit)
        _function(name, "staged.abort", value.abort)
        return value
    if isinstance(value, bool):
        return value
    raise UsageError(
        f"tool {name!r}: staged={value!r} must be True, for what it writes into the working directory, "
        "or Staged(commit=...)"
    )


def _function(name: str, mark: str, value: Any) -> Callable[..., Any] | None:
    if value is None:
        return None
    if callable(value):
        return cast(Callable[..., Any], value)
    raise UsageError(f"tool {name!r}: {mark}={value!r} cannot be called; give a function")


def _word(name: str, mark: str, value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    raise UsageError(f"tool {name!r}: {mark}={value!r} must be a word, or left out")


def _texts(name: str, mark: str, value: Any) -> str | Callable[..., str | Sequence[str]] | None:
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    if callable(value):
        return cast(Callable[..., str | Sequence[str]], value)
    raise UsageError(
        f"tool {name!r}: {mark}={value!r} must be text, or a function of the tool's arguments "
        "that returns text, or a list of texts"
    )


def _seconds(name: str, value: Any) -> float | None:
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and 0 < value < math.inf:
        return float(value)
    raise UsageError(
        f"tool {name!r}: timeout_s={value!r} must be a number of seconds above 0, "
        "or None for no limit of its own"
    )


def _names(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, list | tuple):
        names = cast(Sequence[Any], value)
        if all(isinstance(one, str) and one for one in names):
            return tuple(dict.fromkeys(names))
    raise UsageError(
        f"tool {name!r}: secrets={value!r} must be a list of parameter names, "
        'such as secrets=["api_token"]'
    )
