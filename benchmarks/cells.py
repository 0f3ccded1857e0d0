"""One cell of a benchmark: measured in a fresh process, told as one line of JSON."""

import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

CELL_S_MAX = 600.0


class Meter:
    """Time on the wall and on the processor since it was made."""

    def __init__(self) -> None:
        gc.collect()
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self, steps: int) -> dict[str, float]:
        wall_s = time.perf_counter() - self._wall
        cpu_s = time.process_time() - self._cpu
        return {
            "wall_s": wall_s,
            "steps_per_s": steps / wall_s,
            "cpu_us_per_step": cpu_s / steps * 1e6,
        }


def rss_bytes() -> int:
    """Return the memory this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def run_cell(module: str, cell: Mapping[str, object]) -> dict[str, float]:
    """Measure a cell in a fresh process, in a folder of its own on the disk.

    Raises:
        RuntimeError: the process failed; its last words are in the message.
    """
    with tempfile.TemporaryDirectory(prefix="bench-", dir=disk()) as folder:
        command = [sys.executable, "-m", module, json.dumps({**cell, "folder": folder})]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=CELL_S_MAX, check=False
        )
    if done.returncode != 0:
        raise RuntimeError(f"{cell} failed:\n{done.stderr[-2000:]}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def cell_main(cells: Mapping[str, Callable[..., dict[str, float]]]) -> None:
    """Measure the cell named on the command line, in this process."""
    given: dict[str, Any] = json.loads(sys.argv[1])
    print(json.dumps(cells[given.pop("cell")](**given)))


def rounds(
    module: str, cells: Mapping[str, Mapping[str, object]], number: int
) -> dict[str, list[dict[str, float]]]:
    """Measure all cells one after another, round after round."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in cells}
    for turn in range(number):
        for name, cell in cells.items():
            found[name].append(run_cell(module, cell))
            print(f"round {turn + 1} of {number}: {name}", file=sys.stderr)
    return found


def middle(found: Iterable[Mapping[str, float]], key: str) -> float:
    return median(each[key] for each in found)


def ratio(
    ours: Iterable[Mapping[str, float]], theirs: Iterable[Mapping[str, float]], key: str
) -> float:
    """Return the median of the ratios of each round."""
    return median(a[key] / b[key] for a, b in zip(ours, theirs, strict=True))


def spread(found: Iterable[Mapping[str, float]], key: str) -> str:
    values = sorted(each[key] for each in found)
    return f"{values[0]:,.0f} to {values[-1]:,.0f}"


def table(heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return rows as a Markdown table."""
    lines = [heading, tuple("---" for _ in heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def machine() -> dict[str, object]:
    """Return what figures depend on."""
    return {
        "python": sys.version.split()[0],
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0],
        "at": time.strftime("%Y-%m-%d %H:%M"),
    }


def disk() -> str | None:
    """A folder on a real disk where there is a choice: /tmp may be memory."""
    return os.environ.get("BENCH_FOLDER")
