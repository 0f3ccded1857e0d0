"""When a call is made again, when not, and how often it is corrected.

Field cases RA-01, RA-02, RA-03, RS-01, RS-02, RS-03, EC-01, CL-01 and CL-02.
"""

import math
import random
import ssl
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import anyio
import pytest
from failing import HttpError, Response, Upstream
from sessions import LoopClock, agent, case, ended, journal, opened, requests, results, run_one

from ukemi import (
    Agent,
    Completed,
    HandedOver,
    InvalidArgument,
    Policy,
    RetryPolicy,
    Runtime,
    current,
    tool,
)
from ukemi.actors.events import AlertRaised
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import ScriptedModel, call
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Answered, JournalEntry, Retried
from ukemi.supervisor.classify import classify
from ukemi.supervisor.policy_file import parse_policy
from ukemi.supervisor.policy_limits import BreakerPolicy, RetryBudgetPolicy


def same(policy: RetryPolicy, **sections: Any) -> Policy:
    """The same numbers for whatever is waited out."""
    return Policy(transient=policy, rate_limited=policy, in_doubt_timeout=policy, **sections)


async def entries_of(store: MemoryStore, session_id: str = "s-1") -> list[JournalEntry]:
    async with opened(store):
        return await journal(store, session_id)


def records(entries: list[JournalEntry]) -> list[Retried]:
    return [each for each in entries if isinstance(each, Retried)]


# ---------------------------------------------------------------- RA: the server's own wait


def too_many(retry_after: str) -> HttpError:
    return HttpError(429, {"Retry-After": retry_after})


@pytest.mark.parametrize("side", ["model", "tool"])
@pytest.mark.parametrize("budget_s", [300.0, 45.0])
async def test_RA_01_nobody_comes_before_the_time_the_server_gave(
    store: MemoryStore, side: str, budget_s: float
) -> None:
    upstream = Upstream([too_many("90"), "fine"])
    if side == "model":
        of = Agent("agent", model=ScriptedModel(upstream.model))
    else:
        of = agent([call("fetch"), "fine"], [upstream.tool()])
    policy = same(RetryPolicy(delay_s_max=60.0, attempts_max=4, time_budget_s=budget_s))
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1")
    first = records(await entries_of(store))[0]
    assert first.retry_after == 90.0
    if budget_s == 300.0:
        assert outcome == Completed("fine")
        assert len(upstream.asked_at) == 2
        assert upstream.waits[0] >= 90.0
        return
    assert isinstance(outcome, HandedOver)
    assert "time budget" in outcome.detail
    assert len(upstream.asked_at) == 1
    assert (first.directive, first.wait_s) == ("hand_over", 0.0)
    assert "time budget" in first.detail


@pytest.mark.parametrize("form", ["seconds", "milliseconds", "date", "iso"])
async def test_a_wait_given_as_a_moment_is_kept_without_the_server_saying_what_time_it_has(
    store: MemoryStore, form: str
) -> None:
    """openclaw/clawhub#407: an absolute time in Retry-After, and no Date beside it."""
    asked: list[float] = []
    clock = LoopClock()

    @tool(effect="read")
    async def fetch() -> str:
        asked.append(anyio.current_time())
        if len(asked) > 1:
            return "fine"
        due = datetime.fromtimestamp(math.ceil(clock.wall_ms() / 1000) + 40, UTC)
        header = {
            "seconds": str(int(due.timestamp())),
            "milliseconds": str(int(due.timestamp() * 1000)),
            "date": format_datetime(due, usegmt=True),
            "iso": due.isoformat(),
        }
        raise too_many(header[form])

    of = agent([call("fetch"), "fine"], [fetch])
    async with Runtime(store, agents=[of], clock=clock) as runtime:
        assert await run_one(runtime, of, session_id="s-1") == Completed("fine")
    assert 39.9 <= asked[1] - asked[0] <= 50.0


@pytest.mark.parametrize("header", ["0", "Tue, 14 Nov 2023 22:13:15 GMT"], ids=["zero", "past"])
async def test_RA_03_a_hint_cannot_remove_the_backoff(store: MemoryStore, header: str) -> None:
    upstream = Upstream([too_many(header)])
    of = agent([call("fetch"), "done"], [upstream.tool()])
    policy = same(RetryPolicy(delay_s_first=1.0, attempts_max=5, time_budget_s=60.0))
    chance = random.Random(7)
    async with Runtime(store, agents=[of], policy=policy, random_source=chance) as runtime:
        await run_one(runtime, of, session_id="s-1")
    plain = random.Random(7)
    without = Upstream([HttpError(429)])
    of = agent([call("fetch"), "done"], [without.tool()], name="plain")
    async with Runtime(store, agents=[of], policy=policy, random_source=plain) as runtime:
        await run_one(runtime, of, session_id="s-2")
    assert len(upstream.asked_at) == 5
    assert min(upstream.waits) >= 0.5
    assert upstream.waits == pytest.approx(without.waits)
    assert [each.number for each in records(await entries_of(store))] == [1, 2, 3, 4, 5]


