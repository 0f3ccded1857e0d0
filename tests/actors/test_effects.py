"""The effects of a journal, one record each: how it stands, and who says so."""

import pytest
from msgspec import Struct
from sessions import agent, run_one

from ukemi import Runtime, tool
from ukemi.actors.effects import EffectRecord, records_of
from ukemi.models import call
from ukemi.stores.decisions import Resolve
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import (
    Allowed,
    Answered,
    CallState,
    Decided,
    Intended,
    JournalEntry,
    Late,
    Probed,
    Resulted,
    RolledBack,
    RollingBack,
    ToolCall,
    Undone,
)

ASKED = Answered(2, "", (ToolCall("a", "pay", '{"x":1}'), ToolCall("b", "look")), ledger=True)
INTENT = Intended(2, 0, "pay", "d", 1, "k")


def resulted(state: CallState, *, by: str = "", replayed: bool = False, n: int = 2) -> Resulted:
    return Resulted(n, 0, 1, f"it {state}", state, digest="d", by=by, replayed=replayed)


def person(option: str) -> Decided:
    return Decided("call 2.0#1", Resolve(option, (2, 0)), 5, "ann")


class Case(Struct):
    rule: str
    entries: list[JournalEntry]
    state: str
    by: str = ""
    who: str = ""
    attempts: int = 1
    content: str = ""
    replayed: bool = False
    arguments: str = '{"x":1}'


BACK: list[JournalEntry] = [
    RollingBack(3, "soft", 0, 5),
    RolledBack(3, "done", undone=((2, 0),)),
]

CASES = [
    Case("begun, and no result yet", [], "running"),
    Case("it succeeded", [resulted("succeeded")], "succeeded", content="it succeeded"),
    Case("it failed", [resulted("failed")], "failed", content="it failed"),
    Case("in doubt", [resulted("in_doubt")], "in_doubt", content="it in_doubt"),
    Case(
        "its probe found it",
        [Probed(2, 0, "done"), resulted("succeeded", by="probe", replayed=True)],
        "succeeded",
        "probe",
        content="it succeeded",
        replayed=True,
    ),
    Case(
        "it ended late",
        [resulted("in_doubt"), Late(2, 0, "succeeded", "paid")],
        "succeeded",
        "late",
        content="paid",
    ),
    Case(
        "a late error settles nothing",
        [resulted("in_doubt"), Late(2, 0, "in_doubt", "boom")],
        "in_doubt",
        content="it in_doubt",
    ),
    Case(
        "a person found it done",
        [resulted("in_doubt"), person("done"), Late(2, 0, "succeeded", "seen", "person")],
        "succeeded",
        "person",
        "ann",
        content="seen",
    ),
    Case(
        "a person left it",
        [resulted("in_doubt"), person("abandon"), Late(2, 0, "denied", "", "person")],
        "denied",
        "person",
        "ann",
    ),
    Case(
        "a person had it run again, with other arguments",
        [
            resulted("in_doubt"),
            person("retry"),
            Allowed(2, 0, "e", "k2", '{"x":2}'),
            Intended(2, 0, "pay", "e", 2, "k2"),
            Late(2, 0, "succeeded", "paid", "again", attempt=2),
        ],
        "succeeded",
        "again",
        "ann",
        2,
        "paid",
        arguments='{"x":2}',
    ),
    Case(
        "it was compensated",
        [resulted("succeeded"), Undone(2, 0, "compensated", "paid back")],
        "compensated",
        content="it succeeded",
    ),
    Case(
        "its compensation failed",
        [resulted("succeeded"), Undone(2, 0, "failed", "gateway down")],
        "compensation_failed",
        content="it succeeded",
    ),
    Case(
        "its compensation is in doubt",
        [resulted("succeeded"), Undone(2, 0, "in_doubt", "no answer")],
        "compensation_in_doubt",
        content="it succeeded",
    ),
    Case(
        "a person has found it compensated",
        [
            resulted("succeeded"),
            Undone(2, 0, "in_doubt", "no answer"),
            person("compensated"),
            Undone(2, 0, "compensated", "seen", by="person"),
        ],
        "compensated",
        "person",
        "ann",
        content="it succeeded",
    ),
    Case(
        "a person leaves it in effect",
        [
            resulted("succeeded"),
            Undone(2, 0, "failed", "gateway down"),
            person("abandon"),
            Undone(2, 0, "abandoned", by="person"),
        ],
        "succeeded",
        "person",
        "ann",
        content="it succeeded",
    ),
    Case(
        "its files are rolled back",
        [resulted("succeeded"), *BACK],
        "rolled_back",
        content="it succeeded",
    ),
    Case(
        "the rollback failed",
        [resulted("succeeded"), BACK[0], RolledBack(3, "failed", undone=((2, 0),))],
        "succeeded",
        content="it succeeded",
    ),
    Case(
        "the rollback is taken back",
        [
            resulted("succeeded"),
            *BACK,
            RollingBack(4, "soft", 0, 6, undoes=3),
            RolledBack(4, "done"),
        ],
        "succeeded",
        content="it succeeded",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[each.rule for each in CASES])
def test_how_an_effect_stands(case: Case) -> None:
    (record,) = records_of([ASKED, INTENT, *case.entries])
    assert (record.tool, record.call) == ("pay", (2, 0))
    assert record.key == ("k2" if case.by == "again" else "k")
    told = (record.state, record.by, record.who, record.attempts, record.content, record.replayed)
    wanted = (case.state, case.by, case.who, case.attempts, case.content, case.replayed)
    assert told == wanted
    assert record.arguments == case.arguments


def test_reads_and_calls_that_never_began_are_no_effects() -> None:
    entries: list[JournalEntry] = [
        ASKED,
        Resulted(2, 0, 1, "not started", "refused"),
        Resulted(2, 1, 2, "seen"),
    ]
    assert records_of(entries) == []


def test_a_call_answered_from_the_record_is_one_and_says_so() -> None:
    again = Answered(3, "", (ToolCall("c", "pay", '{"x":1}'),), ledger=True)
    entries: list[JournalEntry] = [
        ASKED,
        INTENT,
        resulted("in_doubt"),
        Late(2, 0, "succeeded", "paid"),
        again,
        resulted("succeeded", by="record", replayed=True, n=3),
    ]
    first, second = records_of(entries)
    assert (first.state, first.replayed) == ("succeeded", False)
    assert (second.call, second.state, second.by, second.replayed) == (
        (3, 0),
        "succeeded",
        "record",
        True,
    )


async def test_a_session_tells_its_effects(store: MemoryStore) -> None:
    @tool(accepts_key=True)
    async def pay(x: int, *, key: str) -> str:
        return f"paid {x}"

    @tool(effect="read")
    async def look() -> str:
        return "seen"

    payer = agent([[call("pay", x=1), call("look")], call("pay", x=2), "Done."], [pay, look])
    async with Runtime(store, agents=[payer]) as runtime:
        await run_one(runtime, payer, session_id="one")
        handle = runtime.session("one")
        effects = await handle.effects()
        facts = (await handle.inspect()).effects
    assert [(each.arguments, each.content, each.state) for each in effects] == [
        ('{"x":1}', "paid 1", "succeeded"),
        ('{"x":2}', "paid 2", "succeeded"),
    ]
    assert [(each.n, each.index, each.key) for each in facts] == [
        (each.n, each.index, each.key) for each in effects
    ]
    assert len({each.key for each in effects}) == 2
    assert all(isinstance(each, EffectRecord) for each in effects)
