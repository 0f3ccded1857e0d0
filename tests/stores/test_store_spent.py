"""What groups and tenants have consumed: summed up as it is stored, so that a start reads no session for it."""

import random
import sqlite3
from contextlib import closing

import pytest
from msgspec import structs
from store_tools import FACTS, append, claim, create, renew, write

from ukemi.stores import SqliteStore, Store
from ukemi.stores.base import Create, Facts, HeadQuery, Pack, Write
from ukemi.stores.records import SessionStatus, Spent
from ukemi.stores.sqlite_schema import SCHEMA_VERSION, migrate
from ukemi.stores.sqlite_tally import COLUMNS
from ukemi.supervisor.errors import UsageError

SHARES: list[tuple[str | None, str | None]] = [("g", "t"), ("g", None), (None, "u"), (None, None)]


def facts(number: int, steps: int) -> Facts:
    group, tenant = SHARES[number % len(SHARES)]
    spent = Spent(0.25 * steps, 0.125 * steps, steps, steps, steps, 100 * steps, 0.01 * steps, 1, 0)
    return structs.replace(FACTS, group=group, tenant=tenant, spent=spent)


async def summed(store: Store, kind: str, name: str) -> tuple[float, ...]:
    """Add up what the list of all sessions shows."""
    heads = await store.heads(HeadQuery(limit=1_000))
    of_it = [head.facts for head in heads if getattr(head.facts, kind) == name]
    each = [structs.astuple(facts.spent) for facts in of_it]
    return tuple(sum(values) for values in zip(*each, strict=True)) or (0,) * len(COLUMNS)


async def agrees(store: Store) -> None:
    for name in ("g", "t", "u"):
        by_group = structs.astuple(await store.spent(group=name))
        by_tenant = structs.astuple(await store.spent(tenant=name))
        assert by_group == pytest.approx(await summed(store, "group", name))
        assert by_tenant == pytest.approx(await summed(store, "tenant", name))


async def grown(store: Store, seed: int) -> None:
    """Let twelve sessions consume, rest, go on and end, in any order, several in a commit."""
    rng = random.Random(seed)
    await write(store, renew("owner-a", 10**9))
    await write(store, *(create(f"s-{n}", facts=facts(n, n)) for n in range(12)))
    stands = {n: (1, 1, "running") for n in range(12)}
    for turn in range(24):
        writes: list[Write] = []
        for n in rng.sample(range(12), 6):
            epoch, seq, status = stands[n]
            if status != "running":
                writes.append(claim(f"s-{n}", "owner-a"))
                epoch += 1
            then: SessionStatus = rng.choice(("running", "running", "parked", "completed"))
            told = facts(n, n + turn) if then != "running" or rng.random() < 0.5 else None
            writes.append(append(f"s-{n}", seq + 1, epoch=epoch, status=then, facts=told))
            if rng.random() < 0.3:
                writes.append(Pack(session_id=f"s-{n}"))
            stands[n] = (epoch, seq + 1, then)
        await write(store, *writes)
        if turn % 8 == 7:
            await agrees(store)


@pytest.mark.parametrize("seed", range(3))
async def test_the_sums_are_those_of_all_sessions(store: Store, seed: int) -> None:
    await grown(store, seed)
    await store.close()
    await store.open()
    await agrees(store)


async def test_a_write_that_is_undone_alone_counts_for_nothing(sqlite: SqliteStore) -> None:
    bad = structs.replace(create("s-2", facts=facts(0, 7)), body=b"x", owner="a\ud800")
    worse = Create(
        session_id="s-3", owner="a", facts=structs.replace(facts(0, 9), agent="\ud800"), body=b"x"
    )
    results = await sqlite.commit([create("s-1", facts=facts(0, 3)), bad, worse])
    assert [type(each).__name__ for each in results] == ["Done", "BadRecord", "BadRecord"]
    assert (await sqlite.spent(group="g")).steps == 3


async def test_nobody_has_consumed_nothing(store: Store) -> None:
    assert await store.spent(group="g") == await store.spent(tenant="t") == Spent()


async def test_one_of_both_is_asked_for(store: Store) -> None:
    for group, tenant in ((None, None), ("g", "t")):
        with pytest.raises(UsageError, match="give one of group="):
            await store.spent(group=group, tenant=tenant)


async def test_a_file_of_version_4_is_summed_up(sqlite: SqliteStore) -> None:
    await grown(sqlite, 5)
    before = await sqlite.spent(group="g")
    await sqlite.close()
    with closing(sqlite3.connect(sqlite.path)) as connection, connection:
        connection.execute("DROP TABLE tally")
        connection.execute("UPDATE head SET facts = x'00' WHERE sid = 's-3'")  # is in no group
        connection.execute("PRAGMA user_version = 4")
    await sqlite.open()
    after = await sqlite.spent(group="g")
    assert structs.astuple(after) == pytest.approx(structs.astuple(before))
    with closing(sqlite3.connect(sqlite.path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)


def test_the_table_has_all_there_is_to_sum_up() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection)
        names = [row[1] for row in connection.execute("PRAGMA table_info(tally)")]
    assert tuple(names) == ("kind", "name", *COLUMNS)
