"""A person's decision on the command line: stored, decided once, applied by whoever drives the
session, another process included."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from module_in_doubt import POST_OFFICE

from ukemi.stores.base import Post
from ukemi.stores.decisions import Resolve, encode_decision
from ukemi.stores.sqlite import SqliteStore

Ukemi = Callable[..., Any]

BOUND_S = 30.0

SERVICE = """\
import sys
import anyio
from post_office import sender
from ukemi import Runtime


async def main() -> None:
    async with Runtime("ukemi.db", agents=[sender]) as runtime:
        if sys.argv[1:]:
            outcome = await (await runtime.start("sender", "Write to Ann", session_id="letter")).outcome()
            print(outcome.reason, flush=True)
        else:
            print("here", flush=True)
        await anyio.sleep_forever()


anyio.run(main)
"""


@pytest.fixture(autouse=True)
def post_office(ukemi: Ukemi, tmp_path: Path) -> None:
    (tmp_path / "post_office.py").write_text(POST_OFFICE)
    (tmp_path / "service.py").write_text(SERVICE)


@pytest.fixture
def letter(ukemi: Ukemi) -> str:
    """A session in doubt that nobody drives."""
    ran = ukemi("run", "post_office:sender", "Write to Ann", "--session-id", "letter", "--json")
    assert ran.data["outcome"]["reason"] == "in_doubt"
    return "letter"


def test_it_is_stored_and_says_who_goes_on(ukemi: Ukemi, letter: str) -> None:
    ran = ukemi("resolve", letter, "done", "--by", "ann", "--result", "in the box")
    assert (ran.status, ran.out) == (0, "letter: call 2.0 was decided by ann: done\n")
    assert "a living runtime that has agent 'sender' applies it" in ran.err
    assert "ukemi resume MODULE letter" in ran.err
    assert ukemi("show", letter, "--json").data["status"] == "handed_over"
    (listed,) = ukemi("handovers", "--json").data
    assert [(each["option"], each["by"]) for each in listed["decided"]] == [("done", "ann")]
    assert ukemi("resume", "post_office", letter).out == "Done.\n"
    shown = ukemi("show", letter).out
    assert "person call 2.0 done: in the box (ann, 20" in shown
    assert "decided" in ukemi("log", letter).out


def test_a_question_is_decided_once_and_the_second_is_told(ukemi: Ukemi, letter: str) -> None:
    assert ukemi("resolve", letter, "done", "--by", "ann").status == 0
    for _ in range(2):  # before it is applied, and after
        lost = ukemi("resolve", letter, "abandon", "--by", "bob")
        assert (lost.status, lost.out) == (1, "")
        assert "call 2.0 was decided before, by ann at 20" in lost.err
        assert lost.err.endswith("UTC: done\n")
        again = ukemi("resolve", letter, "done", "--by", "bob", "--json")
        assert (again.status, again.data["repeated"], again.data["by"]) == (0, True, "ann")
        ukemi("resume", "post_office", letter)


def test_words_that_look_like_a_secret_are_warned_of(ukemi: Ukemi, letter: str) -> None:
    said = "sent with sk-live-abcdefghijklmnop1234"
    ran = ukemi("resolve", letter, "done", "--result", said, "--json")
    (warning,) = ran.data["warnings"]
    assert "looks like an access key" in warning
    assert "sk-live" not in warning


def test_json_is_one_object(ukemi: Ukemi, letter: str) -> None:
    data = ukemi("resolve", letter, "not_done", "--call", "2.0", "--json").data
    at_ms = data.pop("at_ms")
    assert abs(time.time() * 1000 - at_ms) < 60_000
    assert data.pop("by"), "who runs this is known"
    assert data == {
        "session_id": "letter",
        "about": "call 2.0#1",
        "option": "not_done",
        "call": [2, 0],
        "repeated": False,
        "warnings": [],
        "driven_by": None,
        "applied": None,
        "problem": None,
    }


REFUSED = [
    (["letter", "done", "--call", "9.0"], 1, "call 9.0 is not in doubt; in doubt: 2.0 post"),
    (["letter", "done", "--call", "nine"], 2, "--call 'nine' names no call: write N.I"),
    (["letter", "perhaps"], 2, "option 'perhaps' is unknown; use one of retry, done"),
    (["letter", "retry", "--args", "[1]"], 2, "--args '[1]' is no JSON object"),
    (["letter", "done", "--args", "{}"], 2, "--args goes with 'retry'"),
    (["letter", "go_on"], 2, "'go_on' takes a message: give it as --result"),
    (["letter", "cancel", "--call", "2.0"], 2, "is about the whole session: leave --call out"),
    (["letter", "compensate"], 1, "has no compensation that waits for a person"),
    (["letter", "done", "--args", "{}", "--result", "x"], 2, "not allowed with argument"),
    (["nobody", "done"], 1, "no session nobody in"),
    (["letter"], 2, "required: OPTION"),
]


@pytest.mark.parametrize(("words", "status", "said"), REFUSED, ids=[each[2] for each in REFUSED])
def test_what_cannot_be_is_refused_and_changes_nothing(
    ukemi: Ukemi, letter: str, words: list[str], status: int, said: str
) -> None:
    ran = ukemi("resolve", *words)
    assert (ran.status, ran.out) == (status, "")
    assert said in ran.err
    (listed,) = ukemi("handovers", "--json").data
    assert listed["decided"] == []


def test_without_a_store_none_is_made(ukemi: Ukemi) -> None:
    ran = ukemi("resolve", "letter", "done")
    assert ran.status == 2 and "there is no store" in ran.err
    assert not Path("ukemi.db").exists()


@pytest.mark.parametrize(
    ("word", "result"), [('"K-7"', "K-7"), ("K-7", "K-7"), ('{"id": 7}', '{"id": 7}'), ("7", "7")]
)
def test_a_result_is_json_or_plain_text(ukemi: Ukemi, letter: str, word: str, result: str) -> None:
    ukemi("resolve", letter, "done", "--result", word)
    ukemi("resume", "post_office", letter)
    (decided,) = [
        each for each in ukemi("log", letter, "--json").data if each["entry"] == "decided"
    ]
    assert decided["decision"]["result"] == result


def test_waiting_in_vain_is_status_1_and_loses_nothing(ukemi: Ukemi, letter: str) -> None:
    ran = ukemi("resolve", letter, "done", "--wait", "0.3", "--json")
    assert (ran.status, ran.data["applied"]) == (1, False)
    assert ukemi("resume", "post_office", letter).out == "Done.\n"
    assert ukemi("resolve", letter, "done", "--wait", "0.3", "--json").data["applied"] is True


def test_one_that_fits_no_more_says_so(ukemi: Ukemi, letter: str) -> None:
    async def misfit() -> None:
        store = SqliteStore("ukemi.db")
        await store.open()
        body = encode_decision(Resolve("done", (9, 0)))
        await store.commit(
            [Post(session_id="letter", about="call 2.0#1", body=body, at_ms=1, by="ann")]
        )
        await store.close()

    anyio.run(misfit)
    ran = ukemi("resume", "post_office", letter)
    assert ran.status == 2 and "letter is handed_over" in ran.err
    assert "changed nothing: call 9.0 is not in doubt" in ukemi("show", letter).out
    assert ukemi("resolve", letter, "done", "--json").data["about"] == "call 2.0#2"


# ---------------------------------------------------------------- two processes


@contextmanager
def service(*words: str) -> Generator[subprocess.Popen[str]]:
    """A runtime that is alive in another process for as long as the block lasts."""
    process = subprocess.Popen(
        [sys.executable, "service.py", *words], stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(BOUND_S)
        assert process.stdout is not None
        process.stdout.close()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.realtime
def test_a_runtime_alive_elsewhere_applies_it_within_seconds(ukemi: Ukemi) -> None:
    with service("start") as process:
        assert said(process) == "in_doubt"
        began = time.monotonic()
        ran = ukemi("resolve", "letter", "done", "--wait", str(BOUND_S), "--json")
        assert (ran.status, ran.data["applied"], ran.data["problem"]) == (0, True, None)
        assert time.monotonic() - began < BOUND_S
        while (shown := ukemi("show", "letter", "--json").data)["status"] != "completed":
            assert time.monotonic() - began < BOUND_S, shown
            time.sleep(0.05)
        assert shown["outcome"]["answer"] == "Done."


@pytest.mark.realtime
def test_killed_between_the_decision_and_its_row_the_next_process_applies_it_once(
    ukemi: Ukemi,
) -> None:
    """SIGKILL right after the decision was stored, wherever its owner is by then."""
    with service("start") as process:
        assert said(process) == "in_doubt"
        assert ukemi("resolve", "letter", "done").status == 0
        os.kill(process.pid, signal.SIGKILL)
        process.wait(BOUND_S)
    with service() as process:
        assert said(process) == "here"
        began = time.monotonic()
        while ukemi("show", "letter", "--json").data["status"] != "completed":
            assert time.monotonic() - began < BOUND_S
            time.sleep(0.05)
    entries = [each["entry"] for each in ukemi("log", "letter", "--json").data]
    assert (entries.count("decided"), entries.count("late")) == (1, 1)


@pytest.mark.realtime
def test_ap_04_two_people_in_two_processes(ukemi: Ukemi, letter: str) -> None:
    """Both at once: one wins, the other is told who."""
    clicks = {
        by: subprocess.Popen(
            [sys.executable, "-m", "ukemi", "resolve", "letter", option, "--by", by, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for by, option in (("ann", "done"), ("bob", "abandon"))
    }
    told = {
        by: (*each.communicate(timeout=BOUND_S), each.returncode) for by, each in clicks.items()
    }
    (winner,) = [by for by, (_, _, status) in told.items() if status == 0]
    (loser,) = [by for by, (_, _, status) in told.items() if status == 1]
    assert json.loads(told[winner][0])["by"] == winner
    assert f"was decided before, by {winner} at" in told[loser][1]
