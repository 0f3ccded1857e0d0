"""The kernel's benchmark runs, each cell in a small size; its figures are left to `make bench`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TELL = {"cell": "tell", "burst": 10, "total": 200}
ASK = {"cell": "ask", "clients": 3, "each": 5, "timeout_s": 5.0}

BOTH = [
    pytest.param(TELL, "us", id="tell"),
    pytest.param({"cell": "wake", "actors": 5, "turns": 3}, "us", id="wake"),
    pytest.param(ASK, "us", id="ask"),
    pytest.param({**ASK, "timeout_s": None}, "wall_us", id="ask without a deadline"),
    pytest.param({"cell": "start", "number": 50}, "us", id="start"),
    pytest.param({"cell": "arm", "number": 50}, "us", id="arm"),
]
OURS = [
    pytest.param({**TELL, "take": True}, "us", id="tell, taken at once"),
    pytest.param({"cell": "restart", "number": 10}, "us", id="restart"),
    pytest.param({"cell": "stop", "number": 50}, "us", id="stop"),
    pytest.param({"cell": "idle", "number": 20_000, "on_demand": True}, "bytes", id="idle"),
]

AIMS = """
from benchmarks.kernel import ratios, shown
cut, one, two = None, {"us": 1.0}, {"us": 2.0}
assert shown([cut, cut], "us") == "cut off at 60 s"
assert shown([one, two, cut], "us") == "1.50 (1.00 to 2.00)"
assert ratios([one, cut, two], [two, two, two], True) == [2.0, 1.0]
assert ratios([one, two], [two, one], False) == [0.5, 2.0]
"""


def run(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("module", ["kernel_cells", "kernel_bare"])
@pytest.mark.parametrize(("cell", "figure"), BOTH)
def test_a_cell_measures_itself(module: str, cell: dict[str, object], figure: str) -> None:
    assert json.loads(run("-m", f"benchmarks.{module}", json.dumps(cell)))[figure] > 0


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "figure"), OURS)
def test_a_cell_of_ours_measures_itself(cell: dict[str, object], figure: str) -> None:
    assert json.loads(run("-m", "benchmarks.kernel_cells", json.dumps(cell)))[figure] > 0


def test_a_cell_cut_off_is_a_bound_and_no_ratio() -> None:
    run("-c", AIMS)
