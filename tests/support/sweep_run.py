"""One point of a kill sweep: kill, look, start again, kill again perhaps, start again, look."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import msgspec
from msgspec import Struct
from sweep_check import Call, check_ended, check_killed, look
from sweep_server import effects_of

CHILD = Path(__file__).with_name("sweep_child.py")
RUN_S_MAX = 120.0
"""Seconds for one process; a clean run takes two or three."""

CLOCK_MS_FIRST = 300
"""The child has hardly been imported by then; the last is the end of a clean run."""

POINTS = (
    "commit-before",
    "commit-inside",
    "commit-after",
    "tool-before",
    "tool-entered",
    "tool-booked",
    "tool-effected",
    "tool-returned",
    "model-before",
    "model-after",
    "clock",
)


PROBE_ASKED = "probe-asked"
"""A point that only a second process comes to: it asks about what the first left."""


class Plan(Struct, frozen=True):
    """Where the processes of one run are killed, one after another; the last one runs to the end."""

    kills: tuple[str, ...]
    normal: bool = False
    uvloop: bool = False

    @property
    def replay(self) -> str:
        """The command that runs it again."""
        words = ["python", "tests/sweep/replay.py", *self.kills]
        return " ".join([*words, *self._flags()])

    def command(self, folder: Path, port: int, kill: str | None) -> list[str]:
        words = [sys.executable, str(CHILD), str(folder), "--server", str(port), *self._flags()]
        return words if kill is None else [*words, "--kill", kill]

    def _flags(self) -> list[str]:
        return [f"--{flag}" for flag in ("normal", "uvloop") if getattr(self, flag)]


class Verdict(Struct):
    """What became of a run. ``kills`` counts the processes that were really killed."""

    plan: Plan
    problems: list[str]
    kills: int = 0
    effects: int = 0
    doubts: int = 0


def count(folder: Path, port: int) -> dict[str, int]:
    """Return how often a run that nobody kills comes to each point, and how long it takes.

    ``port`` is that of the server that counts the effects, here and below.
    """
    began = time.monotonic()
    done = _spawn(Plan(()), folder, port, None)
    assert done.returncode == 0, done.stderr
    took_ms = round((time.monotonic() - began) * 1000)
    return {**msgspec.json.decode(done.stdout, type=dict[str, int]), "clock": took_ms}


def slots(total: int) -> list[str]:
    """Return at least so many slots, evenly over all kinds; `make_plan` says which point it is."""
    each = -(-total // len(POINTS))
    return [f"{point}-{slot}of{each}" for slot in range(1, each + 1) for point in POINTS]


def make_plan(seed: int, name: str, counts: dict[str, int]) -> Plan:
    """Return the plan of a slot: a point somewhere in its share of the run, maybe a second one."""
    point, _, place = name.rpartition("-")
    slot, _, slots = place.partition("of")
    dice = Random(f"{seed} {name}")
    share = (int(slot) - dice.random()) / int(slots)
    kills = [f"{point}:{_number(point, share, counts)}"]
    if dice.random() < 1 / 3:
        # In what the first has left to do.
        second = dice.choice((*POINTS, PROBE_ASKED, PROBE_ASKED))
        kills.append(f"{second}:{_number(second, dice.random() * (1 - share), counts)}")
    return Plan(tuple(kills), normal=dice.random() < 0.25, uvloop=dice.random() < 0.5)


def _number(point: str, share: float, counts: dict[str, int]) -> int:
    if point == "clock":
        return round(CLOCK_MS_FIRST + share * max(0, counts[point] - CLOCK_MS_FIRST))
    if point == PROBE_ASKED:
        return 1
    # Sessions meet in more or fewer commits from run to run.
    sure = int(counts[point] * (0.8 if point.startswith("commit") else 1.0))
    return 1 + min(int(share * sure), sure - 1)


def run(plan: Plan, folder: Path, port: int) -> Verdict:
    """Carry a plan out and return what it broke."""
    verdict = Verdict(plan, [])
    begun: set[Call] = set()
    for kill in plan.kills:
        done = _spawn(plan, folder, port, kill)
        if done.returncode == 0:
            continue  # it had less to do than planned
        if done.returncode != -signal.SIGKILL:
            verdict.problems.append(f"{kill}: ended with {done.returncode}: {done.stderr}")
            return verdict
        verdict.kills += 1
        left = _copied(folder, verdict.kills)
        if left is not None:
            found = look(folder, left, effects_of(port, str(folder)))
            begun |= found.begun
            verdict.problems += [f"after {kill}: {each}" for each in check_killed(found)]
    done = _spawn(plan, folder, port, None)
    if done.returncode != 0:
        verdict.problems.append(f"resumed, ended with {done.returncode}: {done.stderr}")
        return verdict
    found = look(folder, folder / "store.db", effects_of(port, str(folder)))
    verdict.problems += check_ended(found, begun, verdict.kills)
    verdict.effects = len(found.effects)
    verdict.doubts = sum(len(state.in_doubt) for state in found.states.values())
    return verdict


def _spawn(
    plan: Plan, folder: Path, port: int, kill: str | None
) -> subprocess.CompletedProcess[str]:
    command = plan.command(folder, port, kill)
    return subprocess.run(command, capture_output=True, text=True, timeout=RUN_S_MAX, check=False)


def _copied(folder: Path, number: int) -> Path | None:
    """Copy the store as the kill left it: looking at it must not repair what the next one finds."""
    if not (folder / "store.db").exists():
        return None
    copy = folder / f"left-{number}"
    copy.mkdir()
    for file in folder.glob("store.db*"):
        shutil.copy(file, copy / file.name)
    return copy / "store.db"
