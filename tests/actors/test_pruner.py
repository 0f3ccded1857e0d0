"""A session whose conversation outgrows its model: pruned and going on, or handed over with numbers."""

import secrets
from collections.abc import Sequence

import anyio
import pytest
from sessions import (
    agent,
    assert_paired,
    conversation,
    ended,
    journal,
    opened,
    put_history,
    run_one,
)

from ukemi import (
    Agent,
    Budget,
    Completed,
    ContextOverflow,
    HandedOver,
    ModelReply,
    ModelRequest,
    Policy,
    Runtime,
    tool,
)
from ukemi.actors import ConversationPruned, NoteMessage, UserMessage
from ukemi.actors.conversation import chars_of
from ukemi.actors.inspection import checkpoint_at, fold
from ukemi.actors.model import Message, ToolMessage
from ukemi.actors.pruning.pruner import preview_prune, prune_session
from ukemi.actors.pruning.pruning import Plan
from ukemi.actors.pruning.summaries import HEADER, INSTRUCTIONS
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import ScriptedModel, call
from ukemi.models.scripted import Hang, Reply
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Pruned, Resulted, ToolCall, Usage, decode_row
from ukemi.supervisor.errors import TransientError
from ukemi.supervisor.policy_failures import OverflowPolicy
from ukemi.supervisor.policy_sessions import PlanningPolicy

PLANNING = PlanningPolicy(repeats_max=None)
DIGEST = Policy(planning=PLANNING)
BY_MODEL = Policy(planning=PLANNING, context_overflow=OverflowPolicy(summary="model"))


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(secrets.token_hex(8))


