"""What stands for messages left out: counts, first lines word for word, facts from the state."""

import random
import re

import pytest

from ukemi.actors.conversation import Conversation
from ukemi.actors.model import AssistantMessage, Message, NoteMessage, ToolMessage, UserMessage
from ukemi.actors.pruning.pruning import Plan, plan_cut
from ukemi.actors.pruning.summaries import (
    FACTS_MAX,
    HEADER,
    LINES_MAX,
    Gathered,
    Lines,
    counted,
    counts_line,
    digest_text,
    facts_of,
    lines_in,
    model_text,
    said_in,
    transcript,
)
from ukemi.actors.state import SessionState
from ukemi.stores.records import Answered, Intended, Pruned, Resulted, Said, ToolCall


def step(
    name: str, arguments: str = "{}", result: str = "ok", *, error: bool = False
) -> list[Message]:
    return [
        AssistantMessage("", (ToolCall("c", name, arguments),)),
        ToolMessage("c", name, result, error),
    ]


def reads(name: str) -> bool:
    return name == "look"


def digest(messages: list[Message], limit: int = 4_000, facts: str = "", earlier: str = "") -> str:
    lines, counts = lines_in(messages, reads), counted({}, messages)
    return digest_text(lines, counts, facts=facts, limit=limit, earlier=earlier)


def test_a_digest_says_what_was_called_done_and_said() -> None:
    text = digest(
        [
            UserMessage("please   hurry\nup"),
            NoteMessage("a person says it is paid"),
            *step("look", '{"at": 1}', "nothing\nnew"),
            *step("put", '{"sku": "A-17"}', "A-17 is in the basket"),
            *step("put", '{"sku": "B"}', "sold out", error=True),
            *step("put", '{"sku": "C"}', "not started: the session was cut off", error=True),
            AssistantMessage("I have looked"),
        ]
    )
    lines = text.splitlines()
    assert lines == (
        [
            HEADER,
            "Calls left out: put 3 (2 without success), look 1.",
            "What you were told, shortened:",
            "- user: please hurry up",
            "- runtime: a person says it is paid",
            "What was done stays done; do not do it again:",
            '- put({"sku": "A-17"}): A-17 is in the basket',
            '- put({"sku": "B"}) (no success): sold out',
            "Last steps:",
            '- look({"at": 1}): nothing new',
            '- put({"sku": "C"}) (no success): not started: the session was cut off',
            "- you said: I have looked",
        ]
    )


@pytest.mark.parametrize("seed", range(30))
def test_a_digest_is_bounded_and_invents_nothing(seed: int) -> None:
    """Law: each line's words are in the messages, it has at most its limit, facts stay whole."""
    rng = random.Random(seed)
    messages: list[Message] = []
    for at in range(rng.randrange(1, 300)):
        match rng.randrange(4):
            case 0:
                messages.append(UserMessage(f"word{at} " * rng.randrange(1, 60)))
            case 1:
                messages.append(AssistantMessage(f"said{at}"))
            case _:
                messages += step(rng.choice(("look", "put")), f'{{"a": {at}}}', f"result{at} " * 9)
    limit = rng.randrange(700, 6_000)
    text = digest(messages, limit, facts="On record:\n- " + "f" * 200)
    assert len(text) <= limit
    assert "f" * 200 in text
    whole = " ".join(str(each) for each in messages)
    assert all(word in whole for word in re.findall(r"(?:word|said|result)\d+", text))
    assert text.count("\n") <= 3 * LINES_MAX + 10


def test_many_tools_are_counted_and_the_most_used_named() -> None:
    counts = {f"tool{number}": (number + 1, 0) for number in range(40)}
    line = counts_line(counts)
    assert line.startswith("Calls left out: tool39 40, tool38 39, ")
    assert line.endswith("tool10 11, others 55.")
    assert counts_line({}) == ""


def test_counts_go_on_from_those_before() -> None:
    assert counted({"put": (2, 1)}, [*step("put"), *step("look", error=True)]) == {
        "put": (3, 1),
        "look": (0, 1),
    }


@pytest.mark.parametrize("seed", range(20))
def test_lines_are_carried_on_from_prune_to_prune(seed: int) -> None:
    """Law: carried on, gathered after a restart, or taken all at once: the lines are the same."""
    rng = random.Random(seed)
    conversation, carried = Conversation(), Gathered(reads)
    conversation.say(UserMessage("task"))
    left_out: list[Message] = []
    n, lines = 1, Lines()
    for _ in range(rng.randrange(1, 6)):
        for _ in range(rng.randrange(4, 40)):
            n += 1
            name = rng.choice(("look", "put"))
            conversation.answer(Answered(n, rng.choice(("", f"said {n}")), (ToolCall("c", name),)))
            conversation.result(Resulted(n, 0, n, f"{n} done"))
        plan = plan_cut(conversation, len(conversation) - 4, summary=conversation.summary)
        assert isinstance(plan, Plan)
        gone = [
            conversation[at]
            for at in range(plan.cut)
            if at not in plan.kept and at != conversation.summary
        ]
        lines = carried.with_these(conversation, gone)
        assert lines == Gathered(reads).with_these(conversation, gone)
        left_out += gone
        assert lines == lines_in(left_out, reads)
        pruned = Pruned(n, plan.cut, plan.kept, "summary")
        conversation.prune(pruned)
        carried.carry(pruned, lines)
    assert all(len(kind) <= LINES_MAX for kind in (lines.told, lines.writes, lines.steps))


