"""A process with staged calls is killed with SIGKILL between and inside of their steps.

Whatever the point: a tree is changed whole or not at all, what was rejected never shows, what was archived
never runs again, a commit that takes a key is repeated with the same key, one that does not runs at most
once, and is in doubt where nobody can know.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import anyio
import msgspec
import pytest
from msgspec import Struct
from staging_child import AFTER, BEFORE, SESSIONS
from sweep_log import Effect, read
from work_trees import Told, make, told

from ukemi.actors.inspection import entries_of, fold
from ukemi.actors.state import SessionState
from ukemi.stores.records import JournalEntry, StagedResult
from ukemi.stores.sqlite import SqliteStore

CHILD = Path(__file__).parent.parent / "support/staging_child.py"
POINTS = (
    "commit-before",
    "commit-inside",
    "commit-after",
    "body-entered",
    "body-effected",
    "check",
    "file",
    "mail-entered",
    "mail-effected",
)
SEED = 1
SAMPLE, WHOLE = 5, 12
"""Places of each point."""
FINAL = AFTER | {"d": "/"}


def spawn(folder: Path, kill: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CHILD), str(folder), *(["--kill", kill] if kill else [])]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def lay_out(folder: Path) -> None:
    for name in SESSIONS:
        tree = folder / "trees" / name
        tree.mkdir(parents=True)
        make(tree, {path: text for path, text in BEFORE.items()})


def journals(folder: Path) -> dict[str, list[JournalEntry]]:
    async def load() -> dict[str, list[JournalEntry]]:
        store = SqliteStore(folder / "store.db")
        await store.open()
        try:
            return {id: entries_of(await store.load(id)) for id in SESSIONS}
        finally:
            await store.close()

    return anyio.run(load)


class Verdict(Struct):
    """What a run broke, and what it met."""

    problems: list[str]
    killed: bool = False
    doubts: int = 0
    again: int = 0


def run(folder: Path, kill: str) -> Verdict:
    """Kill a process, let another one finish, and look."""
    lay_out(folder)
    verdict = Verdict([], spawn(folder, kill).returncode == -signal.SIGKILL)
    done = spawn(folder)
    if done.returncode != 0:
        verdict.problems.append(f"resumed, ended with {done.returncode}: {done.stderr}")
        return verdict
    effects: dict[str, list[Effect]] = defaultdict(list)
    for effect in read(folder / "effects.log", Effect):
        effects[effect.session].append(effect)
    for id, entries in journals(folder).items():
        tree = told(folder / "trees" / id)
        state = fold(id, entries)
        found = look(state, entries, effects[id], tree, verdict)
        verdict.problems += [f"{kill} {id}: {each}" for each in found]
    left = [each.name for each in folder.glob("ukemi-staging-*/*")]
    if len(left) > 1:  # whoever stages next removes what the dead have left
        verdict.problems.append(f"{kill}: copies are left behind: {left}")
    shutil.rmtree(folder)
    return verdict


def look(
    state: SessionState,
    entries: list[JournalEntry],
    effects: list[Effect],
    tree: Told,
    verdict: Verdict,
) -> Iterator[str]:
    """Yield what is wrong with one session."""
    if tree != FINAL:
        yield f"its tree is {tree}"
    if state.staging.open:
        yield f"left open: {state.staging.open}"
    archived = [(each.n, each.index) for each in entries if isinstance(each, StagedResult)]
    if len(archived) != len(set(archived)):
        yield f"archived twice: {archived}"
    if state.staging.rejected != 1:
        yield f"{state.staging.rejected} rejected"
    keyed = [each for each in effects if each.tool == "keyed"]
    plain = [each for each in effects if each.tool == "plain"]
    verdict.again += len(keyed) > 1
    if not keyed or len({each.key for each in keyed}) > 1:
        yield f"keyed commits: {keyed}"
    if len(plain) > 1:
        yield f"a commit without a key ran {len(plain)} times"
    outcome = state.outcome or {}
    if state.status == "completed":
        if not plain:
            yield "called done and never committed"
    elif outcome.get("reason") == "in_doubt" and verdict.killed:
        verdict.doubts += 1
    else:
        yield f"ended as {state.status}: {outcome}"


def judge(folder: Path, places: int) -> None:
    lay_out(folder / "clean")
    clean = spawn(folder / "clean")
    assert clean.returncode == 0, clean.stderr
    counts = msgspec.json.decode(clean.stdout, type=dict[str, int])
    assert set(POINTS) <= set(counts)

    def plan(point: str, place: int) -> str:
        dice = Random(f"{SEED} {point} {place}")
        # Sessions meet in more or fewer commits from run to run.
        sure = counts[point] * (0.6 if point.startswith("commit") else 1.0)
        return f"{point}:{1 + int((place + dice.random()) / places * sure)}"

    kills = {plan(point, place) for point in POINTS for place in range(places)}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(run, folder / kill.replace(":", "-"), kill) for kill in kills]
        verdicts = [each.result() for each in runs]
    problems = [each for verdict in verdicts for each in verdict.problems]
    assert not problems, "\n".join(problems)
    # Kills that hit nothing would prove nothing.
    assert sum(verdict.killed for verdict in verdicts) >= len(verdicts) // 2
    assert sum(verdict.doubts + verdict.again for verdict in verdicts) >= 1


@pytest.mark.slow
def test_killed_at_any_step_a_staged_call_is_whole_or_nothing(tmp_path: Path) -> None:
    judge(tmp_path, SAMPLE)


@pytest.mark.sweep
def test_killed_anywhere_a_staged_call_is_whole_or_nothing(tmp_path: Path) -> None:
    judge(tmp_path, WHOLE)
