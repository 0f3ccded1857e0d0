"""Durable steps a second, and what a step costs, beside aiosqlite group commit of the same bytes.

python -m benchmarks steps [--rounds N] [--json FILE] [--quick]
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from .cells import machine, middle, ratio, rounds, spread, table

MODULE = "benchmarks.steps_cells"
READ_BYTES = [947]
"""A step with a read: one row of the model's message and the result."""
WRITE_BYTES = [297, 875]
"""A step with a write: the model's message and the intent, then the result."""

Found = Mapping[str, list[dict[str, float]]]


class Load(NamedTuple):
    """One row of the table: so many sessions at once, each of so many steps."""

    tool: str
    sessions: int
    steps: int
    durability: str

    @property
    def name(self) -> str:
        return f"{self.tool} {self.sessions} {self.durability}"

    def cells(self) -> dict[str, dict[str, object]]:
        sizes = READ_BYTES if self.tool == "read" else WRITE_BYTES
        shared = {
            "sessions": self.sessions,
            "steps": self.steps,
            "durability": self.durability,
        }
        name = "look" if self.tool == "read" else "put"
        return {
            f"ukemi {self.name}": {"cell": "ukemi", "name": name, **shared},
            f"limit {self.name}": {"cell": "aiosqlite", "sizes": sizes, **shared},
        }


LOADS = (
    Load("read", 1, 500, "full"),
    Load("read", 1, 500, "normal"),
    Load("read", 100, 50, "full"),
    Load("read", 100, 50, "normal"),
    Load("read", 1_000, 20, "full"),
    Load("read", 1_000, 20, "normal"),
    Load("write", 100, 50, "full"),
    Load("write", 1_000, 20, "full"),
)
LONG: dict[str, dict[str, object]] = {
    "length": {"cell": "length", "sessions": 20, "steps": 2_000},
}
WAITING: dict[str, dict[str, object]] = {
    "waiting": {"cell": "waiting", "sessions": 10_000},
    "tasks": {"cell": "tasks", "sessions": 10_000},
}


def rates(found: Found) -> str:
    """Return the table of rates."""
    heading = (
        "tool, sessions, durability",
        "steps/s",
        "(lowest to highest)",
        "limit, steps/s",
        "ratio",
        "CPU per step, us",
        "limit",
    )
    rows: list[tuple[str, ...]] = []
    for load in LOADS:
        ours, theirs = found[f"ukemi {load.name}"], found[f"limit {load.name}"]
        rows.append(
            (
                f"{load.tool}, {load.sessions:,} x {load.steps}, {load.durability}",
                f"{middle(ours, 'steps_per_s'):,.0f}",
                spread(ours, "steps_per_s"),
                f"{middle(theirs, 'steps_per_s'):,.0f}",
                f"{ratio(ours, theirs, 'steps_per_s'):.2f}",
                f"{middle(ours, 'cpu_us_per_step'):.0f}",
                f"{middle(theirs, 'cpu_us_per_step'):.0f}",
            )
        )
    return table(heading, rows)


def sizes(found: Found) -> str:
    """Return what must not grow: the cost of late steps, and memory."""
    length, waiting, tasks = found["length"], found["waiting"], found["tasks"]
    grown = ratio(
        [{"cpu": each["late"]} for each in length],
        [{"cpu": each["early"]} for each in length],
        "cpu",
    )
    early, late = middle(length, "early"), middle(length, "late")
    held, bare = middle(waiting, "bytes_per_session"), middle(tasks, "bytes_per_session")
    rows = [
        ("CPU of a step near 10 of 2,000, us", f"{early:.0f}"),
        ("CPU of a step near 2,000, us", f"{late:.0f} ({grown:.2f} times)"),
        ("memory of a session waiting for its model, KiB", f"{held / 1024:.1f}"),
        ("memory of a bare anyio task that waits, KiB", f"{bare / 1024:.1f}"),
    ]
    return table(("what", "figure"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where the figures of all rounds go")
    parser.add_argument("--quick", action="store_true", help="one round, to see that it runs")
    given = parser.parse_args()
    number = 1 if given.quick else given.rounds
    cells: dict[str, dict[str, object]] = {}
    for load in LOADS:
        cells |= load.cells()
    facts = machine()
    found = rounds(MODULE, {**cells, **LONG, **WAITING}, number)
    print(f"{facts}, {number} rounds, medians\n")
    print(rates(found))
    print()
    print(sizes(found))
    if given.json is not None:
        given.json.write_text(json.dumps({"machine": facts, "rounds": found}, indent=1))
        print(f"\nwritten to {given.json}", file=sys.stderr)


if __name__ == "__main__":
    main()
