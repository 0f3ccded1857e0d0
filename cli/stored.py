"""Which store, and reading one from the command line: nothing is claimed, and no store is made."""

import os
import shlex
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio
from msgspec import Struct

from ..actors.inspection import entries_of
from ..stores.base import Head, HeadQuery, SessionDamaged, Store
from ..stores.memory import MemoryStore
from ..stores.open import open_store
from ..stores.records import JournalEntry, Resulted
from ..stores.sqlite import SqliteStore
from .errors import CannotRead
from .owners import Standing, standing_of

DEPTH_MAX = 8
"""Levels of sub-sessions that are read."""

CHILDREN_MAX = 1000
PAGE = 1000
"""Sessions that are listed at a time where all are wanted."""


class Numbered(Struct, frozen=True):
    """A journal entry and the row it was stored with."""

    seq: int
    counter: int
    entry: JournalEntry


class StoredView(Struct, frozen=True):
    """A session as read: head, entries, sub-sessions by id, what is damaged, who drives it."""

    head: Head
    entries: list[JournalEntry]
    children: "tuple[StoredView, ...]" = ()
    damaged: str | None = None
    standing: Standing = Standing()


def default_store(environ: Mapping[str, str] | None = None) -> str:
    """Return the store where ``--store`` does not say: UKEMI_STORE, or ``ukemi.db`` here."""
    return (os.environ if environ is None else environ).get("UKEMI_STORE") or "ukemi.db"


async def all_heads(page_behind: Callable[[str | None], Awaitable[Sequence[Head]]]) -> list[Head]:
    """Return the heads of all pages of `PAGE`; each is asked for by the last id before it."""
    heads: list[Head] = []
    page: Sequence[Head] | None = None
    while page is None or len(page) == PAGE:
        page = await page_behind(heads[-1].session_id if heads else None)
        heads += page
    return heads


@asynccontextmanager
async def reading(where: str) -> AsyncGenerator[Store]:
    """Open a store that exists.

    Raises:
        CannotRead: there is no such store; none was made.
        StoreUnusable: the file is none of ours, damaged, or written by a newer version.
    """
    store = await existing_store(where)
    await store.open()
    try:
        yield store
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


async def existing_store(where: str) -> Store:
    """Return a store that exists, not opened yet.

    Raises:
        CannotRead: there is no such store; none was made.
    """
    store = open_store(where)
    if isinstance(store, MemoryStore):
        raise CannotRead(f"{where!r} lives in the memory of one process: there is nothing to read")
    if isinstance(store, SqliteStore):
        path, log = anyio.Path(store.path), anyio.Path(f"{store.path}-wal")
        try:
            there = await path.exists()
        except OSError as error:  # a name that is too long
            raise CannotRead(
                f"store {store.name!r}: {error.strerror}; give another path"
            ) from error
        if not there:
            raise CannotRead(
                f"there is no store {store.name!r}; name one with --store PATH or UKEMI_STORE"
            )
        # SQLite makes a file before it fills it; with a log beside it somebody is doing that now.
        if await path.is_file() and not (await path.stat()).st_size and not await log.exists():
            raise CannotRead(f"{store.name!r} is an empty file, no store; it was left as it is")
    return store


async def read_session(
    store: Store, session_id: str, upto: int | None = None, depth: int = DEPTH_MAX
) -> StoredView:
    """Read a session with its sub-sessions, up to a checkpoint where one is given.

    What can be read of a damaged session is returned, with what is wrong.

    Raises:
        SessionUnknown: the store has no such session.
        CheckpointUnknown: there is no such counter, or it is no longer kept.
    """
    damaged: str | None = None
    try:
        stored = await store.load(session_id, upto=upto)
    except SessionDamaged as error:
        stored = await store.load(session_id, fallback=True, upto=upto)
        damaged = stored.lost or str(error)
    entries = entries_of(stored)
    if upto is not None:
        entries = _until(entries, upto)
    children: list[StoredView] = []
    if depth:
        query = HeadQuery(parent=session_id, limit=CHILDREN_MAX)
        for head in reversed(await store.heads(query)):
            children.append(await read_session(store, head.session_id, depth=depth - 1))
    standing = Standing() if upto is not None else standing_of(stored.head)
    return StoredView(stored.head, entries, tuple(children), damaged, standing)


def _until(entries: list[JournalEntry], counter: int) -> list[JournalEntry]:
    """Return the entries up to and with the one that reached this counter."""
    for index, entry in enumerate(entries):
        if isinstance(entry, Resulted) and entry.counter >= counter:
            return entries[: index + 1]
    return entries


def at_store(where: str) -> str:
    """Return what a line to type needs so that it is about this store; nothing for the usual one."""
    return "" if where == default_store() else f" --store {shlex.quote(where)}"
