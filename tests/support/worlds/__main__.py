"""Live worlds, seed by seed, on all cores: ``python -m worlds 1..10000``."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from .mutants import MUTANTS
from .plan import World
from .running import live, live_all, smallest
from .show import decode, report


def main(given: Sequence[str] | None = None) -> int:
    """Run the command; 1 where a promise was broken."""
    arguments = _arguments(given)
    if arguments.world:
        lived = live(_world(Path(arguments.world)), arguments.mutant)
        print(report(lived) if lived.violations else f"nothing is broken: {lived.outcomes}")
        return 1 if lived.violations else 0
    first, last = arguments.seeds
    seeds = range(first, last + 1)
    failed, outcomes = live_all(seeds, arguments.mutant, arguments.jobs)
    for seed in failed[: arguments.shrink]:
        print("\n" + smallest(seed, arguments.mutant))
    told = ", ".join(f"{name} {count}" for name, count in outcomes.most_common(6))
    broken = f"{len(failed)} broken: {failed}" if failed else "nothing is broken"
    print(f"\n{len(seeds)} worlds, seeds {first}..{last}: {broken}; sessions: {told}")
    return 1 if failed else 0


def _world(path: Path) -> World:
    """Read a world that a report has written; the way out in words where it is none."""
    try:
        return decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        sys.exit(f"worlds: {path} holds no world as a report writes it: {error}")


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="worlds", description=__doc__)
    parser.add_argument("seeds", nargs="?", type=_seeds, default=(1, 1000), help="such as 1..1000")
    parser.add_argument("--mutant", default="", choices=list(MUTANTS), help="a broken build")
    parser.add_argument("--world", default="", help="a file with one world, as a report names it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--shrink", type=int, default=1, help="how many failing seeds to make small"
    )
    return parser.parse_args(given)


def _seeds(text: str) -> tuple[int, int]:
    first, dots, last = text.partition("..")
    try:
        seeds = int(first), int(last if dots else first)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no range such as 1..1000") from error
    if not 0 <= seeds[0] <= seeds[1]:
        raise argparse.ArgumentTypeError(f"{text!r} goes nowhere; give first..last")
    return seeds


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Sets of names have an order of their own in each process; a seed must not depend on it.
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        os.execve(sys.executable, [sys.executable, "-m", "worlds", *sys.argv[1:]], environment)
    sys.exit(main())
