"""What a person can do: only what fits is offered, and each of it can be executed as it is written."""

import shlex
from collections.abc import Sequence
from itertools import product
from typing import get_args

import anyio
import pytest
from sessions import agent, run_one

from ukemi import (
    Agent,
    AlreadyDecided,
    Budget,
    Completed,
    HandedOver,
    Option,
    PermissionDenied,
    Policy,
    RateLimited,
    RetryPolicy,
    Runtime,
    Stopped,
    tool,
)
from ukemi.actors.handover.options import options_for
from ukemi.actors.outcome import Dossier, outcome_from_data, outcome_to_data
from ukemi.actors.resolving import OPTIONS, check_resolve, meant
from ukemi.actors.state import SessionState
from ukemi.models import call
from ukemi.stores.base import HeadQuery
from ukemi.stores.decisions import Resolve
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import (
    Answered,
    Ended,
    Frozen,
    Intended,
    JournalEntry,
    Opened,
    Resulted,
    Said,
    Spent,
    ToolCall,
    Undone,
    UndoStep,
    Unwinding,
)
from ukemi.supervisor.decide import Reason
from ukemi.supervisor.errors import UsageError

REASONS: tuple[Reason, ...] = get_args(Reason)
STEP = UndoStep(2, 0, "pay", "compensate")
DOSSIER = Dossier(
    failed_step="call 2.0 pay", input="i", upstream_error="e", tried=("t",), options=()
)


def call_of(n: int, state: str) -> list[JournalEntry]:
    return [
        Answered(n, calls=(ToolCall("c", "pay", "{}"),), ledger=True),
        Intended(n, 0, "pay", f"d{n}"),
        Resulted(n, 0, n, "", state),  # type: ignore[arg-type]
    ]


HISTORIES: dict[str, list[JournalEntry]] = {
    "nothing": [],
    "one doubt": call_of(2, "in_doubt"),
    "two doubts": [*call_of(2, "in_doubt"), *call_of(3, "in_doubt")],
    "an effect": call_of(2, "succeeded"),
    "a compensation failed": [
        *call_of(2, "succeeded"),
        Unwinding((STEP,), {}),
        Undone(2, 0, "failed", "down"),
    ],
    "frozen": [*call_of(2, "succeeded"), Frozen("the task says so", (STEP,))],
    "frozen by a doubt": [
        *call_of(2, "succeeded"),
        *call_of(3, "in_doubt"),
        Frozen("in doubt", (STEP,)),
    ],
}


def handed_over(history: Sequence[JournalEntry], reason: Reason = "unknown") -> SessionState:
    state = SessionState("s-1")
    data = outcome_to_data(HandedOver(reason, DOSSIER))
    opened = Opened("agent", 1)
    for entry in (opened, Said(1, "go"), *history, Ended("handed_over", data, Spent())):
        state.apply(entry)
    return state


def said_by(option: Option) -> Resolve:
    """The decision that an option's line stands for, with what it needs filled in."""
    words = iter(shlex.split(option.command)[4:])
    given = dict(zip(words, words, strict=True))
    n, index = given["--call"].split(".") if "--call" in given else (None, None)
    named = None if n is None or index is None else (int(n), int(index))
    assert named == option.call
    args = "{}" if "--args" in given else None
    return Resolve(option.name, named, "text" if "--result" in given else None, args)


