"""People's decisions in the store: posted by anybody, decided once, taken with the row that applies
them; neither lost nor taken twice, whatever fails when."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Literal

import anyio
import pytest
from msgspec import structs
from store_faults import Fault, FaultyStore
from store_tools import append, bodies, claim, create, kinds, refuse, renew, row, write

from ukemi.stores import sqlite_schema
from ukemi.stores.base import (
    AlreadyDecided,
    Append,
    BadRecord,
    Conflict,
    Done,
    Facts,
    Fenced,
    Pack,
    Post,
    PostQuery,
    Rewrite,
    SessionDamaged,
    SessionUnknown,
    Store,
    StoreFailed,
    Write,
)
from ukemi.stores.evolution import CURRENT, Conversions
from ukemi.stores.memory import MemoryStore
from ukemi.stores.sqlite import SqliteStore
from ukemi.stores.sqlite_inbox import read_posts

MakeStore = Callable[[Conversions], Store]
ALL = PostQuery()


def decided(
    session_id: str, about: str = "call 2.0", *, body: bytes = b"done", by: str = "ann", at: int = 7
) -> Post:
    return Post(session_id=session_id, about=about, body=body, at_ms=at, by=by)


def taking(session_id: str, seq: int, *taken: str, epoch: int = 1) -> Append:
    return structs.replace(append(session_id, seq, epoch=epoch), taken=taken)


async def waiting(store: Store, query: PostQuery = ALL) -> list[tuple[str, str]]:
    return [(each.post.session_id, each.post.about) for each in await store.posts(query)]


# ---------------------------------------------------------------- posting


async def test_anybody_may_post_and_the_owner_keeps_its_session(store: Store) -> None:
    await write(store, renew("owner-a", 10_000), create("s-1", "owner-a"))
    assert await write(store, decided("s-1")) == [Done(1, 1)]
    (posted,) = await store.posts(ALL)
    assert posted.post == decided("s-1") and not posted.damaged
    assert (await store.head("s-1")).owner == "owner-a"
    await write(store, append("s-1", 2))


async def test_posts_wait_in_order_and_survive_a_restart(make_store: MakeStore) -> None:
    first = make_store(CURRENT)
    await first.open()
    await write(first, create("s-1"), create("s-2"))
    await write(first, decided("s-2", "b"), decided("s-1", "a"), decided("s-2", "a"))
    await first.close()
    second = make_store(CURRENT)
    await second.open()
    assert await waiting(second) == [("s-2", "b"), ("s-1", "a"), ("s-2", "a")]
    assert await waiting(second, PostQuery(session_id="s-2", limit=1)) == [("s-2", "b")]
    await second.close()


async def test_a_question_is_decided_once_also_after_it_was_taken(store: Store) -> None:
    await write(store, create("s-1"), decided("s-1", by="ann", at=7))
    other = decided("s-1", body=b"abandon", by="bob", at=9)
    for _ in range(2):
        error = await refuse(store, other, AlreadyDecided)
        assert (error.by, error.at_ms, error.body) == ("ann", 7, b"done")
        assert "call 2.0 was decided by ann" in str(error)
        if await waiting(store):
            await write(store, taking("s-1", 2, "call 2.0"))
    await write(store, append("s-1", 3, status="completed"), claim("s-1", "owner-b"))
    assert (await refuse(store, other, AlreadyDecided)).by == "ann"
    await write(store, decided("s-1", "call 2.1"))


async def test_the_same_post_again_is_no_error(store: Store) -> None:
    """As a writer sends it that never heard of its first try's commit."""
    await write(store, create("s-1"), decided("s-1"), decided("s-1"))
    assert await waiting(store) == [("s-1", "call 2.0")]
    await write(store, taking("s-1", 2, "call 2.0"))
    await write(store, decided("s-1"))
    assert await waiting(store) == [], "it was taken, and does not come back"


async def test_of_two_in_one_commit_the_first_wins(store: Store) -> None:
    await write(store, create("s-1"))
    both = await store.commit([decided("s-1"), decided("s-1", body=b"abandon", by="bob")])
    assert kinds(both) == ["Done", "AlreadyDecided"]


