"""What every store does, sentence by sentence of the Store protocol."""

import math
from collections.abc import Callable

import anyio
import pytest
from store_tools import (
    FACTS,
    append,
    bodies,
    by_id,
    claim,
    create,
    grow,
    kinds,
    listed,
    refuse,
    renew,
    row,
    write,
)

from ukemi.stores.base import (
    BadRecord,
    BlobUnknown,
    CheckpointUnknown,
    Conflict,
    Done,
    Facts,
    Fenced,
    Forget,
    HeadQuery,
    Leave,
    Pack,
    Rewrite,
    SessionExists,
    SessionOwned,
    SessionUnknown,
    Store,
    StoreFailed,
    Write,
)
from ukemi.stores.evolution import CURRENT, Conversions
from ukemi.stores.records import SessionStatus
from ukemi.supervisor.errors import UkemiError

MakeStore = Callable[[Conversions], Store]


# ---------------------------------------------------------------- create


async def test_created_session_is_owned_under_epoch_one(store: Store) -> None:
    (done,) = await write(store, create("s-1", "owner-a"))
    assert done == Done(1, 1)
    head = await store.head("s-1")
    assert (head.status, head.epoch, head.seq, head.counter) == ("running", 1, 1, 0)
    assert (head.owner, head.facts, head.oldest_counter) == ("owner-a", FACTS, 0)
    assert (await store.load("s-1")).rows == [row(1)]


async def test_session_exists_once(store: Store) -> None:
    await write(store, create("s-1"))
    error = await refuse(store, create("s-1", "owner-b"), SessionExists)
    assert "s-1" in str(error)
    both = await store.commit([create("s-2"), create("s-2")])
    assert kinds(both) == ["Done", "SessionExists"]
    assert (await store.head("s-1")).owner == "owner-a"


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(create(""), id="no session id"),
        pytest.param(create("s-1", ""), id="no owner"),
        pytest.param(create("\ud83d"), id="half a character in the id"),
        pytest.param(create("s-1", "\ud83d"), id="half a character in the owner"),
        pytest.param(create("s-1", facts=Facts(agent="\ud83d")), id="half a character in facts"),
        pytest.param(create("s-1", facts=Facts(agent="a", due_at_ms=2**70)), id="number too large"),
    ],
)
async def test_bad_record_fails_alone(store: Store, bad: Write) -> None:
    """One bad write must not fail the others, and leaves nothing behind."""
    results = await store.commit([create("a"), bad, append("a", 2), create("b")])
    assert kinds(results) == ["Done", "BadRecord", "Done", "Done"]
    assert await listed(store) == ["b", "a"]
    assert await bodies(store, "a") == [b"row 1", b"row 2"]


# ---------------------------------------------------------------- append


async def test_rows_come_back_in_order_and_byte_for_byte(store: Store) -> None:
    await write(store, create("s-1"), create("s-2"))
    for seq in range(2, 30):
        await write(store, append("s-1", seq, body=bytes([seq]) * seq), append("s-2", seq))
    loaded = await store.load("s-1")
    assert loaded.lost is None
    assert [r.seq for r in loaded.rows] == list(range(1, 30))
    assert [r.body for r in loaded.rows[1:]] == [bytes([seq]) * seq for seq in range(2, 30)]
    assert (loaded.head.seq, loaded.head.counter) == (29, 28)


async def test_append_says_where_the_session_stands(store: Store) -> None:
    results = await write(store, create("s-1"), append("s-1", 2), append("s-1", 3))
    assert results == [Done(1, 1), Done(1, 2), Done(1, 3)]


