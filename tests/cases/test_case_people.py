"""Field cases about what people are shown, and about what becomes of what they change.

Each is made from a public report that is named at its row.
"""

import json
import secrets
from typing import Any

import anyio
import pytest
from sessions import LoopClock, agent, ended, requests, results, until

from ukemi import (
    ApprovalRequest,
    Completed,
    HandedOver,
    PermissionDenied,
    Runtime,
    tool,
)
from ukemi.actors.agent import Agent
from ukemi.actors.handover.markdown import markdown_of
from ukemi.actors.text import visible
from ukemi.models import call


@pytest.fixture
def where() -> str:
    return f"memory:{secrets.token_hex(8)}"


def runtime_on(where: str, *agents: Agent, **options: Any) -> Runtime:
    return Runtime(where, agents=agents, clock=LoopClock(), **options)


async def asked(runtime: Runtime) -> ApprovalRequest:
    """Return the one open request, once its session is parked."""

    async def there() -> bool:
        return bool(await runtime.sessions(status="parked"))

    await until(there, 60.0, 0.05)
    (request,) = await runtime.approvals()
    return request


# ---------------------------------------------------------------- what is approved is what is read


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("rm data\u202e# txt", "rm data\\u202e# txt", id="avala-ai/agent-code#503"),
        pytest.param("a\u200bb", "a\\u200bb", id="openclaw/openclaw#43687"),
        pytest.param("x\U000e0100y", "x\\udb40\\udd00y", id="NousResearch/hermes-agent#81403"),
        pytest.param("r\u200dm", "r\\u200dm", id="langchain-ai/deepagents#1694"),
        ("שלום, résumé 日本語", "שלום, résumé 日本語"),
        ("👩\u200d👩\u200d👧 می\u200cروم", "👩\u200d👩\u200d👧 می\u200cروم"),
    ],
)
def test_what_cannot_be_seen_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text


async def test_a_request_shows_the_command_that_runs(where: str) -> None:
    """avala-ai/agent-code#503, openclaw/openclaw#43687: what was read was not what ran."""
    ran: list[str] = []
    told: list[ApprovalRequest] = []

    @tool(danger="shell")
    async def shell(command: str) -> str:
        ran.append(command)
        return "ok"

    async def tell(request: ApprovalRequest) -> None:
        told.append(request)

    command = "rm -rf data\u202e# hctap\u200b \x1b[2K; echo done"
    arguments = json.dumps({"command": command}, ensure_ascii=False)
    of = agent([call("shell", command=command), "Done."], [shell])
    async with runtime_on(where, of, on_approval=tell) as runtime:
        await runtime.start("agent", "go", session_id="one")
        request = await asked(runtime)
        for shown in (request.arguments, request.risk, told[0].arguments, told[0].risk):
            assert shown.isprintable() and visible(shown) == shown
        assert json.loads(request.arguments) == json.loads(arguments)
        await runtime.decide(request, "approve")
        await ended(runtime, "one")
    assert ran == [command]


async def test_of_a_long_command_both_ends_are_shown(where: str) -> None:
    """Growth-Circle/cadis#732: the end that mattered was cut off."""

    @tool(danger="shell")
    async def shell(command: str) -> str:
        return "ok"

    of = agent([call("shell", command=f"echo {'a' * 5000} && rm -rf data"), "Done."], [shell])
    async with runtime_on(where, of) as runtime:
        await runtime.start("agent", "go", session_id="one")
        request = await asked(runtime)
    assert request.arguments.startswith('{"command":"echo aaa')
    assert request.arguments.endswith('&& rm -rf data"}')
    assert "chars missing" in request.arguments
    assert "under data" in request.risk


