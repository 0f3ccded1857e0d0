"""Calls without a result, found when a session is taken up again."""

from collections.abc import Sequence

import pytest
from sessions import (
    agent,
    assert_paired,
    case,
    ended,
    history_of,
    journal,
    opened,
    put_history,
    raw_rows,
    requests,
    results,
)

from ukemi import Agent, Completed, HandedOver, Runtime, tool
from ukemi.actors.model import AssistantMessage, ToolMessage, UserMessage
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models.scripted import Script
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Answered, Intended, JournalEntry, Opened, Resulted, Said, ToolCall

ORPH_01 = case("ORPH-01")["setup"]["history_on_disk"]
ORPH_02 = case("ORPH-02")["setup"]["history_on_disk"]
ORPH_03 = case("ORPH-03")["setup"]["history_on_disk"]


def files(ran: list[str]) -> list[AnyTool]:
    """Return the tools of ORPH-01; each body that runs is noted."""

    @tool(effect="read")
    async def read_file(path: str) -> str:
        ran.append(f"read {path}")
        return "again"

    @tool
    async def write_file(path: str, text: str) -> str:
        ran.append(f"write {path}")
        return "ok"

    return [read_file, write_file]


def from_elsewhere() -> list[list[JournalEntry]]:
    """ORPH-01 as another runtime left it: no ledger at all."""
    return [[Opened("agent", 1), entry] if at == 0 else [entry] for at, entry in _numbered()]


def _numbered() -> list[tuple[int, JournalEntry]]:
    return list(enumerate(history_of(ORPH_01)))


def with_intents() -> list[list[JournalEntry]]:
    """ORPH-01 as this runtime leaves it: an intent for each write that was started."""
    said, answered, result = history_of(ORPH_01, ledger=True)
    intents = [Intended(2, index, "write_file", f"d{index}") for index in (1, 2)]
    return [[Opened("agent", 1), said], [answered, result], [intents[0]], [intents[1]]]


HISTORIES = {"from elsewhere": from_elsewhere, "with intents": with_intents}


@pytest.fixture(params=list(HISTORIES.values()), ids=list(HISTORIES))
def rows(request: pytest.FixtureRequest) -> list[list[JournalEntry]]:
    found: list[list[JournalEntry]] = request.param()
    return found


async def adopted_then(
    store: MemoryStore, rows: Sequence[Sequence[JournalEntry]], of: Agent
) -> None:
    """Put a history into the store, let a runtime adopt it, and send "go on" behind its outcome."""
    async with opened(store):
        await put_history(store, "s-1", rows)
    async with Runtime(store, agents=[of]) as runtime:
        assert isinstance(await ended(runtime, "s-1"), HandedOver)
        await runtime.session("s-1").send("go on")
        assert await ended(runtime, "s-1") == Completed("all right")


async def test_ORPH_01_each_call_has_one_result_before_go_on(
    store: MemoryStore, rows: list[list[JournalEntry]]
) -> None:
    of = agent(lambda _: "all right", files([]))
    await adopted_then(store, rows, of)
    messages = requests(of)[0].messages
    assert_paired(messages)
    assert [type(each) for each in messages] == [
        UserMessage,
        AssistantMessage,
        *[ToolMessage] * 3,
        UserMessage,
    ]
    assert [each.call_id for each in results(messages)] == ["t1", "t2", "t3"]
    assert messages[-1] == UserMessage("go on")


async def test_ORPH_01_interrupted_results_are_errors_that_say_so(
    store: MemoryStore, rows: list[list[JournalEntry]]
) -> None:
    of = agent(lambda _: "all right", files([]))
    await adopted_then(store, rows, of)
    first, second, third = results(requests(of)[0].messages)
    assert (first.content, first.is_error) == ("old", False)
    for each in (second, third):
        assert each.is_error
        assert each.content.startswith("interrupted, effect unknown")


async def test_ORPH_01_no_write_runs_again_and_the_ledger_lists_both_in_doubt(
    store: MemoryStore, rows: list[list[JournalEntry]]
) -> None:
    ran: list[str] = []
    of = agent(lambda _: "all right", files(ran))
    await adopted_then(store, rows, of)
    assert ran == []
    async with Runtime(store, agents=[of]) as runtime:
        doubts = (await runtime.session("s-1").inspect()).in_doubt
    assert [(each.n, each.index, each.tool) for each in doubts] == [
        (2, 1, "write_file"),
        (2, 2, "write_file"),
    ]
    assert [each.arguments for each in doubts] == [
        '{"path": "a.txt", "text": "A"}',
        '{"path": "b.txt", "text": "B"}',
    ]


