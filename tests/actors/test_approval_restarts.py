"""Approvals over restarts: the store as it was after each commit, and a new runtime that goes on from
there."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio
import pytest
from sessions import LoopClock, agent, journal, opened, until

from ukemi import Policy, Runtime, tool
from ukemi.actors.agent import Agent
from ukemi.actors.inspection import entries_of, fold
from ukemi.models import call
from ukemi.stores.base import Write, Written
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Decided, Judged, Requested
from ukemi.supervisor.danger.policy import DangerPolicy

ARGS = {"to": "ann", "amount": 2}
VERDICTS = ("approve", "edit", "deny", "expire")
MAY_RUN = {"approve": [3], "edit": [2], "deny": [], "expire": []}


class Recorded(MemoryStore):
    """Remembers what was committed, commit by commit."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[Write]] = []

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        self.batches.append(list(writes))
        return await super().commit(writes)

    async def until(self, count: int) -> "Recorded":
        """Return a store as this one was after so many commits."""
        earlier = Recorded()
        async with opened(earlier) as store:
            for batch in self.batches[:count]:
                await store.commit(batch)
        return earlier


class World:
    """What bodies did outside, and after how many commits."""

    def __init__(self) -> None:
        self.ran: list[tuple[int, int]] = []

    def agent(self, store: Recorded) -> Agent:
        @tool(danger="money")
        async def pay(to: str, amount: int) -> str:
            self.ran.append((len(store.batches), amount))
            return "paid"

        return agent([call("pay", to="ann", amount=3), "That is all."], [pay])


async def person(runtime: Runtime, verdict: str) -> None:
    """Answer what is asked, again and again."""
    while True:
        for request in await runtime.approvals():
            assert json.loads(request.arguments) == {"to": "ann", "amount": 3}
            if verdict == "edit":
                await runtime.decide(request, "approve", args=ARGS, by="eve")
            elif verdict != "expire":
                given: Any = verdict
                await runtime.decide(request, given, by="eve")
        await anyio.sleep(0.5)


async def go_on(store: Recorded, world: World, verdict: str, *, start: bool = False) -> None:
    """Drive the session to its end, with a person who answers."""
    expires_s = 20.0 if verdict == "expire" else 1e9
    policy = Policy(danger=DangerPolicy(expires_s=expires_s))
    runtime = Runtime(store, agents=[world.agent(store)], policy=policy, clock=LoopClock())
    async with runtime, anyio.create_task_group() as group:
        group.start_soon(person, runtime, verdict)
        if start:
            await runtime.start("agent", "pay", session_id="one")
        await until(partial(is_over, runtime), 100.0, 0.5)
        group.cancel_scope.cancel()


async def is_over(runtime: Runtime) -> bool:
    return (await runtime.sessions())[0].status not in ("running", "parked")


def session_in(store: Recorded, count: int) -> bool:
    """Tell whether the session is stored after so many commits."""
    writes = [write for batch in store.batches[:count] for write in batch]
    return any(getattr(write, "session_id", None) == "one" for write in writes)


@pytest.mark.parametrize("verdict", VERDICTS)
async def test_at_each_commit_a_new_runtime_goes_on(verdict: str) -> None:
    first, world = Recorded(), World()
    await go_on(first, world, verdict, start=True)
    assert [amount for _, amount in world.ran] == MAY_RUN[verdict]
    places = [count for count in range(1, len(first.batches)) if session_in(first, count)]
    assert len(places) >= 6
    for count in places:
        store, after = await first.until(count), World()
        await go_on(store, after, verdict)
        # The first process may have got as far as the effect before it died, or not.
        before = [amount for at, amount in world.ran if at < count]
        ran = before + [amount for _, amount in after.ran]
        async with opened(store) as there:
            entries = await journal(there, "one")
            state = fold("one", entries_of(await there.load("one")))
        assert len(ran) <= 1 and set(ran) <= set(MAY_RUN[verdict]), (count, ran)
        assert ran == MAY_RUN[verdict] or state.in_doubt, (count, ran)
        kinds = [type(each) for each in entries]
        assert kinds.count(Requested) == kinds.count(Judged) == 1, count
        assert kinds.count(Decided) == (verdict != "expire"), count
