"""Where a path leads, by its text alone: inside the workspace, outside, or nobody knows. Pure.

The file system is not asked, so a link inside the workspace that leads out is not seen here; the
shipped file tools refuse those themselves.
"""

import posixpath
import re
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache

from msgspec import Struct

from ..patterns import lazy_pattern

UNKNOWN = "\0"
"""Stands in a text for a part that is known only when the command runs."""
HOME = "~"
NO_WORKSPACE = "/workspace"
"""Stands for the workspace of a session that has none, so that relative paths are inside of it."""
_SCRATCH = ("/tmp", "/var/tmp", "/dev/shm")
_STREAMS = lazy_pattern(r"/dev/(?:null|zero|full|stdin|stdout|stderr|tty|fd/\d+)")


class Where(Enum):
    """Where a path leads."""

    INSIDE = "inside"
    SCRATCH = "scratch"  # /tmp and its like
    STREAM = "stream"  # /dev/null and its like
    OUTSIDE = "outside"
    UNKNOWN = "unknown"


class Place(Struct, frozen=True):
    """A path with what leads nowhere taken out; ``inside`` is relative to the workspace.

    ``path`` is absolute, or begins with ``~``. The workspace itself is inside as ``"."``.
    """

    where: Where
    path: str
    inside: str = ""

    @property
    def is_top(self) -> bool:
        """Tell whether this is the root, a home folder, or a folder right below the root."""
        return self.path.count("/") < 2 and not self.inside

    @property
    def shown(self) -> str:
        """The path as a sentence names it."""
        return (self.inside or self.path).replace(UNKNOWN, "…")


def place_of(path: str, directory: str, workspace: str) -> Place:
    """Return where a path leads from a directory.

    Args:
        path: as written; `UNKNOWN` stands for parts that are not known.
        directory: absolute, or beginning with ``~``; `UNKNOWN` if nobody knows.
        workspace: absolute.
    """
    known, _, hidden = path.partition(UNKNOWN)
    if path.startswith(UNKNOWN):
        return Place(Where.UNKNOWN, path)
    whole = known if known.startswith(("/", HOME)) else posixpath.join(directory, known)
    if UNKNOWN in whole:
        return Place(Where.UNKNOWN, path)
    clean = _normal(whole)
    place = _placed(clean, workspace)
    if UNKNOWN not in path:
        return place
    # What is hidden may hold "..": known to be outside is then all that can be said.
    shown = clean + ("/" if known.endswith("/") else "") + UNKNOWN + hidden
    outside = place.where is Where.OUTSIDE and not workspace.startswith(clean)
    return Place(Where.OUTSIDE if outside else Where.UNKNOWN, shown)


def _normal(path: str) -> str:
    if path.startswith("/"):
        return posixpath.normpath("/" + path.lstrip("/"))
    home, _, rest = path.partition("/")
    clean = posixpath.normpath(rest) if rest else "."
    if clean == ".." or clean.startswith("../"):
        return posixpath.normpath(f"/home/{clean[3:]}")
    return home if clean == "." else f"{home}/{clean}"


def _placed(path: str, workspace: str) -> Place:
    root = workspace.rstrip("/") or "/"
    if path == root:
        return Place(Where.INSIDE, path, ".")
    if root != "/" and path.startswith(f"{root}/"):
        return Place(Where.INSIDE, path, path[len(root) + 1 :])
    if _STREAMS.fullmatch(path):
        return Place(Where.STREAM, path)
    if any(path.startswith(f"{each}/") for each in _SCRATCH):
        return Place(Where.SCRATCH, path)
    return Place(Where.OUTSIDE, path)


# ---------------------------------------------------------------- globs


class PathGlobs(Struct, frozen=True):
    """Patterns for paths; one with ``!`` in front takes out what the others match.

    ``**`` stands for any folders, ``*`` and ``?`` for characters of one name, ``[ab]`` for one of
    several. A pattern that begins with ``/`` or ``~`` is for whole paths, one with ``**/`` for paths
    anywhere, any other for paths inside the workspace.
    """

    patterns: tuple[str, ...]

    def match(self, place: Place) -> bool:
        """Tell whether a place is meant."""
        return self._any(place, (each for each in self.patterns if each[:1] != "!")) and not (
            self._any(place, (each[1:] for each in self.patterns if each[:1] == "!"))
        )

    @staticmethod
    def _any(place: Place, patterns: Iterable[str]) -> bool:
        return any(_matches(each, place) for each in patterns)


def _matches(pattern: str, place: Place) -> bool:
    if pattern.startswith(("/", HOME, "**/")):
        anchored = place.path if pattern[0] != "*" else place.path.lstrip("/")
        return glob_pattern(pattern).fullmatch(anchored) is not None
    return bool(place.inside) and glob_pattern(pattern).fullmatch(place.inside) is not None


@lru_cache(maxsize=1024)
def glob_pattern(glob: str) -> "re.Pattern[str]":
    """Return the regular expression of a path glob.

    Raises:
        ValueError: it is empty, or a ``[`` in it does not end.
    """
    if not glob:
        raise ValueError("a glob must not be empty")
    found: list[str] = []
    at = 0
    while at < len(glob):
        if glob.startswith("**/", at):
            found.append(r"(?:[^/]+/)*")
            at += 3
        elif glob.startswith("/**", at) and at + 3 == len(glob):
            found.append(r"(?:/.*)?")
            at += 3
        elif glob[at] == "[":
            end = glob.find("]", at + 2)
            if end < 0:
                raise ValueError(f"the glob {glob!r} has a '[' that does not end")
            inner = glob[at + 1 : end].replace("\\", "\\\\")
            found.append(f"[^{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]")
            at = end + 1
        else:
            plain = {"*": ".*" if glob.startswith("**", at) else "[^/]*", "?": "[^/]"}
            found.append(plain.get(glob[at], re.escape(glob[at])))
            at += 2 if glob.startswith("**", at) else 1
    # Only the characters in brackets are the user's own regular expression, and may be none.
    make = re.compile if "[" in glob else lazy_pattern
    return make("".join(found), re.DOTALL)
