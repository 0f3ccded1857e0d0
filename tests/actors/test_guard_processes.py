"""A guarded payment whose process dies right behind the booking: real processes, real SIGKILL."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = Path(__file__).resolve().parent.parent / "support" / "guard_child.py"
PATIENCE_S = 60.0

pytestmark = pytest.mark.slow


def run(folder: Path, kind: str, how: str) -> subprocess.CompletedProcess[str]:
    words = [str(folder / "agents.db"), str(folder / "bookings"), kind, how]
    command = [sys.executable, "-P", str(CHILD), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


@pytest.mark.parametrize(
    ("kind", "told"),
    [("plain", "in doubt"), ("keyed", "paid o-1, replayed"), ("probed", "paid o-1, replayed")],
)
def test_killed_behind_the_booking_it_is_booked_once(tmp_path: Path, kind: str, told: str) -> None:
    killed = run(tmp_path, kind, "die")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    for _ in range(2):
        again = run(tmp_path, kind, "pay")
        assert (again.returncode, again.stdout.strip()) == (0, told), again.stderr
    assert len((tmp_path / "bookings").read_text().splitlines()) == 1
