"""What follows where an agent makes no progress: it begins again, its fallback takes over, a person."""

import secrets
from collections.abc import Sequence

import pytest
from sessions import agent, assert_paired, ended, journal, opened, put_history, requests, run_one

from ukemi import (
    Agent,
    BusinessRejected,
    Completed,
    HandedOver,
    ModelRequest,
    PlanningFailure,
    Policy,
    Runtime,
    UsageError,
    tool,
)
from ukemi.actors import NoteMessage, StepFacts, TrajectoryFellBack, TrajectoryRestarted
from ukemi.actors.inspection import fold
from ukemi.actors.model import Message, UserMessage
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import ScriptedModel, call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import (
    Answered,
    FellBack,
    JournalEntry,
    Noted,
    Opened,
    Restarted,
    Resulted,
    Said,
)
from ukemi.supervisor.policy_sessions import PlanningPolicy

ONCE = Policy(planning=PlanningPolicy(repeats_max=3, restarts_max=1, hint="Ask the manual."))


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(secrets.token_hex(8))


def notes(messages: Sequence[Message]) -> list[str]:
    return [each.text for each in messages if isinstance(each, NoteMessage)]


def hinted(request: ModelRequest) -> bool:
    return any(isinstance(each, NoteMessage) for each in request.messages)