@pytest.mark.parametrize(
    "bad, kind",
    [
        pytest.param(append("s-1", 3), Conflict, id="gap"),
        pytest.param(append("s-1", 1), Conflict, id="row that is there"),
        pytest.param(append("s-1", 2, epoch=2), Fenced, id="epoch to come"),
        pytest.param(append("s-1", 2, epoch=0), Fenced, id="epoch gone by"),
        pytest.param(append("nobody", 2), SessionUnknown, id="unknown session"),
        pytest.param(append("\ud83d", 2), (SessionUnknown, BadRecord), id="id that is no text"),
        pytest.param(append("s-1", 2, counter=-1), BadRecord, id="counter goes back"),
        pytest.param(append("s-1", 2, counter=2**60), BadRecord, id="counter too large"),
    ],
)
async def test_refused_append_changes_nothing(
    store: Store, bad: Write, kind: type[Exception]
) -> None:
    await write(store, create("s-1"), create("s-2"))
    results = await store.commit([bad, append("s-2", 2)])
    assert isinstance(results[0], kind), results
    assert results[1] == Done(1, 2)
    assert await bodies(store, "s-1") == [b"row 1"]


async def test_body_that_is_not_bytes_is_refused(store: Store) -> None:
    await write(store, create("s-1"))
    bad = append("s-1", 2)
    text: object = "text"
    bad = type(bad)(session_id="s-1", epoch=1, seq=2, counter=1, body=text)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    error = await refuse(store, bad, BadRecord)
    assert "str" in str(error) or "TypeError" in str(error)
    assert (await store.head("s-1")).seq == 1


async def test_facts_replace_the_facts_where_given(store: Store) -> None:
    changed = Facts(agent="buyer", title="Done", updated_at_ms=7)
    await write(store, create("s-1"), append("s-1", 2, facts=changed), append("s-1", 3))
    assert (await store.head("s-1")).facts == changed
    await write(store, append("s-1", 4, status="parked"))
    assert (await store.head("s-1")).facts == changed


@pytest.mark.parametrize("status", ["parked", "completed", "handed_over", "stopped"])
async def test_other_status_than_running_ends_the_ownership(
    store: Store, status: SessionStatus
) -> None:
    facts = Facts(agent="buyer", reason="why", due_at_ms=99)
    await write(store, create("s-1"), append("s-1", 2, status=status, facts=facts))
    head = await store.head("s-1")
    assert (head.status, head.owner, head.lease_until_ms) == (status, None, None)
    assert (head.seq, head.counter, head.epoch, head.facts) == (2, 1, 1, facts)
    assert await bodies(store, "s-1") == [b"row 1", b"row 2"]
    assert await store.owners() == {}


async def test_parked_session_takes_no_rows_until_it_is_claimed(store: Store) -> None:
    await write(store, create("s-1"), append("s-1", 2, status="parked"))
    await refuse(store, append("s-1", 3), Fenced)
    await write(store, claim("s-1", "owner-a"), append("s-1", 3, epoch=2))
    assert (await store.head("s-1")).status == "running"


async def test_park_and_wake_in_one_commit(store: Store) -> None:
    results = await write(
        store,
        create("s-1"),
        append("s-1", 2, status="parked", facts=Facts(agent="x")),
        claim("s-1", "owner-b"),
        append("s-1", 3, epoch=2),
    )
    assert results[-1] == Done(2, 3)
    head = await store.head("s-1")
    assert (head.status, head.owner, head.facts.agent) == ("running", "owner-b", "x")
    assert await bodies(store, "s-1") == [b"row 1", b"row 2", b"row 3"]


# ---------------------------------------------------------------- ownership


async def test_claim_is_refused_while_the_lease_lasts(store: Store) -> None:
    await write(store, renew("owner-a", 10_000), create("s-1", "owner-a"))
    error = await refuse(store, claim("s-1", "owner-b", now_ms=9_999), SessionOwned)
    assert "s-1" in str(error) and "owner-a" in str(error) and "lasts another 0.0 s" in str(error)
    (done,) = await write(store, claim("s-1", "owner-b", now_ms=10_000))
    assert done == Done(2, 1, has_children=False)
    await refuse(store, append("s-1", 2, epoch=1), Fenced)
    await write(store, append("s-1", 2, epoch=2))


