"""TE-01: one tenant's burst does not put everyone else behind it, and whoever is cancelled holds no
place in the line. As sessions of one process, and as calls of one upstream."""

from typing import Any

import anyio
import pytest
from sessions import agent, case, ended

from ukemi import Agent, Budget, Policy, Runtime, current, tool
from ukemi.actors.model import ModelRequest
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.supervisor.policy_limits import AdmissionPolicy, ConcurrencyPolicy

SETUP: dict[str, Any] = case("TE-01")["setup"]
SLOTS: int = SETUP["slots"]
BURST, CANCELLED = 200, 50
JOB_S = 1.0


class Line:
    """When each job began, and how many were at work at once; each takes a second."""

    def __init__(self) -> None:
        self.began: dict[str, float] = {}
        self.now = self.most = 0

    async def work(self, name: str) -> str:
        self.began[name] = anyio.current_time()
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await anyio.sleep(JOB_S)
        finally:
            self.now -= 1
        return "done"


def as_sessions(line: Line) -> tuple[Agent, Policy]:
    """The jobs are sessions, and the process has so many places."""

    async def script(request: ModelRequest) -> Reply:
        return await line.work(request.session_id)

    return agent(script), Policy(admission=AdmissionPolicy(sessions_max=SLOTS))


def as_calls(line: Line) -> tuple[Agent, Policy]:
    """The jobs are calls of one service, from sessions of which there may be any number."""

    @tool(effect="read", upstream="service")
    async def job() -> str:
        return await line.work(current().session_id)

    def script(request: ModelRequest) -> Reply:
        return call("job") if len(request.messages) == 1 else "done"

    return agent(script, [job]), Policy(upstream={"service": {"concurrency": {"calls_max": SLOTS}}})


def as_requests(line: Line) -> tuple[Agent, Policy]:
    """The jobs are requests to one model."""

    async def script(request: ModelRequest) -> Reply:
        return await line.work(request.session_id)

    return agent(script), Policy(concurrency=ConcurrencyPolicy(calls_max=SLOTS))


@pytest.mark.parametrize("made", [as_sessions, as_calls, as_requests])
async def test_TE_01_a_burst_of_one_tenant_does_not_stand_before_the_other(
    store: MemoryStore, made: Any
) -> None:
    line = Line()
    of, policy = made(line)
    budget = Budget(seconds=None)
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        start = anyio.current_time()
        for at in range(BURST):
            await runtime.start("agent", "go", session_id=f"a{at}", tenant="a", budget=budget)
        await anyio.sleep(0.2)
        gone = [f"a{at}" for at in range(BURST - CANCELLED, BURST)]
        for name in gone:
            await runtime.session(name).cancel()
        assert anyio.current_time() - start == pytest.approx(0.2)  # at once, each of them
        await anyio.sleep(0.3)
        await runtime.start("agent", "go", session_id="b0", tenant="b", budget=budget)
        stayed = [f"a{at}" for at in range(BURST - CANCELLED)]
        for name in ("b0", *stayed):
            await ended(runtime, name)
        took_s = anyio.current_time() - start
    assert line.began["b0"] - start <= 1.0 + 1e-6  # B's job starts by t=1.0
    assert not set(gone) & line.began.keys()  # the cancelled ones never held a slot
    first = [name for name, at in line.began.items() if at == start]
    assert len(first) == line.most == SLOTS  # A alone may use all of them
    times = [line.began[name] for name in stayed]  # trio runs in any order what begins together
    assert times == sorted(times)  # within one tenant the order is kept
    # And no slot was left empty: 150 jobs of A's and one of B's on 15.
    assert took_s == pytest.approx(-(-(len(stayed) + 1) // SLOTS) * JOB_S, abs=0.1)
