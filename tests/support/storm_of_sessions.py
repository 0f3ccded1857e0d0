"""A thousand sessions, one upstream, a minute in which it is down: what they ask of it.

Ours runs the real runtime under virtual time. The others are curves: the times at which a caller
asks, drawn by a formula, one caller independent of the other.
"""

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import anyio

from ukemi import Agent, Completed, Policy, Runtime, TransientError, tool
from ukemi.models import ScriptedModel, call
from ukemi.stores.memory import MemoryStore

SERVICE_S = 0.05
"""Seconds an answer takes, refused or not."""


@dataclass(frozen=True)
class Storm:
    """What the upstream saw, and how the callers fared."""

    requests: int
    during: int
    peak: int
    done: int
    last_s: float


def measured(asked_at: list[float], done_at: list[float], down_s: float) -> Storm:
    """Sum up; the peak is the largest number of requests in a second after the outage."""
    after = sorted(at for at in asked_at if at >= down_s)
    peak, first = 0, 0
    for last, at in enumerate(after):
        while after[first] <= at - 1.0:
            first += 1
        peak = max(peak, last - first + 1)
    return Storm(
        requests=len(asked_at),
        during=len(asked_at) - len(after),
        peak=peak,
        done=len(done_at),
        last_s=max(done_at, default=float("inf")),
    )


# ---------------------------------------------------------------- the runtime


class _Clock:
    def now(self) -> float:
        return anyio.current_time()

    def wall_ms(self) -> int:
        return 1_700_000_000_000 + int(anyio.current_time() * 1000)


async def runtime_storm(
    sessions: int,
    down_s: float,
    policy: Policy,
    seed: int = 1,
    upstream: str | None = "shop",
    answer_s: float = SERVICE_S,
) -> Storm:
    """Let real sessions of one runtime call a read of this upstream; needs virtual time.

    Args:
        answer_s: seconds that an answer takes once the upstream is back.
    """
    asked_at: list[float] = []
    done_at: list[float] = []
    began = anyio.current_time()

    @tool(effect="read", upstream=upstream)
    async def fetch() -> str:
        now = anyio.current_time() - began
        asked_at.append(now)
        if now < down_s:
            await anyio.sleep(SERVICE_S)
            raise TransientError("connection refused")
        await anyio.sleep(answer_s)
        return "goods"

    of = Agent("storm", model=ScriptedModel([call("fetch"), "done"]), tools=[fetch])
    store = MemoryStore()
    chance = random.Random(seed)
    runtime = Runtime(store, agents=[of], policy=policy, clock=_Clock(), random_source=chance)
    async with runtime:
        handles = [await runtime.start("storm", "go") for _ in range(sessions)]
        began = anyio.current_time()
        async with anyio.create_task_group() as group:

            async def wait(number: int) -> None:
                if isinstance(await handles[number].outcome(), Completed):
                    done_at.append(anyio.current_time() - began)

            for number in range(sessions):
                group.start_soon(wait, number)
    return measured(asked_at, done_at, down_s)


# ---------------------------------------------------------------- curves

Waits = Callable[[random.Random], Iterator[float]]
"""The waits of one caller, one after the other; it gives up where they end."""


def exponential(chance: random.Random) -> Iterator[float]:
    """1, 2, 4, ... up to 30 seconds, for ever; no jitter."""
    delay = 1.0
    while True:
        yield delay
        delay = min(delay * 2.0, 30.0)


def full_jitter(chance: random.Random) -> Iterator[float]:
    """The same, each wait drawn between nothing and the whole (tenacity: wait_random_exponential)."""
    for delay in exponential(chance):
        yield chance.uniform(0.0, delay)


def tenacity_defaults(chance: random.Random) -> Iterator[float]:
    """``@retry`` without arguments: no wait, no end."""
    while True:
        yield 0.0


def stamina_defaults(chance: random.Random) -> Iterator[float]:
    """``stamina.retry(on=...)``: 10 attempts within 45 s; 0.1 s doubling to 5 s, up to 1 s jitter."""
    waited = 0.0
    for number in range(9):
        delay = min(5.0, 0.1 * 2.0**number + chance.uniform(0.0, 1.0))
        waited += delay + SERVICE_S
        if waited > 45.0:
            return
        yield delay


def curve_storm(sessions: int, down_s: float, waits: Waits, seed: int = 1) -> Storm:
    """Let independent callers ask, each after its own waits."""
    chance = random.Random(seed)
    callers = [waits(chance) for _ in range(sessions)]
    due = [(0.0, number) for number in range(sessions)]
    asked_at: list[float] = []
    done_at: list[float] = []
    while due:
        now, number = heapq.heappop(due)
        asked_at.append(now)
        if now >= down_s:
            done_at.append(now + SERVICE_S)
            continue
        delay = next(callers[number], None)
        if delay is not None:
            heapq.heappush(due, (now + SERVICE_S + delay, number))
    return measured(asked_at, done_at, down_s)
