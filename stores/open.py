"""From what a user writes to a store."""

from pathlib import Path

from ..supervisor.errors import UsageError
from ..supervisor.patterns import lazy_pattern
from .base import Store
from .memory import MemoryStore
from .sqlite import Durability, SqliteStore

# One letter and a colon may be a drive.
_SCHEME = lazy_pattern(r"([A-Za-z][A-Za-z0-9+.-]+):")


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
    scheme = _SCHEME.match(where)
    if scheme is None:
        return _file(where, where, durability)
    rest = where[scheme.end() :]
    match scheme[1].lower():
        case "memory":
            return MemoryStore(rest)
        case "sqlite" if not rest.startswith("//"):
            return _file(where, rest, durability)
        case "sqlite":
            # Others read sqlite:///x as relative; guessing would put the store in another place.
            raise UsageError(f"{where!r}: write sqlite:PATH, without //")
        case other:
            raise UsageError(
                f"no store of kind {other!r} (in {where!r}): give a path, sqlite:PATH, memory: or"
                " a Store"
            )


def _file(where: str, path: str, durability: Durability) -> Store:
    if not path.strip() or "\0" in path:
        raise UsageError(f"{where!r} names no file: give a path, sqlite:PATH, memory: or a Store")
    return SqliteStore(path, durability=durability)