async def test_claim_tells_whether_there_are_sessions_below(store: Store) -> None:
    """Also of one that was stored by the same commit."""
    await write(store, create("s-1"), create("s-2", facts=Facts(agent="x", parent="s-1")))
    done = await write(
        store,
        claim("s-1", "owner-b"),
        claim("s-2", "owner-b"),
        create("s-3", facts=Facts(agent="x", parent="s-2")),
        claim("s-2", "owner-b"),
    )
    assert [each.has_children for each in done] == [True, False, True, True]


async def test_claim_of_a_dead_owners_session_needs_no_waiting(store: Store) -> None:
    await write(store, renew("owner-a"), create("s-1", "owner-a"))
    dead = frozenset({"owner-a"})
    (done,) = await write(store, claim("s-1", "owner-b", now_ms=1, dead=dead))
    assert done.epoch == 2


async def test_owner_may_claim_what_it_owns(store: Store) -> None:
    """A restart inside the process: the epoch grows, the earlier incarnation is fenced out."""
    await write(store, renew("owner-a"), create("s-1", "owner-a"))
    (done,) = await write(store, claim("s-1", "owner-a", now_ms=1))
    assert done.epoch == 2
    await refuse(store, append("s-1", 2, epoch=1), Fenced)


async def test_claim_of_an_unknown_session(store: Store) -> None:
    await refuse(store, claim("nobody", "owner-a"), SessionUnknown)


async def test_renewal_prolongs_everything_the_owner_has(store: Store) -> None:
    await write(store, renew("owner-a", 100), create("s-1", "owner-a"), create("s-2", "owner-a"))
    await write(store, renew("owner-a", 200))
    for session_id in ("s-1", "s-2"):
        await refuse(store, claim(session_id, "owner-b", now_ms=150), SessionOwned)
        assert (await store.head(session_id)).lease_until_ms == 200
    assert await store.owners() == {"owner-a": 200}


async def test_owner_that_leaves_frees_its_sessions_at_once(store: Store) -> None:
    await write(store, renew("owner-a"), create("s-1", "owner-a"))
    await write(store, Leave(owner="owner-a"))
    assert await store.orphans(1, frozenset(), 10) == ["s-1"]
    await write(store, claim("s-1", "owner-b", now_ms=1))


async def test_leaving_twice_or_unknown_does_no_harm(store: Store) -> None:
    await write(store, Leave(owner="nobody"), renew("owner-a"), Leave(owner="owner-a"))
    await write(store, Leave(owner="owner-a"))
    assert await store.owners() == {}


async def test_owners_are_those_with_running_sessions(store: Store) -> None:
    await write(store, renew("owner-a", 5), renew("owner-b", 6), renew("idle", 7))
    await write(store, create("s-1", "owner-a"), create("s-2", "owner-b"))
    assert await store.owners() == {"owner-a": 5, "owner-b": 6}
    await write(store, append("s-2", 2, status="completed"))
    assert await store.owners() == {"owner-a": 5}


async def test_orphans_are_running_sessions_nobody_looks_after(store: Store) -> None:
    await write(
        store,
        renew("late", 100),
        renew("living", 1_000),
        renew("killed", 1_000),
        *(create(f"{owner}-1", owner) for owner in ("late", "living", "killed", "unrenewed")),
        create("parked", "late"),
        append("parked", 2, status="parked"),
    )
    dead = frozenset({"killed"})
    assert set(await store.orphans(99, dead, 10)) == {"killed-1", "unrenewed-1"}
    assert set(await store.orphans(100, dead, 10)) == {"late-1", "killed-1", "unrenewed-1"}
    assert len(await store.orphans(100, dead, 2)) == 2


async def test_takeover_within_one_commit_fences_what_follows(store: Store) -> None:
    await write(store, create("s-1", "owner-a"))
    results = await store.commit(
        [
            append("s-1", 2),
            claim("s-1", "owner-b"),
            append("s-1", 3, epoch=1),
            append("s-1", 3, epoch=2),
        ]
    )
    assert kinds(results) == ["Done", "Done", "Fenced", "Done"]


# ---------------------------------------------------------------- load


