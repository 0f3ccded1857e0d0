"""The staged changes of a session: what was decided about each, and what it would have changed."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from ..actors.staging.records import StagedRecord, diff_of, staged_records
from ..actors.workspaces import BESIDE
from ..stores.sqlite import SqliteStore
from ..stores.workspace import WorkspaceFiles
from ..supervisor.errors import UkemiError
from .errors import DONE, NOT_DONE, ExitStatus
from .output import Output
from .staged_words import staged_title
from .stored import read_session, reading

Diff = Callable[[StagedRecord], str]


async def staged(
    out: Output, where: str, session_id: str, checkpoint: int | None = None
) -> ExitStatus:
    """Print the staged changes of a session; 1 where a part of it could not be read."""
    async with reading(where) as store:
        view = await read_session(store, session_id, checkpoint)
        path = store.path if isinstance(store, SqliteStore) else None
    found = staged_records(view.entries)
    diffs = _diffs(path, found)
    if out.as_json:
        pairs = zip(found, diffs, strict=True)
        out.data([{**msgspec.to_builtins(each), "diff": diff} for each, diff in pairs])
    elif found:
        blocks = [
            "\n".join(filter(None, (staged_title(each), diff)))
            for each, diff in zip(found, diffs, strict=True)
        ]
        out.text("\n\n".join(blocks))
    else:
        out.text("no staged changes")
    if view.damaged is not None:
        out.note(f"damaged: {view.damaged}")
    return DONE if view.damaged is None else NOT_DONE


def _diffs(store: Path | None, found: list[StagedRecord]) -> list[str]:
    """Return the differences as text; where nothing is kept beside the store, empty ones."""
    path = None if store is None else store.with_name(store.name + BESIDE)
    if path is None or not path.exists():
        return ["" for _ in found]
    files = WorkspaceFiles(path)
    try:
        return [_told(partial(diff_of, files), each) for each in found]
    finally:
        files.close()


def _told(diff: Diff, record: StagedRecord) -> str:
    try:
        return diff(record)
    except UkemiError as error:
        return f"[not kept any more: {error}]"