async def test_ORPH_01_the_repair_is_stored_once(
    store: MemoryStore, rows: list[list[JournalEntry]]
) -> None:
    of = agent(lambda _: "all right", files([]))
    async with opened(store):
        await put_history(store, "s-1", rows)
    async with Runtime(store, agents=[of]) as runtime:
        await ended(runtime, "s-1")
    async with opened(store):
        first = await raw_rows(store, "s-1")
    for _ in range(2):
        async with Runtime(store, agents=[of]) as runtime:
            assert isinstance(await ended(runtime, "s-1"), HandedOver)
            await runtime.session("s-1").inspect()
            await runtime.session("s-1").checkpoint()
        async with opened(store):
            assert await raw_rows(store, "s-1") == first


async def test_ORPH_01_a_message_sent_at_once_lets_the_session_go_on(
    store: MemoryStore, rows: list[list[JournalEntry]]
) -> None:
    """Whoever sends first and asks later gets the request too, not a handover behind his message."""
    ran: list[str] = []
    of = agent(lambda _: "all right", files(ran))
    async with opened(store):
        await put_history(store, "s-1", rows)
    async with Runtime(store, agents=[of], adopt=False) as runtime:
        await runtime.session("s-1").send("go on")
        assert await ended(runtime, "s-1") == Completed("all right")
        assert len((await runtime.session("s-1").inspect()).in_doubt) == 2
    assert_paired(requests(of)[0].messages)
    assert requests(of)[0].messages[-1] == UserMessage("go on")
    assert ran == []


async def test_ORPH_01_the_journal_holds_one_result_for_each_call(
    store: MemoryStore, rows: list[list[JournalEntry]]
) -> None:
    of = agent(lambda _: "all right", files([]))
    await adopted_then(store, rows, of)
    async with opened(store):
        entries = await journal(store, "s-1")
    answered = [(each.n, each.index) for each in entries if isinstance(each, Resulted)]
    assert sorted(answered) == [(2, 0), (2, 1), (2, 2)]


# ---------------------------------------------------------------- ORPH-02


def search_agent(script: Script, ran: list[str], *, safe: bool) -> Agent:
    @tool(effect="read", safe_to_retry=safe)
    async def search(q: str) -> str:
        ran.append(q)
        return f"found {q}"

    return agent(script, [search])


async def orph_02(store: MemoryStore, of: Agent) -> None:
    entries = history_of(ORPH_02)
    async with opened(store):
        await put_history(store, "s-1", [[Opened("agent", 1), *entries]])
    async with Runtime(store, agents=[of]) as runtime:
        await ended(runtime, "s-1")
        await runtime.session("s-1").send("go on")
        await ended(runtime, "s-1")


async def test_ORPH_02_the_second_call_gets_its_own_interrupted_result(store: MemoryStore) -> None:
    ran: list[str] = []
    of = search_agent(lambda _: "all right", ran, safe=False)
    await orph_02(store, of)
    messages = requests(of)[0].messages
    assert_paired(messages)
    last = next(at for at in reversed(range(len(messages))) if _calls(messages[at]))
    behind = messages[last + 1]
    assert isinstance(behind, ToolMessage)
    assert (behind.call_id, behind.is_error) == ("call-1", True)
    assert behind.content.startswith("interrupted, effect unknown")
    assert ran == []


def _calls(message: object) -> bool:
    return isinstance(message, AssistantMessage) and bool(message.calls)


async def test_ORPH_02_the_first_result_still_answers_only_the_first_call(
    store: MemoryStore,
) -> None:
    of = search_agent(lambda _: "all right", [], safe=False)
    await orph_02(store, of)
    found = results(requests(of)[0].messages)
    assert [each.content == "found x" for each in found] == [True, False]
    assert not found[0].is_error


