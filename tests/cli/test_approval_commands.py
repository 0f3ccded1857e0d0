"""Requests for approval on the command line: listed, decided once, applied by whoever drives it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from module_asking import BANK

Ukemi = Callable[..., Any]

DRIVE = """\
import anyio
from bank import clerk
from ukemi import Runtime


async def main() -> None:
    async with Runtime("ukemi.db", agents=[clerk]) as runtime:
        session = await runtime.start("clerk", "Pay Ann", session_id="one")
        async for event in session.events():
            if event.event == "session.parked":
                return


anyio.run(main)
"""


@pytest.fixture(scope="module")
def parked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a session that is parked, and that nobody drives: whoever did has ended."""
    folder = tmp_path_factory.mktemp("parked")
    (folder / "bank.py").write_text(BANK)
    (folder / "drive.py").write_text(DRIVE)
    subprocess.run([sys.executable, "drive.py"], cwd=folder, check=True, timeout=60)
    return folder


@pytest.fixture
def request_name(ukemi: Ukemi, parked: Path, tmp_path: Path) -> str:
    """Its request for approval, in a folder of the test's own."""
    shutil.copytree(parked, tmp_path, dirs_exist_ok=True)
    return "one:2.0"


def paid(folder: Path) -> list[str]:
    file = folder / "paid.txt"
    return file.read_text().splitlines() if file.exists() else []


def test_open_requests_are_listed(ukemi: Ukemi, request_name: str) -> None:
    (found,) = ukemi("approvals", "--json").data
    assert (found["request"], found["tool"], found["category"]) == (request_name, "pay", "money")
    assert json.loads(found["arguments"]) == {"to": "Ann", "amount": 3}
    assert not found["decided"]
    shown = ukemi("approvals").out
    assert request_name in shown and "Pay moves money" in shown
    assert "approval asked: Pay moves money" in ukemi("show", "one").out
    assert "may it run?" in ukemi("log", "one").out


def test_an_approval_is_stored_and_used_at_the_next_resume(
    ukemi: Ukemi, request_name: str, tmp_path: Path
) -> None:
    ran = ukemi("approve", request_name, "--by", "ann")
    assert (ran.status, ran.out) == (0, "one: approval 2.0.1 was decided by ann: approve\n")
    assert ukemi("approvals", "--json").data[0]["decided"]
    assert paid(tmp_path) == []
    assert ukemi("resume", "bank", "one").out == "Done.\n"
    assert paid(tmp_path) == ["Ann 3"]
    assert ukemi("approvals", "--json").data == []
    assert "approved by ann" in ukemi("show", "one").out


def test_an_approval_may_change_the_arguments(
    ukemi: Ukemi, request_name: str, tmp_path: Path
) -> None:
    args = json.dumps({"to": "Ann", "amount": 2})
    assert ukemi("approve", request_name, "--args", args).status == 0
    ukemi("resume", "bank", "one")
    assert paid(tmp_path) == ["Ann 2"]


def test_a_denial_says_why_to_the_model(ukemi: Ukemi, request_name: str, tmp_path: Path) -> None:
    assert ukemi("deny", "one", "--why", "too much", "--by", "ann").status == 0
    assert ukemi("resume", "bank", "one").status == 1
    assert paid(tmp_path) == []
    assert "ann has denied this call: too much" in ukemi("show", "one").out


def test_the_second_decision_is_lost_and_told_who_was_first(
    ukemi: Ukemi, request_name: str
) -> None:
    assert ukemi("deny", request_name, "--by", "ann").status == 0
    assert ukemi("deny", request_name, "--by", "bob").status == 0  # the same once more
    lost = ukemi("approve", request_name, "--by", "bob")
    assert (lost.status, lost.out) == (1, "")
    assert "by ann at" in lost.err and "deny" in lost.err


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("approve", "one:7.0"), 1),
        (("approve", "nobody:2.0"), 1),
        (("approve", "one:2.0", "--args", "[]"), 2),
        (("approvals", "--limit", "0"), 2),
    ],
    ids=["no such call", "no such session", "no object", "no limit"],
)
def test_what_cannot_be_decided(
    ukemi: Ukemi, request_name: str, words: tuple[str, ...], status: int
) -> None:
    ran = ukemi(*words)
    assert (ran.status, ran.out) == (status, "")
    assert ran.err


def test_nothing_is_asked_in_a_store_without_requests(ukemi: Ukemi, request_name: str) -> None:
    ukemi("deny", request_name)
    ukemi("resume", "bank", "one")
    assert ukemi("approvals").out == "nobody is asked for an approval\n"
