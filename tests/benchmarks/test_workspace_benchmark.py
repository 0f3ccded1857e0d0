"""The benchmark of snapshots runs, on a small tree; what it measures is left to `make bench`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_it_measures_both_sides() -> None:
    words = ("benchmarks/workspace.py", "--files", "60", "--mb", "1", "--rounds", "1", "--json")
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert [row["what"] for row in figures["rows"]] == [
        "first snapshot",
        "no change",
        "10 changes",
        "restore 10",
        "restore all",
    ]
    assert all(row["ours_ms"] > 0 and row["git_ms"] > 0 for row in figures["rows"])
