"""What a staged call would change, and the checks it has to pass before that is done. Pure, but for
reading contents that are kept.

Checks of the application's own come after these, and see the same.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Literal, final

from msgspec import Struct

from ...stores.workspace import Change, File, Link
from ...supervisor.danger.paths import PathGlobs
from ...supervisor.danger.paths import place_of as danger_place
from ...supervisor.danger.sensitive import TEXT_MAX, sensitive_in
from ...supervisor.errors import UsageError
from ...supervisor.policy_sessions import StagingPolicy
from ..text import decode

PATHS_SHOWN = 5
OVERLAP = 5000
"""Characters that two parts of a very long line share, so that nothing is cut in two."""

ChangeKind = Literal["added", "changed", "removed", "mode", "kind"]
"""What becomes of a path; ``kind``: a file becomes a folder or link, or the other way round."""


@final
class StagedFile:
    """A path that a staged call would change.

    Attributes:
        path: relative to the working directory; bytes that are no text are escaped.
        kind: what becomes of it.
        size: bytes of the file that would be there; 0 for anything else.
    """

    __slots__ = ("_read", "change", "kind", "path", "size")

    def __init__(self, path: str, change: Change, read: Callable[[bytes], bytes]) -> None:
        self.path = path
        self.kind: ChangeKind = _kind_of(change)
        self.size = change.after.size if isinstance(change.after, File) else 0
        self.change = change
        self._read = read

    def __repr__(self) -> str:
        return f"StagedFile({self.path!r}, {self.kind!r}, {self.size} bytes)"

    def before(self) -> bytes | None:
        """Return the content that is there now; None if there is no file. Reads from the disk."""
        was = self.change.before
        return self._read(was.digest) if isinstance(was, File) else None

    def after(self) -> bytes | None:
        """Return the content that would be there; None if there would be no file."""
        then = self.change.after
        return self._read(then.digest) if isinstance(then, File) else None

    def link(self) -> str | None:
        """Return where the link that would be there leads; None if it would be none."""
        then = self.change.after
        return decode(then.target)[0] if isinstance(then, Link) else None


class StagedChange(Struct, frozen=True, kw_only=True):
    """What a staged call would do, for a check to judge.

    Attributes:
        session_id, agent, tool: who asks for it.
        arguments: those of the call, by name; secrets are not among them.
        result: what the call returned, as the model would see it.
        files: what it would change in the working directory, in order of the paths; empty for a
            tool with a ``commit`` function.
    """

    session_id: str
    agent: str
    tool: str
    arguments: Mapping[str, object]
    result: str
    files: tuple[StagedFile, ...] = ()

    @property
    def bytes(self) -> int:
        """How much the changed files would hold."""
        return sum(each.size for each in self.files)


Check = Callable[[StagedChange], str | Awaitable[str | None] | None]
"""Says why a change must not be committed, in words for the model; None: nothing is wrong with it."""


def check_checks(whose: str, checks: Sequence[Check]) -> tuple[Check, ...]:
    """Return checks that can be called.

    Raises:
        UsageError: one is none.
    """
    for each in checks:
        if not callable(each):  # pyright: ignore[reportUnnecessaryComparison]
            raise UsageError(f"{whose}: checks= holds {each!r}, which cannot be called")
    return tuple(checks)


class Verdict(Struct, frozen=True):
    """Why a change is not committed, and which check says so."""

    problem: str
    by: str


def check_size(change: StagedChange, policy: StagingPolicy) -> Verdict | None:
    """Refuse what is too large to be looked at."""
    paths, size = len(change.files), change.bytes
    if paths > policy.paths_max:
        return Verdict(f"it changes {paths} paths, and {policy.paths_max} are allowed", "size")
    if size > policy.bytes_max:
        return Verdict(
            f"the changed files hold {size} bytes, and {policy.bytes_max} are allowed", "size"
        )
    return None


def check_protected(change: StagedChange, policy: StagingPolicy) -> Verdict | None:
    """Refuse a change of what is protected, a change of its mode or kind included."""
    globs = PathGlobs(policy.protected_paths)
    found = [
        each.path
        for each in change.files
        if globs.match(danger_place(each.path, "/workspace", "/workspace"))
    ]
    return (
        Verdict(f"it changes {listed(found)}, which is protected", "protected") if found else None
    )


def check_secrets(
    change: StagedChange, policy: StagingPolicy, mask: Callable[[str], str]
) -> Verdict | None:
    """Refuse a change that brings in what looks like a credential, or a secret of the runtime."""
    if not policy.secrets:
        return None
    for each in change.files:
        then = each.after()
        if then is None or then == (was := each.before()):
            continue
        text, old = decode(then)[0], decode(was)[0] if was is not None else ""
        found = _new_secrets(text, old, mask)
        if found:
            return Verdict(f"{each.path} would hold {', '.join(found)}", "secrets")
    return None


def _new_secrets(text: str, old: str, mask: Callable[[str], str]) -> tuple[str, ...]:
    """Return in words what secrets a text brings in; what stood there before is not new."""
    known = set(old.splitlines())
    lines = [line for line in text.splitlines() if line not in known]
    found = dict.fromkeys(word for part in _parts(lines) for word in sensitive_in(part))
    fresh = "\n".join(lines)
    if mask(fresh) != fresh:
        found["a secret that was given to a tool"] = None
    return tuple(found)


def _parts(lines: list[str]) -> Iterator[str]:
    """Yield lines in portions that are searched whole."""
    part: list[str] = []
    size = 0
    for line in lines:
        for at in range(0, max(len(line), 1), TEXT_MAX - OVERLAP):
            piece = line[at : at + TEXT_MAX]
            if part and size + len(piece) >= TEXT_MAX:
                yield "\n".join(part)
                part, size = [], 0
            part.append(piece)
            size += len(piece) + 1
    yield "\n".join(part)


def judged(
    change: StagedChange, policy: StagingPolicy, mask: Callable[[str], str]
) -> Verdict | None:
    """Return what the shipped checks say; the first that objects has the word."""
    return (
        check_size(change, policy)
        or check_protected(change, policy)
        or check_secrets(change, policy, mask)
    )


def listed(paths: list[str]) -> str:
    """Return paths in words, the first of many."""
    shown = ", ".join(paths[:PATHS_SHOWN])
    return f"{shown} and {len(paths) - PATHS_SHOWN} more" if len(paths) > PATHS_SHOWN else shown


def _kind_of(change: Change) -> ChangeKind:
    match change.kind:
        case "added" | "changed" | "removed" | "mode" as kind:
            return kind
        case _:
            return "kind"