async def test_any_checkpoint_loads_up_to_the_row_that_reached_it(store: Store) -> None:
    """Rows that reach no counter ride along with the next one."""
    await write(
        store,
        create("s-1"),
        append("s-1", 2, counter=0),
        append("s-1", 3, counter=1),
        append("s-1", 4, counter=1),
        append("s-1", 5, counter=2),
        append("s-1", 6, counter=2),
    )
    ends = {upto: (await store.load("s-1", upto=upto)).rows[-1].seq for upto in (0, 1, 2)}
    assert ends == {0: 1, 1: 3, 2: 5}
    assert (await store.load("s-1", upto=1)).head.counter == 2


@pytest.mark.parametrize("upto", [-1, 2, 4, 99])
async def test_unknown_checkpoint_is_told_with_what_is_kept(store: Store, upto: int) -> None:
    await write(store, create("s-1"), append("s-1", 2, counter=1), append("s-1", 3, counter=3))
    with pytest.raises(CheckpointUnknown, match=f"s-1 has no checkpoint {upto}.* 0 to 3"):
        await store.load("s-1", upto=upto)


@pytest.mark.parametrize("session_id", ["nobody", "", "\ud83d", "a\0b"])
async def test_unknown_session(store: Store, session_id: str) -> None:
    with pytest.raises(SessionUnknown):
        await store.load(session_id)
    with pytest.raises(SessionUnknown):
        await store.head(session_id)


async def test_closed_store_says_so(store: Store) -> None:
    await store.close()
    await store.close()
    for call in (store.load("s-1"), store.commit([create("s-1")]), store.owners()):
        with pytest.raises(StoreFailed, match="not open"):
            await call


async def test_reopened_store_has_everything(make_store: MakeStore) -> None:
    first = make_store(CURRENT)
    await first.open()
    await write(first, renew("owner-a"), create("s-1"), append("s-1", 2, blobs=(("d", b"x"),)))
    await write(first, create("s-2"), append("s-2", 2, status="parked"), Pack(session_id="s-2"))
    await first.close()
    again = make_store(CURRENT)
    await again.open()
    await again.open()
    try:
        assert await listed(again) == ["s-2", "s-1"]
        assert await bodies(again, "s-1") == await bodies(again, "s-2") == [b"row 1", b"row 2"]
        assert await again.blob("d") == b"x"
        assert await again.owners() == {"owner-a": 10_000}
        await write(again, append("s-1", 3))
    finally:
        await again.close()


# ---------------------------------------------------------------- lists


async def fill(store: Store) -> None:
    """Make nine sessions: s-0 to s-8, every third running, parked with a due time, completed."""
    for number in range(9):
        facts = Facts(
            agent="even" if number % 2 == 0 else "odd",
            parent="p" if number >= 5 else None,
            due_at_ms=number * 10 if number % 3 == 1 else None,
        )
        await write(store, create(f"s-{number}", facts=facts))
        status: SessionStatus = ("running", "parked", "completed")[number % 3]
        if status != "running":
            await write(store, append(f"s-{number}", 2, status=status))


QUERIES = [
    (HeadQuery(), "876543210"),
    (HeadQuery(limit=3), "876"),
    (HeadQuery(limit=3, after="s-6"), "543"),
    (HeadQuery(after="s-0"), ""),
    (HeadQuery(after="nobody"), ""),
    (HeadQuery(limit=0), ""),
    (HeadQuery(status=frozenset({"running"})), "630"),
    (HeadQuery(status=frozenset({"parked", "completed"})), "875421"),
    (HeadQuery(status=frozenset({"parked", "running"}), limit=4), "7643"),
    (HeadQuery(status=frozenset({"stopped"})), ""),
    (HeadQuery(agent="odd"), "7531"),
    (HeadQuery(agent="odd", after="s-5", limit=1), "3"),
    (HeadQuery(parent="p"), "8765"),
    (HeadQuery(parent="p", agent="even", status=frozenset({"completed"})), "8"),
    (HeadQuery(due_before_ms=40), "1"),
    (HeadQuery(due_before_ms=41), "41"),
    (HeadQuery(due_before_ms=1000, status=frozenset({"parked"}), agent="odd"), "71"),
    (HeadQuery(parent="nobody"), ""),
]


