"""`ukemi export` and `ukemi import`: a checkpoint with its files goes to another store as one file."""

import os
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import anyio.to_thread
import msgspec

from ..actors.portable import (
    Imported,
    Portable,
    portable_of,
    read_portable,
    taken_in,
    write_portable,
)
from ..stores.base import Store
from ..stores.liveness import owner_id
from ..stores.open import open_store
from ..stores.workspace import ArchiveRefused, WorkspaceFiles
from ..supervisor.errors import UsageError
from ..supervisor.ids import RandomIds
from .errors import DONE, CannotRead, ExitStatus
from .gc import files_of
from .output import Output
from .stored import reading
from .terminal import plural


async def export(
    out: Output,
    where: str,
    session_id: str,
    checkpoint: int | None,
    to: str | None,
    files: str | None,
) -> ExitStatus:
    """Write a checkpoint into a new file.

    Raises:
        CannotRead: there is no such store, or the file exists.
        CheckpointUnknown: there is no such checkpoint, or it is kept no more.
    """
    async with reading(where) as store:
        stored = await store.load(session_id)
        head = stored.head
        if checkpoint is not None and not head.oldest_counter <= checkpoint <= head.counter:
            await store.load(session_id, upto=checkpoint)  # says why there is none
        portable = await portable_of(store, stored, checkpoint)
        kept = files_of(store, files) if portable.root else None
    path = Path(to or f"{session_id}-{portable.counter}.ukemi")
    await anyio.to_thread.run_sync(_write, path, portable, kept)
    data = {
        "session_id": session_id,
        "checkpoint": portable.counter,
        "file": str(path),
        "with_files": bool(portable.root),
    }
    if out.as_json:
        out.data(data)
    else:
        with_files = "with its files" if portable.root else "without files: none were kept"
        out.text(f"{path}: checkpoint {portable.counter} of {session_id}, {with_files}")
    return DONE


def _write(path: Path, portable: Portable, kept: Path | None) -> None:
    files = None if kept is None else WorkspaceFiles(kept)
    try:
        with path.open("xb") as file:
            try:
                write_portable(portable, files, file)
            except BaseException:
                path.unlink()  # half of it is no document
                raise
    except FileExistsError as error:
        raise CannotRead(f"{str(path)!r} exists; name another file with --out") from error
    except OSError as error:
        raise CannotRead(f"{str(path)!r} cannot be written: {error}") from error
    finally:
        if files is not None:
            files.close()


async def take_in(
    out: Output, where: str, name: str, into: str | None, files: str | None
) -> ExitStatus:
    """Take an exported checkpoint in; the store is made where there is none, once all was looked at.

    Raises:
        CannotRead: the file cannot be read.
        ArchiveRefused: it is damaged, or not what it claims to be.
        UsageError: the folder cannot be used.
    """
    store = open_store(where)
    kept = files_of(store, files)
    folder = None if into is None else Path(await anyio.Path(into).resolve())
    source = await anyio.to_thread.run_sync(_opened, name)
    try:
        await anyio.to_thread.run_sync(_check, source, folder, kept)
        imported = await _taken_in(store, kept, source, folder)
    except ArchiveRefused as error:
        raise ArchiveRefused(f"{name!r} is refused, and nothing is stored: {error}") from error
    except OSError as error:
        raise UsageError(f"{into or name!r} cannot be used: {error}") from error
    finally:
        source.close()
    _tell(out, imported)
    return DONE


def _check(source: BinaryIO, folder: Path | None, kept: Path) -> None:
    """Refuse what cannot be taken in before anything is made for it; the source is at its start again."""
    portable, _ = read_portable(source)
    if folder is not None:
        _check_folder(folder)
        if not portable.root:
            raise UsageError("this checkpoint was exported without files; leave --into out")
        _check_files(source, kept)
    source.seek(0)


def _check_files(source: BinaryIO, kept: Path) -> None:
    if kept.exists():
        with closing(WorkspaceFiles(kept)) as contents:
            contents.pending()  # opens it
        return
    # Contents that are refused half-way would stay, and there would be a file of nothing else.
    with (
        tempfile.TemporaryDirectory(prefix="ukemi-import-", dir=kept.parent) as scratch,
        closing(WorkspaceFiles(Path(scratch, "files"))) as contents,
    ):
        contents.import_tree(source)


def _check_folder(folder: Path) -> None:
    if folder.exists():
        if not folder.is_dir():
            raise UsageError(f"{str(folder)!r} is no folder; name a new one")
        if any(folder.iterdir()):
            raise UsageError(f"{str(folder)!r} is not empty; name a new folder")
    elif not folder.parent.is_dir():
        raise UsageError(
            f"{str(folder)!r}: there is no folder {str(folder.parent)!r} to make it in"
        )
    if not os.access(folder if folder.exists() else folder.parent, os.W_OK | os.X_OK):
        raise UsageError(f"{str(folder)!r} cannot be written")


async def _taken_in(store: Store, kept: Path, source: BinaryIO, folder: Path | None) -> Imported:
    contents = WorkspaceFiles(kept)
    await store.open()
    try:
        return await taken_in(
            store,
            contents,
            source,
            ids=[RandomIds().new("session") for _ in range(3)],
            owner=owner_id(),
            at_ms=time.time_ns() // 1_000_000,
            into=folder,
        )
    finally:
        contents.close()
        await store.close()


def _opened(name: str) -> BinaryIO:
    try:
        return open(name, "rb")  # the caller closes it
    except OSError as error:
        raise CannotRead(f"{name!r} cannot be read: {error.strerror}") from error


def _tell(out: Output, imported: Imported) -> None:
    if out.as_json:
        out.data(msgspec.to_builtins(imported))
        return
    where = f", {plural(imported.files, 'path')} in {imported.working_directory}"
    told = where if imported.working_directory else ""
    out.text(f"{imported.session_id}: {imported.agent} at checkpoint {imported.checkpoint}{told}")
    out.note(f'go on with: ukemi resume MODULE {imported.session_id} --say "..."', "grey")
