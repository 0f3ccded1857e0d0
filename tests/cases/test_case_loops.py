"""LD-01, LD-02 and SV-01: polling is work, a cycle is none, and a restart limit is one of time."""

import random

import anyio
import pytest
from sessions import agent, case, requests, run_one

from ukemi import (
    Agent,
    Completed,
    HandedOver,
    ModelReply,
    ModelRequest,
    Outcome,
    PermissionDenied,
    Policy,
    Runtime,
    TransientError,
    tool,
)
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.supervisor.policy_sessions import PlanningPolicy, RestartPolicy

THREE = Policy(planning=PlanningPolicy(repeats_max=3, near_repeats_max=3))


# ---------------------------------------------------------------- LD-01


def builder(between: bool) -> Agent:
    """An agent that polls a build until it is done."""
    states = iter(case("LD-01")["setup"]["results"])

    @tool(effect="read")
    async def build_state(id: int) -> str:
        return str(next(states))

    @tool(effect="read")
    async def sleep(seconds: float) -> str:
        await anyio.sleep(seconds)
        return ""

    script: list[Reply] = []
    for _ in case("LD-01")["setup"]["results"]:
        script.append(call("build_state", id=7))
        if between:
            script.append(call("sleep", seconds=30))
    return agent([*script, "built"], [build_state, sleep])


@pytest.mark.parametrize("between", [True, False], ids=["sleeping between", "without a pause"])
async def test_LD_01_polling_is_no_loop(store: MemoryStore, between: bool) -> None:
    of = builder(between)
    async with Runtime(store, agents=[of], policy=THREE) as runtime:
        assert await run_one(runtime, of) == Completed("built")


async def test_LD_01_the_same_answer_again_and_again_is_one(store: MemoryStore) -> None:
    """The counter-check: with results that stay the same the detector does speak up."""

    @tool(effect="read")
    async def build_state(id: int) -> str:
        return "queued"

    of = agent(lambda request: call("build_state", id=7), [build_state])
    async with Runtime(store, agents=[of], policy=THREE) as runtime:
        outcome = await run_one(runtime, of)
    assert_loop(outcome, "the same step came 3 times")
    assert len(requests(of)) == 3


# ---------------------------------------------------------------- LD-02


CYCLE: list[tuple[str, dict[str, str], str]] = [
    ("read_file", {"path": "a.py"}, "v1"),
    ("edit", {"path": "a.py", "old": "x", "new": "y"}, "error: text not found"),
    ("run_tests", {}, "1 failed"),
]


def editor(tests: list[str]) -> Agent:
    """An agent that reads, edits and tests in turn, whatever comes back, and then says so."""
    left = iter(tests)

    @tool(effect="read")
    async def read_file(path: str) -> str:
        return "v1"

    @tool(effect="write", success=lambda text: not text.startswith("error"))
    async def edit(path: str, old: str, new: str) -> str:
        return "error: text not found"

    @tool(effect="read")
    async def run_tests() -> str:
        return next(left)

    script: list[Reply] = []
    for _ in tests:
        script += [call(name, **arguments) for name, arguments, _ in CYCLE]
    return agent([*script, "done"], [read_file, edit, run_tests])


def assert_loop(outcome: Outcome, words: str) -> None:
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "planning"
    assert words in outcome.detail


@pytest.mark.parametrize("policy", [THREE, None], ids=["threshold 3", "default"])
async def test_LD_02_a_cycle_of_three_is_interrupted_after_its_third_round(
    store: MemoryStore, policy: Policy | None
) -> None:
    setup = case("LD-02")["setup"]
    assert [list(each) for each in CYCLE] == setup["cycle"]
    of = editor(["1 failed"] * setup["repeat"])
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        outcome = await run_one(runtime, of)
    assert_loop(outcome, "the same 3 steps in turn came 3 times with the same results")
    assert isinstance(outcome, HandedOver)
    for name, _, _ in CYCLE:
        assert f"{name}(" in outcome.detail
    assert len(requests(of)) == 9  # not before the end of the third round, and not later


async def test_LD_02_with_other_test_results_it_is_no_loop(store: MemoryStore) -> None:
    of = editor(["9 failed", "7 failed", "4 failed", "1 failed", "ok"])
    async with Runtime(store, agents=[of], policy=THREE) as runtime:
        assert await run_one(runtime, of) == Completed("done")


# ---------------------------------------------------------------- SV-01


class Dying(random.Random):
    """A model whose session comes up, lives for a while, and dies of a fault of its own.

    The model fails in passing, and what draws the wait before the next attempt is broken: that is
    nobody's failure that a directive could answer.
    """

    def __init__(self, after_s: float, error: Exception, times: int = 1000) -> None:
        super().__init__(0)
        self.died_at: list[float] = []
        self._after_s, self._error, self._times = after_s, error, times
        self._armed = False

    async def complete(self, request: ModelRequest) -> ModelReply:
        if len(self.died_at) >= self._times:
            return ModelReply(text="survived")
        await anyio.sleep(self._after_s)
        self._armed = True
        raise TransientError("busy")

    def random(self) -> float:
        if self._armed:
            self._armed = False
            self.died_at.append(anyio.current_time())
            raise self._error
        return 0.5


SV_01 = Policy(
    restarts=RestartPolicy(intensity=3, period_s=5.0, delay_s_first=0.0, delay_s_max=0.0)
)


async def run_dying(store: MemoryStore, dying: Dying) -> tuple[Outcome, tuple[str, ...]]:
    of = Agent("dying", model=dying)
    async with Runtime(store, agents=[of], policy=SV_01, random_source=dying) as runtime:
        return await run_one(runtime, of), runtime.alerts


async def test_SV_01_a_session_that_starts_well_and_dies_soon_is_given_up(
    store: MemoryStore,
) -> None:
    """Coming up is no merit: the fourth death in five seconds ends it, once."""
    dying = Dying(0.05, RuntimeError("broken"))
    outcome, _ = await run_dying(store, dying)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "restarts"
    assert len(dying.died_at) == 4


async def test_SV_01_one_that_dies_every_six_seconds_is_never_given_up(store: MemoryStore) -> None:
    dying = Dying(6.0, RuntimeError("broken"), times=20)
    outcome, _ = await run_dying(store, dying)
    assert outcome == Completed("survived")
    assert len(dying.died_at) == 20


async def test_SV_01_the_window_is_one_of_time(store: MemoryStore) -> None:
    """Three deaths in five seconds are allowed, again and again."""
    dying = Dying(1.7, RuntimeError("broken"), times=20)
    outcome, _ = await run_dying(store, dying)
    assert outcome == Completed("survived")


async def test_SV_01_a_fault_of_configuration_is_not_restarted(store: MemoryStore) -> None:
    dying = Dying(0.05, PermissionDenied("the key is missing"))
    outcome, alerts = await run_dying(store, dying)
    assert isinstance(outcome, HandedOver)
    assert len(dying.died_at) == 1
    assert len(alerts) == 1
