"""A world whose truth is known, met by the real runtime: what it did there, and what its store recorded.

The faults are a script of times and know nothing of how anything is learned or simulated: a warehouse that is
down now and then, a bank that leaves payments in doubt while it is, a search that refuses for a while
when asked too much, an archive that goes down and never comes back, and a quote that is always wrong at first.
"""

import math
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial

import anyio

from ukemi import (
    Agent,
    Budget,
    Completed,
    HandedOver,
    InDoubtTimeout,
    InvalidArgument,
    Policy,
    RateLimited,
    Runtime,
    TransientError,
    tool,
)
from ukemi.actors.inspection import entries_of
from ukemi.actors.model import ModelRequest, ToolMessage
from ukemi.actors.simulating.traces import Record, record_of
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import ScriptedModel, call
from ukemi.models.scripted import Reply
from ukemi.stores.base import HeadQuery, Store
from ukemi.stores.memory import MemoryStore
from ukemi.testing import VirtualClock, run_virtual

LASTS_S = 900.0
"""Seconds in which sessions are started."""

ARCHIVE_DOWN_S = 500.0
REFUSED_S = 0.05
UNANSWERED_S = 5.0
MODEL_S = 0.6

BUYER = ("stock", "quote", "search", "pay", "stock")
CLERK = ("stock", "search", "archive", "stock")


def _hours(
    seed: str, often_s: float, least_s: float, most_s: float
) -> tuple[tuple[float, float], ...]:
    """Return times at which something is down: from, until."""
    chance = random.Random(seed)
    hours: list[tuple[float, float]] = []
    at = chance.uniform(20.0, often_s)
    while at < LASTS_S:
        length = chance.uniform(least_s, most_s)
        hours.append((at, at + length))
        at += length + chance.uniform(0.5 * often_s, 1.5 * often_s)
    return tuple(hours)


class Faults:
    """The script of one world."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.warehouse = _hours(f"warehouse {seed}", 90.0, 4.0, 40.0)
        self.bank = _hours(f"bank {seed}", 200.0, 8.0, 20.0)
        self.search = _hours(f"search {seed}", 120.0, 5.0, 30.0)
        self.archive = ((ARCHIVE_DOWN_S, math.inf),)

    def until(self, upstream: str, now: float) -> float | None:
        """Return the end of the fault that this upstream has now."""
        hours: tuple[tuple[float, float], ...] = getattr(self, upstream)
        return next((end for start, end in hours if start <= now < end), None)


@dataclass
class Truth:
    """What really happened under one policy."""

    outcomes: dict[str, str] = field(default_factory=dict[str, str])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    asked: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    in_doubt: int = 0
    tokens: int = 0

    @property
    def calls(self) -> int:
        return sum(len(each) for each in self.asked.values())

    @property
    def completed(self) -> float:
        return sum(each == "completed" for each in self.outcomes.values()) / len(self.outcomes)

    @property
    def reasons(self) -> Counter[str]:
        return Counter(each for each in self.outcomes.values() if each != "completed")


def _took(seed: int, who: str, what: str) -> float:
    """Return how long this session's call takes; the same whatever the policy."""
    return random.Random(f"{seed} {who} {what}").lognormvariate(-1.2, 0.6)


def _tools(faults: Faults, truth: Truth, began: float) -> list[AnyTool]:
    def ask(upstream: str) -> float | None:
        now = anyio.current_time() - began
        truth.asked[upstream].append(now)
        end = faults.until(upstream, now)
        return None if end is None else end - now

    @tool(effect="read", upstream="warehouse")
    async def stock(who: str, at: int) -> int:
        if ask("warehouse") is not None:
            await anyio.sleep(REFUSED_S)
            raise TransientError("connection refused")
        await anyio.sleep(_took(faults.seed, who, f"stock {at}"))
        return 3

    @tool(effect="read")
    async def quote(who: str, at: int, units: str) -> str:
        truth.asked["quote"].append(anyio.current_time() - began)
        await anyio.sleep(0.1)
        if units != "3":
            raise InvalidArgument("units must be a number", fields=["units"])
        return "9.90"

    @tool(effect="read", upstream="search")
    async def search(who: str, at: int) -> str:
        left_s = ask("search")
        if left_s is not None:
            await anyio.sleep(REFUSED_S)
            raise RateLimited("too many requests", retry_after=left_s - REFUSED_S)
        await anyio.sleep(_took(faults.seed, who, f"search {at}"))
        return "found"

    @tool(effect="write", upstream="bank")
    async def pay(who: str, at: int) -> str:
        if ask("bank") is not None:
            await anyio.sleep(UNANSWERED_S)
            truth.in_doubt += 1
            raise InDoubtTimeout("no answer")
        await anyio.sleep(_took(faults.seed, who, f"pay {at}"))
        return "paid"

    @tool(effect="read", upstream="archive")
    async def archive(who: str, at: int) -> str:
        if ask("archive") is not None:
            await anyio.sleep(REFUSED_S)
            raise TransientError("connection refused")
        await anyio.sleep(_took(faults.seed, who, f"archive {at}"))
        return "kept"

    return [stock, quote, search, pay, archive]


