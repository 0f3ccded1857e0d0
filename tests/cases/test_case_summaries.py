"""Field cases SU-01, SU-02 and CG-02: what is summed up splits nothing, ends, and stays loadable."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from sessions import agent, assert_paired, case, journal, opened, run_one

from ukemi import (
    Budget,
    CheckpointUnknown,
    ContextOverflow,
    HandedOver,
    ModelReply,
    ModelRequest,
    Policy,
    Runtime,
    tool,
)
from ukemi.actors.conversation import Conversation, chars_of
from ukemi.actors.inspection import checkpoint_at, fold
from ukemi.actors.model import AssistantMessage, Message, NoteMessage, ToolMessage, UserMessage
from ukemi.actors.pruning.pruning import Fits, Plan, groups_of, plan_cut
from ukemi.actors.pruning.summaries import INSTRUCTIONS, digest_text, facts_of, lines_in, transcript
from ukemi.actors.state import SessionState
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import (
    Answered,
    Intended,
    JournalEntry,
    Opened,
    Pruned,
    Resulted,
    Said,
    ToolCall,
    Usage,
)
from ukemi.supervisor.policy_failures import OverflowPolicy
from ukemi.supervisor.policy_sessions import StoragePolicy

# ---------------------------------------------------------------- SU-01: cut at every position


def su_01() -> list[JournalEntry]:
    """30 messages: texts, single calls, three calls side by side, a result of 40 kB, and a doubt."""
    entries: list[JournalEntry] = [Opened("agent", 0), Said(1, "the task")]
    counter = 0

    def step(n: int, calls: int = 1, size: int = 80, state: str = "succeeded") -> None:
        nonlocal counter
        named = tuple(ToolCall(f"c{n}-{index}", "look", "{}") for index in range(calls))
        entries.append(Answered(n, f"step {n}", named))
        for index in reversed(range(calls)):
            counter += 1
            if state == "in_doubt":
                entries.append(Intended(n, index, "look", f"d{n}"))
            entries.append(Resulted(n, index, counter, f"{n}.{index} " + "x" * size, state))  # type: ignore[arg-type]

    step(2)
    step(3, state="in_doubt")
    entries += [Answered(4, "so far"), Said(5, "go on")]
    step(6, calls=3)
    step(7, size=40_000)
    entries += [Answered(8, "half way"), Said(9, "and then?")]
    for n in range(10, 16):
        step(n)
    entries += [Said(16, "nearly?"), Answered(17, "nearly"), Said(18, "finish")]
    return entries


ENTRIES = su_01()


def test_SU_01_the_history_has_thirty_messages() -> None:
    messages = list(fold("s", ENTRIES).conversation)
    assert len(messages) == 30
    assert max(len(each.calls) for each in messages if isinstance(each, AssistantMessage)) == 3
    assert (
        max(map(len, (each.content for each in messages if isinstance(each, ToolMessage)))) > 40_000
    )


@pytest.mark.parametrize("position", range(1, 30))
def test_SU_01_a_prune_at_any_position_parts_no_call_from_its_result(position: int) -> None:
    state = fold("s", ENTRIES)
    messages = list(state.conversation)
    plan = plan_cut(state.conversation, position, facts=len(facts_of(state)))
    if isinstance(plan, Fits):
        assert position < 3, "only what is kept anyhow stands before it"
        return
    left_out = [messages[at] for at in range(plan.cut) if at not in plan.kept]
    for_model = transcript(left_out, "", 100_000)
    lines = lines_in(left_out, lambda _: True)
    summary = digest_text(lines, {}, facts=facts_of(state), limit=plan.summary_chars)
    state.apply(Pruned(19, plan.cut, plan.kept, summary))
    after = list(state.conversation)
    assert_paired(after)
    assert_paired(left_out)
    assert_called_before_answered(for_model)
    kept_last = len(messages) - position
    longest = max(each.end - each.start for each in groups_of(messages))
    newest = 2  # the last answer of the model, and what the user has said since
    assert len(messages) - plan.cut <= max(kept_last + longest, newest)
    assert after[0] == UserMessage("the task")
    # What is open is on record whether or not its call is still there.
    assert state.in_doubt
    (note,) = [each for each in after if isinstance(each, NoteMessage)]
    assert "call 3.0 look({}): effect unknown" in note.text


def assert_called_before_answered(text: str) -> None:
    """In the text for a summarising model too, results stand right behind their calls."""
    kinds = [line.split("(")[0].split(":")[0] for line in text.splitlines() if line]
    results = 0
    for kind in reversed([each for each in kinds if each.startswith(("call ", "result of "))]):
        results += 1 if kind.startswith("result") else -1
        assert results >= 0, "a call without a result"
    assert results == 0, "a result without a call"


# ---------------------------------------------------------------- SU-02: what cannot be made to fit


class Window:
    """A model with the window of the case: it refuses what does not leave room for the answer."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.window: int = setup["window"]
        self.reserved: int = setup["reserved_for_output"]
        self.floor: int = setup["floor_after_summary"]
        self.refused = 0
        self.summaries = 0

    def __call__(self, request: ModelRequest) -> Reply:
        if request.instructions == INSTRUCTIONS:
            self.summaries += 1
            return ModelReply(text="a summary", usage=Usage(1_000, 100))
        size = chars_of(request.messages) // 4
        if size + self.reserved > self.window:
            self.refused += 1
            raise ContextOverflow(
                f"input length and `max_tokens` exceed context limit: {size} + {self.reserved} > {self.window}"
            )
        return call("look")


