"""A checkpoint as one document that another store can take in: the journal up to it, and its files.

What is read may have been made by anybody. Sizes are bounded before they are believed, the journal has to
be one that can be folded, every content is checked against its digest, and files are put in place by
the rules of a restore, into an empty folder. The session comes to rest at the checkpoint: nothing in a
document makes a call run.
"""

import hashlib
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

import anyio
import msgspec
from msgspec import Struct

from ..stores.base import Append, Create, Facts, SessionExists, Store, StoredSession, Write
from ..stores.records import (
    Answered,
    Ended,
    Intended,
    JournalEntry,
    Late,
    Opened,
    Resulted,
    RolledBack,
    Undone,
    decode_row,
    encode_row,
)
from ..stores.workspace import ArchiveRefused, Window, WorkspaceFiles
from ..supervisor.errors import UkemiError, UsageError
from .inspection import entries_of, fold
from .naming import check_own_id
from .outcome import Stopped, outcome_to_data
from .rollback.windows import root_at
from .state import SessionState

MAGIC = b"ukemi checkpoint 1\n"
JOURNAL_BYTES_MAX = 512 * 1024 * 1024
"""What the journal of a document may take, the full texts of long results included."""

TITLE_MAX = 80
ENTRIES_AT_ONCE = 500


class Portable(Struct, frozen=True):
    """The head of a document, before its files.

    Attributes:
        session_id: what the session was called.
        counter: the checkpoint.
        agent: whose session it is.
        journal: its entries, as a row stores them.
        blobs: full texts by their digests.
        root: the tree that follows; empty where there is none.
    """

    session_id: str
    counter: int
    agent: str
    journal: bytes
    blobs: dict[str, bytes] = {}
    root: str = ""


class Imported(Struct, frozen=True):
    """A session that was taken in."""

    session_id: str
    agent: str
    checkpoint: int
    working_directory: str
    files: int = 0


# ---------------------------------------------------------------- out


async def portable_of(store: Store, stored: StoredSession, counter: int | None) -> Portable:
    """Return a checkpoint for a document: the last step that was whole by this counter.

    Raises:
        BlobUnknown: a full text is not kept any more.
    """
    entries, session_id = entries_of(stored), stored.head.session_id
    state = fold(session_id, entries)
    to = state.conversation.mark_at(state.counter if counter is None else counter)
    kept = list(_upto(entries, to))
    blobs = {
        each.blob: await store.blob(each.blob)
        for each in kept
        if isinstance(each, Resulted | Late) and each.blob is not None
    }
    journal = encode_row([_without_trees(each) for each in kept])
    return Portable(session_id, to, stored.head.facts.agent, journal, blobs, root_at(entries, to))


def _upto(entries: Sequence[JournalEntry], counter: int) -> Iterable[JournalEntry]:
    """Return the journal up to a checkpoint; of the beginning, what was said before any answer."""
    for entry in entries:
        if counter == 0 and isinstance(entry, Answered):
            return
        yield entry
        if isinstance(entry, Resulted) and entry.counter == counter:
            return


def _without_trees(entry: JournalEntry) -> JournalEntry:
    """The trees before the checkpoint do not come along, so nothing may refer to them."""
    match entry:
        case Opened():
            return msgspec.structs.replace(
                entry,
                parent=None,
                group=None,
                tenant=None,
                working_directory="",
                snapshots=False,
                policy="",
            )
        case Intended():
            return msgspec.structs.replace(entry, root="")
        case Resulted() | Late() | Undone():
            return msgspec.structs.replace(entry, windows=())
        case RolledBack():
            return msgspec.structs.replace(entry, windows=(), restore_id="")
        case _:
            return entry


def write_portable(portable: Portable, files: WorkspaceFiles | None, out: BinaryIO) -> None:
    """Write a document.

    Raises:
        ContentLost, TreeDamaged: its files cannot be read; what was written is no document.
    """
    head = msgspec.msgpack.encode(portable)
    out.write(MAGIC + len(head).to_bytes(8, "big") + head)
    if portable.root and files is not None:
        files.export_tree(portable.root, out)


# ---------------------------------------------------------------- in


def read_portable(source: BinaryIO) -> tuple[Portable, list[JournalEntry]]:
    """Read the head of a document; its files, where it has some, come next in the source.

    Raises:
        ArchiveRefused: it is none, too large, damaged, or no session could have this journal.
    """
    if source.read(len(MAGIC)) != MAGIC:
        raise ArchiveRefused("this is no exported checkpoint")
    size = int.from_bytes(source.read(8), "big")
    if size > JOURNAL_BYTES_MAX:
        raise ArchiveRefused(
            f"it claims a journal of {size} bytes; {JOURNAL_BYTES_MAX} are allowed"
        )
    body = source.read(size)
    if len(body) != size:
        raise ArchiveRefused("it ends too early")
    try:
        portable = msgspec.msgpack.decode(body, type=Portable)
        entries = decode_row(portable.journal)
    except msgspec.MsgspecError as error:
        raise ArchiveRefused(f"it cannot be read: {error}") from error
    for digest, text in portable.blobs.items():
        if hashlib.sha256(text).hexdigest() != digest:
            raise ArchiveRefused(f"the text of {digest} is another one")
    _check(portable, entries)
    return portable, entries


