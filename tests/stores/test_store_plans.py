"""No statement of the SQLite store looks at all sessions, all rows or all texts: the plan of each is asked for.

SQLite keeps no statistics here, so a plan is the same for ten sessions and for a million.
"""

import re
import sqlite3
from contextlib import closing

from msgspec import structs
from store_tools import FACTS, append, claim, create, grow, renew, row, write

from ukemi.stores import SqliteStore
from ukemi.stores.base import (
    HeadQuery,
    Leave,
    OpenRequest,
    Pack,
    Post,
    PostQuery,
    Rewrite,
    Warn,
    Warned,
    WarningQuery,
)
from ukemi.stores.sqlite_heads import _ORPHANS  # pyright: ignore[reportPrivateUsage]

# What may be read from end to end, because it is small whatever there is in the store: sessions that
# are owned, owners, alerts (1,000 at most), indexes of what waits, and what the statement brings along.
SMALL = re.compile(
    r"SCAN (l|live|o|owner|w|warning|chain|\d* ?CONSTANT ROWS?)"
    r"|SCAN json_each VIRTUAL TABLE.*|SCAN p USING INDEX post_waiting"
)
PLANNED = ("SELECT", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE")

REQUEST = OpenRequest(
    n=2, index=0, tool="order", arguments="{}", digest="d", at_ms=1, expires_at_ms=None
)
SHARED = structs.replace(FACTS, group="g", tenant="t")


async def use(store: SqliteStore) -> None:
    """Do everything a store can do."""
    await write(store, renew("owner-a"), renew("owner-b", 20_000))
    await grow(store, "s-1", 4)
    await write(store, create("s-2", facts=SHARED), *(append("s-2", seq) for seq in (2, 3, 4)))
    await write(
        store,
        create("s-3", facts=structs.replace(FACTS, parent="s-1")),
        Post(session_id="s-1", about="call 2.0", body=b"yes", at_ms=1, by="ann"),
        Warn(name="w", owner="owner-a", text="look", at_ms=1),
    )
    await write(
        store,
        structs.replace(append("s-1", 5, facts=FACTS), taken=("call 2.0",)),
        append("s-2", 5, blobs=(("d-1", b"long"), ("d-2", b"text"))),
    )
    asking = structs.replace(SHARED, due_at_ms=5, requests=(REQUEST,), left_open=1)
    await write(store, append("s-2", 6, status="parked", facts=asking))
    await write(store, append("s-3", 2, status="completed", facts=FACTS))
    await write(store, Pack(session_id="s-1"), Pack(session_id="s-2"))
    await write(store, append("s-1", 6))
    await write(store, Pack(session_id="s-1"))
    await write(store, claim("s-2", "owner-b"), claim("s-1", "owner-b", 50_000))
    rows = tuple(row(seq) for seq in (3, 6))
    await write(
        store,
        Rewrite(
            session_id="s-2", epoch=2, seq=6, rows=rows, oldest_counter=2, blobs=frozenset(["d-2"])
        ),
        Warned(name="w"),
    )
    await write(store, Leave(owner="owner-a"), renew("owner-c"))
    (refused,) = await store.commit([append("s-2", 7, epoch=1)])
    assert "taken over" in str(refused)
    await read(store)


async def read(store: SqliteStore) -> None:
    """Ask everything that a runtime asks; lists by agent, which people ask for, are no part of it."""
    for session_id in ("s-1", "s-2"):
        await store.load(session_id)
        await store.load(session_id, upto=4 if session_id == "s-1" else 5)
        await store.head(session_id)
    await store.owners()
    await store.orphans(1, frozenset(["owner-a"]), 10)
    await store.posts(PostQuery(owner="owner-a", now_ms=1, agents=frozenset(["buyer"])))
    await store.posts(PostQuery(session_id="s-1", owner="owner-a", now_ms=1))
    await store.warnings(WarningQuery(owner="owner-a", now_ms=1))
    await store.blob("d-2")
    await store.spent(group="g")
    await store.spent(tenant="t")
    for query in (
        HeadQuery(),
        HeadQuery(after="s-2"),
        HeadQuery(status=frozenset(["running", "completed"])),
        HeadQuery(parent="s-1"),
        HeadQuery(status=frozenset(["parked"]), due_before_ms=9),
        HeadQuery(asking="any"),
        HeadQuery(asking="untold"),
        HeadQuery(left_open=True),
    ):
        await store.heads(query)


async def statements(store: SqliteStore) -> set[str]:
    """Return the statements that both connections ran."""
    seen: set[str] = set()
    channels = [store._writer, store._reader]  # pyright: ignore[reportPrivateUsage]
    for channel in channels:
        assert channel is not None
        await channel.run(lambda connection: connection.set_trace_callback(seen.add))
    await use(store)
    for channel in channels:
        assert channel is not None
        await channel.run(lambda connection: connection.set_trace_callback(None))
    return {each for each in seen if each.startswith(PLANNED)}


async def test_no_statement_scans_what_grows_with_the_store(sqlite: SqliteStore) -> None:
    ran = await statements(sqlite)
    assert {
        "log",
        "live",
        "head",
        "seg",
        "owner",
        "blob",
        "blob_ref",
        "post",
        "warning",
        "tally",
    } <= {name for each in ran for name in re.findall(r"(?:FROM|INTO|JOIN|UPDATE) (\w+)", each)}
    with closing(sqlite3.connect(sqlite.path)) as connection:
        plans = {
            each: [str(step[3]) for step in connection.execute(f"EXPLAIN QUERY PLAN {each}")]
            for each in ran
        }
    scans = {
        (step, each)
        for each, plan in plans.items()
        for step in plan
        if step.startswith("SCAN") and not SMALL.fullmatch(step)
    }
    assert not scans
    automatic = {each for each, plan in plans.items() if any("AUTOMATIC" in step for step in plan)}
    assert not automatic


async def test_mending_a_broken_chain_is_the_one_scan_and_only_where_it_is_broken(
    sqlite: SqliteStore,
) -> None:
    await grow(sqlite, "s-1", 5)
    seen: list[str] = []
    reader = sqlite._reader  # pyright: ignore[reportPrivateUsage]
    assert reader is not None
    await reader.run(lambda connection: connection.set_trace_callback(seen.append))
    await sqlite.load("s-1", fallback=True, upto=3)
    assert not any("ORDER BY seq" in each for each in seen)
    with closing(sqlite3.connect(sqlite.path)) as connection, connection:
        connection.execute("UPDATE log SET prev = 0 WHERE seq = 3")
    assert len((await sqlite.load("s-1", fallback=True)).rows) == 5
    assert any("ORDER BY seq" in each for each in seen)


async def test_of_sessions_that_somebody_drives_orphans_look_at_no_head(
    sqlite: SqliteStore,
) -> None:
    """Asked at each renewal of the lease: ten thousand heads, all over the file, would be read for nothing."""
    with closing(sqlite3.connect(sqlite.path)) as connection:
        found = connection.execute(f"EXPLAIN QUERY PLAN {_ORPHANS}", (1, "[]", 10))
        steps = [str(step[3]).split(" USING")[0] for step in found if step[1] == 0]
    assert [step for step in steps if "SUBQUERY" not in step] == ["SCAN l", "SEARCH o", "SEARCH h"]
