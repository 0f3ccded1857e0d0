"""Random lives of a session against a model of the ledger that is too simple to be wrong (P2).

A model orders things, and orders again what it was told had gone wrong. Calls fail before their
effect, after it, or hang; processes die between any two writes of the store; people look, and say
what they see. The world outside counts what took effect. Whatever happens:

- an order takes effect once at most, however often it is planned, unless its tool says that this does
  no harm;
- what took effect is known as an effect, or it is in doubt; it is never forgotten;
- in doubt is only what really may have taken effect: an attempt was cut off, or the process died.
"""

from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any

import anyio
import pytest
from sessions import LoopClock, assert_paired, journal, opened
from store_faults import Fault, FaultyStore
from virtual_time import VIRTUAL_BACKENDS, virtual_backend

from ukemi import (
    NOT_DONE,
    Agent,
    Completed,
    HandedOver,
    InDoubtTimeout,
    InvalidArgument,
    ModelRequest,
    NotDone,
    Policy,
    Runtime,
    StoreError,
    StoreFailed,
    TransientError,
    UkemiError,
    tool,
)
from ukemi.actors.inspection import fold
from ukemi.actors.model import AssistantMessage, ToolMessage
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import ScriptedModel, call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Answered, Intended, Resulted
from ukemi.supervisor.policy_sessions import PlanningPolicy, StoragePolicy

KINDS = ("safe", "keyed", "probed", "none")
ORDERS = 6
LIVES_MAX = 40
SEQUENCES = 300
BATCH = 25
FAST = 75


@pytest.fixture(params=VIRTUAL_BACKENDS[:1])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual_backend(request.param)


