"""A store to try policies on: a day at a shop whose suppliers fail, recorded by the real runtime in virtual time.

A warehouse is down now and then, for up to a minute; a search refuses for a while when asked too much; a bank
leaves a few payments in doubt; a quote is asked with words first and has to be corrected. How long each lasts
is drawn by a fixed seed, so the record is the same at each run.
"""

import random
import time
from typing import Literal

import anyio
import anyio.to_thread
from msgspec import Struct

from ..actors.agent import Agent
from ..actors.model import ModelRequest, ToolMessage
from ..actors.runtime import Runtime
from ..actors.tooling.tools import AnyTool, tool
from ..models import ScriptedModel, call
from ..models.scripted import Reply
from ..stores.base import Append, Create, HeadQuery, Leave, Store, StoredSession, Write, Written
from ..stores.memory import MemoryStore
from ..stores.sqlite import SqliteStore
from ..supervisor.errors import (
    InDoubtTimeout,
    InvalidArgument,
    RateLimited,
    TransientError,
    UkemiError,
)
from ..supervisor.policy import Policy
from ..supervisor.policy_file import load_policy
from ..testing.clock import run_virtual
from .errors import DONE, CannotRead, ExitStatus
from .output import Output

SESSIONS = 150
LASTS_S = 3600.0
SEED = 1
OWNER = "the demo"
PLAN = ("stock", "quote", "search", "pay")
MODEL_S, REFUSED_S, UNANSWERED_S = 0.8, 0.1, 5.0

Upstream = Literal["warehouse", "search", "bank"]


class Hour(Struct, frozen=True):
    """A time at which something is down, in seconds since the start."""

    start: float
    end: float


class _Clock:
    """Virtual time that ends about now, so that the record is not of another year."""

    def __init__(self) -> None:
        self._start_ms = time.time_ns() // 1_000_000 - round(LASTS_S * 1000)

    def now(self) -> float:
        return anyio.current_time()

    def wall_ms(self) -> int:
        return self._start_ms + int(anyio.current_time() * 1000)


class _Shop:
    """The suppliers, and when they are down."""

    def __init__(self) -> None:
        self._hours: dict[Upstream, list[Hour]] = {
            "warehouse": _hours("warehouse", 420.0, 5.0, 60.0),
            "search": _hours("search", 600.0, 5.0, 25.0),
            "bank": _hours("bank", 900.0, 10.0, 30.0),
        }

    def down_s(self, upstream: Upstream) -> float | None:
        """Return for how much longer an upstream is down; None: it is not."""
        now = anyio.current_time()
        hours = self._hours[upstream]
        return next((each.end - now for each in hours if each.start <= now < each.end), None)

    def tools(self) -> list[AnyTool]:
        @tool(effect="read", upstream="warehouse")
        async def stock(sku: str) -> int:
            """Units of a product in stock."""
            if self.down_s("warehouse") is not None:
                await anyio.sleep(REFUSED_S)
                raise TransientError("connection refused")
            await anyio.sleep(0.3)
            return 12

        @tool(effect="read")
        async def quote(units: str) -> str:
            """What so many cost."""
            await anyio.sleep(0.1)
            if not units.isdecimal():
                raise InvalidArgument("units must be a number", fields=["units"])
            return "9.90"

        @tool(effect="read", upstream="search")
        async def search(words: str) -> str:
            """Look for offers."""
            left_s = self.down_s("search")
            await anyio.sleep(REFUSED_S if left_s is not None else 0.5)
            if left_s is not None:
                raise RateLimited("too many requests", retry_after=max(0.0, left_s - REFUSED_S))
            return "no better offer"

        @tool(effect="write", upstream="bank")
        async def pay(euros: str) -> str:
            """Pay for it."""
            if self.down_s("bank") is not None:
                await anyio.sleep(UNANSWERED_S)
                raise InDoubtTimeout("no answer within 5 s")
            await anyio.sleep(0.7)
            return "paid"

        return [stock, quote, search, pay]


