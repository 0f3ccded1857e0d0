"""What of a tree is kept: rules of exclusion, and how large a file may be.

Rules decide what a snapshot covers and nothing else: never what a restore deletes.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ...supervisor.errors import UsageError

SIZE_MAX = 64 * 1024 * 1024
SIZE_MAX_LIMIT = 512 * 1024 * 1024
IGNORE_FILE = ".gitignore"


class Rules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which paths a snapshot leaves out; by default only ``.git`` and files that are very large.

    Attributes:
        exclude: lines of a gitignore file that lies at the top of the tree.
        gitignore: also what the tree's own ``.gitignore`` files name.
        size_max: bytes of a file, which is read whole into memory.
        own: files in the tree that are the runtime's own, relative to it; also what lies beside
            them under their name and a hyphen. No line of the tree's brings them back.

    Raises:
        UsageError: lines are given, and the library that reads them is not installed
            (``pip install ukemi[workspace]``); or a line is none.
    """

    exclude: tuple[str, ...] = ()
    gitignore: bool = False
    size_max: int = SIZE_MAX
    own: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.size_max <= SIZE_MAX_LIMIT:
            raise UsageError(f"size_max={self.size_max} is not between 1 and {SIZE_MAX_LIMIT}")
        if self.exclude or self.gitignore:
            _spec(self.exclude)

    @property
    def plain(self) -> bool:
        """Whether no line excludes anything."""
        return not self.exclude and not self.gitignore and not self.own


class Layer(Struct, frozen=True):
    """The lines of one ignore file, which hold below the folder it lies in."""

    folder: str
    digest: bytes
    spec: Any


class Exclusions(Struct, frozen=True):
    """The layers that hold in a folder, outermost first. A deeper one overrules those above it."""

    layers: tuple[Layer, ...] = ()
    own: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Whether something may be left out."""
        return bool(self.layers or self.own)

    @property
    def key(self) -> tuple[bytes, ...]:
        """Equal for equal rules: what was excluded by them is excluded still."""
        own = hashlib.sha256("\0".join(self.own).encode(errors="surrogateescape")).digest()
        return (*((own,) if self.own else ()), *(layer.digest for layer in self.layers))

    def below(self, folder: str, lines: Sequence[str]) -> "Exclusions":
        """Return what holds in a folder with an ignore file; its path is empty or ends with a slash."""
        digest = hashlib.sha256("\n".join((folder, *lines)).encode(errors="surrogateescape"))
        layer = Layer(folder, digest.digest(), _spec(lines))
        return Exclusions((*self.layers, layer), self.own)

    def exclude(self, path: str, *, is_folder: bool) -> bool:
        """Tell whether a path is left out; the path is relative to the top of the tree."""
        if any(path == own or path.startswith(f"{own}-") for own in self.own):
            return True
        for layer in reversed(self.layers):
            inside = path[len(layer.folder) :] + ("/" if is_folder else "")
            include = layer.spec.check_file(inside).include
            if include is not None:
                return bool(include)
        return False


def exclusions_of(rules: Rules) -> Exclusions:
    """Return what holds at the top of a tree."""
    top = Exclusions(own=rules.own)
    return top.below("", rules.exclude) if rules.exclude else top


def _spec(lines: Sequence[str]) -> Any:
    # Loaded when it is asked for: without lines the library is not needed.
    try:
        import pathspec
    except ImportError as error:
        raise UsageError("exclusion lines need pathspec: pip install ukemi[workspace]") from error
    try:
        return pathspec.GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        raise UsageError(f"a line of exclusion cannot be read: {error}") from error


def readable(lines: Sequence[str]) -> list[str]:
    """Return the lines that are patterns: one in a tree that is none excludes nothing, as in git."""
    return [line for line in lines if _is_pattern(line)]


def _is_pattern(line: str) -> bool:
    try:
        _spec([line])
    except UsageError:
        return False
    return True
