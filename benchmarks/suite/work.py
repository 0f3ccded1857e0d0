"""The work itself, the same for every contender: what a tool returns, how bytes and times are counted.

A step is one answer of the model that calls a tool, the call, and its result. Python alone is
needed here: the peers' environment has nothing of Ukemi.
"""

import json
import os
import sqlite3
import sqlite3.dbapi2
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

CONTENT = "x" * 700
"""What a tool returns; with the model's message in front of it, 0.9 KB a step."""

TASK = "go"
LATE_MIN = 5


def at(session: str, step: int) -> str:
    """Return the argument of a call: no two are alike, so that no loop is seen in them."""
    return f"{session}/{step}"


def message_bytes(session: str, steps: int) -> int:
    """Return the size of a session's messages as compact JSON, in the form chat completions use."""
    total = 0
    for step in range(steps):
        arguments = json.dumps({"at": at(session, step)})
        function = {"name": "look", "arguments": arguments}
        call = {"id": f"call-{step}", "type": "function", "function": function}
        messages = (
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call-{step}", "content": CONTENT},
        )
        total += sum(len(json.dumps(each, separators=(",", ":"))) for each in messages)
    return total


def sqlite_alike(durability: str) -> None:
    """Have every SQLite file that is opened from now on in WAL and with this ``synchronous``.

    Peers choose neither or other ones; all shall promise the same.
    """
    connect = sqlite3.connect

    def alike(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **kwargs)
        connection.execute("PRAGMA busy_timeout = 60000")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {durability.upper()}")
        return connection

    for module in (sqlite3, sqlite3.dbapi2):
        vars(module)["connect"] = alike


class Steps:
    """When each step of a session began, on the wall and on the processor."""

    def __init__(self) -> None:
        self._late_wall: list[float] = []
        self._late_cpu: list[float] = []
        self._stamps: list[tuple[float, float]] = []

    def mark(self) -> None:
        """A model is asked."""
        self._stamps.append((time.perf_counter(), time.process_time()))

    def session_ended(self) -> None:
        """Keep what the last tenth of its steps took, at least five of them."""
        pairs = list(zip(self._stamps, self._stamps[1:], strict=False))
        late = pairs[-max(len(pairs) // 10, LATE_MIN) :]
        self._late_wall += [b[0] - a[0] for a, b in late]
        self._late_cpu.append((late[-1][1][1] - late[0][0][1]) / len(late))
        self._stamps = []

    def read(self) -> dict[str, float]:
        return {
            "late_us": median(self._late_wall) * 1e6,
            "late_cpu_us": median(self._late_cpu) * 1e6,
        }


def written_bytes() -> int:
    """Return the bytes this process has handed to the system in writes so far."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar"))


def folder_bytes(folder: str) -> int:
    return sum(each.stat().st_size for each in Path(folder).rglob("*") if each.is_file())


class Peak:
    """The most memory this process has held since it was made, above what it held then."""

    def __init__(self) -> None:
        self._page = os.sysconf("SC_PAGE_SIZE")
        self._before = self._now()
        self._most = self._before
        self._stop = threading.Event()
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()

    def _now(self) -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * self._page

    def _watch(self) -> None:
        while not self._stop.wait(0.05):
            self._most = max(self._most, self._now())

    def read(self, sessions: int) -> dict[str, float]:
        """Return bytes per session, and end the watch."""
        self._stop.set()
        self._watching.join()
        return {"rss_bytes_per_session": (max(self._most, self._now()) - self._before) / sessions}


def stored(
    folder: str, sessions: int, steps: int, wrote: int, marks: Steps, spent: dict[str, float]
) -> dict[str, float]:
    """Return the figures of B2 for sessions that are over and whose store is closed.

    Args:
        folder: has the store and nothing else.
        wrote: `written_bytes` before the first session.
        spent: what a `Meter` read.
    """
    total = sessions * steps
    messages = sum(message_bytes(name_of(number), steps) for number in range(sessions))
    kept = folder_bytes(folder)
    return {
        **marks.read(),
        "us": spent["wall_s"] / total * 1e6,
        "cpu_us": spent["cpu_us_per_step"],
        "written_bytes_per_step": (written_bytes() - wrote) / total,
        "store_bytes": float(kept),
        "stored_per_message_byte": kept / messages,
    }


def name_of(number: int) -> str:
    return f"s-{number}"


def timed_ms(function: Callable[[], object]) -> float:
    """Return how many milliseconds a call takes."""
    began = time.perf_counter()
    function()
    return (time.perf_counter() - began) * 1e3
