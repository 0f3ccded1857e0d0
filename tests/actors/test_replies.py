"""Answers of models that need no second look, and those that do."""

import pytest

from ukemi.actors.model import ModelReply
from ukemi.actors.replies import TOKENS_MAX, checked
from ukemi.stores.records import ToolCall, Usage
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