async def test_ORPH_02_the_two_calls_have_two_ledger_entries(store: MemoryStore) -> None:
    of = search_agent(lambda _: "all right", [], safe=False)
    await orph_02(store, of)
    async with Runtime(store, agents=[of]) as runtime:
        history = (await runtime.session("s-1").checkpoint()).tool_history
        doubts = (await runtime.session("s-1").inspect()).in_doubt
    assert [(each.n, each.index, each.state) for each in history] == [
        (2, 0, "succeeded"),
        (6, 0, "in_doubt"),
    ]
    assert [(each.n, each.arguments) for each in doubts] == [(6, '{"q": "y"}')]


async def test_ORPH_02_a_safe_call_of_the_same_id_is_run_once_more_and_only_the_second(
    store: MemoryStore,
) -> None:
    ran: list[str] = []
    of = search_agent(lambda _: "all right", ran, safe=True)
    async with opened(store):
        await put_history(store, "s-1", [[Opened("agent", 1), *history_of(ORPH_02)]])
    async with Runtime(store, agents=[of]) as runtime:
        assert await ended(runtime, "s-1") == Completed("all right")
    assert ran == ["y"]
    assert [each.content for each in results(requests(of)[0].messages)] == ["found x", "found y"]


# ---------------------------------------------------------------- ORPH-03


def shell_agent() -> Agent:
    @tool
    async def shell(cmd: str) -> str:
        raise AssertionError("an interrupted command must not run again")

    return agent(lambda _: "all right", [shell])


async def orph_03(store: MemoryStore) -> None:
    async with opened(store):
        await put_history(store, "s-1", [[Opened("agent", 1), *history_of(ORPH_03)]])


async def test_ORPH_03_the_result_sits_in_the_middle(store: MemoryStore) -> None:
    await orph_03(store)
    of = shell_agent()
    async with Runtime(store, agents=[of]) as runtime:
        await ended(runtime, "s-1")
        if not requests(of):
            await runtime.session("s-1").send("go on")
            await ended(runtime, "s-1")
    messages = requests(of)[0].messages
    assert_paired(messages)
    assert [type(each) for each in messages[:4]] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        UserMessage,
    ]
    assert messages[3] == UserMessage("never mind, explain instead")


async def test_ORPH_03_the_repaired_order_is_read_back_by_the_next_process(
    store: MemoryStore,
) -> None:
    await orph_03(store)
    async with Runtime(store, agents=[shell_agent()]) as runtime:
        await ended(runtime, "s-1")
        first = (await runtime.session("s-1").checkpoint()).messages
    async with Runtime(MemoryStore(store.name.removeprefix("memory:"))) as other:
        assert (await other.session("s-1").checkpoint()).messages == first
    assert_paired(first)


async def test_ORPH_03_no_user_message_is_dropped_or_merged(store: MemoryStore) -> None:
    await orph_03(store)
    async with Runtime(store, agents=[shell_agent()]) as runtime:
        await ended(runtime, "s-1")
    async with opened(store):
        said = [each.text for each in await journal(store, "s-1") if isinstance(each, Said)]
    assert said == ["run it", "never mind, explain instead"]


async def test_ORPH_03_an_unanswered_call_in_the_middle_of_a_longer_history(
    store: MemoryStore,
) -> None:
    """Not only the tail is looked at: a later turn was answered behind the hole."""
    entries: list[JournalEntry] = [
        Opened("agent", 1),
        Said(1, "run it"),
        Answered(2, "", (ToolCall("k1", "shell", '{"cmd": "make"}'),)),
        Said(3, "never mind"),
        Answered(4, "", (ToolCall("k1", "shell", '{"cmd": "ls"}'),)),
        Resulted(4, 0, 1, "a b c"),
        Answered(5, "there are three"),
        Said(6, "and now?"),
    ]
    async with opened(store):
        await put_history(store, "s-1", [entries])
    of = shell_agent()
    async with Runtime(store, agents=[of]) as runtime:
        await ended(runtime, "s-1")
        if not requests(of):
            await runtime.session("s-1").send("go on")
            await ended(runtime, "s-1")
    messages = requests(of)[0].messages
    assert_paired(messages)
    first, second = results(messages)
    assert first.is_error and first.content.startswith("interrupted")
    assert (second.content, second.is_error) == ("a b c", False)
    said = [each.text for each in messages if isinstance(each, UserMessage)]
    assert said[:3] == ["run it", "never mind", "and now?"]