class Shop:
    """A tool that writes, one that looks, and how often each ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def tools(self) -> list[AnyTool]:
        @tool(effect="write")
        async def put(sku: str) -> str:
            self.ran.append("put")
            return f"{sku} is in the basket"

        @tool(effect="read")
        async def look() -> str:
            self.ran.append("look")
            return "nothing new"

        return [put, look]


def stuck_until_hinted(request: ModelRequest) -> Reply:
    """Put something into the basket, then look for ever; once told off, finish."""
    if hinted(request):
        return "done another way"
    return call("put", sku="A-17") if len(request.messages) == 1 else call("look")


# ---------------------------------------------------------------- beginning again


async def test_by_default_a_person_is_asked(store: MemoryStore) -> None:
    of = agent(stuck_until_hinted, Shop().tools())
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "planning"
    assert "came 25 times" in outcome.detail


async def test_the_trajectory_begins_again_before_the_loop_with_a_hint(store: MemoryStore) -> None:
    shop = Shop()
    of = agent(stuck_until_hinted, shop.tools())
    async with Runtime(store, agents=[of], policy=ONCE) as runtime:
        handle = await runtime.start("agent", "buy it", session_id="s-1")
        events = [event async for event in handle.events()]
        assert await ended(runtime, "s-1") == Completed("done another way")
    last = requests(of)[-1].messages
    assert_paired(last)
    assert len(last) == 4  # the task, the put and its result, and the hint: no look is left
    (hint,) = notes(last)
    assert "the same step came 3 times" in hint
    assert "Ask the manual." in hint
    assert "put" not in hint  # the model still sees that one
    assert shop.ran == ["put", "look", "look", "look"]
    (restarted,) = [each for each in events if isinstance(each, TrajectoryRestarted)]
    assert restarted.counter == 1


async def test_from_the_task_on_the_writes_that_are_not_seen_any_more_are_named(
    store: MemoryStore,
) -> None:
    shop = Shop()
    of = agent(stuck_until_hinted, shop.tools())
    planning = PlanningPolicy(repeats_max=3, restarts_max=1, restart_from="task")
    async with Runtime(store, agents=[of], policy=Policy(planning=planning)) as runtime:
        assert await run_one(runtime, of) == Completed("done another way")
    last = requests(of)[-1].messages
    assert len(last) == 2
    assert 'put({"sku":"A-17"}): A-17 is in the basket' in notes(last)[0]
    assert "look" not in notes(last)[0].partition("do not do it again")[2]
    assert shop.ran.count("put") == 1


async def test_what_was_left_stays_in_the_journal_and_numbers_are_never_used_again(
    store: MemoryStore,
) -> None:
    of = agent(stuck_until_hinted, Shop().tools())
    async with Runtime(store, agents=[of], policy=ONCE) as runtime:
        await run_one(runtime, of, session_id="s-1")
        handle = runtime.session("s-1")
        before = await handle.checkpoint(4)
        after = await handle.checkpoint()
    async with opened(store):
        entries = await journal(store, "s-1")
    assert sum(isinstance(each, Resulted) for each in entries) == 4
    (restarted,) = [each for each in entries if isinstance(each, Restarted)]
    assert (restarted.counter, restarted.n) == (1, max(numbers(entries)) - 1)
    assert len(numbers(entries)) == len(set(numbers(entries)))
    assert len(before.messages) == 9  # a checkpoint before it loads exactly
    assert after.checkpoint_counter == 4


def numbers(entries: list[JournalEntry]) -> list[int]:
    """The numbers of all messages: of the user, the runtime and the model."""
    return [each.n for each in entries if isinstance(each, Said | Noted | Answered | Restarted)]


async def test_after_the_last_restart_a_person_is_asked(store: MemoryStore) -> None:
    of = agent(lambda request: call("look"), Shop().tools())
    planning = PlanningPolicy(repeats_max=3, restarts_max=2)
    async with Runtime(store, agents=[of], policy=Policy(planning=planning)) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1")
        assert isinstance(outcome, HandedOver)
        assert outcome.reason == "planning"
        assert len(requests(of)) == 9
        # A person's word begins a new trajectory, with restarts of its own.
        await runtime.session("s-1").send("try once more")
        assert isinstance(await ended(runtime, "s-1"), HandedOver)
    assert len(requests(of)) == 18


async def test_a_killed_session_begins_again_all_the_same(store: MemoryStore) -> None:
    """The finding is made from the stored state: whoever takes the session over makes it too."""
    first = agent(stuck_until_hinted, Shop().tools())
    async with Runtime(store, agents=[first]) as runtime:
        await run_one(runtime, first, session_id="s-1")
    async with opened(store):
        entries = await journal(store, "s-1")
    cut = [i for i, each in enumerate(entries) if isinstance(each, Resulted)][3] + 1
    other = MemoryStore(secrets.token_hex(8))
    async with opened(other):
        assert isinstance(entries[0], Opened)
        await put_history(other, "s-1", [entries[:2], entries[2:cut]])
        of = agent(stuck_until_hinted, Shop().tools())
        async with Runtime(other, agents=[of], policy=ONCE) as runtime:
            assert await ended(runtime, "s-1") == Completed("done another way")
    assert len(requests(of)) == 1  # the loop was over before it was asked again


async def test_the_fold_of_a_journal_is_the_state_that_was_lived(store: MemoryStore) -> None:
    of = agent(stuck_until_hinted, Shop().tools())
    async with Runtime(store, agents=[of], policy=ONCE) as runtime:
        await run_one(runtime, of, session_id="s-1")
    async with opened(store):
        state = fold("s-1", await journal(store, "s-1"))
    assert list(state.conversation)[:-1] == list(requests(of)[-1].messages)
    assert state.restarts == 1


async def test_what_a_user_says_in_a_branch_that_is_left_stays(store: MemoryStore) -> None:
    async def says(request: ModelRequest) -> Reply:
        if hinted(request):
            return "done"
        if len(request.messages) == 5:
            await runtime.session("s-1").send("and be quick")
        return call("look")

    of = Agent("agent", model=ScriptedModel(says, record=True), tools=Shop().tools())
    planning = PlanningPolicy(repeats_max=3, restarts_max=1, restart_from="task")
    async with Runtime(store, agents=[of], policy=Policy(planning=planning)) as runtime:
        assert await run_one(runtime, of, session_id="s-1") == Completed("done")
    said = [each.text for each in requests(of)[-1].messages if isinstance(each, UserMessage)]
    assert said == ["go", "and be quick"]


async def test_a_plan_that_fails_by_the_tool_s_own_word_begins_again_too(
    store: MemoryStore,
) -> None:
    @tool(effect="read")
    async def plan() -> str:
        raise PlanningFailure("no way leads there")

    def says(request: ModelRequest) -> Reply:
        return "another way" if hinted(request) else [call("plan"), call("plan")]

    of = agent(says, [plan])
    async with Runtime(store, agents=[of], policy=ONCE) as runtime:
        assert await run_one(runtime, of) == Completed("another way")
    assert_paired(requests(of)[-1].messages)


async def test_a_refusal_is_not_worked_round_by_beginning_again(store: MemoryStore) -> None:
    @tool(effect="read")
    async def ask() -> str:
        raise BusinessRejected("not allowed")

    of = agent([call("ask"), *[call("look")] * 9], [ask, *Shop().tools()])
    async with Runtime(store, agents=[of], policy=ONCE) as runtime:
        outcome = await run_one(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "planning"


# ---------------------------------------------------------------- progress


@pytest.mark.parametrize("moves", [True, False])
async def test_the_agent_s_own_word_for_progress(store: MemoryStore, moves: bool) -> None:
    seen: list[int] = []

    def progress(facts: StepFacts) -> object:
        seen.append(facts.checkpoint)
        return {"at": facts.checkpoint if moves else 0}

    script: list[Reply] = [*[call("look")] * 40, "done"]
    of = Agent("agent", model=ScriptedModel(script), tools=Shop().tools(), progress=progress)
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of)
    assert (outcome == Completed("done")) is moves
    assert seen == list(range(41 if moves else 26))


async def test_too_many_steps_without_a_change_of_state(store: MemoryStore) -> None:
    asked = iter(range(1000))

    @tool(effect="read")
    async def read(page: int) -> str:
        return f"page {page}"

    @tool(effect="write")
    async def write() -> str:
        return "written"

    of = agent(lambda request: call("read", page=next(asked)), [read, write])
    policy = Policy(planning=PlanningPolicy(idle_steps_max=7))
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        outcome = await run_one(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.detail == "7 steps in a row changed nothing"


async def test_an_agent_that_can_change_nothing_is_not_held_to_it(store: MemoryStore) -> None:
    @tool(effect="read")
    async def read(page: int) -> str:
        return f"page {page}"

    of = agent([*[call("read", page=page) for page in range(20)], "read"], [read])
    policy = Policy(planning=PlanningPolicy(idle_steps_max=7))
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        assert await run_one(runtime, of) == Completed("read")


async def test_a_progress_function_that_fails_is_a_bug_with_its_name(store: MemoryStore) -> None:
    def progress(facts: StepFacts) -> object:
        raise TypeError("no such thing")

    of = Agent("agent", model=ScriptedModel(["never"]), progress=progress)
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "bug"
    assert "progress" in outcome.detail
    assert "no such thing" in outcome.dossier.upstream_error


# ---------------------------------------------------------------- the fallback


def looping(fallback: Agent | str | None, name: str = "agent") -> Agent:
    model = ScriptedModel([call("put", sku="A-17"), *[call("look")] * 50])
    return Agent(name, model=model, tools=Shop().tools(), fallback=fallback)


async def test_the_fallback_gets_the_task_and_what_was_done(store: MemoryStore) -> None:
    plain = agent(["bought by hand"], name="plain")
    async with Runtime(store, agents=[looping(plain), plain]) as runtime:
        handle = await runtime.start("agent", "buy it", session_id="s-1")
        events = [event async for event in handle.events()]
        assert await handle.outcome() == Completed("bought by hand")
    (request,) = requests(plain)
    (task,) = request.messages
    assert isinstance(task, UserMessage)
    assert task.text.startswith("buy it")
    assert "put(" in task.text
    assert sum(isinstance(each, TrajectoryFellBack) for each in events) == 1


async def test_where_the_fallback_fails_too_a_person_learns_of_both(store: MemoryStore) -> None:
    plain = looping(None, "plain")
    async with Runtime(store, agents=[looping("plain"), plain]) as runtime:
        outcome = await run_one(runtime, looping("plain"))
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "planning"
    assert "the fallback plain was handed over (planning" in outcome.dossier.tried[0]


async def test_a_fallback_goes_on_after_a_kill(store: MemoryStore) -> None:
    """What is stored is that it has the task; its sub-session is found, or started."""
    plain = agent(["bought by hand"], name="plain")
    entries: list[JournalEntry] = [
        Opened("agent", 1),
        Said(1, "buy it"),
        FellBack(9, "plain", "why"),
    ]
    async with opened(store):
        await put_history(store, "s-1", [entries[:2], entries[2:]])
        async with Runtime(store, agents=[looping(plain), plain]) as runtime:
            assert await ended(runtime, "s-1") == Completed("bought by hand")
            assert await ended(runtime, "s-1.9") == Completed("bought by hand")
    assert len(requests(plain)) == 1


@pytest.mark.parametrize(
    ("agents", "words"),
    [
        ([looping("nobody")], "fallback='nobody' is unknown"),
        ([looping("agent")], "agent -> agent"),
        ([looping("b", "a"), looping("a", "b")], "a -> b -> a"),
    ],
)
def test_a_fallback_that_leads_nowhere_is_refused(agents: list[Agent], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Runtime("memory:", agents=agents)