class World:
    """What is outside: it counts, and no process that dies takes any of it along."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.effects: Counter[str] = Counter()
        self.keys: dict[str, str] = {}
        self.bodies: Counter[str] = Counter()

    async def order(self, what: str, key: str | None) -> str:
        """Go wrong, or not, in a way drawn for this attempt."""
        self.bodies[what] += 1
        dice = Random(f"{self.seed} {what} {self.bodies[what]}")
        how = dice.choices(
            ("fine", "refused", "wrong", "booked and cut", "cut", "booked and hung", "hung"),
            (12, 3, 1, 2, 2, 1, 1),
        )[0]
        if how == "refused":
            raise TransientError("busy")
        if how == "wrong":
            raise InvalidArgument("not like this", fields=["what"])
        if not how.startswith(("cut", "hung")):
            self._book(what, key)
        if how.endswith("hung"):
            await anyio.sleep(1000)
        if how.endswith("cut"):
            raise InDoubtTimeout("the line went dead")
        return f"booked {what}"

    def _book(self, what: str, key: str | None) -> None:
        if key is not None:
            if key in self.keys:
                assert self.keys[key] == what, "one key for two orders"
                return
            self.keys[key] = what
        self.effects[what] += 1

    def tools(self) -> list[AnyTool]:
        async def look(what: str) -> str | NotDone:
            return f"booked {what}" if self.effects[what] else NOT_DONE

        @tool(safe_to_retry=True, timeout_s=5.0)
        async def safe(what: str) -> str:
            return await self.order(what, None)

        @tool(accepts_key=True, timeout_s=5.0)
        async def keyed(what: str, *, key: str) -> str:
            return await self.order(what, key)

        @tool(probe=look, timeout_s=5.0)
        async def probed(what: str) -> str:
            return await self.order(what, None)

        @tool(timeout_s=5.0)
        async def none(what: str) -> str:
            return await self.order(what, None)

        return [safe, keyed, probed, none]


def planner(seed: int) -> ScriptedModel:
    """Return a model that orders one thing after another, and again what it was told went wrong.

    Nothing is ordered a second time that it has seen succeed; it does not read notes.
    """

    async def script(request: ModelRequest) -> Reply:
        had: set[int] = set()
        tries: Counter[int] = Counter()
        asked: list[int] = []
        for message in request.messages:
            if isinstance(message, AssistantMessage):
                asked += [int(each.arguments.split()[1].strip('"}')) for each in message.calls]
            elif isinstance(message, ToolMessage):
                number = asked[len(had) + tries.total()]
                if message.is_error:
                    tries[number] += 1
                else:
                    had.add(number)
        dice = Random(f"{seed} plan {len(asked)}")
        left = [each for each in range(ORDERS) if each not in had and tries[each] < 4]
        if not left:
            return "I am through; not everything could be ordered."
        number = left[0] if dice.random() < 0.8 else dice.choice(left)
        kind = KINDS[Random(f"{seed} kind {number}").randrange(4)]
        return call(kind, what=f"{kind} {number}")

    return ScriptedModel(script)


async def live(seed: int) -> tuple[World, MemoryStore, bool]:
    """Live one session to its end over many processes; False where it is left unfinished."""
    world, dice = World(seed), Random(f"{seed} kills")
    store, clock = MemoryStore(f"law-{seed}"), LoopClock()
    policy = Policy(
        planning=PlanningPolicy(repeats_max=None), storage=StoragePolicy(retry_s_max=2.0)
    )
    async with opened(store):
        for life in range(LIVES_MAX):
            agent = Agent("agent", model=planner(seed), tools=world.tools())
            faulty = FaultyStore(store)
            if dice.random() < 0.7 and life < LIVES_MAX // 2:
                at = dice.randint(2, 12)
                when: Any = dice.choice(("before", "after"))
                faulty.plan = [Fault(at=at, when=when, always=True, error=StoreFailed("dead"))]
            with suppress(StoreError, UkemiError):
                async with Runtime(faulty, agents=[agent], policy=policy, clock=clock) as runtime:
                    if await _drive(runtime, world, dice, dead=bool(faulty.plan)):
                        return world, store, True
            await anyio.sleep(30.0)  # the lease of the one that died
    return world, store, False


async def _drive(runtime: Runtime, world: World, dice: Random, *, dead: bool) -> bool:
    """Send the session on until it has completed; a dead store ends this with its error."""
    with anyio.fail_after(900.0):
        heads = await runtime.sessions()
        if heads:
            handle = runtime.session("one")
        else:
            handle = await runtime.start("agent", "order", session_id="one")
        for _ in range(60):
            outcome = await handle.outcome()
            if isinstance(outcome, Completed):
                return True
            assert isinstance(outcome, HandedOver)
            if outcome.reason == "mismatch":
                return True  # its answer is not our subject
            if outcome.reason == "restarts" and dead:
                raise StoreError("as good as dead")
            doubts = outcome.dossier.in_doubt
            if not doubts or dice.random() < 0.3:
                await handle.send("go on")
                continue
            doubt = dice.choice(doubts)
            what = doubt.arguments.split('"')[3]
            there = world.effects[what] > 0
            option = dice.choice(("done", "abandon") if there else ("not_done", "retry", "abandon"))
            with suppress(UkemiError):
                await handle.resolve(option, call=(doubt.n, doubt.index))
    raise AssertionError("it goes on and on")


async def check(world: World, store: MemoryStore) -> Counter[str]:
    """Compare what the ledger says with what the world counted; return what was seen."""
    async with opened(store):
        entries = await journal(store, "one")
    state = fold("one", entries)
    assert_paired(list(state.conversation))
    asked: dict[tuple[int, int], str] = {}
    for entry in entries:
        if isinstance(entry, Answered):
            asked |= {
                (entry.n, at): each.arguments.split('"')[3] for at, each in enumerate(entry.calls)
            }
    begun = {(each.n, each.index) for each in entries if isinstance(each, Intended)}
    known = Counter(asked[each] for each in state.effects)
    doubted = {asked[each] for each in state.in_doubt}
    for what, count in world.effects.items():
        kind = what.split()[0]
        if kind != "safe":
            assert count <= 1, f"{what} took effect {count} times"
            assert known[what] <= 1, f"{what} is {known[what]} effects"
            settled = known[what] or what in doubted or _given_up(entries, asked, what)
            assert settled, f"{what} took effect, and the ledger has forgotten it"
    for what in known:
        assert world.effects[what], f"{what} is called an effect, and is none"
    for each in state.in_doubt:
        assert each in begun, f"{each} is in doubt, and nothing was intended"
        assert not asked[each].startswith("safe")
    results = [each for each in entries if isinstance(each, Resulted)]
    assert len({(each.n, each.index) for each in results}) == len(results)
    return Counter(
        {
            "effects": sum(known.values()),
            "doubts": sum(each.state == "in_doubt" for each in results),
            "probed": sum(each.by == "probe" for each in results),
            "record": sum(each.by == "record" for each in results),
            "again": sum(each.by == "again" for each in state.effects.values()),
            "refused": sum(each.state == "refused" for each in results),
        }
    )


def _given_up(entries: list[Any], asked: dict[tuple[int, int], str], what: str) -> bool:
    """Whether a person has abandoned an order: then nobody asks any more what became of it."""
    return any(
        getattr(each, "by", "") == "person"
        and each.state == "denied"
        and asked[each.n, each.index] == what
        for each in entries
        if hasattr(each, "state") and hasattr(each, "n")
    )


BATCHES = [
    pytest.param(first, marks=() if first < FAST else pytest.mark.slow)
    for first in range(0, SEQUENCES, BATCH)
]


@pytest.mark.parametrize("first", BATCHES)
async def test_nothing_takes_effect_twice_and_nothing_is_forgotten(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + BATCH):
        try:
            world, store, completed = await live(seed)
            seen += await check(world, store)
            seen["completed"] += completed
        except BaseException as error:
            error.add_note(f"sequence {seed}")
            raise
    assert seen["completed"] == BATCH
    assert seen["effects"] > BATCH and seen["doubts"] > 0