def _hours(name: str, often_s: float, least_s: float, most_s: float) -> list[Hour]:
    chance = random.Random(f"{name} {SEED}")
    found: list[Hour] = []
    at = chance.uniform(0.3, 1.0) * often_s
    while at < LASTS_S:
        length = chance.uniform(least_s, most_s)
        found.append(Hour(at, at + length))
        at += length + chance.uniform(0.5, 1.5) * often_s
    return found


def _script(request: ModelRequest) -> Reply:
    """Make the calls of the plan one by one; ask for a quote with words first."""
    made = [each for each in request.messages if isinstance(each, ToolMessage)]
    wrong = [each for each in made if "invalid_argument" in each.content]
    at = len(made) - len(wrong)
    if at >= len(PLAN):
        return "Bought."
    match PLAN[at]:
        case "quote":
            return call("quote", units="3" if wrong else "three")
        case "search":
            return call("search", words="A-17")
        case "pay":
            return call("pay", euros="9.90")
        case _:
            return call("stock", sku="A-17")


async def record_demo(out: Output, file: str, policy_file: str | None) -> ExitStatus:
    """Make the store, under a policy.

    Raises:
        UsageError: the policy cannot be read.
        CannotRead: there is a file of this name, or no such folder.
    """
    policy = load_policy(policy_file)
    try:
        there = await anyio.Path(file).exists()
    except OSError as error:
        raise CannotRead(f"--record {file!r}: {error.strerror}; name another file") from error
    if there:
        raise CannotRead(f"--record {file!r} is there already; name a file that is not")
    if not await anyio.Path(file).parent.is_dir():
        raise CannotRead(f"--record {file!r}: there is no such folder")
    sessions = await anyio.to_thread.run_sync(run_virtual, _recorded, policy)
    store = SqliteStore(file)
    await store.open()
    try:
        await keep(store, sessions)
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()
    out.note(f"recorded: {len(sessions)} sessions of {LASTS_S / 60:.0f} minutes, in {file}")
    if out.as_json:
        out.data({"store": file, "sessions": len(sessions)})
    return DONE


async def _recorded(policy: Policy) -> list[StoredSession]:
    """Run the sessions, and return them as they are stored; under virtual time."""
    store = MemoryStore()
    agent = Agent("buyer", model=ScriptedModel(_script, delay_s=MODEL_S), tools=_Shop().tools())
    chance = random.Random(SEED)
    starts = sorted(chance.uniform(0.0, LASTS_S - 120.0) for _ in range(SESSIONS))
    runtime = Runtime(store, agents=[agent], policy=policy, clock=_Clock(), random_source=chance)
    async with runtime, anyio.create_task_group() as group:
        for number, start in enumerate(starts, 1):
            await anyio.sleep(max(0.0, start - anyio.current_time()))
            handle = await runtime.start("buyer", "Buy three A-17", session_id=f"buy-{number:03}")
            group.start_soon(handle.outcome)
    await store.open()
    heads = reversed(await store.heads(HeadQuery(limit=SESSIONS)))
    return [await store.load(head.session_id) for head in heads]


async def keep(store: Store, sessions: list[StoredSession]) -> None:
    """Write sessions that have ended into another store, row by row as they are."""
    for session in sessions:
        head, (first, *rows) = session.head, session.rows
        last = rows[-1].seq
        writes: list[Write] = [
            Create(session_id=head.session_id, owner=OWNER, facts=head.facts, body=first.body)
        ]
        for row in rows:
            writes.append(
                Append(
                    session_id=head.session_id,
                    epoch=1,
                    seq=row.seq,
                    counter=row.counter,
                    body=row.body,
                    status=head.status if row.seq == last else "running",
                    facts=head.facts if row.seq == last else None,
                )
            )
        _check(await store.commit(writes))
    _check(await store.commit([Leave(owner=OWNER)]))


def _check(written: list[Written]) -> None:
    for each in written:
        if isinstance(each, UkemiError):
            raise each
