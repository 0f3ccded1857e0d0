"""A process running twenty sessions is killed with SIGKILL, at points all over its run.

Effects are requests to a server outside, which no kill reaches. Whatever the point, between its receiving a
request and its answer included: nothing that was acknowledged is missing, histories are paired, counters have
no gaps, a safe tool ran at most once more per kill, a tool not marked safe never, nor one with a probe, of
which nothing stays in doubt; keys are the same and what has one is done once, no call that succeeded is without
its effect, and every session ends with a typed outcome. What each point means is in ``sweep_child``; the laws
are in ``sweep_check``; each slot has its own share of a whole run, as counted by a run that nobody
kills.
"""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from sweep_plan import EFFECTS
from sweep_run import POINTS, Verdict, count, make_plan, run, slots
from sweep_server import effect_server

SEED = 1
SAMPLE = slots(4 * len(POINTS))
WHOLE = slots(16 * len(POINTS))

Ask = tuple[int, str]


class Runs:
    """The plans, each carried out once.

    One process of tests begins all at once, as many side by side as there are processors. Several, which
    have the tests among them, carry out what they are asked for, and tell each other what came of it.
    """

    def __init__(self, folder: Path, told: Path, port: int) -> None:
        self._folder = folder
        self._told = told
        self._port = port
        clean = folder / "clean"
        clean.mkdir()
        self._counts = count(clean, port)
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._runs: dict[str, Future[Verdict]] = {}

    def begin(self, slot: str) -> Future[Verdict]:
        if slot not in self._runs:
            place = self._folder / slot
            place.mkdir()
            plan = make_plan(SEED, slot, self._counts)
            self._runs[slot] = self._pool.submit(run, plan, place, self._port)
        return self._runs[slot]

    def verdict(self, slot: str) -> Verdict:
        told = self._told / slot
        if slot not in self._runs and told.exists():
            return msgspec.json.decode(told.read_bytes(), type=Verdict)
        verdict = self.begin(slot).result()
        half = self._folder / f"{slot}.json"
        half.write_bytes(msgspec.json.encode(verdict))
        half.replace(told)
        return verdict

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def runs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runs]:
    """Begin the plans of all selected tests, whatever their order, unless others have tests too."""
    one_of_many = hasattr(request.config, "workerinput")  # by pytest-xdist, below a common folder
    common = tmp_path_factory.getbasetemp()
    told = (common.parent if one_of_many else common) / "kill-sweep-told"
    told.mkdir(exist_ok=True)
    with effect_server() as port:
        under_way = Runs(tmp_path_factory.mktemp("sweep"), told, port)
        for item in [] if one_of_many else request.session.items:
            if isinstance(item, pytest.Function) and item.path == request.path:
                with suppress(AttributeError, KeyError):
                    under_way.begin(str(item.callspec.params["slot"]))
        yield under_way
        under_way.close()


def judge(verdict: Verdict) -> None:
    told = "\n".join([*verdict.problems, f"again: {verdict.plan.replay}"])
    assert not verdict.problems, told
    if not verdict.plan.kills[0].startswith("clock"):
        assert verdict.kills, f"the first process ended before it was killed\n{told}"


def named(slot: str) -> str:
    return f"{slot}-seed{SEED}"


@pytest.mark.slow
@pytest.mark.parametrize("slot", SAMPLE, ids=named)
def test_killed_at_any_point_nothing_is_lost_or_done_twice(runs: Runs, slot: str) -> None:
    judge(runs.verdict(slot))


@pytest.mark.sweep
@pytest.mark.parametrize("slot", WHOLE, ids=named)
def test_killed_at_every_point_nothing_is_lost_or_done_twice(runs: Runs, slot: str) -> None:
    judge(runs.verdict(slot))


@pytest.mark.slow
def test_the_sample_has_every_kind_of_point_and_bites(runs: Runs) -> None:
    """A sweep whose kills hit nothing would prove nothing: some must leave calls in doubt."""
    verdicts = [runs.verdict(slot) for slot in SAMPLE]
    assert {slot.rpartition("-")[0] for slot in SAMPLE} == set(POINTS)
    assert len(verdicts) >= 40
    assert sum(verdict.kills for verdict in verdicts) > len(verdicts)
    assert sum(verdict.doubts for verdict in verdicts) >= 10
    assert sum(verdict.effects > EFFECTS for verdict in verdicts) >= 10
