"""Old checkpoints and new code, end to end: what a user's program stored stays readable without it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from sessions import GONE, agent, ended, journal, opened, raw_rows, requests, results, run_one
from store_faults import stored_body

from ukemi import Agent, Completed, Runtime, tool
from ukemi.models import call
from ukemi.stores.base import ConversionFailed, Create, Done, Facts, RecordTooNew
from ukemi.stores.evolution import Conversions
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Opened


@dataclass
class Invoice:
    """SE-01's user class; it lives in this module, which the reading side does not import."""

    total: int
    note: str = ""


def invoicing() -> Agent:
    @tool(effect="read")
    async def invoice() -> Invoice:
        return Invoice(4200)

    @tool(effect="read")
    async def note() -> str:
        return "plain text"

    return agent([[call("invoice"), call("note")], "done", "done again"], [invoice, note])


def without_the_module() -> Agent:
    """The same agent after the class and both tools are gone from the program."""
    return agent(["done", "done", "done again"])


async def saved(store: MemoryStore) -> None:
    of = invoicing()
    async with Runtime(store, agents=[of]) as runtime:
        assert await run_one(runtime, of, session_id="s-1") == Completed("done")


async def test_SE_01_the_value_is_readable_and_its_missing_type_is_named(
    store: MemoryStore,
) -> None:
    await saved(store)
    async with Runtime(store, agents=[without_the_module()]) as runtime:
        history = (await runtime.session("s-1").checkpoint()).tool_history
    invoice = next(each for each in history if each.tool == "invoice")
    assert invoice.value_type == f"{Invoice.__module__}.Invoice"
    assert invoice.content
    assert json.loads(invoice.content) == {"total": 4200, "note": ""}


async def test_SE_01_the_note_is_readable_either_way(store: MemoryStore) -> None:
    await saved(store)
    for of in (without_the_module(), invoicing()):
        async with Runtime(store, agents=[of]) as runtime:
            history = (await runtime.session("s-1").checkpoint()).tool_history
        note = next(each for each in history if each.tool == "note")
        assert (note.content, note.value_type) == ("plain text", None)


async def test_SE_01_saving_again_keeps_the_bytes(store: MemoryStore) -> None:
    """A session goes on without the class: the rows that hold its value stay as they are."""
    await saved(store)
    async with opened(store):
        before = await raw_rows(store, "s-1")
    of = without_the_module()
    async with Runtime(store, agents=[of]) as runtime:
        await runtime.session("s-1").send("go on")
        assert await ended(runtime, "s-1") == Completed("done again")
    async with opened(store):
        after = await raw_rows(store, "s-1")
    assert after[: len(before)] == before
    assert len(after) > len(before)
    assert '"total":4200' in results(requests(of)[0].messages)[0].content


async def test_SE_01_with_the_module_back_the_total_is_there(store: MemoryStore) -> None:
    await saved(store)
    async with Runtime(store, agents=[without_the_module()]) as runtime:
        await runtime.session("s-1").send("go on")
        await ended(runtime, "s-1")
    async with Runtime(store, agents=[invoicing()]) as runtime:
        history = (await runtime.session("s-1").checkpoint()).tool_history
    (content,) = [each.content for each in history if each.value_type is not None]
    assert msgspec.json.decode(content, type=Invoice).total == 4200


# ---------------------------------------------------------------- SE-02


Plain = list[dict[str, Any]]
V1: Plain = [
    {"t": "open", "agent": "agent", "at_ms": 1, "wd": "work"},
    {"t": "user", "n": 1, "text": "go"},
    {"t": "model", "n": 2, "calls": [{"id": "c", "name": "note", "arguments": "{}"}]},
    {"t": "result", "n": 2, "index": 0, "counter": 1, "content": "noted"},
]


def conversions(fails: Callable[[], bool] = lambda: False) -> Conversions:
    """Return the way from version 1 to 3: a field renamed, then a required one added."""

    def rename(entries: Plain) -> Plain:
        return [
            {("working_directory" if key == "wd" else key): value for key, value in each.items()}
            for each in entries
        ]

    def add_tenant(entries: Plain) -> Plain:
        if fails():
            raise RuntimeError("interrupted in the middle")
        return [{"tenant": "default", **each} if each["t"] == "open" else each for each in entries]

    return Conversions(3, {1: rename, 2: add_tenant})


async def put_plain(name: str, session_id: str, entries: Plain, version: int = 1) -> None:
    """Store a session as an older or newer version of the product would have."""

    def unchanged(entries: Plain) -> Plain:
        return entries

    steps = dict.fromkeys(range(1, version), unchanged)
    async with opened(MemoryStore(name, conversions=Conversions(version, steps))) as store:
        facts = Facts(agent="agent", created_at_ms=1, updated_at_ms=1)
        body = msgspec.msgpack.encode(entries)
        create = Create(session_id=session_id, owner=GONE, facts=facts, body=body)
        (done,) = await store.commit([create])
        assert isinstance(done, Done), done