@pytest.mark.parametrize("query, expected", QUERIES, ids=[str(i) for i in range(len(QUERIES))])
async def test_list_is_newest_first_and_filtered(
    store: Store, query: HeadQuery, expected: str
) -> None:
    await fill(store)
    assert await listed(store, query) == [f"s-{number}" for number in expected]


async def test_pages_join_to_the_whole(store: Store) -> None:
    """Every page size gives the same list, none twice and none left out."""
    await fill(store)
    whole = await listed(store)
    for size in range(1, 10):
        seen: list[str] = []
        while page := await listed(store, HeadQuery(limit=size, after=seen[-1] if seen else None)):
            seen += page
        assert seen == whole


async def test_claimed_session_is_listed_as_running_once(store: Store) -> None:
    await fill(store)
    await write(store, claim("s-1", "owner-b"))
    assert await listed(store, HeadQuery(status=frozenset({"parked"}))) == ["s-7", "s-4"]
    assert "s-1" in await listed(store, HeadQuery(status=frozenset({"running"})))
    assert len(await listed(store)) == 9
    heads = by_id(await store.heads(HeadQuery()))
    assert heads["s-1"] == await store.head("s-1")


async def test_ck_01_order_of_records_is_a_counter_not_a_timestamp(store: Store) -> None:
    """Field case CK-01: clocks that jump change no order, of sessions or of rows."""
    for number, at_ms in enumerate([5_000, 1_000, 9_000]):
        facts = Facts(agent="a", created_at_ms=at_ms, updated_at_ms=at_ms)
        await write(store, create(f"s-{number}", facts=facts))
    for seq, at_ms in ((2, 9_000), (3, 1_000), (4, 5_000)):
        await write(store, append("s-1", seq, facts=Facts(agent="a", updated_at_ms=at_ms)))
    assert await listed(store) == ["s-2", "s-1", "s-0"]
    assert [r.seq for r in (await store.load("s-1")).rows] == [1, 2, 3, 4]
    assert (await store.head("s-1")).facts.updated_at_ms == 5_000


# ---------------------------------------------------------------- blobs


async def test_blob_is_kept_once_by_its_digest(store: Store) -> None:
    await write(
        store,
        create("s-1"),
        create("s-2"),
        append("s-1", 2, blobs=(("d-1", b"\xff\x00long"), ("d-2", b""))),
        append("s-2", 2, blobs=(("d-1", b"\xff\x00long"),)),
    )
    assert await store.blob("d-1") == b"\xff\x00long"
    assert await store.blob("d-2") == b""
    with pytest.raises(BlobUnknown, match="d-3"):
        await store.blob("d-3")


async def test_blob_of_a_refused_append_is_not_kept(store: Store) -> None:
    await write(store, create("s-1"))
    await refuse(store, append("s-1", 9, blobs=(("d", b"x"),)), Conflict)
    with pytest.raises(BlobUnknown):
        await store.blob("d")


async def test_rewrite_frees_blobs_nobody_refers_to(store: Store) -> None:
    await write(store, create("s-1"), create("s-2"))
    await write(
        store,
        append("s-1", 2, blobs=(("mine", b"1"), ("kept", b"2"), ("shared", b"3"))),
        append("s-2", 2, blobs=(("shared", b"3"),)),
    )
    rewrite = Rewrite(
        session_id="s-1",
        epoch=1,
        seq=2,
        rows=(row(2),),
        oldest_counter=1,
        blobs=frozenset({"kept", "never-there"}),
    )
    await write(store, rewrite)
    assert (await store.blob("kept"), await store.blob("shared")) == (b"2", b"3")
    for digest in ("mine", "never-there"):
        with pytest.raises(BlobUnknown):
            await store.blob(digest)


# ---------------------------------------------------------------- pack and rewrite