# ---------------------------------------------------------------- RS: retry storms


async def test_RS_01_retries_have_one_owner_however_many_layers_have_numbers(
    store: MemoryStore,
) -> None:
    """The tool's, the agent's and the document's numbers override one another; none multiplies."""
    upstream = Upstream([HttpError(503)])
    of = agent([call("fetch"), "done"], [upstream.tool()])
    policy = parse_policy(
        "[transient]\nattempts_max = 5\n[agent.agent.transient]\nattempts_max = 3\n"
        "[tool.fetch.transient]\nattempts_max = 3\n[restarts]\nintensity = 3\n"
    )
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1")
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "blocked"
    assert len(upstream.asked_at) == 3
    kept = records(await entries_of(store))
    assert [each.number for each in kept] == [1, 2, 3]
    assert [each.directive for each in kept] == ["retry", "retry", "hand_over"]
    assert all(each.evidence and each.error_class == "transient" for each in kept)


async def test_RS_02_waits_still_spread_at_the_cap(store: MemoryStore) -> None:
    """Fifty that all began at once do not come back in step, at the maximum neither."""
    asked: dict[str, list[float]] = {}

    @tool(effect="read")
    async def fetch() -> str:
        asked.setdefault(current().session_id, []).append(anyio.current_time())
        raise HttpError(503)

    of = agent([call("fetch"), "done"], [fetch])
    # The case is about the waits alone: nothing else may hold the fifty back.
    policy = same(
        RetryPolicy(delay_s_first=1.0, delay_s_max=8.0, attempts_max=8),
        breaker=BreakerPolicy(failures_min=None),
        retry_budget=RetryBudgetPolicy(share_max=None),
    )
    chance = random.Random(2)
    async with Runtime(store, agents=[of], policy=policy, random_source=chance) as runtime:
        handles = [await runtime.start("agent", "go") for _ in range(50)]
        for handle in handles:
            await ended(runtime, handle.id)
    assert [len(times) for times in asked.values()] == [8] * 50
    assert len({times[0] for times in asked.values()}) == 1
    for number in range(4, 7):  # from the fifth attempt on
        waits = {round(times[number + 1] - times[number], 9) for times in asked.values()}
        assert len(waits) >= 40
        assert max(waits) <= 8.0
    late = sorted(at for times in asked.values() for at in times[3:])
    assert max(sum(at <= other < at + 0.1 for other in late) for at in late) <= 12


async def test_RS_03_the_time_budget_is_checked_before_sleeping(store: MemoryStore) -> None:
    upstream = Upstream([HttpError(503)])
    of = agent([call("fetch"), "done"], [upstream.tool()])
    policy = same(RetryPolicy(delay_s_first=1.0, delay_s_max=8.0, jitter=0.0, time_budget_s=5.0))
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        outcome = await handle.outcome()
        took = (await handle.inspect()).spent.seconds
    began = upstream.asked_at[0]
    assert [at - began for at in upstream.asked_at] == pytest.approx([0.0, 1.0, 3.0])
    assert took == pytest.approx(3.0)
    assert isinstance(outcome, HandedOver)
    assert "time budget" in outcome.detail
    assert len(records(await entries_of(store))) == 3


# ---------------------------------------------------------------- EC-01: classes and requests

EXPECTED = {
    "transient": {"transient", "rate_limited"},
    "permission/config": {"permission_denied"},
    "not retried unchanged": {"context_overflow"},
    # A KeyError in a tool is a fault in a program: as little retried as the unknown.
    "unknown": {"unknown", "bug"},
}
ERRORS: list[dict[str, Any]] = case("EC-01")["setup"]["errors"]