def _script(plan: tuple[str, ...], truth: Truth, began: float, request: ModelRequest) -> Reply:
    """Make the calls of a plan one by one; a quote is asked with words first."""
    truth.asked["model scripted"].append(anyio.current_time() - began)
    truth.tokens += 120
    made = [each for each in request.messages if isinstance(each, ToolMessage)]
    wrong = [each for each in made if "invalid_argument" in each.content]
    at = len(made) - len(wrong)
    if at >= len(plan):
        return "Done."
    who = request.session_id
    if plan[at] != "quote":
        return call(plan[at], who=who, at=at)
    return call("quote", who=who, at=at, units="3" if wrong else "three")


async def met(seed: int, sessions: int, policy: Policy, store: Store, chance: int = 0) -> Truth:
    """Let real sessions meet the faults under a policy; under virtual time.

    Args:
        chance: of the runtime's own, such as its jitter.
    """
    faults, truth, began = Faults(seed), Truth(), anyio.current_time()
    tools = _tools(faults, truth, began)
    agents = [
        Agent(
            name,
            model=ScriptedModel(partial(_script, plan, truth, began), delay_s=MODEL_S),
            tools=tools,
        )
        for name, plan in (("buyer", BUYER), ("clerk", CLERK))
    ]
    arriving = random.Random(f"starts {seed}")
    starts = sorted(arriving.uniform(0.0, LASTS_S) for _ in range(sessions))
    runtime = Runtime(
        store,
        agents=agents,
        policy=policy,
        clock=VirtualClock(),
        random_source=random.Random(f"{seed} {chance}"),
    )
    async with runtime, anyio.create_task_group() as group:
        for number, start in enumerate(starts):
            await anyio.sleep(max(0.0, began + start - anyio.current_time()))
            group.start_soon(_one, runtime, truth, number)
    return truth


async def _one(runtime: Runtime, truth: Truth, number: int) -> None:
    agent = "clerk" if number % 4 == 3 else "buyer"
    began, who = anyio.current_time(), f"s{number:04}"
    handle = await runtime.start(agent, "go", session_id=who, budget=Budget(seconds=3600))
    outcome = await handle.outcome()
    truth.seconds[who] = anyio.current_time() - began
    if isinstance(outcome, Completed):
        truth.outcomes[who] = "completed"
    else:
        truth.outcomes[who] = outcome.reason if isinstance(outcome, HandedOver) else "stopped"


async def recorded(store: Store) -> list[Record]:
    """Read every session of a store."""
    records: list[Record] = []
    await store.open()
    for head in await store.heads(HeadQuery(limit=10_000)):
        record = record_of(head.session_id, entries_of(await store.load(head.session_id)))
        assert record is not None
        records.append(record)
    await store.close()
    return records


async def _met_and_recorded(
    seed: int, sessions: int, policy: Policy, chance: int
) -> tuple[Truth, list[Record]]:
    store = MemoryStore()
    truth = await met(seed, sessions, policy, store, chance)
    return truth, await recorded(store)


def run(
    seed: int, sessions: int, policy: Policy | None = None, chance: int = 0
) -> tuple[Truth, list[Record]]:
    """Return what happened under a policy, and what was recorded of it."""
    return run_virtual(_met_and_recorded, seed, sessions, policy or Policy(), chance)
