"""Unfinished sessions go on: those nobody drives, of the agents a module has."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cli_agents
import pytest
from left_behind import leave_behind
from module_in_doubt import POST_OFFICE

from ukemi.stores.liveness import owner_id

Ukemi = Callable[..., Any]

BOUND_S = 20.0


def test_every_unfinished_session_of_the_module_is_driven_to_its_end(ukemi: Ukemi) -> None:
    leave_behind({"s-1": "clerk", "s-2": "talker", "s-3": "clerk"})
    ran = ukemi("resume", "cli_agents")
    assert ran.status == 0
    ends = {line.split()[0]: line.split()[1:] for line in ran.out.splitlines()[1:]}
    assert ends == {
        "s-1": ["clerk", "completed:", "put", "3"],
        "s-2": ["talker", "completed:", "heard", "1"],
        "s-3": ["clerk", "completed:", "put", "3"],
    }
    assert "s-3  resumed at checkpoint 0" in ran.err.splitlines()
    assert {each["status"] for each in ukemi("sessions", "--json").data} == {"completed"}


def test_only_the_sessions_that_are_named(ukemi: Ukemi) -> None:
    leave_behind({"s-1": "clerk", "s-2": "talker"})
    data = ukemi("resume", "cli_agents", "s-2", "--json").data
    assert (data["session_id"], data["outcome"]["answer"]) == ("s-2", "heard 1")
    (left,) = ukemi("sessions", "--status", "running", "--json").data
    assert left["session_id"] == "s-1"


def test_json_is_one_object_for_one_id_and_an_array_for_all_others(ukemi: Ukemi) -> None:
    """What was asked for says it, not how much there was to do."""
    leave_behind({"s-1": "clerk", "s-2": "clerk", "s-3": "clerk", "s-4": "clerk"})
    assert ukemi("resume", "cli_agents", "s-1", "s-1", "--json").data["session_id"] == "s-1"
    assert len(ukemi("resume", "cli_agents", "s-2", "s-3", "--json").data) == 2
    assert [each["session_id"] for each in ukemi("resume", "cli_agents", "--json").data] == ["s-4"]


def test_one_that_hands_over_makes_the_status_1(ukemi: Ukemi) -> None:
    leave_behind({"s-1": "clerk", "s-2": "visitor"})
    ran = ukemi("resume", "cli_agents")
    assert ran.status == 1
    assert "handed over (permission)" in ran.out


def test_sessions_of_agents_the_module_lacks_are_left_alone_and_named(ukemi: Ukemi) -> None:
    leave_behind({"s-1": "clerk", "s-2": "martian"})
    ran = ukemi("resume", "cli_agents")
    assert (ran.status, ran.out) == (0, "put 3\n")
    assert "left alone: 'cli_agents' does not have the agents of s-2 (agent 'martian')" in ran.err
    (left,) = ukemi("sessions", "--status", "running", "--json").data
    assert (left["session_id"], left["owner"]) == ("s-2", "gone")


def test_when_all_are_of_agents_the_module_lacks_it_is_status_1(ukemi: Ukemi) -> None:
    leave_behind({"s-2": "martian"})
    ran = ukemi("resume", "cli_agents")
    assert (ran.status, ran.out) == (1, "")
    assert "nothing was resumed: 'cli_agents' does not have the agents of s-2" in ran.err
    assert "it has: clerk, visitor, waiter, chief, talker" in ran.err


def test_a_session_somebody_drives_is_not_taken(ukemi: Ukemi) -> None:
    leave_behind({"s-1": "clerk"}, owner=owner_id(), alive=True)
    ran = ukemi("resume", "cli_agents")
    assert (ran.status, ran.out) == (0, "")
    assert "s-1 is driven by another process" in ran.err
    named = ukemi("resume", "cli_agents", "s-1")
    assert (named.status, named.out) == (1, "")
    assert named.err.startswith("ukemi: session s-1 is driven by this process; if that stops,")
    assert " ms" not in named.err
    (left,) = ukemi("sessions", "--json").data
    assert left["status"] == "running"


def test_what_nobody_drives_is_unfinished_and_says_how_to_go_on(ukemi: Ukemi) -> None:
    """A clean exit leaves the owner's name behind, and that is not somebody who drives."""
    leave_behind({"s-1": "clerk"})
    listed = ukemi("sessions")
    assert listed.out.splitlines()[1].split()[:3] == ["s-1", "clerk", "unfinished"]
    assert "1 unfinished session that nobody drives; go on with: ukemi resume" in listed.err
    (data,) = ukemi("sessions", "--json").data
    assert (data["status"], data["unfinished"], data["driven_by"]) == ("running", True, None)
    shown = ukemi("show", "s-1").out
    assert shown.startswith("s-1  clerk  unfinished  checkpoint 0\n")
    assert "nobody drives it: ukemi resume MODULE s-1\n" in shown
    assert "driven by" not in shown
    assert ukemi("show", "s-1", "--json").data["unfinished"] is True


def test_who_drives_a_session_is_said_readable(ukemi: Ukemi) -> None:
    leave_behind({"s-1": "clerk"}, owner=owner_id(), alive=True)
    listed = ukemi("sessions")
    assert listed.out.splitlines()[1].split()[:3] == ["s-1", "clerk", "running"]
    assert listed.err == ""
    assert "driven by this process\n" in ukemi("show", "s-1").out
    assert ukemi("sessions", "--json").data[0]["driven_by"] == "this process"


