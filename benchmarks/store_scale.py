"""The SQLite store at scale: 10,000 sessions being driven, scattered over 1,000,000 that are parked.

    python -m benchmarks.store_scale [--parked 1000000] [--active 10000] [--records 100000] [--json]

Layouts that look fine with 1,000 sessions write ten times the bytes here. Told are: bytes written
for a record of 0.9 KB (write-ahead log and its transfer into the file) and the file's growth, in batches of 1,000, 64 and 1 at random; start-up and memory with nothing but parked
sessions; how long it takes to wake one, beside a store with 1,000 sessions.
"""

import argparse
import asyncio
import json
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from pathlib import Path

from ukemi.stores import SqliteStore
from ukemi.stores.base import Append, Claim, Create, Done, Facts, HeadQuery, Pack, Renew, Write

BODY = b"\xda" + b"x" * 911
"""A record: one tool message of 0.9 KB."""
FACTS = Facts(agent="worker", title="go", created_at_ms=1, updated_at_ms=1)
BATCHES = (1_000, 64, 1)
TEMPLATES = 1_000
"""Sessions written by the store; the others are copies of their rows under other ids."""
ROWS_PARKED = 2
COMMITS_MAX = 1_000
WAKES = 200
LEASE_MS = 10_000_000_000_000

MULTIPLY = (
    """INSERT INTO head(num, sid, status, epoch, seq, counter, oldest, last, agent, parent, due_at_ms, facts)
        SELECT num + :by, 'c-' || lower(hex(randomblob(8))), status, epoch, seq, counter, oldest, last,
        agent, parent, due_at_ms, facts FROM head WHERE num <= :by LIMIT :most""",
    """INSERT INTO seg(key, idx, body) SELECT key + (:by << 32), idx, body FROM seg
        WHERE key < (:by + 1) << 32 AND key + (:by << 32) < (:by + :most + 1) << 32""",
)


async def fill(path: Path, parked: int) -> None:
    """Make a store with so many parked sessions, each packed."""
    made = min(parked, TEMPLATES)
    store = SqliteStore(path)
    await store.open()
    await _done(
        store,
        [Create(session_id=f"t-{n}", owner="a", facts=FACTS, body=BODY) for n in range(made)],
    )
    for seq in range(2, ROWS_PARKED + 1):
        status = "parked" if seq == ROWS_PARKED else "running"
        await _done(store, [append(f"t-{n}", 1, seq, status=status) for n in range(made)])
    await _done(store, [Pack(session_id=f"t-{n}") for n in range(made)])
    await store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -400000")
        while made < parked:
            connection.execute("BEGIN")
            for statement in MULTIPLY:
                connection.execute(statement, {"by": made, "most": parked - made})
            connection.execute("COMMIT")
            made = min(2 * made, parked)


def append(session_id: str, epoch: int, seq: int, status: str = "running") -> Append:
    facts = None if status == "running" else FACTS
    return Append(
        session_id=session_id,
        epoch=epoch,
        seq=seq,
        counter=seq - 1,
        body=BODY,
        status="parked" if status == "parked" else "running",
        facts=facts,
    )


async def _done(store: SqliteStore, writes: Sequence[Write]) -> list[Done]:
    done: list[Done] = []
    for start in range(0, len(writes), 1_000):
        for result in await store.commit(writes[start : start + 1_000]):
            if not isinstance(result, Done):
                raise result
            done.append(result)
    return done


def ids(path: Path, count: int, seed: int) -> list[str]:
    """Return ids of parked sessions at random."""
    with closing(sqlite3.connect(path)) as connection:
        newest = connection.execute("SELECT max(num) FROM head").fetchone()[0]
        nums = random.Random(seed).sample(range(1, newest + 1), min(count, newest))
        return [
            connection.execute("SELECT sid FROM head WHERE num = ?", (num,)).fetchone()[0]
            for num in nums
        ]


def written() -> int:
    """Return the bytes that this process has handed to the system in writes so far.

    What the system then does is not counted: how often it writes a page of the log out that two frames
    share depends on what else is going on.
    """
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar"))


class Active:
    """Sessions that are being driven, at random places of a store."""

    def __init__(self, store: SqliteStore, session_ids: list[str]) -> None:
        self.store = store
        self.ids = session_ids
        self.stands: dict[str, Done] = {}
        self.rng = random.Random(1)

    async def claim(self) -> None:
        await _done(self.store, [Renew(owner="b", lease_until_ms=LEASE_MS)])
        claims = [Claim(session_id=each, owner="b", now_ms=1) for each in self.ids]
        self.stands = dict(zip(self.ids, await _done(self.store, claims), strict=True))

    async def write(self, batch: int) -> None:
        chosen = self.rng.sample(self.ids, batch)
        writes = [
            append(each, self.stands[each].epoch, self.stands[each].seq + 1) for each in chosen
        ]
        self.stands.update(zip(chosen, await _done(self.store, writes), strict=True))


