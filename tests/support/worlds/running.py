"""Worlds lived in numbers, on all cores, and the smallest schedule of one that breaks a promise."""

import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from pathlib import Path

from .draw import draw
from .lives import Lived, live_world
from .mutants import mutated
from .plan import World
from .show import report
from .shrink import shrink

CHUNK = 20
TOLD_S = 5.0
FAILURES_MAX = 5
"""Failing seeds after which there is no need to look for more."""


def live(seed_or_world: int | World, mutant: str = "") -> Lived:
    """Live the world of a seed, or one that is given, in a build that may be broken."""
    world = seed_or_world if isinstance(seed_or_world, World) else draw(seed_or_world)
    with mutated(mutant) if mutant else nullcontext():
        return live_world(world)


def live_some(seeds: range, mutant: str) -> list[tuple[int, str, list[str]]]:
    """Return the first violation of each seed, and how its sessions ended; in a worker process."""
    found: list[tuple[int, str, list[str]]] = []
    for seed in seeds:
        lived = live(seed, mutant)
        found.append((seed, "".join(lived.violations[:1]), list(lived.outcomes.values())))
    return found


def smallest(seed: int, mutant: str = "") -> str:
    """Return the report of the smallest schedule that breaks what this seed breaks."""
    world = draw(seed)
    small = shrink(world, lambda each: live(each, mutant).violations)
    file = Path(tempfile.gettempdir()) / f"world-{seed}.json"
    return report(live(small, mutant), original=world, file=file)


def live_all(seeds: range, mutant: str, jobs: int) -> tuple[list[int], Counter[str]]:
    failed: list[int] = []
    outcomes: Counter[str] = Counter()
    done, began, told_at = 0, time.monotonic(), time.monotonic()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        chunks = [seeds[at : at + CHUNK] for at in range(0, len(seeds), CHUNK)]
        for future in as_completed([pool.submit(live_some, each, mutant) for each in chunks]):
            for seed, violation, ended in future.result():
                done += 1
                outcomes.update(ended)
                if violation:
                    failed.append(seed)
                    print(f"seed {seed}: {violation}", flush=True)
            if time.monotonic() - told_at > TOLD_S:
                told_at = time.monotonic()
                rate = done / (told_at - began)
                print(f"{done} of {len(seeds)}, {rate:.0f} a second", file=sys.stderr, flush=True)
            if len(failed) >= FAILURES_MAX:
                pool.shutdown(wait=False, cancel_futures=True)
                break
    return sorted(failed), outcomes
