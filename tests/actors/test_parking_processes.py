"""A parked session outlives its process: real processes, real SIGKILL, real waits of a few seconds."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHILD = Path(__file__).resolve().parent.parent / "support" / "parked_child.py"
WAIT_S = 2.0
PATIENCE_S = 60.0

pytestmark = pytest.mark.slow


class Child:
    """A process over the store, and what it tells."""

    def __init__(self, folder: Path, how: str) -> None:
        words = [str(folder / "agents.db"), str(folder / "calls"), str(WAIT_S), how]
        command = [sys.executable, "-P", str(CHILD), *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def told(self, event: str) -> dict[str, Any]:
        """Wait until it tells of an event; the watchdog ends a wait for what never comes."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            fields: dict[str, Any] = json.loads(line)
            if fields["event"] == event:
                return fields
        raise AssertionError(f"the process ended without telling of {event!r}")


@contextmanager
def child(folder: Path, how: str) -> Generator[Child]:
    """Run a process that is dead when the block is left, and after a minute at the latest."""
    running = Child(folder, how)
    watchdog = threading.Timer(PATIENCE_S, running.process.kill)
    watchdog.start()
    try:
        with running.process:
            yield running
    finally:
        watchdog.cancel()
        running.process.kill()


def calls_in(folder: Path) -> list[tuple[int, float]]:
    """Return the process and the time of each body that ran."""
    lines = (folder / "calls").read_text().split("\n")[:-1]
    return [(int(pid), float(at)) for pid, at in (line.split() for line in lines)]


def check_the_wait(folder: Path, first: Child, second: Child) -> None:
    """The call was made twice, by these two, and never before the server's time."""
    (pid, at), (pid_again, at_again) = calls_in(folder)
    assert (pid, pid_again) == (first.process.pid, second.process.pid)
    assert at_again - at >= WAIT_S - 0.05  # the wall clock's own steps


def test_a_sigkill_while_it_is_parked_takes_nothing_from_the_wait(tmp_path: Path) -> None:
    with child(tmp_path, "start") as first:
        due_at_ms = first.told("parked")["due_at_ms"]
        first.process.kill()
        first.process.wait()
    assert len(calls_in(tmp_path)) == 1
    with child(tmp_path, "wait") as second:
        assert second.told("ended")["answer"] == "done"
    assert time.time() * 1000 >= due_at_ms
    check_the_wait(tmp_path, first, second)


def test_it_is_handed_from_a_process_that_leaves_to_one_that_is_there(tmp_path: Path) -> None:
    """The other is there before and claims nothing until the session is due."""
    with child(tmp_path, "leave") as first:
        first.told("parked")
        with child(tmp_path, "wait") as second:
            second.told("entered")
            assert first.process.wait(PATIENCE_S) == 0
            assert second.told("ended")["answer"] == "done"
    check_the_wait(tmp_path, first, second)


def test_of_two_living_processes_one_wakes_it_and_both_hear_how_it_ends(tmp_path: Path) -> None:
    with child(tmp_path, "start") as first:
        first.told("parked")
        with child(tmp_path, "wait") as second:
            second.told("entered")
            ends = [each.told("ended")["answer"] for each in (first, second)]
    assert ends == ["done"] * 2
    (_, at), (_, at_again) = calls_in(tmp_path)
    assert at_again - at >= WAIT_S - 0.05
