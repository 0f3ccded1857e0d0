"""The kernel beside what it is made of, and beside other actor libraries, in one run.

    python -m benchmarks kernel [--rounds N] [--uvloop] [--json FILE] [--only TEXT] [--no-peers]

Every cell is a fresh process; the contenders of an operation run directly after one another, round
after round. Figures are processor microseconds per operation, ratios the median of the ratios of
each round. Ratios compare; rates depend on the machine. pykka and xoscar are installed into an
environment of their own at the first run.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from statistics import median
from typing import NamedTuple

from .cells import machine, table
from .json_file import add_json_file
from .kernel_run import BARE, CELL_S_MAX, OPERATIONS, OURS, Figures, Found, contenders, run
from .peers.environment import build

PEERS = ("pykka", "xoscar")


class Aim(NamedTuple):
    """What one figure of ours must be, times or times less than another."""

    what: str
    ours: str
    beside: str
    theirs: str
    times: float
    faster: bool


AIMS = (
    Aim(
        "tell in bursts, faster than asyncio.Queue",
        "tell, bursts of 100, taken at once",
        BARE,
        "tell, bursts of 100, taken at once",
        3.0,
        True,
    ),
    Aim(
        "tell that wakes, faster than asyncio.Queue",
        "tell, waking 1,000 sleepers in turn",
        BARE,
        "tell, waking 1,000 sleepers in turn",
        1.2,
        True,
    ),
    Aim(
        "ask with a deadline, faster than xoscar",
        "ask with a deadline, 1,000 actors and clients",
        "xoscar",
        "ask with a deadline, 1,000 actors and clients",
        10.0,
        True,
    ),
    Aim("start, of a bare anyio task", "start", BARE, "start", 1.5, False),
    Aim("crash to restarted, of a start", "crash to restarted", OURS, "start", 3.0, False),
)
BOUNDS = (
    ("idle actor, bytes", "idle, no task", "bytes", 1_024.0),
    ("10,000 stopped in one call, longest gap of the loop, ms", "stop 10,000", "gap_ms", 100.0),
    ("arm and cancel a deadline, us", "arm and cancel", "us", 2.0),
)


def values(found: Iterable[Figures], key: str) -> list[float]:
    return [each[key] for each in found if each is not None]


def shown(found: list[Figures], key: str) -> str:
    """Return the median and the range, or the bound of a cell that was cut off."""
    figures = values(found, key)
    if not figures:
        return f"cut off at {CELL_S_MAX:.0f} s"
    form: Callable[[float], str] = "{:,.0f}".format if max(figures) >= 10 else "{:.2f}".format
    return f"{form(median(figures))} ({form(min(figures))} to {form(max(figures))})"


def figures(found: Found, who: list[str]) -> str:
    """Return the table of all figures."""
    rows: list[tuple[str, ...]] = []
    for operation in OPERATIONS:
        row = found.get(operation.name)
        if row is not None:
            cells = [shown(row[each], operation.key) if each in row else "-" for each in who]
            unit = "bytes" if operation.key == "bytes" else "us"
            rows.append((operation.name, unit, *cells))
    return table(("operation", "", *who), rows)


def ratios(ours: list[Figures], theirs: list[Figures], faster: bool) -> list[float]:
    """Return the ratio of each round in which neither was cut off."""
    pairs = [(a["us"], b["us"]) for a, b in zip(ours, theirs, strict=True) if a and b]
    return [b / a if faster else a / b for a, b in pairs]


def aims(found: Found) -> str:
    """Return the table of what is aimed at, and what came out."""
    rows: list[tuple[str, ...]] = []
    for aim in AIMS:
        ours = found.get(aim.ours, {}).get(OURS, [])
        theirs = found.get(aim.theirs, {}).get(aim.beside, [])
        if not ours or not theirs:
            continue
        each = ratios(ours, theirs, aim.faster)
        span = f"{median(each):.2f} ({min(each):.2f} to {max(each):.2f})" if each else "cut off"
        word = "at least" if aim.faster else "at most"
        rows.append((aim.what, span, f"{word} {aim.times:g}"))
    for what, start, key, bound in BOUNDS:
        for name, row in found.items():
            if name.startswith(start):
                rows.append((what, shown(row[OURS], key), f"at most {bound:,g}"))
    return table(("", "times", "aim"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--uvloop", action="store_true", help="uvloop for all that have a loop")
    add_json_file(parser, "where the figures of all rounds go")
    parser.add_argument("--only", default="", help="operations with this in their name")
    parser.add_argument("--no-peers", action="store_true", help="without pykka and xoscar")
    given = parser.parse_args()
    who = contenders(None if given.no_peers else build())
    facts = {**machine(), "loop": "uvloop" if given.uvloop else "asyncio"}
    found = run(who, given.rounds, given.uvloop, given.only)
    print(f"{facts}, {given.rounds} rounds: median (lowest to highest)\n")
    print(figures(found, [each.name for each in who]))
    missing = [name for name in PEERS if name not in {each.name for each in who}]
    if missing:
        print(f"\nnot installed: {', '.join(missing)}")
    print(f"\n{aims(found)}")
    if given.json is not None:
        given.json.write_text(json.dumps({"machine": facts, "rounds": found}, indent=1))
        print(f"\nwritten to {given.json}", file=sys.stderr)


if __name__ == "__main__":
    main()
