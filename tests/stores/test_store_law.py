"""Laws: both stores give the same answers to any series of writes, whatever was packed or reopened;
and a session's rows are always those that were acknowledged."""

import asyncio
import tempfile
from pathlib import Path
from typing import Literal

import hypothesis.strategies as st
from hypothesis import given, settings
from msgspec import structs
from store_tools import append, claim, create, renew

from ukemi.stores.base import (
    Append,
    Done,
    Facts,
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
from ukemi.stores.records import SessionStatus
from ukemi.stores.sqlite import SqliteStore

SESSIONS = ("s-1", "s-2", "s-3")
OWNERS = ("a", "b")
Op = tuple[str, str, str, int]

ops = st.tuples(
    st.sampled_from(
        "create append append append stale park end claim dead_claim renew leave pack rewrite"
        " facts".split()
    ),
    st.sampled_from(SESSIONS),
    st.sampled_from(OWNERS),
    st.integers(0, 3),
)
batches = st.lists(st.one_of(st.lists(ops, min_size=1, max_size=6), st.just("reopen")), max_size=25)


class Believed:
    """What a well-informed caller believes: epoch, seq and counter per session, and the rows."""

    def __init__(self) -> None:
        self.at: dict[str, tuple[int, int, int]] = {}
        self.rows: dict[str, list[Row]] = {}

    def write(self, op: Op) -> Write:
        kind, session_id, owner, number = op
        epoch, seq, counter = self.at.get(session_id, (1, 1, 0))
        facts = Facts(agent=owner, parent="p" if number else None, due_at_ms=number or None)
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
    found += [await store.owners(), sorted(await store.orphans(15, frozenset({"b"}), 9))]
    for session_id in SESSIONS:
        for upto in (None, 0, 1, 2, 5):
            try:
                found.append(await store.load(session_id, upto=upto))
            except StoreError as error:
                found.append(type(error))
    return found


async def both_agree(folder: Path, script: list[list[Op] | Literal["reopen"]]) -> None:
    memory, sqlite = MemoryStore(), SqliteStore(folder / "store.db", durability="normal")
    believed = Believed()
    await memory.open()
    await sqlite.open()
    for batch in script:
        if isinstance(batch, str):
            await sqlite.close()
            sqlite = SqliteStore(folder / "store.db", durability="normal")
            await sqlite.open()
            continue
        writes = [believed.write(op) for op in batch]
        expected = await memory.commit(writes)
        assert kinds(await sqlite.commit(writes)) == kinds(expected)
        for one, result in zip(writes, expected, strict=True):
            believed.learn(one, result)
    assert await answers(sqlite) == await answers(memory)
    for session_id, rows in believed.rows.items():
        assert (await sqlite.load(session_id)).rows == rows
    await sqlite.close()
    await memory.close()


@settings(max_examples=40, deadline=None)
@given(script=batches)
def test_both_stores_answer_alike(script: list[list[Op] | Literal["reopen"]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(both_agree(Path(folder), script))
