"""From what a user writes to a store."""

from pathlib import Path

from ..supervisor.errors import UsageError
from .base import Store
from .memory import MemoryStore
from .sqlite import Durability, SqliteStore


def open_store(where: str | Path | Store, durability: Durability = "full") -> Store:
    """Return the store named by a path, ``sqlite:PATH``, ``memory:`` or ``memory:NAME``.

    Nothing is opened or created yet: that is ``await store.open()``, which also says what is wrong
    with a path. A Store is returned as it is. ``memory:NAME`` is shared within the process.

    Raises:
        UsageError: this names no store.
    """
    if isinstance(where, Path):
        return SqliteStore(where, durability=durability)
    if not isinstance(where, str):
        return where
    scheme, colon, rest = where.partition(":")
    if colon and scheme == "memory":
        return MemoryStore(rest)
    if colon and scheme == "sqlite":
        # Both sqlite:PATH and the URL form sqlite:///PATH are common.
        rest = rest[2:] if rest.startswith("//") else rest
        return _file(where, rest, durability)
    # A letter and a colon may be a drive; any longer scheme is one we do not know.
    if colon and len(scheme) > 1 and scheme.isalnum():
        raise UsageError(
            f"no store of kind {scheme!r} in {where!r}: give a path, sqlite:PATH, memory: or"
            " a Store"
        )
    return _file(where, where, durability)


def _file(where: str, path: str, durability: Durability) -> Store:
    if not path.strip() or "\0" in path:
        raise UsageError(f"{where!r} names no file: give a path, sqlite:PATH, memory: or a Store")
    return SqliteStore(path, durability=durability)
