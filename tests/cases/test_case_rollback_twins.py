"""Field cases about what a rollback must not bring about: things done twice, and trees half of each state."""

import secrets
from pathlib import Path
from typing import Any

import anyio
import pytest
from rolled import TOOLS, Rig, worker
from sessions import LoopClock, agent, ended, requests, results, until

from ukemi import Completed, Runtime, UkemiError, tool
from ukemi.actors import NoteMessage, ToolMessage, UserMessage
from ukemi.actors.model import ModelRequest
from ukemi.models import call


@pytest.fixture
def where() -> str:
    return f"memory:{secrets.token_hex(8)}"


# ---------------------------------------------------------------- effects


async def test_an_order_after_a_rollback_is_another_order(where: str) -> None:
    """square/square-mcp-server#31, after a rollback: another key, and the model knows what was ordered."""
    keys: list[tuple[str, str]] = []

    @tool(accepts_key=True)
    async def order(sku: str, *, key: str) -> str:
        keys.append((sku, key))
        return f"order {len(keys)}"

    def say(request: ModelRequest) -> Any:
        last = request.messages[-1]
        said = [each.text for each in request.messages if isinstance(each, UserMessage)]
        return last.content if isinstance(last, ToolMessage) else call("order", sku=said[-1])

    of = agent(say, [order])
    async with Runtime(where, agents=[of], clock=LoopClock()) as runtime:
        session = await runtime.start("agent", "A-17", session_id="one")
        await ended(runtime, "one")
        for number, sku in enumerate(("B-2", "A-17"), 2):
            await session.rollback(0, "context")
            await session.send(sku)
            assert await ended(runtime, "one") == Completed(f"order {number}")
    assert [sku for sku, _ in keys] == ["A-17", "B-2", "A-17"]
    assert len({key for _, key in keys}) == 3
    notes = [each.text for each in requests(of)[-1].messages if isinstance(each, NoteMessage)]
    assert notes[-1].splitlines()[-2:] == [
        '- call 2.0 order{"sku":"A-17"}',
        '- call 7.0 order{"sku":"B-2"}',
    ]


async def test_a_doubt_outlives_the_conversation_it_was_in(where: str) -> None:
    """stripe/ai#402, after a rollback: the model knows nothing of the first call; nothing runs twice."""
    sent: list[str] = []

    @tool(timeout_s=1.0)
    async def mail(to: str) -> str:
        sent.append(to)
        await anyio.sleep(60.0)
        return "sent"

    of = agent([call("mail", to="ann"), "It could not be sent."], [mail])
    async with Runtime(where, agents=[of], clock=LoopClock()) as runtime:
        session = await runtime.start("agent", "go", session_id="one")
        await ended(runtime, "one")
        await session.rollback(0, "context")
        assert (await session.inspect()).questions
        await session.send("go on")
        await ended(runtime, "one")
    assert sent == ["ann"]
    (told,) = results(requests(of)[-1].messages)
    assert "an equal call is in doubt" in told.content


async def test_an_approval_is_gone_with_the_call_that_was_rolled_back(where: str) -> None:
    """mastra-ai/mastra#19377: a late click must reach no other call that stands there now."""
    paid: list[int] = []

    @tool(danger="money")
    async def pay(amount: int) -> str:
        paid.append(amount)
        return "paid"

    of = agent(lambda request: call("pay", amount=len(request.messages)), [pay])
    async with Runtime(where, agents=[of], clock=LoopClock()) as runtime:
        session = await runtime.start("agent", "go", session_id="one")

        async def parked() -> bool:
            return bool(await runtime.sessions(status="parked"))

        await until(parked, 60.0, 0.05)
        (first,) = await runtime.approvals()
        await session.rollback(0, "context")
        await session.send("again")
        await until(parked, 60.0, 0.05)
        (second,) = await runtime.approvals()
        with pytest.raises(UkemiError, match=first.request):
            await runtime.decide(first, "approve")
        await anyio.sleep(60.0)
        assert [each.request for each in await runtime.approvals()] == [second.request]
    assert paid == []


# ---------------------------------------------------------------- files

REAL = pytest.mark.parametrize("anyio_backend", [("asyncio", {})], ids=["asyncio"])
"""Files are looked at in threads, so the clock is the real one."""

TREE: dict[str | bytes, str] = {
    **{each: each for each in "abcdef"},
    "file": "v1",
    "folder/x": "1",
    "folder/y/z": "2",
    "link": "-> file",
    "other/q": "9",
}


@REAL
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            "rm file; mkdir file; echo n > file/in; rm -r folder; echo n > folder; "
            "rm link; mkdir link; rm -r other; ln -s file other",
            id="jdx/mise#12835: types change",
        ),
        pytest.param(
            "mv a t; mv b a; mv t b; mv c C; mv e q; mv d e; mv f d; mv q f; "
            "mv folder w; mkdir folder; mv w folder/y",
            id="microsoft/vscode#328643: names change about",
        ),
    ],
)
async def test_back_and_forth_again(tmp_path: Path, command: str) -> None:
    rig = Rig(tmp_path, TREE)
    before = rig.told
    of = worker([call("shell", command=command), "done"])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        after = rig.told
        assert after != before
        assert (await session.rollback(0)).clean
        assert rig.told == before
        assert (await session.rollback(undo=True)).clean
        assert rig.told == after
        assert (await session.rollback(0)).clean
        assert rig.told == before


@REAL
async def test_a_file_that_the_model_looked_for_before_it_was_there_is_not_its_own(
    tmp_path: Path,
) -> None:
    """anomalyco/opencode#46783: what a read had named was deleted by the undo."""
    rig = Rig(tmp_path, {"a": "1"})

    @tool(effect="read")
    async def wait() -> str:
        (rig.tree / "new.txt").write_text("mine")
        return "ok"

    script: list[Any] = [
        call("read_file", path="new.txt"),
        call("wait"),
        call("shell", command="cat new.txt; printf 2 > a"),
        "done",
    ]
    of = worker(script, [*TOOLS, wait])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        assert (await session.rollback(0)).clean
    assert rig.told == {"a": "1", "new.txt": "mine"}
