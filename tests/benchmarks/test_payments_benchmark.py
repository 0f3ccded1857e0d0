"""Payments that are killed: ours end as the documentation says; peers are left to `make bench`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOUBT = "in doubt, a person is asked"


@pytest.mark.slow
def test_killed_payments_end_as_documented(tmp_path: Path) -> None:
    written = tmp_path / "rows.json"
    words = ("payments", "--no-peers", "--killed", "behind", "--json", str(written))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [
        (row["contender"], row["bank"], row["charges"], row["told"], row["doubt"])
        for row in json.loads(written.read_text())["rows"]
    ]
    assert found == [
        *[(peer, bank, None, "not installed", False) for peer, bank in PEERS],
        ("Ukemi", "nothing", 1, DOUBT, True),
        ("Ukemi", "it can be asked", 1, "paid order-behind", False),
        ("Ukemi", "it takes keys", 1, "paid order-behind", False),
    ]
    documented = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    for _, bank, charges, told, _ in found[len(PEERS) :]:
        told = told.removesuffix(" order-behind")
        assert f"| behind the charge | Ukemi | {bank} | {charges} | {told} |" in documented


PEERS = [(peer, bank) for peer in ("LangGraph", "DBOS") for bank in ("nothing", "it takes keys")]
