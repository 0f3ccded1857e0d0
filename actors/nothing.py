"""What stands for nothing, once for all sessions: most never hold anything else in its place."""

from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("this one is shared by all; put one of its own in its place")


class _NoDict(dict[Any, Any]):
    """An empty dictionary that takes nothing, since it would be everybody's."""

    __slots__ = ()
    __setitem__ = __ior__ = setdefault = update = _refuse  # pyright: ignore[reportAssignmentType]


class _NoList(list[Any]):
    """An empty list that takes nothing."""

    __slots__ = ()
    __iadd__ = append = extend = insert = _refuse


NO_NAMES: frozenset[str] = frozenset()
"""A set of a session's own takes 216 bytes, also while it is empty."""

NO_DICT: dict[Any, Any] = _NoDict()
"""A dictionary takes 64, and a session has some fifteen; see `own`."""

NO_LIST: list[Any] = _NoList()
"""A list takes 56; who adds to it puts another in its place."""


def own(known: dict[K, V]) -> dict[K, V]:
    """Return the dictionary to write to: a new one in place of what stands for nothing."""
    return {} if type(known) is _NoDict else known
