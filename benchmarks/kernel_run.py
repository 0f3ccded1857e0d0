"""Run the cells of the kernel's benchmark: what is measured, in whom, round after round."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

CELL_S_MAX = 60.0
ROOT = Path(__file__).resolve().parents[1]
OURS = "Ukemi"
BARE = "asyncio, anyio"

Given = Mapping[str, object]
# The figures of a cell; None if it was cut off.
Figures = dict[str, float] | None
# By operation and contender: one for each round.
Found = dict[str, dict[str, list[Figures]]]


class Operation(NamedTuple):
    """One row of the table, and what each contender is given for it."""

    name: str
    key: str
    given: Mapping[str, Given]


def _shared(name: str, key: str, cell: Given, *who: str, **instead: Given) -> Operation:
    """Return an operation of one size for all, but for those that get another."""
    given = {OURS: cell, **{each: cell for each in who}}
    return Operation(name, key, given | instead)


def _tell(burst: int, total: int, peers_total: int) -> dict[str, Given]:
    many = {"cell": "tell", "burst": burst, "total": total}
    few = {"cell": "tell", "burst": burst, "total": peers_total}
    return {OURS: many, BARE: many, "pykka": few, "xoscar": few}


_BURSTS = _tell(100, 100_000, 20_000)
_ASK_ONE = {"cell": "ask", "clients": 1, "each": 5_000, "timeout_s": 5.0}
_ASK_MANY = {"cell": "ask", "clients": 1_000, "each": 20, "timeout_s": 5.0}
_ASK_ANY = {**_ASK_MANY, "timeout_s": None}
_WAKE = {"cell": "wake", "actors": 1_000, "turns": 30}
_START = {"cell": "start", "number": 3_000}
_IDLE = {"cell": "idle", "number": 100_000}
_ALL = (BARE, "pykka", "xoscar")

OPERATIONS = (
    Operation(
        "tell, bursts of 100, taken at once",
        "us",
        _BURSTS | {OURS: {**_BURSTS[OURS], "take": True}},
    ),
    Operation("tell, bursts of 100, received one by one", "us", _BURSTS),
    Operation("tell, waking one sleeper and one turn of the loop", "us", _tell(1, 20_000, 5_000)),
    _shared("tell, waking 1,000 sleepers in turn", "us", _WAKE, *_ALL),
    _shared("ask, 1,000 actors and clients", "us", _ASK_ANY, *_ALL),
    _shared("ask with a deadline, 1,000 actors and clients", "us", _ASK_MANY, *_ALL),
    _shared("ask with a deadline, 1 client", "us", _ASK_ONE, *_ALL),
    _shared("start", "us", _START, *_ALL),
    _shared("crash to restarted", "us", {"cell": "restart", "number": 3_000}),
    _shared("arm and cancel a deadline", "us", {"cell": "arm", "number": 50_000}, BARE),
    _shared("stop 10,000 in one call", "us", {"cell": "stop", "number": 10_000}),
    _shared("idle, no task", "bytes", {**_IDLE, "on_demand": True}, xoscar=_IDLE),
    Operation(
        "idle, a task (pykka: a thread, 2,000 of them)",
        "bytes",
        {OURS: {**_IDLE, "on_demand": False}, BARE: _IDLE, "pykka": {**_IDLE, "number": 2_000}},
    ),
)


class Contender(NamedTuple):
    """Who is measured: a module of cells and the interpreter that has what it needs."""

    name: str
    module: str
    python: str


def contenders(peers: Path | None) -> list[Contender]:
    found = [
        Contender(OURS, "benchmarks.kernel_cells", sys.executable),
        Contender(BARE, "benchmarks.kernel_bare", sys.executable),
    ]
    if peers is not None:
        for name in ("pykka", "xoscar"):
            found.append(Contender(name, f"benchmarks.peers.{name}_cells", str(peers)))
    return found


def run_cell(contender: Contender, cell: Given) -> Figures:
    """Measure in a fresh process; None if it has not ended after a minute.

    Raises:
        RuntimeError: the process failed; its last words are in the message.
    """
    command = [contender.python, "-m", contender.module, json.dumps(cell)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=CELL_S_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        raise RuntimeError(f"{contender.name}, {cell} failed:\n{done.stderr[-2000:]}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def run(who: list[Contender], rounds: int, uvloop: bool, only: str = "") -> Found:
    """Measure everything; the contenders of one operation directly after one another."""
    found: Found = {}
    for turn in range(rounds):
        for operation, contender, cell in _plan(who, only):
            figures = run_cell(contender, {**cell, "uvloop": uvloop})
            row = found.setdefault(operation.name, {})
            row.setdefault(contender.name, []).append(figures)
            shown = "cut off" if figures is None else f"{figures[operation.key]:.2f}"
            print(
                f"round {turn + 1} of {rounds}: {operation.name}: {contender.name} {shown}",
                file=sys.stderr,
            )
    return found


def _plan(who: list[Contender], only: str) -> Iterator[tuple[Operation, Contender, Given]]:
    for operation in OPERATIONS:
        if only in operation.name:
            for contender in who:
                if contender.name in operation.given:
                    yield operation, contender, operation.given[contender.name]
