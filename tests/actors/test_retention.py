"""What is kept of an ended session: the conversation always, and the last checkpoints exactly."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from ukemi import Agent, Budget, Completed, Policy, Runtime, tool
from ukemi.actors.inspection import checkpoint_at, entries_of, fold
from ukemi.actors.retention import PACKED_ROWS_MIN, ROWS_MIN, retain
from ukemi.models import ScriptedModel, call
from ukemi.stores import MemoryStore
from ukemi.stores.base import Facts, Head, Row, StoredSession
from ukemi.stores.decisions import Resolve
from ukemi.stores.records import (
    RECORD_VERSION,
    Answered,
    Booked,
    CallState,
    Decided,
    Ended,
    Intended,
    JournalEntry,
    Opened,
    Resulted,
    Retried,
    Said,
    Spent,
    ToolCall,
    decode_row,
    encode_row,
)
from ukemi.supervisor.policy_sessions import StoragePolicy

STEPS = 100
DOUBTFUL = 7


@tool(effect="read")
async def look(at: int) -> str:
    """Look something up."""
    return f"seen {at}"


def rows() -> list[Row]:
    """A session of 100 steps: an intent and a result each, a retry now and then, one in doubt."""
    found: list[Row] = []

    def add(counter: int, *entries: JournalEntry) -> None:
        row = Row(len(found) + 1, counter, RECORD_VERSION, encode_row(list(entries)))
        found.append(row)

    add(0, Opened("agent", 0), Said(1, "go"))
    for step in range(1, STEPS + 1):
        n = step + 1
        answered = Answered(
            n, calls=(ToolCall("id", "pay"),), raw=b"[1]", raw_format="x", ledger=True
        )
        add(step - 1, answered, Intended(n, 0, "pay", "digest"), Booked(Spent()))
        state: CallState = "in_doubt" if step == DOUBTFUL else "succeeded"
        result = Resulted(n, 0, step, f"result {step}", state, blob=f"blob{step}")
        add(step, Retried(n, 0, 1, "transient", 1.0, 1.0, "down"), result)
    add(STEPS, Ended("completed", {"outcome": "completed", "answer": "Done."}))
    return found


def stored() -> StoredSession:
    found = rows()
    head = Head(
        session_id="s",
        status="completed",
        seq=found[-1].seq,
        counter=STEPS,
        epoch=3,
        owner=None,
        facts=Facts(agent="agent"),
    )
    return StoredSession(head=head, rows=found)


def rewritten(kept: int) -> StoredSession:
    before = stored()
    rewrite = retain(before, kept)
    assert rewrite is not None
    return StoredSession(head=before.head, rows=list(rewrite.rows))


@pytest.mark.parametrize("kept", [1, 10, 50, 99])
def test_the_conversation_stays_word_for_word(kept: int) -> None:
    before, after = entries_of(stored()), entries_of(rewritten(kept))
    texts = [
        [getattr(message, "content", None) for message in fold("s", entries).conversation]
        for entries in (before, after)
    ]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("kept", [1, 10, 50])
def test_the_checkpoints_that_are_kept_load_exactly(kept: int) -> None:
    before, after = entries_of(stored()), entries_of(rewritten(kept))
    oldest = STEPS - kept + 1
    for counter in range(oldest, STEPS + 1):
        a, b = checkpoint_at("s", before, counter), checkpoint_at("s", after, counter)
        assert a.messages == b.messages
        assert a.tool_history[oldest - 1 :] == b.tool_history[oldest - 1 :]
        assert [each.content for each in a.tool_history] == [
            each.content for each in b.tool_history
        ]


def test_what_is_in_doubt_is_kept_whole() -> None:
    after = fold("s", entries_of(rewritten(10)))
    (doubt,) = after.in_doubt.values()
    assert doubt.tool == "pay"
    rewrite = retain(stored(), 10)
    assert rewrite is not None and f"blob{DOUBTFUL}" in rewrite.blobs


def test_the_rest_is_freed() -> None:
    rewrite = retain(stored(), 10)
    assert rewrite is not None
    assert rewrite.blobs == {f"blob{n}" for n in (DOUBTFUL, *range(91, 101))}
    assert rewrite.oldest_counter == 91
    bytes_before = sum(len(row.body) for row in rows())
    assert sum(len(row.body) for row in rewrite.rows) < 0.85 * bytes_before
    assert len(rewrite.rows) < 30


def test_failures_are_kept_without_their_words() -> None:
    """Policies are tuned by them: what is decided by stays, what people read does not."""
    before = [each for each in entries_of(stored()) if isinstance(each, Retried)]
    after = [each for each in entries_of(rewritten(10)) if isinstance(each, Retried)]
    assert [each.wait_s for each in after] == [each.wait_s for each in before]
    assert {each.message for each in after[:-10]} == {""}
    assert {each.message for each in before} == {each.message for each in after[-10:]} == {"down"}


def test_it_proves_that_it_saw_the_latest_state() -> None:
    rewrite = retain(stored(), 10)
    assert rewrite is not None
    assert (rewrite.epoch, rewrite.seq, rewrite.rows[-1].seq) == (3, 2 * STEPS + 2, 2 * STEPS + 2)


def test_what_the_rows_add_up_to_need_not_be_added_up_again() -> None:
    session = stored()
    state = fold("s", entries_of(session))
    assert state.effects and state.unwound.settled_n
    assert retain(session, 10, state) == retain(session, 10)


def test_there_is_nothing_to_do_for_short_sessions_or_without_a_limit() -> None:
    short = StoredSession(head=stored().head, rows=rows()[: ROWS_MIN - 1])
    assert retain(short, 10) is None
    assert retain(stored(), None) is None
    assert retain(stored(), STEPS) is None


def test_what_was_decided_stays_known() -> None:
    """A question asked again must get the next number, or its decision would be refused."""
    session = stored()
    decided = Decided(f"call {DOUBTFUL + 1}.0#1", Resolve("done", (DOUBTFUL + 1, 0)), 7, "ann")
    at = 2 * DOUBTFUL
    with_it = encode_row([*decode_row(session.rows[at].body), decided])
    session.rows[at] = msgspec.structs.replace(session.rows[at], body=with_it)
    rewrite = retain(session, 10)
    assert rewrite is not None
    entries = [entry for row in rewrite.rows for entry in decode_row(row.body)]
    assert fold("s", entries).decided == {f"call {DOUBTFUL + 1}.0": decided}


async def test_a_session_that_holds_nothing_to_free_keeps_its_rows_and_gives_up_its_checkpoints() -> (
    None
):
    """Writing its whole journal once more would free nothing."""
    steps = ROWS_MIN + 6
    agent = Agent(
        "worker",
        model=ScriptedModel([*(call("look", at=i) for i in range(steps)), "done"]),
        tools=[look],
    )
    store = MemoryStore()
    async with Runtime(
        store, agents=[agent], policy=Policy(storage=StoragePolicy(checkpoints_kept=3))
    ) as runtime:
        session = await runtime.start("worker", "go", session_id="s")
        assert isinstance(await session.outcome(), Completed)
    await store.open()
    kept = await store.load("s")
    await store.close()
    assert len(kept.rows) == steps + 2
    assert kept.head.oldest_counter == steps - 2


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_long_session_is_packed_at_its_end(tmp_path: Path) -> None:
    agent = Agent(
        "worker",
        model=ScriptedModel([*(call("look", at=i) for i in range(PACKED_ROWS_MIN)), "done"]),
        tools=[look],
    )
    path = tmp_path / "store.db"
    async with Runtime(path, agents=[agent]) as runtime:
        session = await runtime.start("worker", "go", session_id="s", budget=Budget(steps=None))
        assert isinstance(await session.outcome(), Completed)
    with closing(sqlite3.connect(path)) as connection:
        (segments,) = connection.execute("SELECT count(*) FROM seg").fetchone()
        (rows,) = connection.execute("SELECT count(*) FROM log").fetchone()
    assert (segments > 3, rows) == (True, 0)
