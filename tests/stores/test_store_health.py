"""How busy a store's writer is: what is under way, since when, and how long commits take."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing

import anyio
import pytest

from ukemi.stores import SqliteStore, Store, StoreHealth
from ukemi.stores.base import Append, Create, Facts, Leave, StoreFailed, Write
from ukemi.stores.gauge import COMMITS_KEPT, CommitGauge, quantile, weight

CREATE = Create(session_id="s", owner="a", facts=Facts(agent="x"), body=b"12345")


def append(seq: int, body: bytes = b"123", blobs: Sequence[tuple[str, bytes]] = ()) -> Append:
    return Append(session_id="s", epoch=1, seq=seq, counter=0, body=body, blobs=tuple(blobs))


@pytest.mark.parametrize(
    ("write", "size"),
    [
        (CREATE, 5),
        (append(2), 3),
        (append(2, b"", [("d", b"1234"), ("e", b"1")]), 5),
        (Leave(owner="a"), 0),
    ],
)
def test_a_write_weighs_its_bodies(write: Write, size: int) -> None:
    assert weight(write) == size


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        (list[float](), 0.5, 0.0),
        ([3.0], 0.99, 3.0),
        ([4.0, 1.0, 3.0, 2.0], 0.5, 2.0),
        ([1.0, 2.0, 3.0], 0.5, 2.0),
    ]
    + [([float(n) for n in range(1, 101)], share, share * 100) for share in (0.5, 0.99)],
)
def test_quantile(values: list[float], share: float, expected: float) -> None:
    assert quantile(values, share) == expected


def test_the_gauge_counts_what_is_under_way_and_keeps_the_last_durations() -> None:
    now = 10.0
    gauge = CommitGauge(lambda: now)
    first = gauge.entered([CREATE, append(2)])
    now = 11.0
    second = gauge.entered([append(3)])
    now = 13.0
    assert gauge.health() == StoreHealth(queued=3, queued_bytes=11, oldest_seconds=3.0)
    gauge.left(first, stored=True)
    assert gauge.health() == StoreHealth(1, 3, 2.0, 1, 3.0, 3.0)
    gauge.left(second, stored=False)  # failed: neither a commit nor a duration
    gauge.left(second, stored=True)  # and it is counted once
    assert gauge.health() == StoreHealth(0, 0, 0.0, 1, 3.0, 3.0)
    for _ in range(COMMITS_KEPT):
        entry = gauge.entered([append(4)])
        now += 0.5
        gauge.left(entry, stored=True)
    assert gauge.health() == StoreHealth(0, 0, 0.0, COMMITS_KEPT + 1, 0.5, 0.5)


async def test_a_store_counts_its_commits(store: Store) -> None:
    assert store.health() == StoreHealth()
    await store.commit([CREATE])
    await store.commit([append(2), append(9)])  # one is refused, the other stored
    health = store.health()
    assert (health.queued, health.queued_bytes, health.oldest_seconds) == (0, 0, 0.0)
    assert health.commits == 2
    assert 0.0 <= health.commit_seconds_p50 <= health.commit_seconds_p99


@pytest.mark.realtime
async def test_what_another_process_holds_up_is_seen_as_queued(sqlite: SqliteStore) -> None:
    await sqlite.commit([CREATE])
    with closing(sqlite3.connect(sqlite.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        async with anyio.create_task_group() as group:
            group.start_soon(sqlite.commit, [append(2)])
            await anyio.wait_all_tasks_blocked()
            health = sqlite.health()
            assert (health.queued, health.queued_bytes, health.commits) == (1, 3, 1)
            assert health.oldest_seconds > 0.0
            other.execute("ROLLBACK")
    assert sqlite.health().queued == 0 and sqlite.health().commits == 2


async def test_a_failed_commit_is_no_longer_under_way(sqlite: SqliteStore) -> None:
    await sqlite.commit([CREATE])
    sqlite.wait_s_max = 0.0
    with closing(sqlite3.connect(sqlite.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreFailed):
            await sqlite.commit([append(2)])
    assert sqlite.health().queued == 0 and sqlite.health().commits == 1
