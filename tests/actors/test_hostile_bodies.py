"""Tools and models that misbehave: the session ends with a true word, the others never notice."""

import asyncio
import os
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from sessions import agent, ended, run_one

from ukemi import (
    Agent,
    Budget,
    Completed,
    HandedOver,
    InvalidArgument,
    ModelReply,
    ModelRequest,
    PermissionDenied,
    Runtime,
    UsageError,
    tool,
)
from ukemi.actors import ToolCall, ToolMessage, Usage
from ukemi.models import Script, ScriptedModel, call
from ukemi.stores.records import Said, decode_row, encode_entry, encode_row, join_row


def store() -> str:
    return f"memory:{uuid.uuid4().hex}"


class Markup(str):
    """A text of a kind of its own, as template and array libraries have it."""


async def bystander_unharmed(*troublesome: Agent) -> dict[str, Any]:
    """Run sessions of these agents beside a harmless one; return how theirs ended."""
    calm = agent([call("breathe"), "calm"], [breathe], name="calm")
    async with Runtime(store(), agents=[calm, *troublesome]) as runtime:
        beside = await runtime.start("calm", "go")
        for each in troublesome:
            await runtime.start(each.name, "go", session_id=each.name)
        found = {each.name: await ended(runtime, each.name) for each in troublesome}
        assert await ended(runtime, beside.id) == Completed("calm")
    return found


@tool(effect="read")
async def breathe() -> str:
    await anyio.sleep(50)
    return "ok"


# ---------------------------------------------------------------- what cannot be stored as it is


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 300])
def test_a_row_of_entries_is_the_row_of_them_all(count: int) -> None:
    entries: list[Any] = [Said(n, "x") for n in range(count)]
    assert join_row([encode_entry(each) for each in entries]) == encode_row(entries)
    assert decode_row(join_row([encode_entry(each) for each in entries])) == entries


async def test_a_text_of_another_kind_is_a_text() -> None:
    @tool(overlap=True)
    async def html(i: int) -> str:
        return Markup(f"<b>{i}")

    script: Script = [[call("html", i=i) for i in range(4)], call("html", i=9), Markup("done")]
    of = agent(script, [html])
    async with Runtime(store(), agents=[of]) as runtime:
        handle = await runtime.start("agent", Markup("go"), group=Markup("g"))
        await handle.send(Markup("and go on"))
        assert await ended(runtime, handle.id) == Completed("done")
        last = await handle.checkpoint()
        assert last.checkpoint_counter == 5
        assert [each.content for each in last.tool_history][-1] == "<b>9"


class Says:
    """A model that answers with whatever it is given, once, and then ends."""

    name = "says"

    def __init__(self, reply: Any) -> None:
        self.reply = reply
        self.requests = 0

    async def complete(self, request: ModelRequest, /) -> Any:
        self.requests += 1
        return self.reply