@pytest.mark.parametrize(
    ("history", "reason"), list(product(HISTORIES, REASONS)), ids=lambda value: str(value)
)
def test_each_option_fits_and_nothing_that_fits_is_left_out(history: str, reason: Reason) -> None:
    """By the same rules that take a decision: whatever `resolve` would accept is offered."""
    state = handed_over(HISTORIES[history], reason)
    options = options_for(state, reason, step=DOSSIER.failed_step)
    for option in options:
        assert option.what and option.command.startswith("ukemi ") and option.code
        if option.name in OPTIONS:
            assert option.command.startswith(f"ukemi resolve s-1 {option.name}")
            check_resolve(said_by(option))
            assert meant(state, said_by(option)) == option.call
            assert bool(option.needs) == (
                "--args" in option.command or "--result" in option.command
            )
    offered = {(each.name, each.call) for each in options}
    calls = [
        None,
        *state.in_doubt,
        *((each.step.n, each.step.index) for each in state.unwound.open),
    ]
    for name, each in product(OPTIONS, calls):
        try:
            found = meant(state, Resolve(name, each, "x"))
        except UsageError:
            continue
        without = (
            name == "retry" and found is None
        )  # where a retry makes no sense, it is not advised
        frozen = name == "compensate" and found is None and bool(state.in_doubt)
        assert (name, found) in offered or without or frozen, (name, found)


@pytest.mark.parametrize(
    ("step", "with_args"),
    [("call 2.0 pay", True), ("ask the model", False), ("the session's own actor", False)],
)
def test_other_arguments_are_offered_only_where_a_call_failed(step: str, with_args: bool) -> None:
    options = options_for(handed_over([]), "permission", step=step)
    retries = [each for each in options if each.name == "retry"]
    assert [bool(each.needs) for each in retries] == [False, True][: 1 + with_args]


async def test_a_model_that_may_not_be_asked_is_asked_again_without_arguments() -> None:
    of = agent([PermissionDenied("no such key")])
    async with Runtime(MemoryStore(), agents=[of]) as runtime:
        outcome = await run_one(runtime, of)
    assert isinstance(outcome, HandedOver) and outcome.dossier.failed_step == "ask the model"
    options = [(each.name, each.needs) for each in outcome.dossier.options]
    assert options[0] == ("retry", ()) and options[1][0] == "go_on"


def test_what_is_left_of_a_session_that_was_not_handed_over() -> None:
    state = handed_over(HISTORIES["a compensation failed"])
    names = [each.name for each in options_for(state, None)]
    assert names == ["compensated", "compensate", "abandon"]


def test_of_many_doubts_a_few_are_spelled_out() -> None:
    many = [entry for n in range(2, 12) for entry in call_of(n, "in_doubt")]
    assert len(options_for(handed_over(many), "in_doubt")) == 3 * 5 + 2


def test_sentences_of_an_older_version_are_read() -> None:
    data = outcome_to_data(HandedOver("unknown", DOSSIER))
    data["dossier"]["options"] = ["send a message to go on"]
    outcome = outcome_from_data(data)
    assert isinstance(outcome, HandedOver)
    assert outcome.dossier.options == (Option(name="", what="send a message to go on"),)


# ---------------------------------------------------------------- executed


def shop(rights: list[str], *answers: str) -> Agent:
    @tool(effect="write")
    async def order(sku: str) -> str:
        if sku not in rights:
            raise PermissionDenied(f"may not order {sku}")
        return f"ordered {sku}"

    return agent([call("order", sku="A"), call("order", sku="A"), *answers], [order])


async def test_the_failed_step_is_tried_again_once_it_was_mended() -> None:
    rights: list[str] = []
    of = shop(rights, "Done.")
    async with Runtime(MemoryStore(), agents=[of]) as runtime:
        outcome = await run_one(runtime, of, session_id="one")
        assert isinstance(outcome, HandedOver) and outcome.dossier.options[0].name == "retry"
        rights.append("A")
        await runtime.session("one").resolve("retry", result="You may now.", by="ann")
        assert await runtime.session("one").outcome() == Completed("Done.")
        told = (await runtime.session("one").checkpoint()).messages
        assert any("Try call 2.0 order again. You may now." in str(each) for each in told)


async def test_an_option_of_the_dossier_is_resolved_as_it_is() -> None:
    rights: list[str] = []
    of = shop(rights, "Done.")
    async with Runtime(MemoryStore(), agents=[of]) as runtime:
        outcome = await run_one(runtime, of, session_id="one")
        assert isinstance(outcome, HandedOver)
        rights.append("A")
        await runtime.session("one").resolve(outcome.dossier.options[0], by="ann")
        assert await runtime.session("one").outcome() == Completed("Done.")
        own = Option(name="new_session", what="w", code="await runtime.start(...)")
        with pytest.raises(UsageError, match=r"done by: await runtime\.start"):
            await runtime.session("one").resolve(own)