def test_after_going_back_the_lines_are_those_of_what_is_left_out_then() -> None:
    conversation, carried = Conversation(), Gathered(reads)
    conversation.say(UserMessage("task"))
    for n in range(2, 8):
        conversation.answer(Answered(n, calls=(ToolCall("c", "put"),)))
        conversation.result(Resulted(n, 0, n, f"{n} done"))
        if n in (4, 6):
            plan = plan_cut(conversation, len(conversation), summary=conversation.summary)
            assert isinstance(plan, Plan)
            pruned = Pruned(n, plan.cut, plan.kept, "summary")
            conversation.prune(pruned)
            carried.carry(pruned, Lines(("never",)))
    conversation.rewind(5)
    lines = carried.with_these(conversation, [])
    assert lines == lines_in(steps_done(2, 3), reads)


def test_carried_lines_are_not_gathered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prune costs what it leaves out, however much was left out before."""
    conversation, carried = Conversation(), Gathered(reads)
    conversation.say(UserMessage("task"))
    pruned = Pruned(2, 1, (), "summary")
    conversation.prune(pruned)
    carried.carry(pruned, Lines(("- user: task",)))
    monkeypatch.setattr(Conversation, "left_out", None)
    assert carried.with_these(conversation, []) == Lines(("- user: task",))


def steps_done(*numbers: int) -> list[Message]:
    return [each for n in numbers for each in step("put", result=f"{n} done")]


def test_facts_of_record_come_from_the_state() -> None:
    """A doubt and a closed thing are restated whole; a doubt that was settled is none any more."""
    state = SessionState("s")
    state.apply(Said(1, "go"))
    state.apply(Answered(2, calls=(ToolCall("a", "pay", '{"eur": 5}'), ToolCall("b", "book"))))
    state.apply(Intended(2, 0, "pay", "d"))
    state.apply(Resulted(2, 0, 1, "interrupted", "in_doubt", digest="d"))
    refused = Resulted(2, 1, 2, "sold out", "failed", "business_rejected", closes=("room-7",))
    state.apply(refused)
    assert facts_of(state).splitlines() == (
        [
            "On record:",
            '- call 2.0 pay({"eur": 5}): effect unknown, a person has been asked; do not repeat it',
            "- room-7: closed since a call was refused for good",
            "- book({}): sold out",
        ]
    )
    assert facts_of(SessionState("s")) == ""


def test_of_very_many_facts_the_newest_are_restated() -> None:
    state = SessionState("s")
    state.apply(Said(1, "go"))
    calls = tuple(ToolCall(f"{i}", "pay") for i in range(FACTS_MAX + 5))
    state.apply(Answered(2, calls=calls))
    for index in range(len(calls)):
        state.apply(Resulted(2, index, index + 1, "interrupted", "in_doubt"))
    lines = facts_of(state).splitlines()
    assert len(lines) == FACTS_MAX + 2
    assert lines[1] == "- and 5 more before these"


def test_a_transcript_is_text_with_each_result_behind_its_call_the_newest_kept() -> None:
    messages = [
        UserMessage("task"),
        *step("look", result="x" * 9_000),
        NoteMessage("hm"),
        *step("put"),
    ]
    text = transcript(messages, "", 100_000)
    assert text.startswith("user: task\n\ncall look({})\nresult of look: xxx")
    assert text.endswith("runtime: hm\n\ncall put({})\nresult of put: ok")
    assert len(text) < 3_000
    short = transcript(messages, "EARLIER", 80)
    assert short == "EARLIER\n\nruntime: hm\n\ncall put({})\nresult of put: ok"


def test_a_models_summary_stands_behind_what_the_runtime_knows() -> None:
    text = model_text("  it went well ", {"put": (1, 0)}, facts="On record:\n- x", limit=2_000)
    assert (
        text
        == f"{HEADER}\nOn record:\n- x\nCalls left out: put 1.\nSummary of what was left out:\nit went well"
    )
    assert said_in(text) == "it went well"
    assert said_in("anything else") == ""
    kept = digest([*step("put")], earlier=said_in(text))
    assert "Summary of what was left out:\nit went well\n" in kept
