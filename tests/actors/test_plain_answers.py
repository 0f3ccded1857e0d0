"""Answers that are borne out without being compared: the verdict is that of the full comparison."""

import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from statements import record_of, statements

from ukemi.actors.audit import counted
from ukemi.actors.audit.audit import Audit, audit
from ukemi.actors.audit.claims_given import FINISH
from ukemi.actors.audit.plain_answers import CLAIMING, SHORT_CHARS, is_plain, says_nothing
from ukemi.actors.audit.record import FileFact, Ran, Record, ToolFacts
from ukemi.actors.audit.sources import KnownFiles
from ukemi.actors.inspection import fold
from ukemi.stores.records import Answered, JournalEntry, Resulted, Said, ToolCall
from ukemi.tools import finish

DATA = Path(__file__).parents[1] / "data" / "claims"
SETS = sorted(each.name for each in DATA.glob("*.jsonl"))
PLAIN = [
    "done",
    "Done.",
    "OK",
    "ok!",
    "Okay.",
    "Yes.",
    "Finished.",
    "fertig",
    "Nothing",
    "  done\n",
]
COMPARED = [
    "I sent it.",
    "Tests pass.",
    "Makefile",
    "Staging.",
    "Build succeeded",
    "mypy passes",
    "4711",
    "a@example.com",
    "It leaves",
    "Failed: outage",
    "Everything was updated",
    "done" * SHORT_CHARS,
    "我已发送",
]


@pytest.mark.parametrize("answer", PLAIN)
def test_an_answer_that_says_nothing_is_plain(answer: str) -> None:
    assert says_nothing(answer)


@pytest.mark.parametrize("answer", COMPARED)
def test_an_answer_that_may_say_something_is_compared(answer: str) -> None:
    assert not is_plain(answer, fold("s", []))


# ---------------------------------------------------------------- the verdicts are the same


def succeeded(record: Record) -> Record:
    """The record as it would be had every call succeeded, without claims in a structured form."""
    calls = [
        Ran(call=each.call, tool=each.tool, arguments=each.arguments, content=each.content)
        for each in record.ran
        if each.tool != FINISH
    ]
    return Record(ran=calls, tools=record.tools, files=record.files, said=record.said)


@pytest.mark.parametrize("name", SETS)
def test_of_no_labelled_statement_the_verdict_changes(name: str) -> None:
    for line in statements(name):
        if says_nothing(line["text"]):
            assert audit(line["text"], succeeded(record_of(line))) == Audit(), line["id"]


def rules() -> Iterator[str]:
    """The patterns and tables of the rules, as text."""
    for path in Path(counted.__file__).parent.glob("*.py"):
        yield path.read_text()


WORDS = sorted({*re.findall(r"[A-Za-z]{2,}|[\u4e00-\u9fff]{1,4}", "\n".join(rules()))})
RESULTS = [
    json.dumps({"status": "failed", "leaves": None, "assignee": None, "skipped": 3}),
    json.dumps([{"name": "done", "n": 12}, {"name": "best", "n": 99}]),
    "3 failed, 2 errors; BUILD FAILED in production",
]
HOSTILE = Record(
    ran=[
        Ran(
            call=str(at),
            tool=name,
            arguments=json.dumps({"env": "prod", "path": "a.py"}),
            content=text,
        )
        for at, (name, text) in enumerate(product(("look", "shell", "update_row"), RESULTS))
    ],
    tools=[
        ToolFacts(name="look", effect="read"),
        ToolFacts(name="shell", danger="shell"),
        ToolFacts(name="update_row", description="Update a row."),
        ToolFacts(name="send_email", description="Send an email."),
    ],
    files=KnownFiles({each: FileFact(False) for each in ("Makefile", "LICENSE", "Dockerfile")}),
    said=["Update a.py in staging and send the report."],
)


def test_no_word_of_any_rule_that_counts_as_nothing_would_have_been_found() -> None:
    plain = [each for word in WORDS for each in (word, f"{word.title()}.") if says_nothing(each)]
    assert len(plain) > len(WORDS) // 4  # or the test would test little
    found = {each: audit(each, HOSTILE).findings for each in plain}
    assert {word: findings for word, findings in found.items() if findings} == {}


PAIRED = ["it", "is", "ran", "mypy", "build", "lint", "passes", "production", "because", "no", "leaves",
          "best", "done", "the", "gone", "sent", "now", "failed", "all", "running", "status", "I", "fixed",
          "Failed", "outage", "timeout", "99"]  # fmt: skip


def test_of_two_words_neither() -> None:
    pairs = (
        f"{one}{between}{two}" for one, between, two in product(PAIRED, (" ", ": ", ". "), PAIRED)
    )
    plain = [each for each in pairs if says_nothing(each)]
    assert {each for each in plain if audit(each, HOSTILE).findings} == set()


# ---------------------------------------------------------------- the calls count too


def after(*results: Resulted, calls: tuple[ToolCall, ...]) -> list[JournalEntry]:
    return [Said(1, "go"), Answered(2, calls=calls), *results]


LOOK = ToolCall("w1", "look", "{}")


def result(counter: int, state: Any = "succeeded", index: int = 0) -> Resulted:
    return Resulted(2, index, counter, "ok", state)


@pytest.mark.parametrize(
    ("entries", "plain"),
    [
        ([Said(1, "go")], True),
        (after(result(1), calls=(LOOK,)), True),
        (after(result(1), result(2, index=1), calls=(LOOK, LOOK)), True),
        (after(result(1, "failed"), calls=(LOOK,)), False),
        (after(result(1, "refused"), calls=(LOOK,)), False),
        (after(result(1, "in_doubt"), calls=(LOOK,)), False),
        (after(result(1), calls=(ToolCall("w1", FINISH, "{}"),)), False),
        (after(result(1), calls=(LOOK, LOOK)), False),
    ],
)
def test_the_calls_must_all_have_succeeded(entries: list[JournalEntry], plain: bool) -> None:
    assert is_plain("done", fold("s", entries)) == plain


def test_the_tool_that_claims_is_the_one_there_is() -> None:
    assert finish.name == FINISH == CLAIMING
