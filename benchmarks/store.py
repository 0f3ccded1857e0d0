"""Commit rate of the SQLite store beside raw sqlite3 writing the same bytes, in one run.

    python benchmarks/store.py [--records 20000] [--sessions 10000] [--json]

Both write one row of 0.9 KB per record into the same layout, for sessions scattered at random,
every batch one durable transaction (synchronous FULL). The raw side knows its answers beforehand
and checks nothing; the store goes through its public calls, on asyncio, and fences every row.
"""

import argparse
import asyncio
import json
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import msgspec

from ukemi.stores.base import Append, Create, Done, Facts
from ukemi.stores.sqlite import SqliteStore

BODY = b"\xda" + b"x" * 911
BATCHES = (1, 64, 1_000)
ROUNDS = 5
CREATED_AT_ONCE = 500

LOG = "INSERT INTO log VALUES (?, ?, ?, ?, ?, 1, 0, NULL, ?)"
LIVE = "REPLACE INTO live VALUES (?, 1, 1, ?, ?, ?, 0)"


class Figures(msgspec.Struct):
    """Medians over the rounds. Ratios are store to raw of the same round."""

    batch: int
    store_per_s: int
    raw_per_s: int
    rate_ratio: float
    store_cpu_us: float
    raw_cpu_us: float


class Measured(msgspec.Struct):
    per_s: float
    cpu_us: float


def scattered(sessions: int, batch: int, rng: random.Random) -> Iterator[list[int]]:
    """Give batches of different sessions, at random, for ever."""
    while True:
        yield rng.sample(range(sessions), batch)


class Store:
    """The store under test, and what its callers know of their sessions."""

    def __init__(self, path: Path, sessions: int) -> None:
        self.store = SqliteStore(path)
        self.seqs = [1] * sessions

    async def open(self) -> None:
        await self.store.open()
        for start in range(0, len(self.seqs), CREATED_AT_ONCE):
            await self.store.commit(
                [
                    Create(session_id=f"s-{n}", owner="a", facts=Facts(agent="x"), body=BODY)
                    for n in range(start, min(start + CREATED_AT_ONCE, len(self.seqs)))
                ]
            )

    async def write(self, numbers: list[int]) -> None:
        writes: list[Append] = []
        for number in numbers:
            seq = self.seqs[number] = self.seqs[number] + 1
            writes.append(
                Append(session_id=f"s-{number}", epoch=1, seq=seq, counter=seq - 1, body=BODY)
            )
        results = await self.store.commit(writes)
        assert all(type(result) is Done for result in results)


class Raw:
    """The same rows by sqlite3 alone, in a file the store has made."""

    def __init__(self, path: Path, sessions: int) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA synchronous = FULL")
        self.connection.execute("PRAGMA wal_autocheckpoint = 4000")
        self.connection.execute("PRAGMA cache_size = -65536")
        self.connection.execute("BEGIN")
        self.seqs, self.last, self.next_id = [0] * sessions, [0] * sessions, 1
        self.insert(list(range(sessions)))
        self.connection.execute("COMMIT")

    def insert(self, numbers: list[int]) -> None:
        rows: list[tuple[int, int, int, int, int, bytes]] = []
        heads: list[tuple[int, int, int, int]] = []
        for number in numbers:
            row_id, self.next_id = self.next_id, self.next_id + 1
            seq = self.seqs[number] = self.seqs[number] + 1
            rows.append((row_id, self.last[number], number, seq, seq - 1, BODY))
            heads.append((number, seq, seq - 1, row_id))
            self.last[number] = row_id
        self.connection.executemany(LOG, rows)
        self.connection.executemany(LIVE, heads)

    async def write(self, numbers: list[int]) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        self.insert(numbers)
        self.connection.execute("COMMIT")


async def measure(
    write: Callable[[list[int]], Awaitable[None]], batches: Iterator[list[int]], count: int
) -> Measured:
    wall, cpu, records = time.perf_counter(), time.process_time(), 0
    for _ in range(count):
        batch = next(batches)
        await write(batch)
        records += len(batch)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Measured(records / wall, cpu / records * 1e6)


async def compare(store: Store, raw: Raw, batch: int, records: int) -> Figures:
    """Measure both sides in turn, round by round, so that a busy machine hits both."""
    rng = random.Random(batch)
    batches = scattered(len(store.seqs), batch, rng)
    count = max(records // batch // ROUNDS, 2)
    ours: list[Measured] = []
    theirs: list[Measured] = []
    for _ in range(ROUNDS):
        ours.append(await measure(store.write, batches, count))
        theirs.append(await measure(raw.write, batches, count))
    pairs = zip(ours, theirs, strict=True)
    return Figures(
        batch=batch,
        store_per_s=round(statistics.median(one.per_s for one in ours)),
        raw_per_s=round(statistics.median(one.per_s for one in theirs)),
        rate_ratio=round(statistics.median(a.per_s / b.per_s for a, b in pairs), 2),
        store_cpu_us=round(statistics.median(one.cpu_us for one in ours), 1),
        raw_cpu_us=round(statistics.median(one.cpu_us for one in theirs), 1),
    )


async def run(folder: Path, records: int, sessions: int) -> dict[str, object]:
    store = Store(folder / "store.db", sessions)
    await store.open()
    made = SqliteStore(folder / "raw.db")
    await made.open()
    await made.close()
    raw = Raw(folder / "raw.db", sessions)
    rates = [
        await compare(store, raw, batch, records if batch > 1 else records // 10)
        for batch in BATCHES
    ]
    raw.connection.close()
    figures: dict[str, object] = {"sessions": sessions, "record_bytes": len(BODY)}
    figures["rates"] = msgspec.to_builtins(rates)
    await store.store.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="Commit rate of the store beside raw sqlite3.")
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--folder", help="where to write; a disk, not memory")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.sessions < max(BATCHES):
        parser.error(
            f"--sessions {options.sessions}: a batch has up to {max(BATCHES)} different ones"
        )
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        figures = asyncio.run(run(Path(folder), options.records, options.sessions))
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        if name != "rates":
            print(f"{name:28} {value}")
    for rate in msgspec.convert(figures["rates"], list[Figures]):
        print(
            f"batch {rate.batch:5}: {rate.store_per_s:7,}/s store, {rate.raw_per_s:7,}/s raw,"
            f" ratio {rate.rate_ratio:.2f}; CPU {rate.store_cpu_us} to {rate.raw_cpu_us} us"
        )


if __name__ == "__main__":
    main()
