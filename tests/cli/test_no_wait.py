"""What waits for a person: said with the lines to type, and not waited for with --no-wait."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from module_asking import BANK

from ukemi.actors import CallStarted, SessionParked, SessionWoken
from ukemi.cli.left import parked_lines
from ukemi.cli.progress import Progress
from ukemi.cli.terminal import Terminal

Ukemi = Callable[..., Any]


@pytest.fixture
def parked(ukemi: Ukemi, tmp_path: Path) -> Ukemi:
    """The command, in a folder whose store has two sessions that ask."""
    (tmp_path / "bank.py").write_text(BANK)
    for each in ("one", "two"):
        ran = ukemi("run", "bank:clerk", "Pay Ann", "--session-id", each, "--no-wait")
        assert (ran.status, ran.out) == (1, "")
        assert f"(ukemi approve {each}:2.0, or ukemi deny {each}:2.0)" in ran.err
        assert "1 session unfinished (1 parked)" in ran.err
        assert "interrupted" not in ran.err
    return ukemi


def test_resume_names_what_parked_ones_wait_for_and_returns(parked: Ukemi) -> None:
    ran = parked("resume", "bank", "one", "two", "--no-wait")
    assert ran.status == 1
    assert [line.split()[2] for line in ran.out.splitlines()[1:]] == ["parked:", "parked:"]
    assert "one  may pay" in ran.err and "two  may pay" in ran.err
    assert "Then go on with:\nukemi resume bank one two --store ukemi.db" in ran.err


def test_json_has_what_the_store_knows(parked: Ukemi) -> None:
    data = parked("resume", "bank", "one", "--no-wait", "--json").data
    (listed, _) = reversed(parked("sessions", "--json").data)
    assert (data["status"], data["outcome"]) == ("parked", None)
    assert data["checkpoint"] == listed["checkpoint"]
    assert data["spent"]["model_calls"] == 1
    assert data["asks"][0]["approve"] == "ukemi approve one:2.0"


def test_bare_resume_says_how_many_wait(parked: Ukemi) -> None:
    ran = parked("resume", "bank")
    assert (ran.status, ran.out) == (1, ""), "nothing went on, and two are left"
    assert ran.err == "2 sessions wait for approval: ukemi approvals\n"


def test_lines_to_type_name_another_store(parked: Ukemi) -> None:
    ran = parked("run", "bank:clerk", "Pay", "--session-id", "x", "--store", "h.db", "--no-wait")
    assert "(ukemi approve x:2.0 --store h.db, or ukemi deny x:2.0 --store h.db)" in ran.err


def test_an_answer_lets_it_go_on_to_its_end(parked: Ukemi) -> None:
    assert parked("approve", "one").status == 0
    ran = parked("resume", "bank", "--no-wait")
    assert (ran.status, ran.out) == (0, "Done.\n")
    assert "1 session waits for approval: ukemi approvals" in ran.err


ASKS = "1 session waits for approval: ukemi approvals --store h.db"
ASK = "3 sessions wait for approval: ukemi approvals --store h.db"
STAY = "parked until a wait is over; stay with it: ukemi resume shop ID --store h.db"
PARKED: list[tuple[int, int, list[str]]] = [
    (0, 0, []),
    (1, 0, [ASKS]),
    (3, 0, [ASK]),
    (1, 1, [ASKS, f"1 session is {STAY}"]),
]


@pytest.mark.parametrize(("asking", "waiting", "lines"), PARKED)
def test_parked_ones_are_counted_by_what_they_wait_for(
    asking: int, waiting: int, lines: list[str]
) -> None:
    assert parked_lines(asking, waiting, "shop", "h.db") == lines


def test_the_live_line_counts_the_parked_and_shows_one_at_work() -> None:
    stream = StringIO()
    progress = Progress(stream, Terminal(width=120), several=True, live=True, now=lambda: 1.0)
    progress.follow(CallStarted(session_id="a", n=2, index=0, tool="stock"))
    progress.follow(SessionParked(session_id="b", due_at_ms=None))
    shown = stream.getvalue().rpartition("\r")[2]
    assert "2 sessions · 1 parked · 0 checkpoints · a · step 0" in shown
    progress.follow(SessionWoken(session_id="b", by="decision"))
    assert "parked" not in stream.getvalue().rpartition("\r")[2]