def raised(error: dict[str, Any]) -> Exception:
    match error.get("exception"):
        case None:
            return HttpError(error["status"], error.get("headers"), error.get("body"))
        case "connection refused":
            return ConnectionRefusedError(111, "Connection refused")
        case "certificate verify failed":
            return ssl.SSLCertVerificationError(1, "certificate verify failed: expired")
        case _:
            return KeyError("x")


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: str(list(error.values())[:2])[:60])
@pytest.mark.parametrize("side", ["model", "tool"])
async def test_EC_01_only_what_passes_is_asked_again(
    store: MemoryStore, error: dict[str, Any], side: str
) -> None:
    upstream = Upstream([raised(error)])
    if side == "model":
        of = Agent("agent", model=ScriptedModel(upstream.model))
    else:
        of = agent([call("fetch"), "done"], [upstream.tool()])
    events: list[object] = []
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        async for event in handle.events():
            events.append(event)
        outcome = await handle.outcome()
        alerts = runtime.alerts
    expected = error["class"]
    if side == "tool" and expected == "not retried unchanged":
        # The model is told that its request was too large, and makes it smaller or does without.
        assert outcome == Completed("done")
    else:
        assert isinstance(outcome, HandedOver)
    last = records(await entries_of(store))[-1]
    assert last.error_class in EXPECTED[expected]
    assert len(upstream.asked_at) == (4 if expected == "transient" else 1)
    told = [each for each in events if isinstance(each, AlertRaised)]
    assert len(told) == len(alerts) == (expected in ("permission/config", "unknown"))
    if expected == "permission/config":
        assert isinstance(outcome, HandedOver)
        assert outcome.reason == "permission"


async def test_EC_01_an_alert_is_one_for_an_upstream_and_not_one_a_session(
    store: MemoryStore,
) -> None:
    denied = Upstream([HttpError(401)])
    tools = [denied.tool("stock", upstream="shop"), denied.tool("order", upstream="shop")]
    of = agent([[call("stock"), call("order")], "done"], tools)
    async with Runtime(store, agents=[of]) as runtime:
        for number in range(20):
            outcome = await run_one(runtime, of, session_id=f"s-{number}")
            assert isinstance(outcome, HandedOver)
        assert len(runtime.alerts) == 1
        assert "shop" in runtime.alerts[0]


def test_EC_01_a_structured_code_wins_over_words() -> None:
    error = HttpError(403, {}, {"code": "invalid_api_key", "message": "rate limit, try again"})
    assert isinstance(error.response, Response)
    assert classify(error).error_class == "permission_denied"


# ---------------------------------------------------------------- CL: corrections


async def test_CL_01_corrections_end_at_the_cap(store: MemoryStore) -> None:
    ran: list[str] = []

    @tool(effect="write")
    async def restart(service: str) -> str:
        ran.append(service)
        return "restarted"

    of = agent([call("restart")] * 100, [restart])
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1")
    assert ran == []
    assert len(requests(of)) == 4
    for request in requests(of)[1:]:
        refusal = results(request.messages)[-1]
        assert refusal.is_error
        assert "service" in refusal.content
    left = [results(each.messages)[-1].content for each in requests(of)[1:]]
    assert ["corrections left: 3" in left[0], "corrections left: 1" in left[2]] == [True, True]
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "planning"
    assert outcome.dossier.input == "{}"


def editor() -> list[AnyTool]:
    @tool(effect="write")
    async def edit(line: str) -> str:
        if line == "bad":
            raise InvalidArgument("no such line", fields=["line"])
        return "edited"

    @tool(effect="read")
    async def read() -> str:
        return "text"

    @tool(effect="read")
    async def extract(page: int) -> str:
        if page > 0:
            raise InvalidArgument(f"page {page} is empty", fields=["page"])
        return "extracted"

    return [edit, read, extract]


BAD, GOOD, READ = call("edit", line="bad"), call("edit", line="good"), call("read")


async def test_CL_02_another_tool_in_between_ends_no_series(store: MemoryStore) -> None:
    of = agent([BAD, READ] * 5 + ["done"], editor())
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1")
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "planning"
    said = [each for each in await entries_of(store) if isinstance(each, Answered)]
    assert [one.name for each in said for one in each.calls].count("edit") == 4


async def test_CL_02_a_success_of_the_tool_ends_its_series(store: MemoryStore) -> None:
    of = agent([BAD, BAD, GOOD, BAD, BAD, "done"], editor())
    async with Runtime(store, agents=[of]) as runtime:
        assert await run_one(runtime, of) == Completed("done")


async def test_CL_02_calls_side_by_side_are_one_failed_round(store: MemoryStore) -> None:
    """Three that fail at once use up one correction of three; four rounds are too many."""
    three = [call("extract", page=page) for page in (1, 2, 3)]
    of = agent([three, three, three, "done"], editor())
    endless = agent([three] * 9, editor(), name="endless")
    async with Runtime(store, agents=[of, endless]) as runtime:
        assert await run_one(runtime, of) == Completed("done")
        outcome = await run_one(runtime, endless)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "planning"
    assert len(requests(endless)) == 4