class Limited:
    """A model with so many steps to take that takes so many characters, and says so.

    Args:
        tells: what its refusal says, with ``size`` and ``limit`` in tokens.
        summary: what it answers when it is asked for a summary.
    """

    def __init__(
        self,
        steps: int,
        limit: int,
        *,
        tells: str = "prompt is too long: {size} tokens > {limit} maximum",
        summary: Reply = "",
    ) -> None:
        self.steps, self.limit, self.tells, self.summary = steps, limit, tells, summary
        self.seen: list[list[Message]] = []
        self.refused = 0
        self.summaries: list[ModelRequest] = []

    def __call__(self, request: ModelRequest) -> Reply:
        if request.instructions == INSTRUCTIONS:
            self.summaries.append(request)
            return self.summary
        size = chars_of(request.messages)
        if size > self.limit:
            self.refused += 1
            raise ContextOverflow(self.tells.format(size=size // 4, limit=self.limit // 4))
        assert_paired(request.messages)
        self.seen.append(list(request.messages))
        done: int = getattr(request.messages, "assistant_count")  # noqa: B009
        return call("look", at=done) if done < self.steps else "done"


@tool(effect="read")
async def look(at: int) -> str:
    """Look at a place."""
    return f"place {at}: " + "x" * 400


def notes(messages: Sequence[Message]) -> list[str]:
    return [each.text for each in messages if isinstance(each, NoteMessage)]


async def prunes(store: MemoryStore, session_id: str) -> list[Pruned]:
    return [each for each in await journal(store, session_id) if isinstance(each, Pruned)]


# ---------------------------------------------------------------- the model refuses


@pytest.mark.parametrize(
    "tells",
    [
        "prompt is too long: {size} tokens > {limit} maximum",
        "your request exceeded model token limit: {limit}",
        "the input is too long",
    ],
    ids=["size and limit", "limit", "nothing"],
)
async def test_a_session_that_outgrows_its_model_goes_on(store: MemoryStore, tells: str) -> None:
    model = Limited(40, 6_000, tells=tells)
    of = agent(model, [look])
    async with Runtime(store, agents=[of], policy=DIGEST) as runtime:
        handle = await runtime.start("agent", "look everywhere", session_id="s")
        events = [event async for event in handle.events()]
        assert await ended(runtime, "s") == Completed("done")
    pruned = [each for each in events if isinstance(each, ConversationPruned)]
    async with opened(store):
        entries = await prunes(store, "s")
        whole = fold("s", await journal(store, "s"))
        assert list(whole.conversation) == await conversation(store, "s")
    assert model.refused == len(pruned) == len(entries) >= 4
    assert {(each.why, each.by) for each in entries} == {("overflow", "digest")}
    assert all(each.chars < each.chars_before * 0.7 for each in pruned)
    last = model.seen[-1]
    assert last[0] == UserMessage("look everywhere")
    (summary,) = notes(last)
    left_out = 40 - sum(isinstance(each, ToolMessage) for each in last)
    assert summary.startswith(HEADER)
    assert f"Calls left out: look {left_out}." in summary
    places = [
        each.content for each in whole.conversation.originals() if isinstance(each, ToolMessage)
    ]
    assert [place.split(":")[0] for place in places] == [f"place {at}" for at in range(40)]


async def test_another_process_goes_on_with_the_same_conversation(store: MemoryStore) -> None:
    """Stopped after a prune and resumed: the model is asked exactly what it was asked before."""
    model = Limited(60, 6_000)
    asked: list[list[Message]] = []
    hanging = anyio.Event()

    def stopping(request: ModelRequest) -> Reply:
        if model.refused < 2:
            return model(request)
        asked.append(list(request.messages))
        hanging.set()
        return Hang()

    async with Runtime(store, agents=[agent(stopping, [look])], policy=DIGEST) as runtime:
        await runtime.start("agent", "look everywhere", session_id="s")
        await hanging.wait()
    model.seen.clear()
    async with Runtime(store, agents=[agent(model, [look])], policy=DIGEST) as runtime:
        assert await ended(runtime, "s") == Completed("done")
    assert model.seen[0] == asked[0]
    assert notes(asked[0])


async def test_each_checkpoint_loads_as_it_was(store: MemoryStore) -> None:
    model = Limited(30, 4_000)
    of = agent(model, [look])
    async with Runtime(store, agents=[of], policy=DIGEST) as runtime:
        await run_one(runtime, of, session_id="s")
    async with opened(store):
        entries = await journal(store, "s")
    for number in range(1, 31):
        loaded = checkpoint_at("s", entries, number)
        assert_paired(loaded.messages[:-1])  # behind the checkpoint stands what was asked next
        assert len(loaded.tool_history) == number
    state = fold("s", [])
    for entry in entries:
        state.apply(entry)
        if isinstance(entry, Resulted):
            assert_paired(list(state.conversation))


async def test_a_conversation_that_cannot_be_made_to_fit_is_handed_over(store: MemoryStore) -> None:
    model = Limited(3, 3_000)
    of = agent(model, [look])
    async with Runtime(store, agents=[of], policy=DIGEST) as runtime:
        outcome = await run_one(runtime, of, "a long task " * 400, session_id="s")
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "context"
    assert "context cannot be made to fit: what must stay is about" in outcome.detail
    assert "and the model takes 7" in outcome.detail  # hundred and some: 3,000 characters
    assert model.refused == 1
    async with opened(store):
        assert await prunes(store, "s") == []


async def test_prunes_that_do_not_help_end_by_the_policy(store: MemoryStore) -> None:
    """A model that refuses everything is asked once more after each prune, then a person is."""
    asked: list[int] = []

    def refusing(request: ModelRequest) -> Reply:
        count: int = getattr(request.messages, "assistant_count")  # noqa: B009
        if count < 20:
            return call("look", at=count)
        asked.append(chars_of(request.messages))
        raise ContextOverflow("the input is too long")

    of = agent(refusing, [look])
    async with Runtime(store, agents=[of], policy=DIGEST) as runtime:
        outcome = await run_one(runtime, of, session_id="s")
        assert isinstance(outcome, HandedOver)
        assert (outcome.reason, len(asked)) == ("context", 3)
        assert "2 prunes in a row did not help" in outcome.detail
        assert asked[0] > asked[1] * 1.5 > asked[2] * 2.25
        # A person who lets it go on gives it as many again.
        handle = runtime.session("s")
        await handle.send("try again")
        again = await ended(runtime, "s")
        assert isinstance(again, HandedOver)
        assert again.reason == "context"
        assert len(asked) > 3


async def test_instructions_alone_may_be_too_large(store: MemoryStore) -> None:
    """Nothing is said that could be left out: no prune, no second request, and an alert if wanted."""
    asked = 0

    def refusing(request: ModelRequest) -> Reply:
        nonlocal asked
        asked += 1
        raise ContextOverflow("the input is too long")

    of = Agent("agent", model=ScriptedModel(refusing), instructions="obey " * 1_000)
    policy = Policy(context_overflow=OverflowPolicy(alert=True))
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        outcome = await run_one(runtime, of, session_id="s")
        assert len(runtime.alerts) == 1
    assert isinstance(outcome, HandedOver)
    assert (outcome.reason, asked) == ("context", 1)
    assert outcome.detail == (
        "context cannot be made to fit: what must stay is about 1,251 tokens, and the model takes "
        "less than 1,251"
    )


async def test_a_tools_request_that_is_too_large_is_the_models_to_make_smaller(
    store: MemoryStore,
) -> None:
    """The conversation is not at fault: it is not pruned, and the model may send less, three times."""

    @tool(effect="write")
    async def upload(size: int) -> str:
        raise ContextOverflow("413: the body is too large", may_have_executed="no")

    def script(request: ModelRequest) -> Reply:
        return call("upload", size=100 - len(request.messages))

    of = agent(script, [upload])
    async with Runtime(store, agents=[of], policy=DIGEST) as runtime:
        outcome = await run_one(runtime, of, session_id="s")
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "context"
    assert outcome.detail.startswith("the request is too large; 3 corrections in a row")
    assert outcome.dossier.tried == ("the model has corrected its call in 3 rounds",)
    async with opened(store):
        assert await prunes(store, "s") == []
        told = [each for each in await journal(store, "s") if isinstance(each, Resulted)]
    assert len(told) == 4
    assert "advice: it was too large: call again with less" in told[0].content


# ---------------------------------------------------------------- before the model refuses


def tokens_of(messages: Sequence[Message]) -> int:
    return chars_of(messages) // 4 + 50


class Counting(Limited):
    """The same model, which counts tokens as a provider does: four characters each."""

    def __call__(self, request: ModelRequest) -> Reply:
        said = super().__call__(request)
        usage = Usage(tokens_of(request.messages), 10)
        if isinstance(said, ToolCall):
            return ModelReply(calls=(said,), usage=usage)
        return ModelReply(text=str(said), usage=usage)


async def test_a_model_that_tells_its_context_is_never_asked_for_more(store: MemoryStore) -> None:
    model = Counting(40, 8_000)
    of = agent(model, [look], context_tokens=2_000, output_tokens_max=400)
    async with Runtime(store, agents=[of], policy=DIGEST) as runtime:
        assert await run_one(runtime, of, session_id="s") == Completed("done")
    async with opened(store):
        entries = await prunes(store, "s")
    assert model.refused == 0
    assert len(entries) >= 3
    assert {each.why for each in entries} == {"limit"}
    assert max(tokens_of(each) for each in model.seen) <= 1_600


async def test_what_is_above_the_declared_context_is_not_even_asked(store: MemoryStore) -> None:
    model = Limited(3, 1_000_000)
    of = agent(model, [look], context_tokens=2_000, output_tokens_max=400)
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of, "a long task " * 1_000, session_id="s")
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "context"
    assert outcome.detail.endswith("and the model takes 1,600")
    assert model.seen == []


async def test_a_wrong_declaration_does_not_go_on_for_ever(store: MemoryStore) -> None:
    """A context declared far too small: after the prunes of the policy the model has the last word."""
    model = Limited(12, 1_000_000)

    def counting(request: ModelRequest) -> Reply:
        said = model(request)
        usage = Usage(1_000_000, 10)  # whatever is left out, the provider counts as much
        calls = (said,) if isinstance(said, ToolCall) else ()
        return ModelReply(text="" if calls else "end", calls=calls, usage=usage)

    of = agent(counting, [look], context_tokens=200_000)
    async with Runtime(store, agents=[of], policy=DIGEST) as runtime:
        outcome = await run_one(runtime, of, session_id="s")
    assert isinstance(outcome, HandedOver | Completed)
    async with opened(store):
        entries = await journal(store, "s")
    for first, second, third in zip(entries, entries[1:], entries[2:], strict=False):
        assert not all(isinstance(each, Pruned) for each in (first, second, third))


# ---------------------------------------------------------------- the model sums up


async def test_the_model_sums_up_where_the_policy_says_so(store: MemoryStore) -> None:
    model = Limited(40, 8_000, summary="all places up to there are empty")
    of = agent(model, [look])
    async with Runtime(store, agents=[of], policy=BY_MODEL) as runtime:
        handle = await runtime.start("agent", "look everywhere", session_id="s")
        assert await ended(runtime, "s") == Completed("done")
        spent = (await handle.inspect()).spent
    async with opened(store):
        entries = await prunes(store, "s")
    assert {each.by for each in entries} == {"model"}
    assert len(model.summaries) == len(entries) == model.refused
    assert spent.model_calls == len(model.seen) + model.refused + len(model.summaries)
    for request in model.summaries:
        assert (request.tools, len(request.messages)) == ((), 1)
        assert chars_of(request.messages) <= model.limit
    earlier = model.summaries[-1].messages[0]
    assert isinstance(earlier, UserMessage)
    assert "Summary of what was left out:\nall places up to there are empty" in earlier.text
    (summary,) = notes(model.seen[-1])
    assert summary.endswith("Summary of what was left out:\nall places up to there are empty")


@pytest.mark.parametrize(
    "summary",
    [TransientError("busy"), ContextOverflow("too long"), "", call("look", at=1), "   "],
    ids=["fails", "overflows", "empty", "a call", "blank"],
)
async def test_where_the_model_gives_no_summary_the_digest_stands(
    store: MemoryStore, summary: Reply
) -> None:
    model = Limited(20, 6_000, summary=summary)
    of = agent(model, [look])
    async with Runtime(store, agents=[of], policy=BY_MODEL) as runtime:
        assert await run_one(runtime, of, session_id="s") == Completed("done")
    async with opened(store):
        entries = await prunes(store, "s")
    assert {each.by for each in entries} == {"digest"}
    assert len(model.summaries) == len(entries), "no second try"


async def test_a_summary_is_within_the_budget_or_is_not_asked_for(store: MemoryStore) -> None:
    model = Limited(12, 5_000, summary="short")
    of = agent(model, [look])
    calls = 11 + 1 + 1  # eleven answers, the refusal, and the one after it
    async with Runtime(store, agents=[of], policy=BY_MODEL) as runtime:
        outcome = await run_one(
            runtime, of, session_id="s", budget=Budget(model_calls=calls, steps=None)
        )
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "budget"
    assert len(model.seen) + model.refused + len(model.summaries) == calls


async def test_cancelled_while_the_model_sums_up(store: MemoryStore) -> None:
    model = Limited(40, 5_000, summary=Hang())
    of = agent(model, [look])
    async with Runtime(store, agents=[of], policy=BY_MODEL) as runtime:
        handle = await runtime.start("agent", "look", session_id="s", budget=Budget(seconds=5))
        outcome = await ended(runtime, handle.id)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "budget"
    async with opened(store):
        assert await prunes(store, "s") == []


async def test_secrets_and_surrogates_do_not_come_back_in_a_summary(store: MemoryStore) -> None:
    model = Limited(20, 6_000, summary="the key is hunter2-hunter2 \ud83d")

    @tool(effect="read", secrets=["token"])
    async def locked(at: int, *, token: str) -> str:
        return f"{token} " + "x" * 400

    def script(request: ModelRequest) -> Reply:
        said = model(request)
        return call("locked", at=1) if said != "done" and not isinstance(said, str) else said

    of = Agent("agent", model=ScriptedModel(script), tools=[locked])
    held = {"token": "hunter2-hunter2"}
    async with Runtime(store, agents=[of], policy=BY_MODEL, secrets=held) as runtime:
        await run_one(runtime, of, session_id="s")
    async with opened(store):
        entries = await prunes(store, "s")
    assert entries
    assert "hunter2" not in str(entries)


# ---------------------------------------------------------------- what stays known


async def test_a_doubt_is_restated_whatever_is_left_out(store: MemoryStore) -> None:
    def script(request: ModelRequest) -> Reply:
        count: int = getattr(request.messages, "assistant_count")  # noqa: B009
        if count == 0:
            return call("pay", eur=5)
        said = model(request)
        return "nothing was found" if said == "done" else said

    @tool(effect="write")
    async def pay(eur: int) -> str:
        raise TimeoutError("no answer")

    model = Limited(30, 5_000)
    tools: list[AnyTool] = [look, pay]
    of = agent(script, tools)
    async with Runtime(store, agents=[of], policy=DIGEST) as runtime:
        outcome = await run_one(runtime, of, session_id="s")
        assert isinstance(outcome, HandedOver)
        assert outcome.reason == "in_doubt"
        await runtime.session("s").send("go on without it")
        assert isinstance(await ended(runtime, "s"), Completed)
    (summary,) = notes(model.seen[-1])
    assert 'On record:\n- call 2.0 pay({"eur":5}): effect unknown' in summary
    assert UserMessage("go on without it") in model.seen[-1]


# ---------------------------------------------------------------- on request


async def test_a_prune_on_request_while_the_model_is_asked(store: MemoryStore) -> None:
    """What is under way goes on: the answer to the longer request stands behind the shorter view."""
    asked, go_on = anyio.Event(), anyio.Event()
    seen: list[list[Message]] = []

    async def script(request: ModelRequest) -> Reply:
        seen.append(list(request.messages))
        done: int = getattr(request.messages, "assistant_count")  # noqa: B009
        if done == 8:
            asked.set()
            await go_on.wait()
        return call("look", at=done) if done < 9 else "done"

    of = agent(script, [look])
    async with Runtime(store, agents=[of]) as runtime:
        await runtime.start("agent", "look", session_id="s")
        await asked.wait()
        session = runtime._core.running.sessions.active["s"]  # pyright: ignore[reportPrivateUsage]
        plan = preview_prune(session, upto=5)
        assert isinstance(plan, Plan)
        entry = await prune_session(session, upto=5)
        assert entry is not None
        assert (entry.cut, entry.kept, entry.why, entry.calls) == (
            11,
            (0,),
            "person",
            {"look": (5, 0)},
        )
        assert plan.cut == entry.cut
        assert await prune_session(session, upto=5) is None, "nothing is left there"
        again = await prune_session(session)
        assert again is not None
        assert again.calls == {"look": (7, 0)}, "all but the newest"
        go_on.set()
        assert await ended(runtime, "s") == Completed("done")
    assert_paired(seen[-1])
    places = [each.content.split(":")[0] for each in seen[-1] if isinstance(each, ToolMessage)]
    assert places == ["place 7", "place 8"]
    async with opened(store):
        whole = fold("s", await journal(store, "s")).conversation.originals()
    assert sum(isinstance(each, ToolMessage) for each in whole) == 9


# ---------------------------------------------------------------- crashes


@pytest.mark.parametrize("policy", [DIGEST, BY_MODEL], ids=["digest", "model"])
async def test_wherever_it_dies_it_comes_to_the_same_conversation(
    store: MemoryStore, policy: Policy
) -> None:
    """Each row of the journal may be the last that was stored: resumed, the end is as without it."""

    def script() -> Limited:
        return Limited(18, 3_000, summary="a summary")

    of = agent(script(), [look])
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        await run_one(runtime, of, session_id="s")
    async with opened(store):
        rows = [decode_row(row.body) for row in (await store.load("s")).rows]
        whole = await conversation(store, "s")
    assert sum(isinstance(each, Pruned) for row in rows for each in row) >= 3
    for stored in range(1, len(rows)):
        other = MemoryStore(secrets.token_hex(8))
        async with opened(other):
            await put_history(other, "s", rows[:stored])
        async with Runtime(other, agents=[agent(script(), [look])], policy=policy) as runtime:
            assert await ended(runtime, "s") == Completed("done")
        async with opened(other):
            assert await conversation(other, "s") == whole, f"after row {stored}"


# ---------------------------------------------------------------- very long sessions


async def test_two_thousand_steps_cost_the_same_from_the_first_to_the_last(
    store: MemoryStore,
) -> None:
    """The work of a prune is what the model sees, and that does not grow with the session."""
    model = Limited(2_000, 12_000, tells="too long")
    of = agent(model, [look], record=False)
    model.seen = ForgetfulList()
    budget = Budget(steps=None, seconds=None)
    async with Runtime(store, agents=[of], policy=DIGEST) as runtime:
        handle = await runtime.start("agent", "look", session_id="s", budget=budget)
        sizes = [
            (event.messages_before, event.chars)
            async for event in handle.events()
            if isinstance(event, ConversationPruned)
        ]
        assert await ended(runtime, "s") == Completed("done")
    assert len(sizes) > 100
    assert max(before for before, _ in sizes) <= 60
    assert max(chars for _, chars in sizes) <= 6_300
    assert len(set(sizes[len(sizes) // 2 :])) <= len(sizes) // 4, "the same again and again"


class ForgetfulList(list[list[Message]]):
    """Keeps the last request alone."""

    def append(self, item: list[Message], /) -> None:
        self[:] = [item]