async def rows_as_stored(name: str, session_id: str) -> list[bytes]:
    return [stored_body(MemoryStore(name), session_id, 1)]


def noting(ran: list[str]) -> Agent:
    @tool
    async def note() -> str:
        ran.append("note")
        return "noted"

    return agent(lambda _: "done", [note])


async def test_SE_02_an_old_session_is_taken_up_and_finished(store_name: str) -> None:
    ran: list[str] = []
    await put_plain(store_name, "s-1", V1)
    before = await rows_as_stored(store_name, "s-1")
    store = MemoryStore(store_name, conversions=conversions())
    async with Runtime(store, agents=[noting(ran)]) as runtime:
        assert await ended(runtime, "s-1") == Completed("done")
        checkpoint = await runtime.session("s-1").checkpoint()
        assert checkpoint.working_directory == "work"
        assert [each.content for each in checkpoint.tool_history] == ["noted"]
    async with opened(store):
        first = (await journal(store, "s-1"))[0]
    assert isinstance(first, Opened)
    assert first.tenant == "default"
    # The original stays until a new form of it is stored; going on stores none.
    assert await rows_as_stored(store_name, "s-1") == before
    assert ran == []


async def test_SE_02_an_interrupted_conversion_leaves_the_session_loadable(store_name: str) -> None:
    await put_plain(store_name, "s-1", V1)
    before = await rows_as_stored(store_name, "s-1")
    broken = MemoryStore(store_name, conversions=conversions(lambda: True))
    async with Runtime(broken, agents=[noting([])]) as runtime:
        assert [head.session_id for head in await runtime.sessions()] == ["s-1"]
        assert any("s-1" in alert for alert in runtime.alerts)
        with pytest.raises(ConversionFailed, match="s-1"):
            await runtime.session("s-1").checkpoint()
    assert await rows_as_stored(store_name, "s-1") == before
    async with Runtime(
        MemoryStore(store_name, conversions=conversions()), agents=[noting([])]
    ) as runtime:
        assert await ended(runtime, "s-1") == Completed("done")


async def test_SE_02_a_session_of_a_newer_version_is_refused_and_left_untouched(
    store_name: str,
) -> None:
    await put_plain(store_name, "s-9", V1, version=9)
    await put_plain(store_name, "s-1", V1)
    before = await rows_as_stored(store_name, "s-9")
    async with opened(MemoryStore(store_name)) as store:
        head = await store.head("s-9")
    ran: list[str] = []
    async with Runtime(MemoryStore(store_name), agents=[noting(ran)]) as runtime:
        # The other session of the same store is taken up as usual.
        assert await ended(runtime, "s-1") == Completed("done")
        assert any("s-9" in alert and "newer version" in alert for alert in runtime.alerts)
        for refused in (
            runtime.session("s-9").checkpoint(),
            runtime.session("s-9").send("go on"),
            runtime.session("s-9").cancel(),
        ):
            with pytest.raises(RecordTooNew, match="newer version"):
                await refused
        heads = {each.session_id: each for each in await runtime.sessions()}
    assert heads["s-1"].status == "completed"
    # Not even its owner has changed: whoever can read it takes it up.
    assert heads["s-9"] == head
    assert await rows_as_stored(store_name, "s-9") == before


async def test_SE_02_an_unknown_field_is_not_lost_when_the_session_goes_on(store_name: str) -> None:
    extra = [{**each, "unknown_field": 1} for each in V1]
    await put_plain(store_name, "s-1", extra)
    async with Runtime(MemoryStore(store_name), agents=[noting([])]) as runtime:
        assert await ended(runtime, "s-1") == Completed("done")
    (body,) = await rows_as_stored(store_name, "s-1")
    stored: Plain = msgspec.msgpack.decode(body)
    assert [each["unknown_field"] for each in stored] == [1, 1, 1, 1]


async def test_SE_02_no_agent_and_no_tool_is_needed_to_read_a_session(store_name: str) -> None:
    """Messages, ledger and counters are plain data: a runtime without agents shows them all."""
    store = MemoryStore(store_name)
    await saved(store)
    async with Runtime(store) as reader:
        handle = reader.session("s-1")
        checkpoint = await handle.checkpoint()
        inspection = await handle.inspect()
        assert (checkpoint.checkpoint_counter, inspection.checkpoint) == (2, 2)
        assert {each.tool for each in checkpoint.tool_history} == {"invoice", "note"}
        assert await handle.outcome() == Completed("done")
