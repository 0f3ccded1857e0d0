"""B6: a store full of parked sessions, and a fresh process that opens it.

The store is filled in bulk: one session is really parked on a person's approval, and its rows are
written again and again under other names, through the store.
"""

import gc
import time
from contextlib import aclosing
from pathlib import Path
from statistics import median

import anyio

from ukemi import Agent, Completed, Runtime, tool
from ukemi.models import Script, ScriptedModel, call
from ukemi.stores import SqliteStore
from ukemi.stores.base import Append, Create, Done, StoredSession, Write

from .. import store_scale
from ..cells import Meter, cell_main, rss_bytes
from .work import folder_bytes, name_of

AT_ONCE = 2_000
WAKES = 21
OWNER = "bench"


@tool(danger="money")
async def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


def clerk() -> Agent:
    script: Script = [call("pay", to="ann", amount=3), "Paid."]
    return Agent("clerk", model=ScriptedModel(script), tools=[pay])


async def _parked(folder: Path) -> StoredSession:
    """Park a session, and return it as it is stored."""
    async with Runtime(folder / "one.db", agents=[clerk()]) as runtime:
        session = await runtime.start("clerk", "Pay ann three for the coffee")
        async with aclosing(session.events()) as events:
            async for event in events:
                if event.event == "session.parked":
                    break
    store = SqliteStore(folder / "one.db")
    await store.open()
    kept = await store.load(session.id)
    await store.close()
    assert kept.head.status == "parked", kept.head
    return kept


def _writes(session_id: str, like: StoredSession) -> list[Write]:
    first, *between, last = like.rows
    facts = like.head.facts
    writes: list[Write] = [Create(session_id=session_id, owner=OWNER, facts=facts, body=first.body)]
    for row in (*between, last):
        ends = row is last
        writes.append(
            Append(
                session_id=session_id,
                epoch=1,
                seq=row.seq,
                counter=row.counter,
                body=row.body,
                status="parked" if ends else "running",
                facts=facts if ends else None,
            )
        )
    return writes


def fill(folder: str, store: str, sessions: int) -> dict[str, float]:
    """Make the store ``store`` with so many parked sessions."""

    async def measure() -> dict[str, float]:
        like = await _parked(Path(folder))
        filled = SqliteStore(store, durability="normal")
        await filled.open()
        meter = Meter()
        step = AT_ONCE // len(like.rows)
        for start in range(0, sessions, step):
            numbers = range(start, min(start + step, sessions))
            writes = [one for number in numbers for one in _writes(name_of(number), like)]
            for done in await filled.commit(writes):
                assert type(done) is Done, done
        measured = meter.read(sessions)
        await filled.close()
        size = folder_bytes(str(Path(store).parent))
        return {"filled_per_s": measured["steps_per_s"], "bytes_per_session": size / sessions}

    return anyio.run(measure)


def empty(folder: str) -> dict[str, float]:
    """What a runtime holds whose store is empty, and how long it takes to enter."""

    async def measure() -> dict[str, float]:
        began = time.perf_counter()
        async with Runtime(Path(folder) / "store.db", agents=[clerk()]):
            entered_s = time.perf_counter() - began
            gc.collect()
            return {"enter_ms": entered_s * 1e3, "rss_mib": rss_bytes() / 2**20}

    return anyio.run(measure)


def enter(folder: str, store: str, sessions: int) -> dict[str, float]:
    """Enter a runtime over the store, and wake some of its sessions, each to its end."""
    del folder

    async def measure() -> dict[str, float]:
        began = time.perf_counter()
        async with Runtime(store, agents=[clerk()]) as runtime:
            entered_s = time.perf_counter() - began
            gc.collect()
            held = rss_bytes()
            woken: list[float] = []
            for request in await runtime.approvals(limit=WAKES):
                began = time.perf_counter()
                await runtime.decide(request, "approve", by="ann")
                outcome = await runtime.session(request.session_id).outcome()
                woken.append((time.perf_counter() - began) * 1e3)
                assert outcome == Completed("Paid."), outcome
            assert len(woken) == min(WAKES, sessions), woken
            gc.collect()
            return {
                "enter_ms": entered_s * 1e3,
                "rss_mib": held / 2**20,
                "wake_ms": median(woken),
                "wake_ms_max": max(woken),
                "rss_mib_woken": rss_bytes() / 2**20,
            }

    return anyio.run(measure)


def disk(folder: str, parked: int, active: int, records: int) -> dict[str, float]:
    """What a record costs on the disk whose session lies at a random place among many."""

    async def measure() -> dict[str, float]:
        path = Path(folder) / "scale.db"
        await store_scale.fill(path, parked)
        return await store_scale.records(path, active, records)

    return anyio.run(measure)


if __name__ == "__main__":
    cell_main({"fill": fill, "empty": empty, "enter": enter, "disk": disk})
