"""`guard` as a function, for programs that hand their runtime around."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, Unpack, overload

from ..runtime import Runtime
from .guard import Guarded, ScopeOptions

R = TypeVar("R")


@overload
def guard(
    function: Callable[..., Awaitable[R]], *, runtime: Runtime, **options: Unpack[ScopeOptions]
) -> Guarded[R]: ...


@overload
def guard(
    function: Callable[..., R], *, runtime: Runtime, **options: Unpack[ScopeOptions]
) -> Guarded[R]: ...


def guard(
    function: Callable[..., Any], *, runtime: Runtime, **options: Unpack[ScopeOptions]
) -> Guarded[Any]:
    """Return a function that runs under the ledger of a runtime; see `Runtime.guard`."""
    return runtime.guard(function, **options)
