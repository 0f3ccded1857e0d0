"""Staged changes for people: what each would have changed, what was decided, and the difference as text."""

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from ...stores.records import (
    Answered,
    JournalEntry,
    Resulted,
    StagedCheck,
    StagedPath,
    StagedResult,
)
from ...stores.workspace import WorkspaceFiles
from ..scrub import scrub
from ..text import decode, is_hostile, shorten
from .checks import StagedFile
from .files import files_of

DIFF_CHARS_MAX = 20_000

StagedState = Literal["open", "committed", "rejected", "not_committed", "in_doubt"]
"""``not_committed``: others changed the same files, it could not be written, or the session ended."""


class StagedRecord(Struct, kw_only=True):
    """A staged call that has run, and what became of what it would change.

    ``by`` is the check that rejected it; ``why`` says why it is not committed. ``base`` and ``tree`` are
    digests of kept trees; empty for a tool with a ``commit`` function.
    """

    n: int
    index: int
    tool: str
    state: StagedState = "open"
    by: str = ""
    why: str = ""
    paths: tuple[StagedPath, ...] = ()
    paths_more: int = 0
    base: str = ""
    tree: str = ""


def staged_records(entries: Sequence[JournalEntry]) -> list[StagedRecord]:
    """Return the staged calls of a journal, in order."""
    tools: dict[tuple[int, int], str] = {}
    found: dict[tuple[int, int], StagedRecord] = {}
    for entry in entries:
        match entry:
            case Answered():
                tools |= {(entry.n, index): call.name for index, call in enumerate(entry.calls)}
            case StagedResult():
                call = (entry.n, entry.index)
                found[call] = StagedRecord(
                    n=entry.n,
                    index=entry.index,
                    tool=tools.get(call, ""),
                    paths=entry.paths,
                    paths_more=entry.paths_more,
                    base=entry.base,
                    tree=entry.tree,
                )
            case StagedCheck() if (record := found.get((entry.n, entry.index))) and entry.problem:
                record.state, record.by, record.why = "rejected", entry.by, entry.problem
            case Resulted() if record := found.get((entry.n, entry.index)):
                _ended(record, entry)
            case _:
                pass
    return list(found.values())


def _ended(record: StagedRecord, entry: Resulted) -> None:
    if record.state != "open":
        return
    if entry.state == "succeeded":
        record.state = "committed"
    else:
        record.state = "in_doubt" if entry.state == "in_doubt" else "not_committed"
        record.why = entry.content


def diff_of(files: WorkspaceFiles, record: StagedRecord) -> str:
    """Return what a call would have changed as a unified diff, bounded. Blocks.

    What looks like a credential is hidden: a person needs to know that there is one, not which.

    Raises:
        ContentLost, TreeDamaged: it is not kept any more.
    """
    if not record.tree:
        return ""
    parts = [text for file in files_of(files, record.base, record.tree) if (text := shown(file))]
    return scrub(shorten("\n".join(parts), DIFF_CHARS_MAX, unit="chars").text)


def shown(file: StagedFile) -> str:
    """Return what would become of one path, as the lines of a unified diff."""
    was, then = _text(file.before), _text(file.after)
    if isinstance(was, list) and isinstance(then, list):
        names = f"a/{file.path}", f"b/{file.path}"
        lines = list(_lines(difflib.unified_diff(was, then, *names, lineterm="")))
        if lines:
            return "\n".join(lines)
    link = file.link()
    leads = f" -> {link}" if link is not None else ""
    size = f", {file.size} bytes" if file.size else ""
    return f"{file.kind}: {file.path}{leads}{size}"


def _text(read: Callable[[], bytes | None]) -> list[str] | None:
    """Return the lines of a content; None where it is no text."""
    data = read()
    if data is None:
        return []
    text = decode(data)[0]
    return None if b"\0" in data or is_hostile(text) else text.splitlines()


def _lines(diff: Iterator[str]) -> Iterator[str]:
    for line in diff:
        yield line.rstrip("\r\n")
