"""One cell of a benchmark: measured in a fresh process, told as one line of JSON."""

import gc
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any


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


def cell_main(cells: Mapping[str, Callable[..., dict[str, float]]]) -> None:
    """Measure the cell named on the command line, in this process."""
    given: dict[str, Any] = json.loads(sys.argv[1])
    print(json.dumps(cells[given.pop("cell")](**given)))


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
