"""Answers of models that need no second look, and those that do."""

from typing import Any

import pytest

from ukemi.actors.model import ModelReply
from ukemi.actors.replies import TOKENS_MAX, checked
from ukemi.stores.records import Answered, ToolCall, Usage, decode_row, encode_row
from ukemi.supervisor.errors import ToolBug

CALL = ToolCall("a", "look", "{}")


class Text(str):
    """A text that no encoder takes."""


@pytest.mark.parametrize(
    "usage",
    [
        Usage(),
        Usage(100, 20, 7, 0.25),
        Usage(TOKENS_MAX - 1, TOKENS_MAX - 1, TOKENS_MAX - 1),
        Usage(TOKENS_MAX, 0, 0),
        Usage(0, TOKENS_MAX, 1),
    ],
)
def test_counts_that_can_be_stored_are_taken(usage: Usage) -> None:
    reply = ModelReply(text="so", calls=(CALL,), finish="tool_calls", usage=usage)
    assert checked(reply, "m") == reply


@pytest.mark.parametrize(
    "usage",
    [
        Usage(-1, 20),
        Usage(100, -1),
        Usage(100, 20, -1),
        Usage(TOKENS_MAX + 1, 0),
        Usage(0, TOKENS_MAX + 1),
        Usage(0, 0, 2 * TOKENS_MAX),
        Usage(True, 0),
        Usage(0, False, 3),
        Usage(0, 0, 0, -0.5),
        Usage(0, 0, 0, float("inf")),
        Usage(0, 0, 0, float("nan")),
    ],
)
def test_counts_that_cannot_be_stored_are_refused(usage: Usage) -> None:
    with pytest.raises(ToolBug, match="usage"):
        checked(ModelReply(text="so", usage=usage), "m")


@pytest.mark.parametrize("text", ["\x00", "a\x1bb", "half \ud83d", "x" * 200 + "\x7f"])
def test_hostile_text_is_cleaned_wherever_it_stands(text: str) -> None:
    for reply in (
        ModelReply(text=text),
        ModelReply(calls=(ToolCall(text, "look", "{}"),), finish="tool_calls"),
        ModelReply(calls=(ToolCall("a", text, "{}"),), finish="tool_calls"),
        ModelReply(calls=(CALL, ToolCall("a", "look", text)), finish="tool_calls"),
    ):
        assert checked(reply, "m") != reply


def test_text_of_a_subclass_becomes_plain() -> None:
    reply = checked(ModelReply(text=Text("so")), "m")
    assert type(reply.text) is str


def stored(reply: ModelReply) -> Answered:
    """Return what a store gives back of an answer."""
    answered = Answered(
        1, reply.text, reply.calls, reply.finish, reply.usage, "m", reply.raw, reply.raw_format
    )
    (back,) = decode_row(encode_row([answered]))
    assert back == answered
    return answered


@pytest.mark.parametrize(
    "calls",
    [[CALL], (each for each in [CALL]), {CALL: 1}, iter([CALL])],
    ids=["list", "generator", "dict", "iterator"],
)
def test_calls_in_any_collection_become_a_tuple(calls: Any) -> None:
    assert stored(checked(ModelReply(calls=calls, finish="tool_calls"), "m")).calls == (CALL,)


def test_a_list_that_its_client_goes_on_using_is_copied() -> None:
    calls: Any = [CALL]
    reply = checked(ModelReply(calls=calls, finish="tool_calls"), "m")
    calls.clear()
    assert reply.calls == (CALL,)


@pytest.mark.parametrize("problem", ["cut off", Text("cut off"), "cut \ud800off", "cut\0off", ""])
def test_what_is_wrong_with_a_call_can_be_stored(problem: str) -> None:
    calls = (CALL, ToolCall("b", "look", "{}", problem))
    one = stored(checked(ModelReply(calls=calls, finish="tool_calls"), "m")).calls[1]
    assert type(one.problem) is str


ODD: list[Any] = [0, True, 2**70, 1.5, float("nan"), b"x", [], {"a": 1}, range(3)]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_what_no_store_reads_back_is_refused(odd: Any) -> None:
    for reply in (
        ModelReply(calls=(ToolCall("a", "look", "{}", odd),), finish="tool_calls"),
        ModelReply(calls=(CALL, ToolCall("a", "look", "{}", odd)), finish="tool_calls"),
        ModelReply(calls=(odd,), finish="tool_calls"),
        ModelReply(text="so", finish=odd),
    ):
        with pytest.raises(ToolBug, match="model m returned"):
            checked(reply, "m")


def test_calls_that_are_no_collection_are_refused() -> None:
    calls: Any = 5
    with pytest.raises(ToolBug, match="calls"):
        checked(ModelReply(calls=calls), "m")


@pytest.mark.parametrize("cost", [2**70, 10**400, -1])
def test_whole_costs_beyond_any_store_are_refused(cost: int) -> None:
    with pytest.raises(ToolBug, match="cost_usd"):
        checked(ModelReply(text="so", usage=Usage(cost_usd=cost)), "m")


@pytest.mark.parametrize("raw_format", ["chat", "chat\ud800", "\0", Text("chat")])
def test_any_name_of_a_form_can_be_stored(raw_format: str) -> None:
    reply = checked(ModelReply(text="so", raw=b"[]", raw_format=raw_format), "m")
    assert type(stored(reply).raw_format) is str