def test_run_leaves_unfinished_sessions_of_others_alone(ukemi: Ukemi) -> None:
    leave_behind({"s-1": "clerk"})
    assert ukemi("run", "cli_agents:clerk", "mine").status == 0
    (left,) = ukemi("sessions", "--status", "running", "--json").data
    assert left["session_id"] == "s-1"


# ---------------------------------------------------------------- calls in doubt


def test_a_session_goes_on_with_what_was_decided(ukemi: Ukemi, tmp_path: Path) -> None:
    (tmp_path / "post_office.py").write_text(POST_OFFICE)
    ran = ukemi("run", "post_office:sender", "Write to Ann", "--session-id", "letter", "--json")
    assert ran.data["outcome"]["reason"] == "in_doubt"
    second = ukemi("run", "post_office:sender", "Write again", "--session-id", "second")
    assert "ukemi resolve second OPTION" in second.err
    refused = ukemi("resume", "post_office", "letter")
    assert refused.status == 1
    assert "ukemi resolve letter OPTION" in refused.err
    assert ukemi("resolve", "letter", "done", "--call", "2.0", "--result", "posted").status == 0
    assert ukemi("resume", "post_office", "letter").out == "Done.\n"
    assert "did post" not in ukemi("show", "letter").out
    assert ukemi("resolve", "second", "done").status == 0
    all_of_them = ukemi("resume", "post_office", "--json")
    assert [each["session_id"] for each in all_of_them.data] == ["second"]


# ---------------------------------------------------------------- interrupted


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start a command in a process of its own; its standard error is a pipe."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "ukemi", *words],
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(process: subprocess.Popen[str], said: str) -> list[str]:
    """Read standard error up to a line that says this; the end of the stream fails."""
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if said in line:
            return lines
    raise AssertionError(f"{said!r} was never said: {''.join(lines)}")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_stays_resumable_and_says_how(
    ukemi: Ukemi, tmp_path: Path, number: signal.Signals
) -> None:
    agents = cli_agents.__file__
    with start(tmp_path, "run", f"{agents}:waiter", "wait for it") as process:
        until(process, "wait_for_go (2.0) started")
        process.send_signal(number)
        out, err = process.communicate(timeout=BOUND_S)
    assert (process.returncode, out) == (1, "")
    (session,) = ukemi("sessions", "--json").data
    assert session["status"] == "running"
    session_id = session["session_id"]
    assert "interrupted; 1 session unfinished" in err
    assert f"ukemi resume {agents} {session_id} --store ukemi.db" in err
    (tmp_path / "go").touch()
    ran = ukemi("resume", agents, session_id)
    assert (ran.status, ran.out) == (0, "served\n")


@pytest.mark.slow
def test_a_killed_run_is_resumed_at_once(ukemi: Ukemi, tmp_path: Path) -> None:
    """SIGKILL leaves a lease behind; on the same machine nobody waits for its end."""
    agents = cli_agents.__file__
    with start(tmp_path, "run", f"{agents}:waiter", "wait for it") as process:
        until(process, "wait_for_go (2.0) started")
        driven = ukemi("sessions", "--json").data[0]["driven_by"]
        assert driven == f"this machine, process {process.pid}"
        process.kill()
        process.communicate(timeout=BOUND_S)
    (left,) = ukemi("sessions", "--json").data
    assert (left["unfinished"], left["driven_by"]) == (True, None), "its lease lasts, it is dead"
    (tmp_path / "go").touch()
    ran = ukemi("resume", agents)
    assert (ran.status, ran.out) == (0, "served\n")


@pytest.mark.slow
def test_an_interrupted_run_is_null_as_json(tmp_path: Path) -> None:
    with start(tmp_path, "run", f"{cli_agents.__file__}:waiter", "wait", "--json") as process:
        until(process, "wait_for_go (2.0) started")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=BOUND_S)
    assert process.returncode == 1
    assert '"status":"running","outcome":null' in out
    assert '"spent":null' in out, "nothing is stored of it yet"
    assert out.count("\n") == 1


def test_output_that_nobody_reads_ends_the_command_quietly(tmp_path: Path, ukemi: Ukemi) -> None:
    assert ukemi("run", "cli_agents:talker", "x").status == 0
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "ukemi", "sessions"],
        cwd=tmp_path,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (ended.returncode, ended.stderr) == (1, "")


POST_GUARDED = """\
from pathlib import Path

import anyio
from ukemi import InDoubt, Runtime, tool


@tool(timeout_s=0.05)
async def post(to: str) -> str:
    "Post the letter."
    with Path("posted").open("a") as file:
        file.write(to + "\\n")
    if Path("posted").read_text().count("\\n") == 1:
        await anyio.sleep(60)
    return "posted to " + to


async def main() -> None:
    async with Runtime("ukemi.db", guarded=[post]) as runtime:
        try:
            print(await runtime.guard(post, scope="letter-1")("Ann"))
        except InDoubt:
            print("in doubt")


if __name__ == "__main__":
    anyio.run(main)
"""


def test_a_guarded_call_is_settled_by_a_person_and_goes_on(ukemi: Ukemi) -> None:
    Path("post_guarded.py").write_text(POST_GUARDED)

    def called() -> str:
        done = subprocess.run(
            [sys.executable, "post_guarded.py"], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert called() == "in doubt"
    assert [each["session_id"] for each in ukemi("handovers", "--json").data] == ["letter-1"]
    assert ukemi("resolve", "letter-1", "retry").status == 0
    ran = ukemi("resume", "post_guarded.py", "letter-1")
    assert ran.status == 0, ran.err
    assert Path("posted").read_text() == "Ann\nAnn\n"
    assert called() == "posted to Ann"
    assert Path("posted").read_text() == "Ann\nAnn\n"