def _check(portable: Portable, entries: Sequence[JournalEntry]) -> None:
    """See that a journal begins a session, and comes to the checkpoint with no call left open."""
    if not entries or not isinstance(entries[0], Opened) or entries[0].agent != portable.agent:
        raise ArchiveRefused("its journal does not begin with its session")
    if any(isinstance(each, Opened) for each in entries[1:]):
        raise ArchiveRefused("its journal begins twice")
    try:
        state = fold(portable.session_id, list(entries))
        rest = _resting(state)
    except Exception as error:  # whatever a made-up journal breaks, it is refused
        raise ArchiveRefused(f"no session could have its journal: {error}") from error
    if state.counter != portable.counter or not rest:
        raise ArchiveRefused("its journal does not come to its checkpoint")


def _resting(state: SessionState) -> bool:
    is_clear = state.rolling is None and state.unwound.running is None
    return is_clear and not state.conversation.open


async def import_portable(
    store: Store,
    portable: Portable,
    entries: Sequence[JournalEntry],
    *,
    session_id: str,
    owner: str,
    at_ms: int,
    directory: str = "",
) -> None:
    """Store a session that rests at the checkpoint of a document.

    Raises:
        SessionExists: the id is taken.
        StoreError: it cannot be stored.
    """
    opened = entries[0]
    assert isinstance(opened, Opened)  # as it was checked
    opened = msgspec.structs.replace(
        opened, working_directory=directory, snapshots=bool(directory), parent=None
    )
    facts = Facts(
        agent=portable.agent,
        title=f"checkpoint {portable.counter} of {portable.session_id}"[:TITLE_MAX],
        created_at_ms=at_ms,
        updated_at_ms=at_ms,
        working_directory=directory,
        reason="imported",
    )
    rows = _rows([opened, *entries[1:]])
    # Nobody's until it rests: whoever adopts what a killed import has left would run its calls.
    nobodys = msgspec.structs.replace(facts, agent="")
    create = Create(session_id=session_id, owner=owner, facts=nobodys, body=encode_row(rows[0]))
    await _commit(store, [create])
    counter = 0
    writes: list[Write] = []
    for seq, row in enumerate(rows[1:], 2):
        counter = max([counter, *(each.counter for each in row if isinstance(each, Resulted))])
        writes.append(
            Append(session_id=session_id, epoch=1, seq=seq, counter=counter, body=encode_row(row))
        )
    state = fold(session_id, list(entries))
    end = Ended("stopped", outcome_to_data(Stopped("imported")), state.spent)
    writes.append(
        Append(
            session_id=session_id,
            epoch=1,
            seq=len(rows) + 1,
            counter=counter,
            body=encode_row([end]),
            blobs=tuple(portable.blobs.items()),
            status="stopped",
            facts=facts,
        )
    )
    for start in range(0, len(writes), ENTRIES_AT_ONCE):
        await _commit(store, writes[start : start + ENTRIES_AT_ONCE])


def _rows(entries: Sequence[JournalEntry]) -> list[list[JournalEntry]]:
    """Arrange a journal so that each checkpoint ends a row, and can be loaded by itself."""
    rows: list[list[JournalEntry]] = [[]]
    for entry in entries:
        if rows[-1] and isinstance(rows[-1][-1], Resulted):
            rows.append([])
        rows[-1].append(entry)
    if any(isinstance(each, Resulted) for each in rows[0]):
        rows.insert(0, [rows[0].pop(0)])
    return rows


async def _commit(store: Store, writes: Sequence[Write]) -> None:
    for written in await store.commit(writes):
        if isinstance(written, UkemiError):
            raise written


def put_tree(files: WorkspaceFiles, root: str, folder: Path) -> int:
    """Put a kept tree into an empty folder, made if need be; returns how many paths were made there.

    Raises:
        UsageError: the folder is not empty, or something could not be made there.
    """
    folder.mkdir(exist_ok=True)
    if any(folder.iterdir()):
        raise UsageError(f"{str(folder)!r} is not empty; name a new folder")
    space = files.workspace(folder)
    touched = space.touched([Window(space.snapshot().root, root)])
    report = space.restore(space.plan_touched(root, touched, force=True))
    bad = [one for one in report.outcomes if one.did not in ("restored", "as wanted")]
    if bad:
        detail = bad[0].detail or bad[0].did
        raise UsageError(f"{str(folder)!r}: not all files could be made ({detail})")
    return len(report.changed)


async def taken_in(
    store: Store,
    files: WorkspaceFiles,
    source: BinaryIO,
    *,
    ids: Iterable[str],
    owner: str,
    at_ms: int,
    into: Path | None = None,
) -> Imported:
    """Take a document in: its session, and its files into a folder, named absolutely.

    Args:
        ids: names to try where the session's own is taken.

    Raises:
        ArchiveRefused: it is damaged, or not what it claims to be; no session was stored.
        UsageError: it has no files for the folder, or the folder is not empty.
        SessionExists: none of the names is free.
    """
    portable, entries = await anyio.to_thread.run_sync(read_portable, source)
    made = 0
    if into is not None:
        if not portable.root:
            raise UsageError("this checkpoint was exported without files; leave the folder out")
        root = await anyio.to_thread.run_sync(files.import_tree, source)
        if root != portable.root:
            raise ArchiveRefused("its files are those of another checkpoint")
        made = await anyio.to_thread.run_sync(put_tree, files, root, into)
    folder = "" if into is None else str(into)
    store_as = partial(
        import_portable, store, portable, entries, owner=owner, at_ms=at_ms, directory=folder
    )
    last: SessionExists | None = None
    for session_id in [portable.session_id, *ids]:
        try:
            await store_as(session_id=check_own_id(session_id))
        except SessionExists as error:
            last = error
            continue
        return Imported(session_id, portable.agent, portable.counter, folder, made)
    assert last is not None  # the session's own name was tried
    raise last