GOOD = ToolCall("c", "breathe", "{}")
BAD_REPLIES: dict[str, Any] = {
    "no reply": None,
    "a text": "text",
    "text=None": ModelReply(text=None),  # type: ignore[arg-type]
    "finish='zzz'": ModelReply(finish="zzz"),  # type: ignore[arg-type]
    "raw='str'": ModelReply(raw="str"),  # type: ignore[arg-type]
    "usage.input_tokens=1.5": ModelReply(usage=Usage(input_tokens=1.5)),  # type: ignore[arg-type]
    "usage.output_tokens=-1": ModelReply(usage=Usage(output_tokens=-1)),
    "beyond 64 bits": ModelReply(usage=Usage(input_tokens=2**70)),
    "usage.cost_usd=nan": ModelReply(usage=Usage(cost_usd=float("nan"))),
    "a call's id=7": ModelReply(calls=(ToolCall(7, "x"),)),  # type: ignore[arg-type]
    "a call's arguments={}": ModelReply(calls=(ToolCall("c", "x", {}),)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", BAD_REPLIES)
async def test_what_is_no_answer_is_a_bug_of_the_model_and_asked_for_once(name: str) -> None:
    says = Says(BAD_REPLIES[name])
    outcome = (await bystander_unharmed(Agent("odd", model=says, tools=[breathe])))["odd"]
    assert isinstance(outcome, HandedOver) and outcome.reason == "bug"
    assert "model says returned" in outcome.dossier.upstream_error
    assert says.requests == 1


async def test_an_answer_of_texts_of_another_kind_is_an_answer() -> None:
    ask = ToolCall(Markup("c"), Markup("breathe"), Markup("{}"))
    said = [
        ModelReply(calls=(ask,), finish=Markup("tool_calls")),  # type: ignore[arg-type]
        ModelReply(text=Markup("Done."), finish=Markup("stop"), raw_format=Markup("x")),  # type: ignore[arg-type]
    ]
    of = Agent("agent", model=ScriptedModel(said, name=Markup("m")), tools=[breathe])
    async with Runtime(store(), agents=[of]) as runtime:
        assert await run_one(runtime, of, session_id="one") == Completed("Done.")
        assert (await runtime.session("one").checkpoint()).checkpoint_counter == 1


async def test_calls_of_an_answer_cut_at_the_limit_never_run() -> None:
    ran: list[int] = []

    @tool
    async def pay(x: int) -> str:
        ran.append(x)
        return "paid"

    cut = ModelReply(calls=(ToolCall("c", "pay", '{"x":1}'),), finish="length")
    of = Agent("agent", model=ScriptedModel([cut, "Done."]), tools=[pay])
    async with Runtime(store(), agents=[of]) as runtime:
        assert await run_one(runtime, of) == Completed("Done.")
        history = await runtime.session((await runtime.sessions())[0].session_id).checkpoint()
    assert ran == []
    assert history.tool_history[0].state == "refused"


# ---------------------------------------------------------------- what cannot be rendered


def cyclic() -> object:
    found: dict[str, object] = {}
    found["self"] = found
    return found


UNRENDERABLE: dict[str, Callable[[], object]] = {
    "a complex number": lambda: 1j,
    "a cycle": cyclic,
    "10^10000": lambda: 10**10000,
}


@pytest.mark.parametrize("effect", ["read", "write"])
@pytest.mark.parametrize("what", UNRENDERABLE)
async def test_a_result_nobody_can_render_is_the_tools_bug_and_it_ran_once(
    what: str, effect: Any
) -> None:
    runs: list[int] = []

    @tool(effect=effect)
    async def odd() -> object:
        runs.append(1)
        return UNRENDERABLE[what]()

    outcome = (await bystander_unharmed(agent([call("odd"), "x"], [odd], name="odd")))["odd"]
    assert isinstance(outcome, HandedOver) and outcome.reason == "bug"
    assert len(runs) == 1


async def test_a_judge_that_raises_is_the_tools_bug_too() -> None:
    runs: list[int] = []

    @tool(effect="read", success=lambda value: value["absent"])
    async def odd() -> dict[str, int]:
        runs.append(1)
        return {}

    outcome = (await bystander_unharmed(agent([call("odd"), "x"], [odd], name="odd")))["odd"]
    assert isinstance(outcome, HandedOver) and outcome.reason == "bug"
    assert len(runs) == 1


# ---------------------------------------------------------------- what ends more than it should


async def test_sys_exit_in_a_body_ends_that_body_alone() -> None:
    @tool
    async def wrapped() -> str:
        sys.exit(3)

    of = agent([call("wrapped"), "x"], [wrapped], name="odd")
    outcome = (await bystander_unharmed(of))["odd"]
    assert isinstance(outcome, HandedOver) and outcome.reason == "bug"
    assert "sys.exit(3)" in outcome.dossier.upstream_error


class Panic(BaseException):
    """As extensions written in Rust raise it."""


class Mute(BaseException):
    def __str__(self) -> str:
        raise ValueError("not even a text")


PANICS: list[BaseException] = [
    Panic("index out of bounds"),
    Mute(),
    BaseExceptionGroup("several", [Panic("index out of bounds"), ValueError("x")]),
]


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize("panic", PANICS, ids=lambda each: type(each).__name__)
async def test_a_panic_is_a_bug_of_that_body_and_is_not_repeated(
    panic: BaseException, in_thread: bool
) -> None:
    ran = list[str]()

    async def here() -> str:
        ran.append("here")
        raise panic

    def there() -> str:
        ran.append("there")
        raise panic

    of = agent([call("odd"), "x"], [tool(name="odd", effect="read")(there if in_thread else here)])
    outcome = (await bystander_unharmed(of))["agent"]
    assert isinstance(outcome, HandedOver) and outcome.reason == "bug"
    assert type(panic).__name__ in outcome.dossier.upstream_error
    assert len(ran) == 1


async def test_a_panic_in_a_write_is_a_doubt_and_in_its_probe_unclear() -> None:
    async def look() -> str:
        raise Panic("the probe")

    @tool(probe=look)
    async def pay() -> str:
        raise Panic("the body")

    outcome = (await bystander_unharmed(agent([call("pay"), "x"], [pay])))["agent"]
    assert isinstance(outcome, HandedOver) and outcome.reason == "bug"
    assert len(outcome.dossier.in_doubt) == 1


def unfit(error: BaseException) -> Callable[[object], Any]:
    """Something that raises, whatever it is given."""

    def raises(value: object) -> Any:
        raise error

    return raises


class Unshown:
    """A result that cannot say how it is to be shown."""

    def to_text(self) -> str:
        raise Panic("no text")


BESIDE_PANICS: list[BaseException] = [*PANICS, SystemExit(3)]


@pytest.mark.parametrize("effect", ["read", "write"])
@pytest.mark.parametrize("panic", BESIDE_PANICS, ids=lambda each: type(each).__name__)
async def test_a_panic_of_a_judge_ends_only_that_call(panic: BaseException, effect: Any) -> None:
    ran = list[str]()

    async def odd() -> str:
        ran.append("odd")
        return "paid"

    of = agent([call("odd"), "x"], [tool(effect=effect, success=unfit(panic))(odd)])
    outcome = (await bystander_unharmed(of))["agent"]
    assert isinstance(outcome, HandedOver)
    assert "success of odd" in outcome.dossier.upstream_error
    assert bool(outcome.dossier.in_doubt) == (effect == "write")
    assert outcome.reason == "bug" and len(ran) == 1


async def test_a_cancellation_that_a_judge_raises_is_none_of_ours() -> None:
    @tool(success=unfit(asyncio.CancelledError()))
    async def odd() -> str:
        return "paid"

    outcome = (await bystander_unharmed(agent([call("odd"), "x"], [odd])))["agent"]
    assert isinstance(outcome, HandedOver) and len(outcome.dossier.in_doubt) == 1


async def test_a_panic_of_a_result_that_is_shown_ends_only_that_call() -> None:
    @tool(effect="read")
    async def odd() -> Unshown:
        return Unshown()

    outcome = (await bystander_unharmed(agent([call("odd"), "x"], [odd])))["agent"]
    assert isinstance(outcome, HandedOver) and outcome.reason == "bug"
    assert "result of odd raised Panic: no text" in outcome.dossier.upstream_error


async def test_a_judge_that_panics_over_a_compensation_makes_it_fail_once() -> None:
    undone = list[int]()

    @tool(success=unfit(Panic("the judge")))
    async def refund(x: int) -> str:
        undone.append(x)
        return "paid back"

    @tool(compensate=refund)
    async def pay(x: int) -> str:
        return "paid"

    @tool
    async def ship() -> str:
        raise PermissionDenied("no key", may_have_executed="no")

    of = agent([call("pay", x=1), call("ship"), "x"], [pay, ship, refund])
    outcome = (await bystander_unharmed(of))["agent"]
    assert isinstance(outcome, HandedOver) and outcome.reason == "permission"
    (found,) = [each for each in outcome.dossier.effects if each.tool == "pay"]
    assert (found.standing, undone) == ("compensation failed", [1])


async def test_a_panic_of_a_model_is_a_bug_and_is_not_asked_again() -> None:
    asked = list[int]()

    def panics(request: ModelRequest) -> str:
        asked.append(request.attempt)
        raise Panic("the client")

    outcome = (await bystander_unharmed(agent(panics, [])))["agent"]
    assert isinstance(outcome, HandedOver) and outcome.reason == "bug"
    assert len(asked) == 1


async def test_a_scope_left_open_harms_nobody_else(anyio_backend_name: str) -> None:
    if anyio_backend_name == "trio":
        return  # trio ends a run whose scopes are out of order by itself, loudly
    kept: list[anyio.CancelScope] = []

    @tool
    async def connect() -> str:
        scope = anyio.CancelScope()
        scope.__enter__()
        kept.append(scope)
        return "connected"

    outcome = (await bystander_unharmed(agent([call("connect"), "x"], [connect], name="odd")))[
        "odd"
    ]
    assert isinstance(outcome, HandedOver) and outcome.reason == "bug"
    assert "left a cancel scope" in outcome.dossier.upstream_error


# ---------------------------------------------------------------- names, budgets, secrets


async def test_a_sub_session_is_never_a_strangers() -> None:
    stranger = agent(["private"], name="other")
    child = agent(["mine"], name="child")
    parent = agent([call("child", task="t"), "end"], [child.as_tool()], name="parent")
    async with Runtime(store(), agents=[stranger, child, parent]) as runtime:
        with pytest.raises(UsageError, match="ends like a sub-session's name"):
            await runtime.start("other", "x", session_id="p.2.0")
        assert await run_one(runtime, parent, session_id="p") == Completed("end")
        content = (await runtime.session("p").checkpoint()).tool_history[0].content
        assert content == "mine"


async def test_active_seconds_hold_for_bodies_that_never_wait() -> None:
    @tool
    async def busy() -> str:
        time.sleep(0.02)  # noqa: ASYNC251 - a body that holds up the loop, as some do
        return "ok"

    of = agent([call("busy") for _ in range(50)], [busy])
    async with Runtime(store(), agents=[of], clock=RealClock()) as runtime:
        outcome = await run_one(runtime, of, budget=Budget(active_seconds=0.1))
    assert isinstance(outcome, HandedOver) and "active_seconds" in outcome.detail


class RealClock:
    """Real seconds, for a body that really takes them."""

    def now(self) -> float:
        return time.monotonic()

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000


async def test_no_seconds_at_all_means_no_request() -> None:
    says = Says(ModelReply(text="x"))
    of = Agent("agent", model=says)
    async with Runtime(store(), agents=[of]) as runtime:
        outcome = await run_one(runtime, of, budget=Budget(seconds=0))
    assert isinstance(outcome, HandedOver) and outcome.reason == "budget"
    assert says.requests == 0


async def test_a_secret_named_as_a_field_at_fault_stays_hidden() -> None:
    secret = "hunter2-" + os.urandom(4).hex()

    @tool(effect="read", secrets=["token"])
    async def login(*, token: str) -> str:
        raise InvalidArgument("bad", fields=[token])

    of = agent([call("login"), "end"], [login])
    async with Runtime(store(), agents=[of], secrets={"token": secret}) as runtime:
        await run_one(runtime, of, session_id="one")
        last = await runtime.session("one").checkpoint()
    told = [m.content for m in last.messages if isinstance(m, ToolMessage)]
    assert told and all(secret not in content for content in told)
