"""The journal, one line an entry: every kind, and the same as data."""

import json
from typing import get_args

import msgspec
import pytest

from ukemi.actors.outcome import Completed, outcome_to_data
from ukemi.cli.journal import entry_data, journal_line
from ukemi.cli.stored import Numbered
from ukemi.cli.terminal import Terminal, columns_of
from ukemi.stores.decisions import Resolve
from ukemi.stores.records import (
    Allowed,
    Answered,
    Assessed,
    Audited,
    AuditFinding,
    Booked,
    ClaimVerdict,
    Decided,
    Ended,
    FellBack,
    Frozen,
    Intended,
    JournalEntry,
    Judged,
    Late,
    Noted,
    Opened,
    Parked,
    PathEnd,
    Probed,
    Progressed,
    Pruned,
    Requested,
    Restarted,
    Resulted,
    Retried,
    RolledBack,
    RollingBack,
    Said,
    Spent,
    StagedCheck,
    StagedPath,
    StagedResult,
    ToolCall,
    Undoing,
    Undone,
    UndoStep,
    Unwinding,
    Woken,
)

LINES: list[tuple[JournalEntry, str]] = [
    (Opened("buyer", 1, limits={"steps": 3}), "open    agent buyer, limits steps=3"),
    (Opened("buyer", 1), "open    agent buyer, limits none"),
    (Said(1, "Order\nthree"), "user    1 Order three"),
    (Noted(2, "finish up", "budget"), "note    2 finish up"),
    (
        Answered(3, "ok", (ToolCall("c", "stock", '{"sku":"A"}'),)),
        'model   3 ok stock{"sku":"A"}',
    ),
    (Answered(3, "half", finish="length"), "model   3 [length] half"),
    (Intended(3, 0, "place", "d", 2, "uk-1"), "intent  3.0 place, attempt 2, key uk-1"),
    (Resulted(3, 0, 7, "12", attempts=2), "result  3.0 succeeded, 2 attempts: 12"),
    (Resulted(3, 0, 7, "no", "failed", "bug"), "result  3.0 failed (bug): no"),
    (Resulted(3, 0, 7, "?", "in_doubt", "in_doubt_timeout"), "result  3.0 in doubt: ?"),
    (Late(3, 0, "succeeded", "K-1"), "late    3.0 succeeded: K-1"),
    (
        Decided("call 3.0#1", Resolve("done", (3, 0), "K-1"), 0, "ann"),
        "decided call 3.0 done: K-1 (ann, 1970-01-01 00:00:00 UTC)",
    ),
    (
        Decided("call 3.0#2", None, 0, problem="old"),
        "decided call 3.0 a decision (somebody, 1970-01-01 00:00:00 UTC) (changed nothing: old)",
    ),
    (Allowed(3, 0, "d", arguments="{}"), "allowed 3.0 may run again with {}"),
    (
        Requested(3, 0, "pay", "d", '{"to":1}', 1, 0, category="money", risk="Pays"),
        'request 3.0 pay{"to":1} may it run?: Pays (money, until 1970-01-01 00:00:00 UTC)',
    ),
    (
        Requested(3, 0, "pay", "d", "{}", 1, category="money"),
        "request 3.0 pay{} may it run? (money)",
    ),
    (
        Judged(3, 0, "approved", 1, 1, "d", '{"to":"bob"}', "ann", "fine"),
        'judge   3.0 approved with {"to":"bob"} by ann: fine',
    ),
    (Judged(3, 0, "expired", 1), "judge   3.0 expired"),
    (Probed(3, 0, "not_done"), "probe   3.0 not done"),
    (
        StagedResult(3, 0, "ok", "a", "b", tuple(StagedPath(p, "mode") for p in "stuvwx"), 3),
        "staged  3.0 would change s (mode), t (mode), u (mode), v (mode), w (mode) and 4 more",
    ),
    (StagedResult(3, 0, "draft 7"), "staged  3.0 prepared"),
    (StagedCheck(3, 0), "checked 3.0 checks passed"),
    (StagedCheck(3, 0, "it is empty", "lint"), "checked 3.0 rejected by lint: it is empty"),
    (
        Retried(3, 0, 1, "transient", 1.0, 0.1, "refused"),
        "retry   3.0, attempt 1 transient, wait 1.0 s: refused",
    ),
    (
        Retried(3, -1, 1, "transient", 1.0, 0.1, "refused"),
        "retry   the model, attempt 1 transient, wait 1.0 s: refused",
    ),
    (
        Retried(3, 0, 4, "bug", 0.0, 9.0, "no", "hand_over", "a fault", 9.0, ("type X",)),
        "retry   3.0, attempt 4 bug, then hand over (a fault), asked to wait 9.0 s [type X]: no",
    ),
    (
        Ended("completed", outcome_to_data(Completed("done"))),
        "end     completed: done",
    ),
    (
        Restarted(9, 4, "Try another way."),
        "restart 9 begins again at checkpoint 4: Try another way.",
    ),
    (
        Pruned(9, 7, (0,), "Short.", calls={"look": (3, 1), "put": (1, 0)}),
        "prune   9 pruned, refused as too long, 5 calls left out by now, digest: Short.",
    ),
    (
        Pruned(9, 0, (), "", why="limit", shortened=((4, 200),)),
        "prune   9 pruned, nearly too long, 1 result shown shorter",
    ),
    (FellBack(9, "plain", "no progress"), "fallback 9 plain takes over: no progress"),
    (Progressed("0123456789abcdef"), "progress the agent's progress changed (01234567)"),
    (Parked(1_700_000_000_000), "parked  parked until 2023-11-14 22:13:20 UTC"),
    (Woken(1_700_000_000_000), "woken   waits up to 2023-11-14 22:13:20 UTC have ended"),
    (Woken(0), "woken   before its time"),
    (
        Unwinding((UndoStep(3, 0, "place", "compensate"),), {"outcome": "stopped"}),
        "unwind  1 effects are to be undone: 3.0 place",
    ),
    (
        Unwinding((UndoStep(3, 0, "place", "compensate"),), None, "person"),
        "unwind  1 effects are to be undone, by a person: 3.0 place",
    ),
    (Undoing(3, 0, 2, "uk-1"), "undo    3.0 compensation, attempt 2, key uk-1"),
    (Undone(3, 0, "compensated", "gone", 1), "undone  3.0 compensated: gone"),
    (
        Undone(3, 0, "again", "busy", 1, "transient", wait_s=1.0),
        "undone  3.0 failed in passing (transient), wait 1.0 s: busy",
    ),
    (
        Undone(3, 0, "failed", "down", 3, "unknown"),
        "undone  3.0 compensation failed (unknown), 3 attempts: down",
    ),
    (Undone(3, 0, "abandoned", by="person"), "undone  3.0 abandoned, by a person"),
    (
        Frozen("the task says so", (UndoStep(3, 0, "place", "compensate"),)),
        "freeze  nothing is undone, the task says so; left as they are: 3.0 place",
    ),
    (
        RollingBack(9, "full", 3, 5, force=True, by="ann"),
        "back    9 files and conversation to checkpoint 3, forced, by ann",
    ),
    (RollingBack(9, "prune", None, 5), "back    9 summing up the conversation"),
    (RollingBack(10, "soft", 3, 5, undoes=9), "back    10 rollback 9 is taken back"),
    (
        RolledBack(
            9,
            "done",
            3,
            paths=(PathEnd("a", "restored"), PathEnd("b", "conflict")),
            messages_dropped=4,
        ),
        "backed  9 done: 1 path put back, 1 path left, 4 messages dropped",
    ),
    (RolledBack(9, "failed", error="a: no space"), "backed  9 failed: a: no space"),
    (
        Audited(
            9, (AuditFinding("contradicted", "Sent.", "nothing ran", ("call 3.0 send failed",)),)
        ),
        'audit   contradicted: "Sent.": nothing ran (call 3.0 send failed)',
    ),
    (
        Assessed(9, "d", (ClaimVerdict("Sent.", "contradicted", "no mail went"),), "second"),
        'assess  9 second: contradicted: "Sent.": no mail went',
    ),
    (Booked(Spent(seconds=2.0, tokens=7)), "spent   2.0 s, 7 tokens so far"),
]


