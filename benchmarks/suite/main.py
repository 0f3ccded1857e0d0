"""Measure the workloads, print the tables, and write what was measured.

python -m benchmarks suite [--only b1,b3] [--rounds N] [--quick | --full] [--no-peers] [--json FILE]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec

from ..cells import machine
from ..json_file import add_json_file
from ..peers.environment import build
from .figures import Results
from .plan import LIMITS, OURS, OURS_MODULE, SCALES, WORKLOADS, Bodies, Entry, Scale, plan
from .report import Report, head
from .run import CELL_S_MAX, CellFailed, CutOff, Row, run, run_cell
from .tables import all_tables

LIBRARIES = ("anyio", "msgspec", "aiosqlite")
PEER_LIBRARIES = (
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "dbos",
    "openai-agents",
    "pydantic-ai-slim",
    "autogen-core",
    "stamina",
)
VERSIONS = (
    "import json, sys; from importlib.metadata import version;"
    " print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
)
RESULTS = Path(__file__).resolve().parents[1] / "results"


def versions(peers: Path | None) -> dict[str, str]:
    """Return the versions of everything that takes part."""
    import sqlite3

    found = {"CPython": sys.version.split()[0], "SQLite": sqlite3.sqlite_version}
    found |= {name: version(name) for name in ("ukemi", *LIBRARIES)}
    if peers is not None:
        asked = [str(peers), "-c", VERSIONS, *PEER_LIBRARIES]
        said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        found |= json.loads(said)
    return found


def chosen(entries: Sequence[Entry], only: Sequence[str], rounds: int | None) -> list[Entry]:
    """Return the entries of the workloads that are named (none: all), with this many rounds of ours."""
    found = [entry for entry in entries if not only or entry.workload in only]
    if rounds is None:
        return found
    ours = (*OURS, *LIMITS)
    return [
        entry._replace(rounds=rounds if entry.contender in ours else min(rounds, entry.rounds))
        for entry in found
    ]


def workloads(text: str) -> list[str]:
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in WORKLOADS]:
        raise argparse.ArgumentTypeError(
            f"no workload {unknown[0]!r}; there are: {', '.join(WORKLOADS)}"
        )
    return names


def at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} rounds measure nothing; give 1 or more")
    return number


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks suite", description=__doc__)
    parser.add_argument("--only", type=workloads, default=[], help="workloads, such as b1,b3")
    parser.add_argument(
        "--rounds", type=at_least_one, help="of ours and the limits; peers: at most 3"
    )
    parser.add_argument(
        "--minutes", type=float, help="after so many, only what was not measured at all yet"
    )
    add_json_file(
        parser,
        "where it goes, its folders made if need be; default: benchmarks/results/",
        str(RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}.json"),
    )
    parser.add_argument("--no-peers", action="store_true", help="without the peers, and stamina")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    size.add_argument("--full", action="store_true", help="larger cells and more rounds; hours")
    return parser.parse_args()


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def measure(
    scale: Scale,
    only: Sequence[str],
    rounds: int | None,
    peers: Path | None,
    minutes: float | None = None,
    tell: Callable[[str], None] = _tell,
) -> Report:
    """Run the suite; see `run` for ``minutes``.

    Raises:
        CellFailed, CutOff: the cell that the sizes of records come from.
    """
    began, facts = time.monotonic(), machine()
    sizes = run_cell(Path(sys.executable), OURS_MODULE, {"cell": "body_bytes"}, CELL_S_MAX)
    bodies = Bodies(**{name: round(size) for name, size in sizes.items()})
    entries = chosen(plan(SCALES[scale], bodies), only, rounds)
    tell(
        f"{len(entries)} cells, records of {bodies.read}, {bodies.intent} and {bodies.result} bytes"
    )
    rows = run(entries, peers, tell, minutes)
    return Report(
        machine=msgspec.convert(
            {**facts, "load_after": os.getloadavg()[0], **bodies._asdict()},
            dict[str, str | int | float | None],
        ),
        versions=versions(peers),
        scale=scale,
        minutes=(time.monotonic() - began) / 60,
        rows=rows,
    )


def minutes_told(rows: Sequence[Row]) -> str:
    """Return how the time was spent, by workload and contender."""
    spent: dict[tuple[str, str], tuple[float, float]] = {}
    for row in rows:
        place = (row.workload, row.contender)
        took_s, cpu_s = spent.get(place, (0.0, 0.0))
        spent[place] = took_s + row.took_s, cpu_s + row.cpu_s
    return "\n".join(
        f"{workload} {contender}: {took_s / 60:.1f} min, CPU {cpu_s / 60:.1f} min"
        for (workload, contender), (took_s, cpu_s) in spent.items()
    )


def main() -> None:
    given = _given()
    scale: Scale = "quick" if given.quick else "full" if given.full else "standard"
    path: Path = given.json
    peers = None if given.no_peers else build("peers_agents")
    try:
        report = measure(scale, given.only, given.rounds, peers, given.minutes)
    except (CellFailed, CutOff) as error:
        raise SystemExit(f"nothing can be measured: {error}") from None
    results = Results(report.rows)
    print(head(report, {row.workload for row in report.rows}))
    _tell(minutes_told(report.rows))
    print(all_tables(results, given.only or list(WORKLOADS)))
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1))
    _tell(f"\nwritten to {path}")
    if scale != "quick":  # which only shows that it runs
        _tell(f"python -m benchmarks report {path} puts it into the docs")
    if any(row.failed is not None and row.contender in (*OURS, *LIMITS) for row in report.rows):
        raise SystemExit("a cell of ours or of a limit failed; see above")
