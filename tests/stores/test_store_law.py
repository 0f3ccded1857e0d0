"""Laws: both stores give the same answers to any series of writes, whatever was packed or reopened;
and a session's rows are always those that were acknowledged."""

from pathlib import Path
from random import Random
from typing import Literal

import pytest
from msgspec import structs
from store_tools import append, claim, create, renew

from ukemi.stores.base import (
    Append,
    Done,
    Facts,
    Forget,
    HeadQuery,
    Leave,
    Pack,
    Rewrite,
    Row,
    Store,
    StoreError,
    Write,
    Written,
)
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import SessionStatus, Spent
from ukemi.stores.sqlite import SqliteStore

SESSIONS = ("s-1", "s-2", "s-3")
OWNERS = ("a", "b")
Op = tuple[str, str, str, int]

KINDS = {
    "append": 40,
    "facts": 8,
    "stale": 3,
    "create": 3,
    "claim": 6,
    "dead_claim": 8,
    "park": 8,
    "end": 3,
    "renew": 6,
    "leave": 2,
    "pack": 10,
    "rewrite": 4,
    "forget": 3,
}


def script(seed: int, length: int) -> list[list[Op] | Literal["reopen"]]:
    """Return a series of commits, one to three writes each, with the store reopened at times."""
    rng = Random(seed)
    names, weights = list(KINDS), list(KINDS.values())
    series: list[list[Op] | Literal["reopen"]] = [[("create", "s-1", "a", 0)]]
    for _ in range(length):
        if rng.random() < 0.04:
            series.append("reopen")
        kinds = rng.choices(names, weights, k=rng.choice((1, 1, 1, 2, 3)))
        series.append(
            [(kind, rng.choice(SESSIONS), rng.choice(OWNERS), rng.randrange(4)) for kind in kinds]
        )
    return series


class Believed:
    """What a well-informed caller believes: epoch, seq and counter per session, and the rows."""

    def __init__(self) -> None:
        self.at: dict[str, tuple[int, int, int]] = {}
        self.rows: dict[str, list[Row]] = {}

    def write(self, op: Op) -> Write:
        kind, session_id, owner, number = op
        epoch, seq, counter = self.at.get(session_id, (1, 1, 0))
        facts = Facts(
            agent=owner,
            parent="p" if session_id == "s-2" else None,
            due_at_ms=number or None,
            group=None if session_id == "s-1" else "g",
            tenant="t" if session_id == "s-2" else None,
            spent=Spent(seconds=0.1 * number, steps=seq, tokens=number, cost_usd=0.01 * epoch),
        )
        match kind:
            case "create":
                return create(session_id, owner, facts)
            case "renew":
                return renew(owner, number * 10)
            case "leave":
                return Leave(owner=owner)
            case "pack":
                return Pack(session_id=session_id)
            case "claim":
                return claim(session_id, owner, now_ms=15)
            case "dead_claim":
                return claim(session_id, owner, now_ms=15, dead=frozenset(OWNERS))
            case "rewrite":
                kept = tuple(self.rows.get(session_id, [])[-1 - number :])
                oldest = kept[0].counter if kept else 0
                return Rewrite(
                    session_id=session_id, epoch=epoch, seq=seq, rows=kept, oldest_counter=oldest
                )
            case "forget":
                return Forget(session_id=session_id, epoch=epoch, seq=seq, oldest_counter=number)
            case _:
                return self._append(kind, append(session_id, seq + 1, epoch=epoch), counter, facts)

    def _append(self, kind: str, write: Append, counter: int, facts: Facts) -> Append:
        ended: dict[str, SessionStatus] = {"park": "parked", "end": "completed"}
        return structs.replace(
            write,
            epoch=write.epoch - (kind == "stale"),
            counter=counter + 1,
            status=ended.get(kind, "running"),
            facts=facts if kind in ("facts", "park") else None,
        )

    def learn(self, write: Write, result: Written) -> None:
        if not isinstance(result, Done) or not result.epoch:
            return
        session_id = str(getattr(write, "session_id", ""))
        counter = self.at.get(session_id, (0, 0, 0))[2]
        match write:
            case Append():
                counter = write.counter
                self.rows[session_id].append(Row(write.seq, counter, 1, write.body))
            case Rewrite():
                self.rows[session_id] = list(write.rows)
            case _:
                self.rows.setdefault(session_id, [Row(1, 0, 1, b"row 1")])
        self.at[session_id] = (result.epoch, result.seq, counter)


def kinds(results: list[Written]) -> list[object]:
    return [result if isinstance(result, Done) else type(result) for result in results]


async def answers(store: Store) -> list[object]:
    """Ask a store everything there is to ask."""
    found: list[object] = []
    for status in (None, frozenset({"running"}), frozenset({"parked", "completed"})):
        for query in (HeadQuery(), HeadQuery(parent="p"), HeadQuery(due_before_ms=3)):
            found.append(await store.heads(structs.replace(query, status=status)))
    for name in ("g", "t", "nobody"):
        found += [await store.spent(group=name), await store.spent(tenant=name)]
    found += [await store.owners(), sorted(await store.orphans(15, frozenset({"b"}), 9))]
    for session_id in SESSIONS:
        for upto in (None, 0, 1, 2, 5):
            try:
                found.append(await store.load(session_id, upto=upto))
            except StoreError as error:
                found.append(type(error))
    return found


async def both_agree(folder: Path, script: list[list[Op] | Literal["reopen"]]) -> int:
    """Play a series on both stores; return how many writes were accepted."""
    memory = MemoryStore()
    sqlite = SqliteStore(folder / "store.db", durability="normal")
    believed = Believed()
    accepted = 0
    await memory.open()
    await sqlite.open()
    for batch in script:
        if isinstance(batch, str):
            await sqlite.close()
            await sqlite.open()
            continue
        writes = [believed.write(op) for op in batch]
        expected = await memory.commit(writes)
        assert kinds(await sqlite.commit(writes)) == kinds(expected)
        for one, result in zip(writes, expected, strict=True):
            believed.learn(one, result)
            accepted += isinstance(result, Done)
    assert await answers(sqlite) == await answers(memory)
    for session_id, rows in believed.rows.items():
        assert (await sqlite.load(session_id)).rows == rows
    await sqlite.close()
    await memory.close()
    return accepted


@pytest.mark.parametrize("anyio_backend", [("asyncio", {"use_uvloop": False})], ids=["asyncio"])
@pytest.mark.parametrize("seed", range(20))
async def test_both_stores_answer_alike(tmp_path: Path, seed: int) -> None:
    assert await both_agree(tmp_path, script(seed, 240)) > 100
