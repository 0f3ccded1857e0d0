"""`ukemi gc`: kept contents of files that no checkpoint needs any more are freed."""

from pathlib import Path

import anyio.to_thread
import msgspec

from ..actors.heads import each_head
from ..actors.inspection import entries_of, fold
from ..actors.rollback.windows import needed_roots
from ..actors.workspaces import BESIDE
from ..stores.base import HeadQuery, Store
from ..stores.sqlite import SqliteStore
from ..stores.workspace import Collected, WorkspaceFiles
from .errors import DONE, NOT_DONE, CannotRead, ExitStatus
from .output import Output
from .stored import reading
from .terminal import amount

PAGE = 200
NOTHING = Collected(contents=0, bytes=0, kept=0)
"""What is freed where no session has kept a file yet."""


async def gc(
    out: Output, where: str, files: str | None, *, dry_run: bool, grace_s: float
) -> ExitStatus:
    """Free what no session of the store needs; the status is 1 where nothing could be freed.

    Raises:
        CannotRead: there is no such store, or no file of contents where one is named or needed.
        SessionDamaged: a session cannot be read, so it is not known what it needs.
        UsageError: the grace is too short.
    """
    async with reading(where) as store:
        path = files_of(store, files)
        there = await anyio.Path(path).exists()
        roots = await _roots(store) if there or files is None else set[str]()
    if not there and (files is not None or roots):
        raise CannotRead(f"there are no kept files in {str(path)!r}; name them with --files PATH")
    collected = NOTHING
    if there:
        collected = await anyio.to_thread.run_sync(_collect, path, roots, grace_s, dry_run)
    _tell(out, collected, dry_run=dry_run)
    return NOT_DONE if collected.damaged or collected.lost else DONE


def files_of(store: Store, given: str | None) -> Path:
    """Return where contents are kept.

    Raises:
        CannotRead: the store is no file, and nothing else is named.
    """
    if given is not None:
        return Path(given)
    if isinstance(store, SqliteStore):
        return store.path.with_name(store.path.name + BESIDE)
    raise CannotRead(f"{store.name!r} is no file: name the contents with --files PATH")


async def _roots(store: Store) -> set[str]:
    """Return the trees that sessions need. What is kept meanwhile is young, and stays by that."""
    needed: set[str] = set()
    async for head in each_head(store, HeadQuery(limit=PAGE)):
        stored = await store.load(head.session_id)
        entries = entries_of(stored)
        state = fold(head.session_id, entries)
        needed |= needed_roots(entries, head.oldest_counter, state.unwound.settled_n)
    return needed


def _collect(path: Path, roots: set[str], grace_s: float, dry_run: bool) -> Collected:
    files = WorkspaceFiles(path)
    try:
        return files.collect(roots, grace_s=grace_s, dry_run=dry_run)
    finally:
        files.close()


def _tell(out: Output, collected: Collected, *, dry_run: bool) -> None:
    if out.as_json:
        out.data(msgspec.to_builtins(collected) | {"dry_run": dry_run})
        return
    if collected.damaged:
        out.text(f"nothing was freed, since not all can be read: {collected.damaged}")
    else:
        done = "would free" if dry_run else "freed"
        size = amount(collected.bytes)
        out.text(f"{done} {collected.contents} contents, {size} bytes; {collected.kept} stay")
    for root in collected.lost:
        out.note(f"a tree that a session refers to is not there: {root}", "red")
