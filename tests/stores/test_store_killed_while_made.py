"""A store whose maker was killed at any statement of making or migrating it opens, and is whole.

What a kill leaves behind is what the files hold at that instant; so they are copied while it works.
"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ukemi.stores.base import HeadQuery, StoreUnusable
from ukemi.stores.sqlite import SqliteStore
from ukemi.stores.sqlite_schema import APPLICATION_ID, SCHEMA_VERSION, migrate


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def left_behind(folder: Path) -> list[Path]:
    """Make a store, and return a copy of its files from before each statement."""
    path, copies = folder / "made.db", list[Path]()

    def copy(statement: str) -> None:
        into = folder / f"copy-{len(copies)}"
        into.mkdir()
        for file in folder.glob("made.db*"):
            shutil.copy(file, into / file.name.replace("made", "store"))
        copies.append(into / "store.db")

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.set_trace_callback(copy)
        migrate(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.set_trace_callback(None)
    return copies


@pytest.mark.parametrize("first", [0, 1, 2])
async def test_a_store_killed_while_it_was_made_opens(tmp_path: Path, first: int) -> None:
    copies = left_behind(tmp_path)
    hot = [each for each in copies if each.with_name("store.db-journal").exists()]
    assert len(hot) > 10
    for path in [*copies[first::6], *copies[-1 - first :]]:
        store = SqliteStore(path)
        await store.open()
        try:
            assert await store.heads(HeadQuery()) == []
        finally:
            await store.close()
        with closing(sqlite3.connect(path)) as connection:
            numbers = [
                connection.execute(f"PRAGMA {each}").fetchone()[0]
                for each in ("application_id", "user_version", "integrity_check")
            ]
        assert numbers == [APPLICATION_ID, SCHEMA_VERSION, "ok"]


def theirs(folder: Path, number: int) -> Path:
    """Return the file of another program that was killed in the middle of a transaction."""
    path = folder / "theirs.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA application_id = {number}")
        connection.execute("CREATE TABLE theirs(x)")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO theirs VALUES (1)")
        for file in folder.glob("theirs.db*"):
            shutil.copy(file, folder / file.name.replace("theirs", "copy"))
    return folder / "copy.db"


def contents(path: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in path.parent.glob(f"{path.name}*")}


@pytest.mark.parametrize("number", [0, 7])
async def test_a_file_of_another_program_killed_at_work_is_refused_untouched(
    tmp_path: Path, number: int
) -> None:
    """Not even what that program had begun is rolled back: that is its own to do."""
    copy = theirs(tmp_path, number)
    before = contents(copy)
    assert len(before) == 2
    with pytest.raises(StoreUnusable, match="another program"):
        await SqliteStore(copy).open()
    assert contents(copy) == before
