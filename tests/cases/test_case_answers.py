"""Answers that are none: nothing said, a call announced that never comes, or one that is only text.

From earendil-works/pi#8462, vllm-project/vllm#53255, nornscode/norns#2, NousResearch/hermes-agent#50279,
NousResearch/hermes-agent#87900 and wiseria-ai-labs/pie-ai-agent#157.
"""

import pytest
from sessions import agent, ended, requests, run_one

from ukemi import Agent, BusinessRejected, Completed, HandedOver, Runtime, tool
from ukemi.actors.model import ModelReply
from ukemi.actors.tooling.tools import AnyTool
from ukemi.actors.unanswered import written_call
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore

NO_ANSWERS: dict[str, Reply] = {
    "empty": ModelReply(text=""),
    "blank": ModelReply(text=" \n"),
    "announced": ModelReply(text="Let me look at the file.", finish="tool_calls"),
    "announced, without a word": ModelReply(finish="tool_calls"),
}


def looker() -> AnyTool:
    @tool(effect="read")
    async def look() -> str:
        return "all is well"

    return look


@pytest.mark.parametrize("said", NO_ANSWERS.values(), ids=NO_ANSWERS)
async def test_nothing_is_no_answer_and_is_asked_for_again(store: MemoryStore, said: Reply) -> None:
    of = agent([said, "It is four."])
    async with Runtime(store, agents=[of]) as runtime:
        assert await run_one(runtime, of) == Completed("It is four.")
    assert len(requests(of)) == 2


@pytest.mark.parametrize("said", NO_ANSWERS.values(), ids=NO_ANSWERS)
async def test_a_model_that_never_answers_is_handed_over(store: MemoryStore, said: Reply) -> None:
    of = agent([said] * 20)
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "planning"
    assert "4 answers in a row" in outcome.detail
    assert len(requests(of)) == 4


async def test_what_was_said_beside_a_call_is_not_the_answer(store: MemoryStore) -> None:
    look = call("look")
    first = ModelReply(text="All is well, I think.", calls=(look,), finish="tool_calls")
    of = agent([first, "", "All is well."], [looker()])
    async with Runtime(store, agents=[of]) as runtime:
        assert await run_one(runtime, of) == Completed("All is well.")


async def test_a_plan_that_fails_by_silence_falls_back(store: MemoryStore) -> None:
    silent = Agent("silent", model=agent([""] * 9).model, fallback="plain")
    plain = agent(["It is four."], name="plain")
    async with Runtime(store, agents=[silent, plain]) as runtime:
        assert await run_one(runtime, silent) == Completed("It is four.")


async def test_a_refusal_that_the_model_leaves_without_a_word_is_handed_over(
    store: MemoryStore,
) -> None:
    """A conclusion is not asked for again: that the session is blocked is known without it."""

    @tool
    async def order() -> str:
        raise BusinessRejected("sold out")

    of = agent([call("order"), ""], [order])
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "blocked"


WRITTEN = [
    '{"name": "look", "arguments": {}}',
    '```json\n{"name": "look", "parameters": {}}\n```',
    '[{"type": "function", "function": {"name": "look", "arguments": "{}"}}]',
    'I will look.\n<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>',
    'I will look.\n<invoke name="look">\n</invoke>',
    "<function=look>\n</function>",
    '<tool_invocation name="look" />',
    'Now:\n<tool_call>{"name": "look", "arguments": {"html": "</b>"}}\nThat is all.',
]


LONG = 200_000
HUGE = {
    "tags": "<tool_call>{" * LONG,
    "lines": "{" + "\n" * LONG + "x",
    "fenced lines": "```json\n" + "\n" * LONG + "{",
    "blanks": "\n" + " " * LONG + "<",
    "ticks": "<" + "`" * LONG,
    "brackets": "[" * LONG,
}


@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE)
def test_a_text_of_any_length_is_looked_at_once(text: str) -> None:
    """With its square, each of these would take minutes."""
    assert not written_call(text, {"look"})


@pytest.mark.parametrize("text", WRITTEN)
async def test_a_call_that_came_as_text_is_neither_run_nor_an_answer(
    store: MemoryStore, text: str
) -> None:
    of = agent([text, call("look"), "All is well."], [looker()])
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go")
        assert await ended(runtime, handle.id) == Completed("All is well.")
        assert (await handle.inspect()).spent.tool_calls == 1
    assert len(requests(of)) == 3


@pytest.mark.parametrize(
    "text",
    [
        '{"answer": 4, "name": "look"}',
        '{"name": "listen", "arguments": {}}',
        'Such a call looks like `<tool_call>{"name": "look", "arguments": {}}</tool_call>`.',
        'The tag is:\n```xml\n<invoke name="look">\n</invoke>\n```',
        '<invoke name="listen"></invoke>',
        "Call look(arguments) with name={} to look.",
    ],
)
async def test_what_only_looks_like_a_call_is_an_answer(store: MemoryStore, text: str) -> None:
    of = agent([text], [looker()])
    async with Runtime(store, agents=[of]) as runtime:
        assert await run_one(runtime, of) == Completed(text)
