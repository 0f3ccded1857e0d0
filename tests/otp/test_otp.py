"""Our supervisors give the traces that real Erlang/OTP (and Elixir) gave."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from otp_compare import Case, compare, load_cases
from otp_replay import DEVIATIONS, counted, run
from virtual_time import VIRTUAL_BACKENDS

DATA = Path(__file__).resolve().parent.parent / "data" / "otp"
# Recorded later in the same way, on the same release: what random scripts of every kind came upon.
MORE = Path(__file__).with_name("cases")
REPLAY = Path(__file__).with_name("replay.py")
CASES = [case for case in load_cases([DATA, MORE]) if counted(case)]
RULES: dict[str, object] = json.loads((DATA / "rules.json").read_text(encoding="utf-8"))


def name_of(case: Any) -> str:
    return str(case["case"])


@pytest.mark.parametrize("backend", VIRTUAL_BACKENDS)
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_gives_the_trace_of_otp(case: Case, backend: str) -> None:
    """Results, events in order and trees, and beyond level 1 also reports and the order of rows."""
    level = 1 if case["case"] in DEVIATIONS else 3
    assert not compare(case, run(case, backend), level=level)


def test_the_same_case_gives_the_same_trace() -> None:
    """Under virtual time a run leaves nothing to chance."""
    for case in CASES[::40]:
        assert run(case) == run(case)


def test_every_rule_has_a_case_that_is_played() -> None:
    """The copied scenarios are whole: each rule in the list occurs, but for the left-out ones."""
    played = {rule for case in CASES for rule in case["rules"]}
    listed = set(RULES) | {"RANDOM"}
    assert played <= listed
    assert {rule.split("-")[0] for rule in listed - played} <= {"SIG", "SIMPLE"}


def replay(*paths: Path | str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(REPLAY), *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.realtime
def test_the_replay_command_matches_all() -> None:
    """Exit status 0, and the last line says so."""
    done = replay(DATA / "cases" / "story-web.json", DATA / "cases" / "ofa-crash-b.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "matched 2 of 2, 0 on purpose"


@pytest.mark.realtime
def test_the_replay_command_shows_a_difference(tmp_path: Path) -> None:
    """A trace that is not ours: one line says where, and the exit status is 1."""
    case = json.loads((DATA / "cases" / "ofo-crash-a.json").read_text(encoding="utf-8"))
    case["trace"][1]["result"] = "something else"
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "case.json").write_text(json.dumps(case), encoding="utf-8")
    done = replay(tmp_path)
    assert done.returncode == 1
    first, *_, last = done.stdout.splitlines()
    assert first.startswith("ofo-crash-a step 1 ")
    assert last == "matched 0 of 1, 0 on purpose"


@pytest.mark.realtime
def test_the_replay_command_without_a_case(tmp_path: Path) -> None:
    """An empty folder is a mistake of the caller, not a success."""
    assert replay(tmp_path).returncode == 2


@pytest.mark.realtime
def test_the_replay_command_explains_itself() -> None:
    done = replay("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: python tests/otp/replay.py [-h] PATH [PATH ...]")


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("words", "said"), [((), "required: PATH"), (("nowhere",), "there is no 'nowhere'")]
)
def test_the_replay_command_says_what_is_wrong(words: tuple[str, ...], said: str) -> None:
    done = replay(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
