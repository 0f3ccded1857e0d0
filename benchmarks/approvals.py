"""Many sessions parked on a person's approval: memory, and the time to list, decide and wake one.

python -m benchmarks approvals [--sessions N] [--json FILE] [--quick]

One process parks them all; another one, fresh, opens the store and measures.
"""

import argparse
import gc
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from statistics import median

import anyio

from ukemi import Completed, Runtime

from .cells import cell_main, disk, rss_bytes
from .json_file import add_json_file
from .suite.parked import clerk
from .suite.run import CELL_S_MAX, run_cell

MODULE = "benchmarks.approvals"
SIDE_BY_SIDE = 500
REPEATS = 21
PAGE = 1_000


async def park(store: Path, sessions: int) -> dict[str, float]:
    """Start sessions until so many are parked."""
    began = time.perf_counter()
    async with Runtime(store, agents=[clerk()]) as runtime:
        empty = rss_bytes()
        left = iter(range(sessions))

        async def starter() -> None:
            for _ in left:
                session = await runtime.start("clerk", "Pay ann three for the coffee")
                async with aclosing(session.events()) as events:
                    async for event in events:
                        if event.event == "session.parked":
                            break

        async with anyio.create_task_group() as group:
            for _ in range(SIDE_BY_SIDE):
                group.start_soon(starter)
        gc.collect()
        held = rss_bytes()
    took = time.perf_counter() - began
    size = sum(each.stat().st_size for each in store.parent.iterdir())
    return {
        "parked_per_s": sessions / took,
        "parking_memory_mb": held / 1e6,
        "parking_growth_mb": (held - empty) / 1e6,
        "disk_bytes_per_session": size / sessions,
    }


async def wake(store: Path, sessions: int) -> dict[str, float]:
    """Measure a fresh process over the store."""
    began = time.perf_counter()
    async with Runtime(store, agents=[clerk()]) as runtime:
        entered = time.perf_counter() - began
        gc.collect()
        memory = rss_bytes()
        first = await timed(lambda: runtime.approvals(limit=100), REPEATS)
        began = time.perf_counter()
        listed, after = 0, None
        while page := await runtime.approvals(after=after, limit=PAGE):
            listed, after = listed + len(page), page[-1].session_id
        all_s = time.perf_counter() - began
        assert listed == sessions, listed
        requests = await runtime.approvals(limit=2 * REPEATS)
        decided: list[float] = []
        for request in requests[:REPEATS]:
            began = time.perf_counter()
            await runtime.decide(request, "approve", by="ann")
            decided.append(time.perf_counter() - began)
        ended: list[float] = []
        for request in requests[REPEATS:]:
            began = time.perf_counter()
            await runtime.decide(request, "approve", by="ann")
            outcome = await runtime.session(request.session_id).outcome()
            ended.append(time.perf_counter() - began)
            assert outcome == Completed("Paid."), outcome
    return {
        "enter_ms": entered * 1e3,
        "memory_mb": memory / 1e6,
        "list_100_ms": first * 1e3,
        "list_all_s": all_s,
        "decide_ms": median(decided) * 1e3,
        "decide_to_end_ms": median(ended) * 1e3,
    }


async def timed(function: Callable[[], Awaitable[object]], repeats: int) -> float:
    times: list[float] = []
    for _ in range(repeats):
        began = time.perf_counter()
        await function()
        times.append(time.perf_counter() - began)
    return median(times)


def park_cell(folder: str, store: str, sessions: int) -> dict[str, float]:
    return anyio.run(park, Path(store), sessions)


def wake_cell(folder: str, store: str, sessions: int) -> dict[str, float]:
    return anyio.run(wake, Path(store), sessions)


NAMES = {
    "parked_per_s": "sessions started, asked about and parked, per second",
    "parking_memory_mb": "memory of the process that parked them, MB",
    "parking_growth_mb": "of that since it began, MB",
    "disk_bytes_per_session": "disk, bytes a session",
    "enter_ms": "entering a runtime over the store, ms",
    "memory_mb": "memory of that process, MB",
    "list_100_ms": "list the newest 100 requests, ms",
    "list_all_s": "list all, by pages of 1,000, s",
    "decide_ms": "decide one, ms",
    "decide_to_end_ms": "decide one, wake it, run the call, end, ms",
}


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1].startswith("{"):
        cell_main({"park": park_cell, "wake": wake_cell})
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=100_000)
    add_json_file(parser, "write the figures to this file")
    parser.add_argument("--quick", action="store_true", help="2,000 sessions")
    given = parser.parse_args()
    sessions = 2_000 if given.quick else given.sessions
    with tempfile.TemporaryDirectory(prefix="bench-", dir=disk()) as folder:
        shared = {"store": str(Path(folder) / "store.db"), "sessions": sessions}
        found: dict[str, float] = {}
        for cell in ("park", "wake"):
            python = Path(sys.executable)
            found |= run_cell(python, MODULE, {"cell": cell, **shared}, CELL_S_MAX)
    print(f"{sessions:,} sessions parked on an approval\n")
    for key, name in NAMES.items():
        print(f"{name:<55} {found[key]:>12,.2f}")
    if given.json is not None:
        given.json.write_text(json.dumps({"sessions": sessions, **found}, indent=1))


if __name__ == "__main__":
    main()
