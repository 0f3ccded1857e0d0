"""The conversation is paired by construction, whatever order the journal has (P6)."""

import random

import pytest

from ukemi.actors.conversation import Conversation
from ukemi.actors.model import AssistantMessage, Message, ToolMessage, UserMessage
from ukemi.stores.records import Answered, Resulted, ToolCall, Usage


def calls(count: int, *, repeated: bool = False) -> tuple[ToolCall, ...]:
    return tuple(ToolCall("same" if repeated else f"id{i}", f"tool{i}") for i in range(count))


def resulted(n: int, index: int, text: str = "") -> Resulted:
    return Resulted(n, index, 1, text or f"{n}.{index}")


def assert_paired(messages: list[Message]) -> None:
    """Each call has exactly one result, in order, right behind its message."""
    position = 0
    while position < len(messages):
        message = messages[position]
        assert not isinstance(message, ToolMessage), "a result without a call"
        position += 1
        if isinstance(message, AssistantMessage):
            behind = messages[position : position + len(message.calls)]
            assert [each.name for each in behind if isinstance(each, ToolMessage)] == [
                call.name for call in message.calls
            ]
            position += len(message.calls)


def test_results_come_in_the_order_of_the_calls() -> None:
    conversation = Conversation()
    conversation.say(UserMessage("go"))
    conversation.answer(Answered(2, calls=calls(3)))
    for index in (2, 0, 1):
        conversation.result(resulted(2, index))
    assert [m.content for m in conversation if isinstance(m, ToolMessage)] == ["2.0", "2.1", "2.2"]


def test_what_is_said_meanwhile_waits_behind_the_results() -> None:
    conversation = Conversation()
    conversation.answer(Answered(1, calls=calls(1)))
    conversation.say(UserMessage("never mind"))
    assert len(conversation) == 1
    conversation.result(resulted(1, 0))
    assert [type(m) for m in conversation] == [AssistantMessage, ToolMessage, UserMessage]


def test_a_second_result_is_refused_and_changes_nothing() -> None:
    conversation = Conversation()
    conversation.answer(Answered(1, calls=calls(2)))
    assert conversation.result(resulted(1, 0, "first"))
    assert not conversation.result(resulted(1, 0, "second"))
    assert not conversation.result(resulted(1, 5)), "no such call"
    assert not conversation.result(resulted(9, 0)), "no such message"
    conversation.result(resulted(1, 1))
    assert [m.content for m in conversation if isinstance(m, ToolMessage)] == ["first", "1.1"]


def test_ids_of_a_provider_may_repeat() -> None:
    conversation = Conversation()
    conversation.answer(Answered(1, calls=calls(1, repeated=True)))
    conversation.result(resulted(1, 0, "x"))
    conversation.answer(Answered(2, calls=calls(1, repeated=True)))
    assert [turn.answered.n for turn in conversation.open] == [2]
    conversation.result(resulted(2, 0, "y"))
    assert [m.content for m in conversation if isinstance(m, ToolMessage)] == ["x", "y"]


def test_what_the_provider_counted_replaces_the_estimate() -> None:
    conversation = Conversation()
    conversation.say(UserMessage("x" * 400))
    assert conversation.tokens == 100
    conversation.answer(Answered(2, "hi", usage=Usage(90, 10)))
    assert conversation.tokens == 100
    conversation.say(UserMessage("x" * 40))
    assert conversation.tokens == 110


@pytest.mark.parametrize("seed", range(200))
def test_any_order_of_entries_ends_paired(seed: int) -> None:
    """Law: users speak at any time, histories have holes anywhere; filled, they are paired."""
    rng = random.Random(seed)
    conversation = Conversation()
    open_calls: list[tuple[int, int]] = []
    said = 0
    for n in range(1, 30):
        match rng.choice(("say", "answer", "result", "result")):
            case "say":
                conversation.say(UserMessage(str(n)))
                said += 1
            case "answer":
                count = rng.randrange(4)
                conversation.answer(Answered(n, calls=calls(count)))
                open_calls += [(n, index) for index in range(count)]
            case _:
                if open_calls:
                    call = open_calls.pop(rng.randrange(len(open_calls)))
                    assert conversation.result(resulted(*call))
    rng.shuffle(open_calls)
    for call in open_calls:
        assert conversation.result(resulted(*call))
    assert not conversation.open
    messages = list(conversation)
    assert_paired(messages)
    users = [m.text for m in messages if isinstance(m, UserMessage)]
    assert len(users) == said and users == sorted(users, key=int), "nothing lost, order kept"
    assert conversation.assistant_count == sum(isinstance(m, AssistantMessage) for m in messages)
