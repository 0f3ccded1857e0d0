"""Alerts nobody was told of, and sessions that left questions open: the same in both stores."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from ukemi.stores.base import (
    WARNINGS_MAX,
    Append,
    BadRecord,
    Create,
    Done,
    Facts,
    HeadQuery,
    Leave,
    Renew,
    Store,
    Warn,
    Warned,
    WarningQuery,
)
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import SessionStatus
from ukemi.stores.sqlite import SqliteStore
from ukemi.stores.sqlite_heads import read_heads

FACTS = Facts(agent="buyer", created_at_ms=1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    yield MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "store.db")


def warn(name: str, owner: str = "a") -> Warn:
    return Warn(name=name, owner=owner, text=f"look at {name}", at_ms=7, session_id="s-1")


async def names(store: Store, owner: str, now_ms: int = 0) -> list[str]:
    query = WarningQuery(owner=owner, now_ms=now_ms)
    return [each.name for each in await store.warnings(query)]


async def test_an_alert_is_kept_until_somebody_was_told(store: Store) -> None:
    await store.open()
    assert await store.commit([warn("1"), warn("2"), warn("1")]) == [Done()] * 3
    assert await store.warnings(WarningQuery(owner="a", now_ms=0)) == [warn("1"), warn("2")]
    assert await store.commit([Warned(name="1"), Warned(name="1")]) == [Done()] * 2
    assert await names(store, "a") == ["2"]
    await store.close()


async def test_those_of_an_owner_that_lives_are_its_own(store: Store) -> None:
    await store.open()
    await store.commit([Renew(owner="a", lease_until_ms=100), warn("1"), warn("2", "gone")])
    assert await names(store, "b", 50) == ["2"]
    assert await names(store, "a", 50) == ["1", "2"]
    assert await names(store, "b", 100) == ["1", "2"]
    await store.commit([Leave(owner="a")])
    assert await names(store, "b", 50) == ["1", "2"]
    await store.close()


async def test_the_newest_are_kept(store: Store) -> None:
    await store.open()
    await store.commit([warn(str(number)) for number in range(WARNINGS_MAX + 3)])
    found = await names(store, "a")
    assert (len(found), found[0]) == (WARNINGS_MAX, "3")
    await store.close()


async def test_what_cannot_be_stored_fails_alone(store: Store) -> None:
    await store.open()
    bad = structs.replace(warn("1"), text="\ud800")
    written = await store.commit([bad, warn("2")])
    assert isinstance(written[0], BadRecord) and written[1] == Done()
    assert await names(store, "a") == ["2"]
    await store.close()


# ---------------------------------------------------------------- questions left open


async def end(store: Store, name: str, status: SessionStatus, left_open: int) -> None:
    facts = structs.replace(FACTS, left_open=left_open)
    done = Append(session_id=name, epoch=1, seq=2, counter=0, body=b"2", status=status, facts=facts)
    await store.commit([Create(session_id=name, owner="a", facts=FACTS, body=b"1"), done])


async def test_sessions_that_left_questions_open_are_found(store: Store) -> None:
    await store.open()
    await end(store, "none", "stopped", 0)
    await end(store, "one", "stopped", 1)
    await end(store, "two", "completed", 2)
    assert [each.session_id for each in await store.heads(HeadQuery(left_open=True))] == [
        "two",
        "one",
    ]
    query = HeadQuery(left_open=True, status=frozenset({"stopped"}))
    (head,) = await store.heads(query)
    assert (head.session_id, head.facts.left_open) == ("one", 1)
    await store.close()


async def test_they_are_found_by_an_index(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    await end(store, "one", "stopped", 1)
    seen: list[str] = []
    with closing(sqlite3.connect(store.path)) as connection:
        connection.set_trace_callback(seen.append)
        read_heads(connection, HeadQuery(left_open=True, status=frozenset({"stopped"})))
        connection.set_trace_callback(None)
        plan = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {seen[0]}")]
    assert plan[0] == "SEARCH h USING INDEX head_left_open (num<?)", plan
    assert not any("TEMP B-TREE" in line for line in plan), plan
    await store.close()