@pytest.mark.parametrize("rows", [1, 2, 127, 128, 129, 300])
async def test_packed_session_is_the_same_session(store: Store, rows: int) -> None:
    await grow(store, "s-1", rows)
    before = await store.load("s-1")
    await write(store, Pack(session_id="s-1"))
    assert await store.load("s-1") == before
    assert (await store.load("s-1", upto=rows // 2)).rows == before.rows[: rows // 2 + 1]
    (head,) = await store.heads(HeadQuery())
    assert head == before.head


async def test_packed_session_goes_on(store: Store) -> None:
    """Appending and packing in turn, many times over, in every state."""
    await grow(store, "s-1", 3)
    epoch, seq = 1, 3
    for _ in range(60):
        await write(store, append("s-1", seq + 1, epoch=epoch), Pack(session_id="s-1"))
        await write(store, append("s-1", seq + 2, epoch=epoch), append("s-1", seq + 3, epoch=epoch))
        seq += 4
        await write(store, append("s-1", seq, epoch=epoch, status="parked", facts=FACTS))
        await write(store, Pack(session_id="s-1"), Pack(session_id="s-1"))
        await write(store, claim("s-1", "owner-a"))
        epoch += 1
    assert await bodies(store, "s-1") == [b"row %d" % number for number in range(1, seq + 1)]
    head = await store.head("s-1")
    assert (head.seq, head.epoch, head.facts, head.damaged) == (seq, epoch, FACTS, None)


async def test_packing_an_unknown_session(store: Store) -> None:
    await refuse(store, Pack(session_id="nobody"), SessionUnknown)


async def test_rewrite_replaces_the_journal(store: Store) -> None:
    await grow(store, "s-1", 10)
    rows = (row(8, body=b"sum of 1 to 8"), row(9), row(10))
    await write(store, Rewrite(session_id="s-1", epoch=1, seq=10, rows=rows, oldest_counter=7))
    assert (await store.load("s-1")).rows == list(rows)
    assert (await store.load("s-1", upto=7)).rows == [rows[0]]
    assert (await store.head("s-1")).oldest_counter == 7
    with pytest.raises(CheckpointUnknown, match=r"6.*kept are 7 to 9.*pruned"):
        await store.load("s-1", upto=6)
    await write(store, append("s-1", 11))
    assert len(await bodies(store, "s-1")) == 4


async def test_rewrite_of_a_session_that_is_over(store: Store) -> None:
    """Retention runs after the end, when nobody owns the session."""
    await grow(store, "s-1", 5)
    await write(store, append("s-1", 6, status="completed"), Pack(session_id="s-1"))
    rewrite = Rewrite(session_id="s-1", epoch=1, seq=6, rows=(row(6),), oldest_counter=5)
    await write(store, rewrite)
    head = await store.head("s-1")
    assert (head.status, head.oldest_counter) == ("completed", 5)
    assert await bodies(store, "s-1") == [b"row 6"]


@pytest.mark.parametrize(
    "change, kind",
    [
        pytest.param({"epoch": 2}, Fenced, id="another epoch"),
        pytest.param({"seq": 4}, Conflict, id="older state"),
        pytest.param({"session_id": "nobody"}, SessionUnknown, id="unknown session"),
        pytest.param({"rows": ()}, BadRecord, id="no rows"),
        pytest.param({"rows": (row(5), row(4))}, BadRecord, id="rows out of order"),
        pytest.param({"rows": (row(4),)}, BadRecord, id="rows end early"),
        pytest.param({"rows": (row(5, 3),)}, BadRecord, id="counter ends early"),
        pytest.param({"rows": (row(4, 9), row(5))}, BadRecord, id="counter goes back"),
        pytest.param({"rows": (row(0, -1), row(5))}, BadRecord, id="row zero"),
        pytest.param({"oldest_counter": 5}, BadRecord, id="oldest beyond the newest"),
        pytest.param({"oldest_counter": -1}, BadRecord, id="oldest below zero"),
    ],
)
async def test_rewrite_is_refused(
    store: Store, change: dict[str, object], kind: type[Exception]
) -> None:
    await grow(store, "s-1", 5)
    fields: dict[str, object] = {
        "session_id": "s-1",
        "epoch": 1,
        "seq": 5,
        "rows": (row(5),),
        "oldest_counter": 4,
    }
    bad = Rewrite(**(fields | change))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    (result,) = await store.commit([bad])
    assert isinstance(result, kind), result
    assert len(await bodies(store, "s-1")) == 5
    assert (await store.head("s-1")).oldest_counter == 0


async def test_pruned_counters_never_come_back(store: Store) -> None:
    await grow(store, "s-1", 5)
    rewrite = Rewrite(session_id="s-1", epoch=1, seq=5, rows=(row(5),), oldest_counter=4)
    await write(store, rewrite)
    back = Rewrite(session_id="s-1", epoch=1, seq=5, rows=(row(5),), oldest_counter=1)
    await refuse(store, back, BadRecord)


async def test_old_checkpoints_are_given_up_and_the_rows_stay(store: Store) -> None:
    await grow(store, "s-1", 5)
    before = await store.load("s-1")
    await write(store, Forget(session_id="s-1", epoch=1, seq=5, oldest_counter=3))
    assert (await store.head("s-1")).oldest_counter == 3
    assert (await store.load("s-1")).rows == before.rows
    with pytest.raises(CheckpointUnknown, match="pruned"):
        await store.load("s-1", upto=2)
    assert len((await store.load("s-1", upto=3)).rows) == 4
    await write(store, append("s-1", 6))
    assert (await store.head("s-1")).oldest_counter == 3


@pytest.mark.parametrize(
    "change, kind",
    [
        pytest.param({"epoch": 2}, Fenced, id="another epoch"),
        pytest.param({"seq": 4}, Conflict, id="older state"),
        pytest.param({"session_id": "nobody"}, SessionUnknown, id="unknown session"),
        pytest.param({"oldest_counter": 5}, BadRecord, id="beyond the newest"),
        pytest.param({"oldest_counter": -1}, BadRecord, id="below zero"),
    ],
)
async def test_giving_up_checkpoints_is_refused(
    store: Store, change: dict[str, object], kind: type[UkemiError]
) -> None:
    await grow(store, "s-1", 5)
    fields: dict[str, object] = {"session_id": "s-1", "epoch": 1, "seq": 5, "oldest_counter": 4}
    bad = Forget(**(fields | change))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await refuse(store, bad, kind)
    assert (await store.head("s-1")).oldest_counter == 0


# ---------------------------------------------------------------- many at once


async def test_one_commit_of_many_sessions_in_any_number(store: Store) -> None:
    """Every size of batch, powers of two and their neighbours, stores every row."""
    sizes = sorted({size + off for size in (1, 2, 4, 64, 256, 512) for off in (-1, 0, 1)} - {0})
    for size in sizes:
        names = [f"{size}-{number}" for number in range(size)]
        await write(store, *map(create, names))
        results = await write(store, *(append(name, 2) for name in names))
        assert results == [Done(1, 2)] * size
        await write(store, *(append(name, 3, status="parked") for name in names))
    total = sum(sizes)
    assert len(await listed(store, HeadQuery(limit=total + 10))) == total
    assert len(await listed(store, HeadQuery(status=frozenset({"parked"}), limit=10**6))) == total


async def test_empty_commit(store: Store) -> None:
    assert await store.commit([]) == []


async def test_commits_side_by_side_keep_their_sessions_apart(store: Store) -> None:
    """P4: callers that commit at the same time each get their own results."""
    rows = 20

    async def one(name: str) -> None:
        await write(store, create(name))
        for seq in range(2, rows + 1):
            await write(store, append(name, seq))

    names = [f"s-{number}" for number in range(12)]
    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(one, name)
    for name in names:
        assert [r.seq for r in (await store.load(name)).rows] == list(range(1, rows + 1))


async def test_numbers_of_spent_survive(store: Store) -> None:
    facts = Facts(agent="a", spent=FACTS.spent.__class__(seconds=1e9, steps=2**40, cost_usd=0.1))
    await write(store, create("s-1"), append("s-1", 2, facts=facts))
    spent = (await store.head("s-1")).facts.spent
    assert math.isclose(spent.cost_usd, 0.1) and spent.steps == 2**40