SU_02 = case("SU-02")["setup"]


@pytest.mark.parametrize("declared", [True, False], ids=["window declared", "window not known"])
@pytest.mark.parametrize("summary", ["digest", "model"])
async def test_SU_02_what_cannot_be_shortened_stops_the_session(
    store: MemoryStore, declared: bool, summary: Any
) -> None:
    model, ran = Window(SU_02), 0

    @tool(effect="read")
    async def look() -> str:
        nonlocal ran
        ran += 1
        return "x" * 4_000

    options: dict[str, Any] = {"output_tokens_max": model.reserved}
    if declared:
        options["context_tokens"] = model.window
    of = agent(model, [look], **options)
    policy = Policy(context_overflow=OverflowPolicy(summary=summary))
    task = "i" * (model.floor * 4)
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        outcome = await run_one(runtime, of, task, session_id="s")
        spent = (await runtime.session("s").inspect()).spent
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "context"
    assert "context cannot be made to fit" in outcome.detail
    assert "43,0" in outcome.detail, "the floor: the task, and what goes with each request"
    assert "33,536" in outcome.detail, "the limit: the window less what the answer needs"
    assert model.refused <= 1
    assert model.summaries <= 2
    assert ran == 0
    assert spent.model_calls == model.refused + model.summaries


async def test_SU_02_summaries_of_a_session_that_grows_back_are_booked_and_end(
    store: MemoryStore,
) -> None:
    """Results so large that each step fills the window again: prunes between answers, to the budget."""
    model = Window({**SU_02, "floor_after_summary": 0})

    @tool(effect="read")
    async def look() -> str:
        return "x" * 60_000

    of = agent(model, [look], output_tokens_max=model.reserved)
    policy = Policy(context_overflow=OverflowPolicy(summary="model"))
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        outcome = await run_one(runtime, of, session_id="s")
        spent = (await runtime.session("s").inspect()).spent
    assert isinstance(outcome, HandedOver)
    assert outcome.reason in ("budget", "planning")
    async with opened(store):
        entries = await journal(store, "s")
    made = [each for each in entries if isinstance(each, Pruned)]
    assert len(made) == model.summaries
    answered = [each for each in entries if isinstance(each, Answered)]
    assert spent.model_calls == len(answered) + model.refused + model.summaries
    kinds = [each for each in entries if isinstance(each, Pruned | Answered)]
    for first, second in pairwise(kinds):
        assert not (isinstance(first, Pruned) and isinstance(second, Pruned)), (
            "no prune without gain"
        )


# ---------------------------------------------------------------- CG-02: pruned, kept, reachable


async def test_CG_02_what_retention_keeps_loads_exactly_over_prunes(store: MemoryStore) -> None:
    """Prunes lean on what was before them: the checkpoints that are kept load as they were."""
    setup = case("CG-02")["setup"]

    @tool(effect="read")
    async def look(at: int) -> str:
        return f"{at} " + "x" * 400

    def script(request: ModelRequest) -> Reply:
        if chars_of(request.messages) > 4_000:
            raise ContextOverflow("too long")
        done: int = getattr(request.messages, "assistant_count")  # noqa: B009
        return call("look", at=done) if done < 2 * setup["steps"] else "done"

    async def loaded(kept: int | None) -> list[JournalEntry]:
        policy = Policy(storage=StoragePolicy(checkpoints_kept=kept))
        name = f"kept-{kept}"
        of = agent(script, [look])
        async with Runtime(store, agents=[of], policy=policy) as runtime:
            await run_one(runtime, of, session_id=name, budget=Budget(steps=None))
        async with opened(store):
            return await journal(store, name)

    whole, kept = await loaded(None), await loaded(setup["prune_to"])
    last = 2 * setup["steps"]
    assert sum(isinstance(each, Pruned) for each in whole) >= 3
    for counter in range(last - setup["prune_to"] + 1, last + 1):
        one, other = (checkpoint_at("s", each, counter) for each in (whole, kept))
        assert json.dumps([str(each) for each in one.messages]) == json.dumps(
            [str(each) for each in other.messages]
        )
    async with opened(store), Runtime(store, agents=[agent(script, [look])]) as runtime:
        with pytest.raises(CheckpointUnknown, match="earlier ones were pruned"):
            await runtime.session(f"kept-{setup['prune_to']}").checkpoint(1)


def test_CG_02_open_items_stay_whatever_is_pruned() -> None:
    state = SessionState("s")
    for entry in ENTRIES:
        state.apply(entry)
    plan = plan_cut(state.conversation, len(state.conversation))
    assert isinstance(plan, Plan)
    state.apply(Pruned(19, plan.cut, plan.kept, "summary"))
    assert list(state.in_doubt) == [(3, 0)]
    assert seen(state.conversation)[0] == UserMessage("the task")


def seen(conversation: Conversation) -> Sequence[Message]:
    return list(conversation)
