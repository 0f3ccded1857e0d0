"""``ukemi show ID --effects``: a table for people, an array for programs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from sessions import opened, put_history

from ukemi.actors.effects import records_of
from ukemi.cli.effects import effect_row
from ukemi.stores.decisions import Resolve
from ukemi.stores.records import (
    Answered,
    Decided,
    Intended,
    JournalEntry,
    Probed,
    Resulted,
    Said,
    ToolCall,
    Undone,
)
from ukemi.stores.sqlite import SqliteStore

Ukemi = Callable[..., Any]

CALLS = (ToolCall("a", "pay", '{"cents":4200}'), ToolCall("b", "mail", '{"to":"ann"}'))
HISTORY: list[list[JournalEntry]] = [
    [Said(1, "go")],
    [Answered(2, "", CALLS, ledger=True), Intended(2, 0, "pay", "d", 1, "uk-1")],
    [Probed(2, 0, "done"), Resulted(2, 0, 1, "paid", replayed=True, by="probe")],
    [Intended(2, 1, "mail", "e", 1)],
    [Probed(2, 1, "unclear", "timed out"), Resulted(2, 1, 2, "interrupted", "in_doubt")],
]


@pytest.fixture
def session(tmp_path: Path) -> str:
    async def put(rows: list[list[JournalEntry]], name: str) -> None:
        async with opened(SqliteStore(tmp_path / "ukemi.db")) as store:
            await put_history(store, name, rows)

    anyio.run(put, HISTORY, "one")
    anyio.run(put, HISTORY[:1], "none")
    return "one"


def test_the_table_says_how_each_stands_and_who_says_so(ukemi: Ukemi, session: str) -> None:
    ran = ukemi("show", session, "--effects")
    assert ran.status == 0
    head, first, second = ran.out.splitlines()
    assert head.split()[:3] == ["CALL", "TOOL", "STATE"]
    assert "2.0" in first and "succeeded, replayed" in first and "its probe" in first
    assert "uk-1" in first and '{"cents":4200}' in first
    assert "in doubt, probe: unclear" in second
    assert "1 call in doubt" in ran.err and "ukemi resolve one" in ran.err


def test_as_json_it_is_one_array_with_every_field(ukemi: Ukemi, session: str) -> None:
    first, second = ukemi("show", session, "--effects", "--json").data
    assert (first["state"], first["by"], first["replayed"], first["key"]) == (
        "succeeded",
        "probe",
        True,
        "uk-1",
    )
    assert (second["state"], second["attempts"], second["checkpoint"]) == ("in_doubt", 1, 2)


def test_at_a_checkpoint_they_are_as_they_were_then(ukemi: Ukemi, session: str) -> None:
    (only,) = ukemi("show", session, "--effects", "--json", "--checkpoint", "1").data
    assert only["tool"] == "pay"


def test_a_session_without_effects_says_so(ukemi: Ukemi, session: str) -> None:
    ran = ukemi("show", "none", "--effects")
    assert (ran.status, ran.out) == (0, "no effects\n")
    assert ukemi("show", "none", "--effects", "--json").data == []


def test_a_compensation_in_doubt_is_not_one_that_failed_and_who_settles_it_is_named() -> None:
    doubted = [each for row in HISTORY[:3] for each in row]
    doubted = [*doubted, Undone(2, 0, "in_doubt", "no answer")]
    said = Decided("call 2.0#1", Resolve("compensated", (2, 0)), 5, "ann")
    settled = [*doubted, said, Undone(2, 0, "compensated", by="person")]
    for entries, state, says in (
        (doubted, "compensation in doubt, replayed", ""),
        (settled, "compensated, replayed", "a person (ann)"),
    ):
        (record,) = records_of(entries)
        cells = [each.text for each in effect_row(record)]
        assert (cells[2], cells[4]) == (state, says)
