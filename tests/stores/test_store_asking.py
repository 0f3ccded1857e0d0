"""Open requests for approval are found by an index: as many as there are, whatever else is stored."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from msgspec import structs

from ukemi.stores.base import Append, Claim, Create, Done, Facts, HeadQuery, OpenRequest, Store
from ukemi.stores.memory import MemoryStore
from ukemi.stores.sqlite import SqliteStore
from ukemi.stores.sqlite_heads import read_heads
from ukemi.stores.sqlite_schema import SCHEMA_VERSION

FACTS = Facts(agent="buyer", created_at_ms=1)


def asked(index: int = 0, *, told: bool = False) -> OpenRequest:
    return OpenRequest(n=2, index=index, tool="pay", arguments="{}", digest="d", at_ms=1, told=told)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    yield MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "store.db")


async def write(store: Store, *writes: Create | Append | Claim) -> None:
    for written in await store.commit(writes):
        assert isinstance(written, Done), written


async def park(store: Store, name: str, *requests: OpenRequest) -> None:
    facts = structs.replace(FACTS, requests=requests)
    await write(
        store,
        Create(session_id=name, owner="a", facts=FACTS, body=b"1"),
        Append(session_id=name, epoch=1, seq=2, counter=0, body=b"2", status="parked", facts=facts),
    )


async def found(store: Store, asking: str = "any") -> list[str]:
    query = HeadQuery(asking="any" if asking == "any" else "untold")
    return [head.session_id for head in await store.heads(query)]


async def test_sessions_that_ask_are_listed_and_no_others(store: Store) -> None:
    await store.open()
    await park(store, "quiet")
    await park(store, "asks", asked(), asked(1, told=True))
    await park(store, "told", asked(told=True))
    assert await found(store) == ["told", "asks"]
    assert await found(store, "untold") == ["asks"]
    (head,) = await store.heads(HeadQuery(asking="untold"))
    assert head.facts.requests == (asked(), asked(1, told=True))
    await store.close()


async def test_a_running_session_is_listed_by_its_newest_facts(store: Store) -> None:
    await store.open()
    await park(store, "one", asked())
    await write(store, Claim(session_id="one", owner="a", now_ms=1))
    assert await found(store) == ["one"]
    await write(store, Append(session_id="one", epoch=2, seq=3, counter=0, body=b"3", facts=FACTS))
    assert await found(store) == []
    await write(
        store, Append(session_id="one", epoch=2, seq=4, counter=0, body=b"4", status="parked")
    )
    assert await found(store) == []
    await store.close()


async def test_both_stores_find_the_same(tmp_path: Path) -> None:
    stores: list[Store] = [MemoryStore(), SqliteStore(tmp_path / "store.db")]
    rng = Random(7)
    for each in stores:
        await each.open()
    for number in range(40):
        requests = [asked(index, told=rng.random() < 0.5) for index in range(rng.randrange(3))]
        for each in stores:
            await park(each, f"s-{number}", *requests)
    for asking in ("any", "untold"):
        left, right = [await found(each, asking) for each in stores]
        assert left == right and left
    for each in stores:
        await each.close()


@pytest.mark.parametrize(("asking", "index"), [("any", "asking"), ("untold", "untold")])
async def test_no_table_of_sessions_is_read(tmp_path: Path, asking: str, index: str) -> None:
    """The plan: what is parked and asks nothing costs nothing."""
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    await park(store, "one", asked())
    seen: list[str] = []
    with closing(sqlite3.connect(store.path)) as connection:
        connection.set_trace_callback(seen.append)
        query = HeadQuery(
            status=frozenset(["parked"]), asking="any" if asking == "any" else "untold"
        )
        read_heads(connection, query)
        connection.set_trace_callback(None)
        plan = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {seen[0]}")]
    assert plan[0] == f"SEARCH h USING INDEX head_{index} (num<?)", plan
    assert not any("TEMP B-TREE" in line for line in plan), plan
    await store.close()


async def test_only_sessions_that_can_ask_are_looked_for(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    await park(store, "one", asked())
    seen: list[str] = []
    with closing(sqlite3.connect(store.path)) as connection:
        connection.set_trace_callback(seen.append)
        assert [head.session_id for head in read_heads(connection, HeadQuery(asking="any"))] == [
            "one"
        ]
    lists = [statement for statement in seen if "ORDER BY" in statement]
    assert len(lists) == 2 and not any("'completed'" in statement for statement in lists)
    await store.close()


async def test_a_file_of_version_2_is_migrated(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    await park(store, "quiet")
    await store.close()
    with closing(sqlite3.connect(store.path)) as connection, connection:
        for statement in (
            *("DROP TABLE tally", "DROP TABLE warning", "DROP INDEX head_left_open"),
            "ALTER TABLE head DROP COLUMN left_open",
            *("DROP INDEX head_asking", "DROP INDEX head_untold"),
            *("ALTER TABLE head DROP COLUMN asking", "PRAGMA user_version = 2"),
        ):
            connection.execute(statement)
    await store.open()
    await park(store, "asks", asked())
    assert await found(store) == ["asks"]
    await store.close()
    with closing(sqlite3.connect(store.path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    assert version == SCHEMA_VERSION
