"""A process that undoes what its sessions did is killed with SIGKILL, again and again.

Effects of compensations are counted by a server outside, which no kill reaches. Whatever the point: each session ends as it was going
to, a compensation that may not be repeated runs at most once, none is forgotten, a repeated one has
the same key and is done once, doubt is on record where it is real and only there, and the order is kept.
"""

import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from random import Random

import anyio
import msgspec
import pytest
from msgspec import Struct
from sweep_log import Effect
from sweep_server import effect_server, effects_of
from undo_child import KINDS, SESSIONS, order_of

from ukemi.actors.inspection import entries_of, fold
from ukemi.actors.state import SessionState
from ukemi.stores.sqlite import SqliteStore

CHILD = Path(__file__).parent.parent / "support/undo_child.py"
POINTS = (
    *("commit-before", "commit-inside", "commit-after"),
    *("undo-entered", "undo-booked", "undo-effected"),
)
SEED = 1
SAMPLE, WHOLE = 7, 12
"""Places of each point."""


def spawn(folder: Path, port: int, kill: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CHILD), str(folder), "--server", str(port)]
    command += ["--kill", kill] if kill else []
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def states_of(folder: Path) -> dict[str, SessionState]:
    async def load() -> dict[str, SessionState]:
        store = SqliteStore(folder / "store.db")
        await store.open()
        try:
            return {id: fold(id, entries_of(await store.load(id))) for id in SESSIONS}
        finally:
            await store.close()

    return anyio.run(load)


class Verdict(Struct):
    """What a run broke, and how many compensations it left in doubt."""

    problems: list[str]
    kills: int = 0
    doubts: int = 0
    again: int = 0


def run(folder: Path, port: int, kills: list[str]) -> Verdict:
    """Kill one process after the other, let the last one finish, and look."""
    folder.mkdir()
    verdict = Verdict([])
    for kill in kills:
        verdict.kills += spawn(folder, port, kill).returncode == -signal.SIGKILL
    done = spawn(folder, port)
    if done.returncode != 0:
        verdict.problems.append(f"resumed, ended with {done.returncode}: {done.stderr}")
        return verdict
    effects: dict[str, list[Effect]] = defaultdict(list)
    for effect in effects_of(port, str(folder)):
        effects[effect.session].append(effect)
    for id, state in states_of(folder).items():
        verdict.problems += [f"{id}: {each}" for each in look(state, effects[id], verdict)]
    return verdict


def look(state: SessionState, effects: list[Effect], verdict: Verdict) -> Iterator[str]:
    """Yield what is wrong with one session."""
    outcome = state.outcome or {}
    if (state.status, outcome.get("reason")) != ("handed_over", "blocked"):
        yield f"ended as {state.status}, {outcome.get('reason')}"
    undone = {undo.step.tool: undo for undo in state.unwound.steps.values()}
    if set(undone) != set(KINDS):
        yield f"undone are {sorted(undone)}"
        return
    first_seen = list(dict.fromkeys(effect.tool for effect in effects))
    wanted = [kind for kind in reversed(order_of(state.session_id)) if kind in first_seen]
    if first_seen != wanted:
        yield f"undone in the order {first_seen}"
    for kind, undo in undone.items():
        mine = [effect for effect in effects if effect.tool == kind]
        keys = {effect.key for effect in mine}
        verdict.again += len(mine) > 1
        verdict.doubts += undo.state == "in_doubt"
        if kind.startswith("plain") and len(mine) > 1:
            yield f"{kind} ran {len(mine)} times"
        if undo.state == "compensated" and not mine:
            yield f"{kind} is called compensated and never ran"
        if undo.state not in ("compensated", "in_doubt"):
            yield f"{kind} is {undo.state}: {undo.content}"
        if undo.state == "in_doubt" and not (kind.startswith("plain") and verdict.kills):
            yield f"{kind} is in doubt without a reason"
        if len(keys) > 1 or (kind.startswith("keyed") and None in keys):
            yield f"{kind} was called with the keys {keys}"
        if kind.startswith("keyed") and sum(not effect.repeat for effect in mine) > 1:
            yield f"{kind} was done more than once"


class Runs:
    """Plans under way, as many side by side as there are processors."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._port = port
        clean = spawn(folder, port)
        assert clean.returncode == 0, clean.stderr
        self.counts = msgspec.json.decode(clean.stdout, type=dict[str, int])
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._runs: dict[str, Future[Verdict]] = {}

    def begin(self, point: str, place: int, places: int) -> Future[Verdict]:
        name = f"{point}-{place}of{places}"
        if name not in self._runs:
            plan = self._plan(name)
            self._runs[name] = self._pool.submit(run, self._folder / name, self._port, plan)
        return self._runs[name]

    def _plan(self, name: str) -> list[str]:
        point, _, place = name.rpartition("-")
        number, _, places = place.partition("of")
        dice = Random(f"{SEED} {name}")
        # Sessions meet in more or fewer commits from run to run.
        sure = self.counts[point] * (0.6 if point.startswith("commit") else 1.0)
        kills = [f"{point}:{1 + int((int(number) - dice.random()) / int(places) * sure)}"]
        if dice.random() < 1 / 3:
            kills.append(f"{dice.choice(POINTS)}:{dice.randint(1, 4)}")
        return kills

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    with effect_server() as port:
        under_way = Runs(tmp_path_factory.mktemp("undo"), port)
        yield under_way
        under_way.close()


def judge(runs: Runs, places: int) -> None:
    plans = [runs.begin(point, place + 1, places) for point in POINTS for place in range(places)]
    verdicts = [plan.result() for plan in plans]
    problems = [each for verdict in verdicts for each in verdict.problems]
    assert not problems, "\n".join(problems)
    # Kills that hit nothing would prove nothing: one right after an effect leaves a doubt, or a repeat.
    assert sum(verdict.kills for verdict in verdicts) >= len(verdicts) // 2
    assert sum(verdict.doubts + verdict.again for verdict in verdicts) >= 1


@pytest.mark.slow
def test_killed_while_it_undoes_nothing_is_undone_twice_or_forgotten(runs: Runs) -> None:
    judge(runs, SAMPLE)


@pytest.mark.sweep
def test_killed_at_any_place_while_it_undoes_nothing_is_undone_twice_or_forgotten(
    runs: Runs,
) -> None:
    judge(runs, WHOLE)