@pytest.mark.parametrize(
    "bad, kind",
    [
        pytest.param(decided("nobody"), SessionUnknown, id="unknown session"),
        pytest.param(decided("s-1", ""), BadRecord, id="about nothing"),
        pytest.param(decided("s-1", "\ud83d"), BadRecord, id="half a character"),
        pytest.param(decided("s-1", by="\ud83d"), BadRecord, id="half a character in who"),
        pytest.param(decided("s-1", body="text"), BadRecord, id="no bytes"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ],
)
async def test_a_bad_post_fails_alone(store: Store, bad: Write, kind: type[Exception]) -> None:
    await write(store, create("s-1"))
    results = await store.commit([bad, decided("s-1", "good")])
    assert isinstance(results[0], kind), results
    assert await waiting(store) == [("s-1", "good")]


# ---------------------------------------------------------------- taking


async def test_what_is_taken_is_taken_with_its_row(store: Store) -> None:
    await write(store, create("s-1"), decided("s-1", "a"), decided("s-1", "b"), create("s-2"))
    await write(store, decided("s-2", "a"), taking("s-1", 2, "a", "b"))
    assert await waiting(store) == [("s-2", "a")]
    assert await bodies(store, "s-1") == [b"row 1", b"row 2"]


@pytest.mark.parametrize(
    "bad, kind",
    [
        pytest.param(taking("s-1", 2, "a", "b"), Conflict, id="one was never posted"),
        pytest.param(taking("s-1", 2, "a", "a"), Conflict, id="twice in one row"),
        pytest.param(taking("s-1", 2, "gone"), Conflict, id="taken before"),
        pytest.param(taking("s-1", 3, "a"), Conflict, id="a row too far"),
        pytest.param(taking("s-1", 2, "a", epoch=2), Fenced, id="a stale owner"),
    ],
)
async def test_a_refused_row_takes_nothing(
    store: Store, bad: Append, kind: type[Exception]
) -> None:
    await write(store, create("s-1"), create("s-2"), decided("s-1", "a"), decided("s-1", "gone"))
    await write(store, taking("s-1", 2, "gone"), append("s-2", 2))
    at_two = structs.replace(bad, seq=bad.seq + 1)
    results = await store.commit([at_two, append("s-2", 3)])
    assert isinstance(results[0], kind), results
    assert isinstance(results[1], Done)
    assert await waiting(store) == [("s-1", "a")]
    await write(store, taking("s-1", 3, "a"))


async def test_packing_and_rewriting_keep_what_waits(store: Store) -> None:
    await write(store, create("s-1"), decided("s-1", "a"), decided("s-1", "b"))
    await write(store, taking("s-1", 2, "a"), append("s-1", 3, status="handed_over"))
    rewrite = Rewrite(session_id="s-1", epoch=1, seq=3, rows=(row(3),), oldest_counter=2)
    await write(store, Pack(session_id="s-1"), rewrite)
    assert await waiting(store) == [("s-1", "b")]
    await refuse(store, decided("s-1", "a", by="bob"), AlreadyDecided)


# ---------------------------------------------------------------- whose


@pytest.mark.parametrize(
    "query, expected",
    [
        pytest.param(ALL, ["free", "gone", "mine", "theirs"], id="all"),
        pytest.param(PostQuery(owner="a", now_ms=5), ["free", "gone", "mine"], id="of one owner"),
        pytest.param(PostQuery(owner="c", now_ms=5), ["free", "gone"], id="of a newcomer"),
        pytest.param(
            PostQuery(owner="c", now_ms=100), ["free", "gone", "mine", "theirs"], id="leases ended"
        ),
        pytest.param(PostQuery(agents=frozenset(["seller"])), ["mine"], id="of an agent"),
        pytest.param(PostQuery(agents=frozenset()), [], id="of no agent"),
        pytest.param(PostQuery(session_id="nobody"), [], id="of no session"),
    ],
)
async def test_only_the_owner_or_a_heir_is_asked(
    store: Store, query: PostQuery, expected: list[str]
) -> None:
    await write(store, renew("a", 100), renew("b", 100), renew("g", 5))
    await write(store, create("free", "a"), append("free", 2, status="handed_over"))
    await write(store, create("mine", "a", Facts(agent="seller")), create("theirs", "b"))
    await write(store, create("gone", "g"))
    await write(store, *(decided(each) for each in ("free", "gone", "mine", "theirs")))
    assert [session_id for session_id, _ in await waiting(store, query)] == expected


# ---------------------------------------------------------------- at once, and faults


async def test_of_many_posters_one_wins(store: Store) -> None:
    await write(store, create("s-1"))
    won: list[str] = []
    lost: list[AlreadyDecided] = []

    async def post(number: int) -> None:
        (result,) = await store.commit([decided("s-1", body=b"%d" % number, by=f"p-{number}")])
        if isinstance(result, AlreadyDecided):
            lost.append(result)
        else:
            won.append(f"p-{number}")

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(post, number)
    assert len(won) == 1
    assert {each.by for each in lost} == set(won) and len(lost) == 19


async def test_posters_of_two_connections_meet_in_the_file(tmp_path: Path) -> None:
    """AP-04: two clicks, two processes, any order; the loser is told who was first."""
    ann, bob = SqliteStore(tmp_path / "store.db"), SqliteStore(tmp_path / "store.db")
    await ann.open()
    await bob.open()
    rng = Random(4)
    for number in range(40):
        session_id = f"s-{number}"
        await write(ann, create(session_id))
        results: dict[str, object] = {}

        async def click(store: Store, by: str, at: str, told: dict[str, object]) -> None:
            (told[by],) = await store.commit([decided(at, body=by.encode(), by=by)])

        async with anyio.create_task_group() as group:
            for store, by in rng.sample([(ann, "ann"), (bob, "bob")], 2):
                group.start_soon(click, store, by, session_id, results)
        (winner,) = [by for by, result in results.items() if isinstance(result, Done)]
        (loser,) = [each for each in results.values() if isinstance(each, AlreadyDecided)]
        assert loser.by == winner
        (posted,) = await bob.posts(PostQuery(session_id=session_id))
        assert posted.post.by == winner
    await ann.close()
    await bob.close()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", [1, 2])
async def test_a_failing_commit_tried_again_posts_and_takes_once(
    store: Store, at: int, when: Literal["before", "after"]
) -> None:
    """A decision is there once, and is taken once, at whichever point the store broke off."""
    await write(store, create("s-1"))
    faulty = FaultyStore(store, [Fault(at=at, when=when)])
    steps: Sequence[Write] = (decided("s-1"), taking("s-1", 2, "call 2.0"))
    for step in steps:
        try:
            (result,) = await faulty.commit([step])
        except StoreFailed:
            (result,) = await faulty.commit([step])
        stored = isinstance(result, Conflict) and (await store.head("s-1")).seq == 2
        assert isinstance(result, Done) or stored, result
    assert await waiting(store) == []
    assert await bodies(store, "s-1") == [b"row 1", b"row 2"]


async def test_no_post_to_a_damaged_session(sqlite: SqliteStore) -> None:
    await write(sqlite, create("s-1"), create("s-2"))
    with closing(sqlite3.connect(sqlite.path)) as connection, connection:
        connection.execute("UPDATE log SET body = x'00' WHERE num = 1")
    await sqlite.close()
    await sqlite.open()
    results = await sqlite.commit([decided("s-1"), decided("s-2")])
    assert isinstance(results[0], SessionDamaged) and isinstance(results[1], Done)


async def test_a_damaged_post_is_flagged_and_blocks_no_other(sqlite: SqliteStore) -> None:
    await write(sqlite, create("s-1"), decided("s-1", "a"), decided("s-1", "b"))
    with closing(sqlite3.connect(sqlite.path)) as connection, connection:
        connection.execute("UPDATE post SET body = x'00' WHERE about = 'a'")
    assert [each.damaged for each in await sqlite.posts(ALL)] == [True, False]


async def test_both_stores_say_the_same(tmp_path: Path) -> None:
    """A law: any series of posts, rows and takings has the same results and leaves the same."""
    for seed in range(8):
        rng = Random(seed)
        stores = (MemoryStore(), SqliteStore(tmp_path / f"{seed}.db"))
        for each in stores:
            await each.open()
            await write(each, create("s-1"), create("s-2"))
        seqs = {"s-1": 1, "s-2": 1}
        for step in range(60):
            session_id, about = rng.choice(["s-1", "s-2"]), rng.choice("abcdef")
            one: Write = decided(session_id, about, body=b"%d" % rng.randrange(2))
            if rng.random() < 0.5:
                one = taking(session_id, seqs[session_id] + 1, *rng.sample("abc", rng.randrange(3)))
            results = [(await each.commit([one]))[0] for each in stores]
            assert type(results[0]) is type(results[1]), (seed, step, results)
            if isinstance(one, Append) and isinstance(results[0], Done):
                seqs[session_id] += 1
            assert await waiting(stores[0]) == await waiting(stores[1])
        for each in stores:
            await each.close()


# ---------------------------------------------------------------- the file


async def test_a_file_of_version_1_is_migrated_with_all_it_has(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    await write(store, create("s-1"), append("s-1", 2))
    await store.close()
    with closing(sqlite3.connect(store.path)) as connection, connection:
        for statement in (
            *("DROP TABLE tally", "DROP TABLE warning", "DROP INDEX head_left_open"),
            "ALTER TABLE head DROP COLUMN left_open",
            *("DROP TABLE post", "DROP INDEX head_asking", "DROP INDEX head_untold"),
            *("ALTER TABLE head DROP COLUMN asking", "PRAGMA user_version = 1"),
        ):
            connection.execute(statement)
    await store.open()
    assert await bodies(store, "s-1") == [b"row 1", b"row 2"]
    await write(store, decided("s-1"))
    assert await waiting(store) == [("s-1", "call 2.0")]
    await store.close()
    with closing(sqlite3.connect(store.path)) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    assert version == sqlite_schema.SCHEMA_VERSION


@pytest.mark.parametrize(
    ("session_id", "first"),
    [(None, "SCAN p USING INDEX post_waiting"), ("s-1", "SEARCH h USING INDEX")],
    ids=["all", "one session"],
)
async def test_asking_reads_what_waits_and_no_table_of_sessions(
    sqlite: SqliteStore, session_id: str | None, first: str
) -> None:
    """The plan: sessions that nothing waits for, and for one session those of others, cost nothing."""
    seen: list[str] = []
    with closing(sqlite3.connect(sqlite.path)) as connection:
        connection.set_trace_callback(seen.append)
        query = PostQuery(owner="a", now_ms=1, agents=frozenset(["buyer"]), session_id=session_id)
        assert read_posts(connection, query) == []
        connection.set_trace_callback(None)
        (statement,) = seen
        plan = [str(each[3]) for each in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
    assert plan[0].startswith(first), plan
    others = [step for step in plan[1:] if step.startswith("SCAN") and "json_each" not in step]
    assert others == [], plan