async def per_record(path: Path, active: Active, batch: int, records: int) -> dict[str, float]:
    """Return what a record costs in batches of this size, everything moved into the file."""
    store = active.store
    await active.write(1)
    await store.close()
    bytes_before, size_before = written(), size(path)
    await store.open()
    commits = max(records // batch, 1)
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    for _ in range(commits):
        await active.write(batch)
    wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    await store.close()
    count = commits * batch
    figures = {
        f"bytes written, {batch}": (written() - bytes_before) / count,
        f"bytes of file, {batch}": (size(path) - size_before) / count,
        f"records/s, {batch}": count / wall_s,
        f"CPU us, {batch}": cpu_s / count * 1e6,
    }
    await store.open()
    return figures


def size(path: Path) -> int:
    """Return the file's size."""
    return path.stat().st_size


def rss_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


async def start_up(path: Path) -> dict[str, float]:
    """Open the store and ask what a runtime asks when it is entered; nobody drives anything."""
    held, begun = rss_bytes(), time.perf_counter()
    store = SqliteStore(path)
    await store.open()
    await store.commit([Renew(owner="c", lease_until_ms=1)])
    await store.owners()
    await store.orphans(1, frozenset(), 1_000)
    for query in (
        HeadQuery(status=frozenset({"parked"}), due_before_ms=1),
        HeadQuery(status=frozenset({"parked"}), asking="untold"),
    ):
        await store.heads(query)
    seconds, held = time.perf_counter() - begun, rss_bytes() - held
    await store.close()
    return {"seconds": seconds, "rss_mib": held / 2**20}


async def wake(path: Path, count: int) -> dict[str, float]:
    """Wake parked sessions at random, one after another: head, claim, load, first row, park again."""
    store = SqliteStore(path)
    await store.open()
    await _done(store, [Renew(owner="w", lease_until_ms=LEASE_MS)])
    lasted: list[float] = []
    for each in ids(path, count, 2):
        begun = time.perf_counter()
        head = await store.head(each)
        await _done(store, [Claim(session_id=each, owner="w", now_ms=1)])
        loaded = await store.load(each)
        assert len(loaded.rows) == head.seq
        await _done(store, [append(each, head.epoch + 1, head.seq + 1)])
        lasted.append(time.perf_counter() - begun)
        await _done(store, [append(each, head.epoch + 1, head.seq + 2, status="parked")])
    await store.close()
    ranked = sorted(lasted)
    return {
        "p50_ms": statistics.median(ranked) * 1e3,
        "p99_ms": ranked[int(len(ranked) * 0.99) - 1] * 1e3,
    }


async def records(path: Path, active: int, count: int) -> dict[str, float]:
    """Return the costs of a record for each size of batch, as ``written_bytes at 1000`` and so on."""
    store = SqliteStore(path)
    await store.open()
    driven = Active(store, ids(path, active, 0))
    await driven.claim()
    found: dict[str, float] = {}
    for batch in BATCHES:
        enough = min(count, batch * COMMITS_MAX)
        found |= await per_record(path, driven, batch, enough)
    await store.close()
    return found


PARTS: dict[str, Callable[[Path, argparse.Namespace], Coroutine[None, None, dict[str, float]]]] = {
    "start-up": lambda path, given: start_up(path),
    "wake": lambda path, given: wake(path, WAKES),
    "records": lambda path, given: records(path, min(given.active, given.parked), given.records),
}


def measured(part: str, path: Path, given: argparse.Namespace) -> dict[str, float]:
    """Measure one part in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.store_scale", "--part", part, "--file", str(path)]
    for option in ("parked", "active", "records"):
        command += [f"--{option}", str(getattr(given, option))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="The SQLite store with a million parked sessions.")
    parser.add_argument("--parked", type=int, default=1_000_000)
    parser.add_argument("--active", type=int, default=10_000)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--folder", help="where to write; a disk, not memory")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--part", choices=tuple(PARTS), help="measure this alone, in --file")
    parser.add_argument("--file", type=Path)
    given = parser.parse_args()
    if given.part is not None:
        print(json.dumps(asyncio.run(PARTS[given.part](given.file, given))))
        return
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        small, large = Path(folder) / "small.db", given.file or Path(folder) / "large.db"
        asyncio.run(fill(small, TEMPLATES))
        if not large.exists():
            asyncio.run(fill(large, given.parked))
        for part in PARTS:
            if part != "records":
                figures[f"{part}, {TEMPLATES:,} parked"] = measured(part, small, given)
            figures[f"{part}, {given.parked:,} parked"] = measured(part, large, given)
            print(f"measured: {part}", file=sys.stderr)
    if given.json:
        print(json.dumps(figures))
        return
    for part, found in figures.items():
        print(part)
        for name, value in found.items():
            print(f"    {name:24} {value:,.1f}")


if __name__ == "__main__":
    main()