def test_the_table_has_every_kind_of_entry() -> None:
    assert {type(entry) for entry, _ in LINES} == set(get_args(JournalEntry))


@pytest.mark.parametrize(("entry", "line"), LINES, ids=[line[:30] for _, line in LINES])
def test_an_entry_is_one_line(entry: JournalEntry, line: str) -> None:
    assert journal_line(Numbered(12, 7, entry), Terminal(100)) == f"   12    #7  {line}"


@pytest.mark.parametrize(("entry", "line"), LINES, ids=[line[:30] for _, line in LINES])
def test_an_entry_is_data_with_every_field(entry: JournalEntry, line: str) -> None:
    data = json.loads(msgspec.json.encode(entry_data(Numbered(12, 7, entry))))
    assert (data["row"], data["checkpoint"], data["entry"]) == (12, 7, line.split()[0])
    assert set(entry.__struct_fields__) <= set(data)


def test_a_providers_blocks_are_shown_as_the_data_they_are() -> None:
    def raw(body: bytes) -> object:
        return entry_data(Numbered(1, 0, Answered(1, raw=body, raw_format="x")))["raw"]

    assert raw(b'[{"type":"text"}]') == [{"type": "text"}]
    assert raw(b"\xffno json") == "\\xffno json"


def test_a_long_entry_is_cut_to_the_terminal() -> None:
    line = journal_line(Numbered(1, 0, Said(1, "word " * 100)), Terminal(60))
    assert columns_of(line) <= 60
    assert line.endswith("…")
