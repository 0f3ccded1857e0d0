"""A process whose sessions ask people is killed with SIGKILL, at each of the points there are.

Effects are counted outside. Whatever the point: a call runs only after its
approval and at most once, with the arguments that were approved; a denied or expired one never runs;
each call is asked about once, and decided once; people are told of each request that they have not
decided, of one that expired while the process was dead too.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import anyio
import msgspec
import pytest
from approval_child import SESSIONS
from sweep_log import Effect, read

from ukemi import ApprovalRequest
from ukemi.actors.approvals.approvals import request_name
from ukemi.actors.inspection import entries_of, fold
from ukemi.stores.records import JournalEntry, Judged, Requested
from ukemi.stores.sqlite import SqliteStore

CHILD = Path(__file__).parent.parent / "support/approval_child.py"
POINTS = (
    *("commit-before", "commit-inside", "commit-after"),
    *("telling", "person", "effect-entered", "effect-done"),
)
SEED = 7
SAMPLE, WHOLE = 6, 14
"""Places of each point."""

CALLS = {"approve": 1, "edit": 1, "deny": 1, "expire": 1, "both": 2}
MAY_RUN = {"approve": ["pay 1"], "edit": ["pay 7"], "deny": [], "expire": [], "both": ["pay 2"]}


def spawn(folder: Path, kill: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CHILD), str(folder), *(["--kill", kill] if kill else [])]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def journals(folder: Path) -> dict[str, list[JournalEntry]]:
    async def load() -> dict[str, list[JournalEntry]]:
        store = SqliteStore(folder / "store.db")
        await store.open()
        try:
            return {id: entries_of(await store.load(id)) for id in SESSIONS}
        finally:
            await store.close()

    return anyio.run(load)


def run(folder: Path, kill: str) -> tuple[list[str], bool]:
    """Kill a process, let another one finish, and return what is wrong, and whether it was killed."""
    folder.mkdir()
    killed = spawn(folder, kill).returncode == -signal.SIGKILL
    done = spawn(folder)
    if done.returncode != 0:
        return [f"{kill}: resumed, ended with {done.returncode}: {done.stderr}"], killed
    effects = [each for each in read(folder / "effects.log", Effect)]
    told = {each.request for each in read(folder / "told.log", ApprovalRequest)}
    problems: list[str] = []
    for id, entries in journals(folder).items():
        mine = [each.tag for each in effects if each.session == id]
        found = [*look(id, entries, mine), *untold(id, entries, told)]
        problems += [f"{kill}, {id}: {each}" for each in found]
    return problems, killed


def look(id: str, entries: list[JournalEntry], ran: list[str]) -> Iterator[str]:
    """Yield what is wrong with one session."""
    state = fold(id, entries)
    in_doubt = state.in_doubt
    if state.status not in ("completed", "handed_over"):
        yield f"ended as {state.status}"
    if len(ran) > len(MAY_RUN[id]) or not set(ran) <= set(MAY_RUN[id]):
        yield f"ran {ran}"
    if ran != MAY_RUN[id] and not in_doubt:
        yield f"ran {ran}, and nothing is in doubt"
    asked = [each for each in entries if isinstance(each, Requested)]
    judged = [each for each in entries if isinstance(each, Judged)]
    if len({(each.n, each.index) for each in asked}) != CALLS[id] or len(asked) != CALLS[id]:
        yield f"asked {len(asked)} times"
    if len(judged) != len(asked):
        yield f"judged {len(judged)} times"


def untold(id: str, entries: list[JournalEntry], told: set[str]) -> Iterator[str]:
    """Yield the requests of one session that nobody decided, and nobody was told of."""
    decided = {
        (each.n, each.index)
        for each in entries
        if isinstance(each, Judged) and each.verdict != "expired"
    }
    for each in entries:
        if isinstance(each, Requested) and (each.n, each.index) not in decided:
            name = request_name(id, (each.n, each.index), each.number)
            if name not in told:
                yield f"nobody was told of {name}"


def judge(folder: Path, places: int) -> None:
    clean = spawn(folder)
    assert clean.returncode == 0, clean.stderr
    counts = msgspec.json.decode(clean.stdout, type=dict[str, int])
    dice = Random(SEED)
    kills: list[str] = []
    for point in POINTS:
        # Sessions meet in more or fewer commits from run to run.
        sure = counts[point] * (0.8 if point.startswith("commit") else 1.0)
        kills += [
            f"{point}:{1 + int((place + dice.random()) / places * sure)}" for place in range(places)
        ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        folders = [folder / f"{at}" for at in range(len(kills))]
        verdicts = list(pool.map(run, folders, kills))
    problems = [each for found, _ in verdicts for each in found]
    assert not problems, "\n".join(problems)
    # Kills that hit nothing would prove nothing.
    assert sum(killed for _, killed in verdicts) >= len(verdicts) // 2


@pytest.mark.slow
def test_killed_anywhere_nothing_runs_unapproved_or_twice(tmp_path: Path) -> None:
    judge(tmp_path, SAMPLE)


@pytest.mark.sweep
def test_killed_at_any_place_nothing_runs_unapproved_or_twice(tmp_path: Path) -> None:
    judge(tmp_path, WHOLE)
