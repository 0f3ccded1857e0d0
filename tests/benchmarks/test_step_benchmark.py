"""The benchmark of steps runs, each cell in a small size; what it measures is left to `make bench`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"sessions": 2, "steps": 3, "durability": "normal"}

CELLS = [
    pytest.param({"cell": "ukemi", "name": "look", **SMALL}, "steps_per_s", id="reads"),
    pytest.param({"cell": "ukemi", "name": "put", **SMALL}, "cpu_us_per_step", id="writes"),
    pytest.param({"cell": "aiosqlite", "sizes": [900], **SMALL}, "steps_per_s", id="limit"),
    pytest.param({"cell": "length", "sessions": 2, "steps": 40}, "late", id="length"),
    pytest.param({"cell": "tasks", "sessions": 2_000}, "bytes_per_session", id="tasks"),
    pytest.param({"cell": "waiting", "sessions": 200}, "bytes_per_session", id="waiting"),
]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *words]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "figure"), CELLS)
def test_a_cell_measures_itself(cell: dict[str, object], figure: str, tmp_path: Path) -> None:
    done = run("benchmarks.steps_cells", json.dumps({**cell, "folder": str(tmp_path)}))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[figure] > 0


def test_a_benchmark_that_is_not_there_is_named() -> None:
    done = run("benchmarks", "nothing")
    assert done.returncode == 2
    assert "no benchmark 'nothing'; there are: suite, report, soak, steps" in done.stderr
