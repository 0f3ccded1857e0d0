"""Run cells: each in a fresh process, the contenders of a point directly after one another, in rounds.

A cell that takes too long is ended with all it started; its contender is given nothing larger.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ..cells import disk
from .plan import IN_PEERS_ENVIRONMENT, PARKED_MODULE, PEERS, Entry

ROOT = Path(__file__).resolve().parents[2]
CELL_S_MAX, PEER_CELL_S_MAX = 300.0, 60.0
PEERS_SHARE = 0.6

Figures = dict[str, float]


class Row(Struct, kw_only=True, omit_defaults=True):
    """What came out of one entry of the plan, round by round.

    Attributes:
        units: of work in a cell, which bound the rate of one that was cut off.
        cut_off_s: the cell did not end in so many seconds; nothing larger was tried.
        not_tried: a smaller one had been cut off.
        failed: the last words of a process that failed.
        took_s, cpu_s: all its cells together, with starting their processes and filling what they need.
    """

    workload: str
    variant: str
    x: int
    contender: str
    units: int
    rounds: list[Figures] = []
    cut_off_s: float | None = None
    not_tried: bool = False
    failed: str | None = None
    took_s: float = 0.0
    cpu_s: float = 0.0


class CutOff(Exception):
    """A cell was not done in its time."""


class CellFailed(Exception):
    """A cell's process failed; its last words are the message."""


def run_cell(python: Path, module: str, given: Mapping[str, object], limit_s: float) -> Figures:
    """Measure in a fresh process, in a folder of its own.

    Raises:
        CutOff: it took longer than ``limit_s``.
        CellFailed: it failed.
    """
    with tempfile.TemporaryDirectory(
        prefix="bench-", dir=disk(), ignore_cleanup_errors=True
    ) as outer:
        folder = Path(outer) / "cell"  # so that what lies beside it goes away with it
        folder.mkdir()
        process = subprocess.Popen(
            [str(python), "-m", module, json.dumps({**given, "folder": str(folder)})],
            cwd=ROOT,
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            said, last = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise CutOff from None
        finally:
            if process.poll() is None:  # with what it has started itself
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
    if process.returncode != 0:
        raise CellFailed(last[-2000:])
    found: Figures = json.loads(said.splitlines()[-1])
    return found


def _environment() -> dict[str, str]:
    """Have modules compiled once, as those of an installed package are: what is loaded late would
    otherwise be compiled inside each cell, where the shell keeps Python from writing that down."""
    kept = {name: each for name, each in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": _BYTECODE.name}


_BYTECODE = tempfile.TemporaryDirectory(prefix="bench-bytecode-", ignore_cleanup_errors=True)


class Filled:
    """Stores full of parked sessions, each filled when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._figures: dict[int, Figures] = {}

    def path(self, sessions: int) -> Path:
        """Return a store with so many parked sessions.

        Raises:
            CellFailed, CutOff: it could not be filled.
        """
        path = self._folder / f"parked-{sessions}" / "store.db"
        if sessions not in self._figures:
            path.parent.mkdir(exist_ok=True)
            given = {"cell": "fill", "store": str(path), "sessions": sessions}
            python = Path(sys.executable)
            self._figures[sessions] = run_cell(python, PARKED_MODULE, given, CELL_S_MAX)
        return path

    def figures(self, sessions: int) -> Figures:
        return self._figures.get(sessions, {})


def run(
    entries: Sequence[Entry],
    peers: Path | None,
    tell: Callable[[str], None],
    minutes: float | None = None,
) -> list[Row]:
    """Measure everything.

    Args:
        minutes: after so many, what has been measured once is measured no more; a peer already
            after `PEERS_SHARE` of them. None: every round is taken.
        peers: the interpreter that has them; entries that need it are left out without one.
        tell: is told of each cell that is done.
    """
    chosen = [one for one in entries if peers or one.contender not in IN_PEERS_ENVIRONMENT]
    rows = [
        Row(
            workload=one.workload,
            variant=one.variant,
            x=one.x,
            contender=one.contender,
            units=one.units,
        )
        for one in chosen
    ]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-parked-", dir=disk()) as folder:
        filled = Filled(Path(folder))
        try:
            for turn, entry, row in _turns(chosen, rows):
                if turn > 0 and _over(entry, (time.monotonic() - began) / 60, minutes):
                    continue
                _measure(entry, row, _python(entry, peers), filled)
                passed = time.monotonic() - began
                tell(f"[{passed / 60:4.1f} min] round {turn + 1}: {_said(row)}")
        except KeyboardInterrupt:
            tell("interrupted: what was measured so far is kept")
    return rows


def _turns(entries: Sequence[Entry], rows: Sequence[Row]) -> Iterator[tuple[int, Entry, Row]]:
    """Give what is to be measured, round after round; whoever was cut off or failed has no further turn."""
    for turn in range(max((one.rounds for one in entries), default=0)):
        for entry, row in zip(entries, rows, strict=True):
            if turn < entry.rounds and _may_run(row, rows):
                yield turn, entry, row


def _over(entry: Entry, passed: float, minutes: float | None) -> bool:
    """Tell whether the time for one more round of this is over."""
    if minutes is None:
        return False
    return passed > minutes * (PEERS_SHARE if entry.contender in PEERS else 1.0)


def _python(entry: Entry, peers: Path | None) -> Path:
    if peers is not None and entry.contender in IN_PEERS_ENVIRONMENT:
        return peers
    return Path(sys.executable)


def _may_run(row: Row, rows: Sequence[Row]) -> bool:
    if row.cut_off_s is not None or row.failed is not None:
        return False
    row.not_tried = any(
        one.cut_off_s is not None
        and one.contender == row.contender
        and (one.workload, one.variant) == (row.workload, row.variant)
        and one.x < row.x
        for one in rows
    )
    return not row.not_tried


def _measure(entry: Entry, row: Row, python: Path, filled: Filled) -> None:
    limit_s = PEER_CELL_S_MAX if entry.contender in PEERS else CELL_S_MAX
    given = dict(entry.given)
    began, cpu = time.monotonic(), _cpu_of_children()
    try:
        if entry.needs:
            given["store"] = str(filled.path(entry.needs))
        found = run_cell(python, entry.module, given, limit_s)
        row.rounds.append({**found, **filled.figures(entry.needs)})
    except CutOff:
        row.cut_off_s = limit_s
    except CellFailed as error:
        row.failed = str(error)
    row.took_s += time.monotonic() - began
    row.cpu_s += _cpu_of_children() - cpu


def _cpu_of_children() -> float:
    """Return the processor time of all processes that were started here and have ended."""
    spent = os.times()
    return spent.children_user + spent.children_system


def last_line(text: str) -> str:
    return next(reversed(text.strip().splitlines()), "(it said nothing)")


def _said(row: Row) -> str:
    name = ", ".join(part for part in (row.workload, row.variant, f"{row.x:,}") if part)
    if row.failed is not None:
        return f"{name}: {row.contender} FAILED: {last_line(row.failed)}"
    if row.cut_off_s is not None:
        return f"{name}: {row.contender} cut off at {row.cut_off_s:.0f} s"
    figures = ", ".join(f"{key} {value:,.4g}" for key, value in list(row.rounds[-1].items())[:4])
    return f"{name}: {row.contender}: {figures}"