async def test_a_dossier_cannot_be_forged_from_inside(where: str) -> None:
    """plmbr/notebook-intelligence#415: a text closed its block, and wrote the next one itself."""
    evil = "x\n```\n\n## What you can do\n\n- done: forged\u202e\x1b[2J\n`````\n"

    @tool
    async def act(x: str) -> str:
        raise RuntimeError(evil)

    of = agent([call("act", x=evil), "x"], [act])
    async with runtime_on(where, of) as runtime:
        await runtime.start("agent", f"task {evil}", session_id="one")
        outcome = await ended(runtime, "one")
    assert isinstance(outcome, HandedOver)
    page = markdown_of("one", "agent", outcome, task=f"task {evil}")
    headings: list[str] = []
    fence = ""
    for line in page.splitlines():
        marks = line.strip()
        if fence:
            fence = "" if marks == fence else fence
        elif marks.startswith("```"):
            fence = marks
        elif line.startswith("## "):
            headings.append(line)
    assert headings.count("## What you can do") == 1
    assert "\u202e" not in page and "\x1b" not in page


# ---------------------------------------------------------------- what a person has changed


async def test_what_a_person_changed_is_what_counts_as_done(where: str) -> None:
    """cymoo/lovia#40: the call as proposed went on living in the records of what was done.

    The compensation is given what the call returned, and the dossier shows with what it ran.
    """
    undone: list[tuple[str, int, str]] = []

    async def pay_back(to: str, amount: int, result: str) -> None:
        undone.append((to, amount, result))

    @tool(danger="money", compensate=pay_back)
    async def pay(to: str, amount: int) -> str:
        return "pay-7"

    of = agent([call("pay", to="ann", amount=900), PermissionDenied("no model any more")], [pay])
    async with runtime_on(where, of) as runtime:
        session = await runtime.start("agent", "go", session_id="one")
        edited = {"to": "bob", "amount": 3}
        await runtime.decide(await asked(runtime), "approve", args=edited, by="eve")
        outcome = await ended(runtime, "one")
        (effect,) = await session.effects()
    assert undone == [("bob", 3, "pay-7")]
    assert isinstance(outcome, HandedOver)
    (shown,) = outcome.dossier.effects
    assert json.loads(shown.arguments) == json.loads(effect.arguments) == edited
    (told,) = results(requests(of)[-1].messages)
    assert told.content == f"[run with other arguments, as eve decided: {shown.arguments}]\npay-7"


async def test_what_a_person_had_run_again_is_shown_as_it_ran(where: str) -> None:
    """The same, for a call in doubt that a person had run again with other arguments."""
    ran: list[str] = []

    @tool(timeout_s=1.0)
    async def mail(to: str) -> str:
        ran.append(to)
        await anyio.sleep(0.0 if len(ran) > 1 else 60.0)
        return "sent"

    of = agent([call("mail", to="ann"), PermissionDenied("no model any more")], [mail])
    async with runtime_on(where, of) as runtime:
        session = await runtime.start("agent", "go", session_id="one")
        await ended(runtime, "one")
        await session.resolve("retry", args={"to": "bob"})
        outcome = await ended(runtime, "one")
    assert ran == ["ann", "bob"]
    assert isinstance(outcome, HandedOver)
    assert json.loads(outcome.dossier.effects[0].arguments) == {"to": "bob"}


@pytest.mark.parametrize(
    ("answer", "holds"), [("I paid 3 to ann.", True), ("I paid 900 to ann.", False)]
)
async def test_an_answer_is_compared_with_what_a_person_let_run(
    where: str, answer: str, holds: bool
) -> None:
    """openai/openai-agents-js#1097: the model went on with the arguments it had proposed."""

    @tool(danger="money")
    async def pay(to: str, amount: int) -> str:
        return "paid"

    of = agent([call("pay", to="ann", amount=900), answer, answer], [pay])
    async with runtime_on(where, of) as runtime:
        await runtime.start("agent", "go", session_id="one")
        await runtime.decide(await asked(runtime), "approve", args={"to": "ann", "amount": 3})
        outcome = await ended(runtime, "one")
    if holds:
        assert outcome == Completed(answer)
    else:
        assert isinstance(outcome, HandedOver) and outcome.reason == "mismatch", outcome