async def test_it_goes_on_by_a_message_and_is_handed_over_anew() -> None:
    """Each handover is a question of its own: the next may be answered as well."""
    of = shop([], "Blocked.")
    async with Runtime(MemoryStore(), agents=[of]) as runtime:
        await run_one(runtime, of, session_id="one")
        session = runtime.session("one")
        with pytest.raises(UsageError, match="takes a message"):
            await session.resolve("go_on")
        await session.resolve("go_on", result="Once more.")
        assert isinstance(await session.outcome(), HandedOver)
        await session.resolve("go_on", result="And what now?")
        assert await session.outcome() == Completed("Blocked.")


async def test_a_session_that_is_given_up_waits_for_nobody() -> None:
    store = MemoryStore()
    of = shop([])
    async with Runtime(store, agents=[of]) as runtime:
        await run_one(runtime, of, session_id="one")
        await runtime.session("one").resolve("cancel", by="ann")
        assert await runtime.session("one").outcome() == Stopped("cancelled")
        await runtime.session("one").resolve("cancel", by="ann")  # the same again is no error
        assert await runtime.sessions(status="handed_over") == []
        with pytest.raises(AlreadyDecided, match=r"by ann .*: cancel"):
            await runtime.session("one").resolve("retry")
    async with Runtime(store, agents=[of]) as runtime:
        assert await runtime.session("one").outcome() == Stopped("cancelled")


async def test_a_spent_budget_offers_a_new_session() -> None:
    of = agent(["Done."])
    async with Runtime(MemoryStore(), agents=[of]) as runtime:
        outcome = await run_one(runtime, of, budget=Budget(model_calls=0))
    assert isinstance(outcome, HandedOver)
    assert [each.name for each in outcome.dossier.options] == ["new_session", "go_on", "cancel"]


# ---------------------------------------------------------------- questions without a handover


async def test_a_cancelled_session_that_leaves_a_doubt_is_found() -> None:
    """By its marker in the list of sessions; once settled, it is not found any more."""
    began = anyio.Event()

    @tool(effect="write")
    async def pay(to: str) -> str:
        began.set()
        await anyio.sleep(60)
        return to

    store = MemoryStore()
    of = agent([call("pay", to="ann"), "Done."], [pay])
    async with Runtime(store, agents=[of]) as runtime:
        session = await runtime.start("agent", "go", session_id="one")
        await began.wait()
        assert await session.cancel() == Stopped("cancelled")
        (head,) = await runtime.sessions(status="stopped")
        assert head.facts.left_open == 1
        assert (await session.inspect()).questions == ("did pay (call 2.0) take effect?",)
        await session.resolve("not_done", by="ann")
        await session.outcome()
        (head,) = await runtime.sessions()
        assert head.facts.left_open == 0


async def test_a_parked_session_with_an_open_doubt_is_found_too(store: MemoryStore) -> None:
    """The user has let it go on; the question is as open as before, and nobody is at work on it."""

    @tool(effect="write", timeout_s=1.0)
    async def pay(to: str) -> str:
        await anyio.sleep(60)
        return to

    @tool(effect="read")
    async def look(city: str) -> str:
        raise RateLimited("later", retry_after=4000.0)

    of = agent([call("pay", to="ann"), call("look", city="Bonn"), "Done."], [pay, look])
    policy = Policy(rate_limited=RetryPolicy(time_budget_s=None))
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        assert isinstance(await run_one(runtime, of, session_id="one"), HandedOver)
        await runtime.session("one").send("Go on meanwhile.")
        await anyio.sleep(60)
        (head,) = await store.heads(HeadQuery(left_open=True))
        assert (head.status, head.facts.left_open) == ("parked", 1)
