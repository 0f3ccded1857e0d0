"""A refusal is about the aim (BR-01), and an error's text goes nowhere with a key in it (SC-01)."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from failing import Upstream
from sessions import agent, case, journal, opened, raw_rows, requests, results, run_one

from ukemi import BusinessRejected, Completed, HandedOver, InvalidArgument, Runtime, tool
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import Reply, call
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Resulted

# ---------------------------------------------------------------- BR-01


class Files:
    """BR-01's tools: writing keys.txt is refused; each says what it touches."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def tools(self) -> list[AnyTool]:
        def path_of(path: str, text: str = "") -> str:
            return path

        def both(source: str, target: str) -> list[str]:
            return [source, target]

        @tool(effect="write", resource=path_of)
        async def write(path: str, text: str = "") -> str:
            self.ran.append(f"write {path}")
            if path == "keys.txt":
                raise BusinessRejected("writing keys.txt is denied by policy")
            return "written"

        @tool(effect="write", resource=path_of)
        async def append(path: str, text: str = "") -> str:
            self.ran.append(f"append {path}")
            return "appended"

        @tool(effect="write", resource=both)
        async def move(source: str, target: str) -> str:
            self.ran.append(f"move {source} {target}")
            return "moved"

        @tool(effect="read", resource=path_of)
        async def read(path: str) -> str:
            self.ran.append(f"read {path}")
            return "text"

        return [write, append, move, read]


BLOCKED = "blocked: writing keys.txt is denied by policy"
WRITE = call("write", path="keys.txt", text="x")
AROUND = [
    call("move", source="keys.txt", target="keys.bak"),
    call("move", source="other.txt", target="keys.txt"),
    call("append", path="keys.txt", text="x"),
    call("write", path="keys.txt", text="another text"),
    call("write", text="x", path="keys.txt"),
]


async def test_BR_01_what_was_refused_stays_closed_however_it_is_spelled(
    store: MemoryStore,
) -> None:
    files = Files()
    script: list[Reply] = [
        WRITE,
        *AROUND,
        call("read", path="keys.txt"),
        call("write", path="notes.txt"),
        BLOCKED,
    ]
    of = agent(script, files.tools())
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1")
    assert files.ran == ["write keys.txt", "read keys.txt", "write notes.txt"]
    assert isinstance(outcome, HandedOver)
    assert (outcome.reason, outcome.detail) == ("blocked", BLOCKED)
    told = [each.content for each in results(requests(of)[-1].messages)]
    assert all("refused for good" in each for each in told[: 1 + len(AROUND)])
    async with opened(store):
        entries = await journal(store, "s-1")
    states = [each.state for each in entries if isinstance(each, Resulted)]
    assert states == ["failed", *["refused"] * len(AROUND), "succeeded", "succeeded"]


async def test_BR_01_it_stays_closed_over_a_restart_and_opens_when_a_person_says_go_on(
    store: MemoryStore,
) -> None:
    files = Files()
    append = call("append", path="keys.txt")
    of = agent([WRITE, append, BLOCKED, append, "appended"], files.tools())
    async with Runtime(store, agents=[of]) as runtime:
        await run_one(runtime, of, session_id="s-1")
    assert files.ran == ["write keys.txt"]
    async with Runtime(store, agents=[of]) as runtime:
        handle = runtime.session("s-1")
        await handle.send("appending is allowed, I have asked")
        assert await handle.outcome() == Completed("appended")
    assert files.ran == ["write keys.txt", "append keys.txt"]


async def test_BR_01_a_model_that_keeps_trying_is_handed_over(store: MemoryStore) -> None:
    files = Files()
    of = agent([WRITE] * 50, files.tools())
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of)
    assert files.ran == ["write keys.txt"]
    assert isinstance(outcome, HandedOver)
    assert len(requests(of)) <= 12


async def test_BR_01_a_tool_that_cannot_say_what_it_touches_does_not_run(
    store: MemoryStore,
) -> None:
    files = Files()

    def broken(path: str) -> str:
        raise LookupError(path)

    @tool(effect="write", resource=broken)
    async def chmod(path: str) -> str:
        files.ran.append("chmod")
        return "changed"

    of = agent([WRITE, call("chmod", path="x"), BLOCKED], [*files.tools(), chmod])
    async with Runtime(store, agents=[of]) as runtime:
        await run_one(runtime, of)
    assert files.ran == ["write keys.txt"]


# ---------------------------------------------------------------- SC-01

KEY, TOKEN = "FAKE-KEY-123456", "FAKE-TOK-987"


class ClientError(InvalidArgument):
    """What the tool's HTTP client raised, with the headers it had sent."""


def failing_tool() -> AnyTool:
    setup: dict[str, Any] = case("SC-01")["setup"]

    @tool(effect="read")
    async def items(q: str) -> str:
        try:
            raise ConnectionError(f"inner: {setup['tool_error']}")
        except ConnectionError as inner:
            headers = json.dumps(setup["request_headers"])
            raise ClientError(f"{setup['tool_error']} headers {headers}") from inner

    return items


async def test_SC_01_an_error_s_text_goes_nowhere_with_a_key_in_it(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    of = agent([call("items", q=str(number)) for number in range(9)], [failing_tool()])
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        events = [event async for event in handle.events()]
        outcome = await handle.outcome()
        assert isinstance(outcome, HandedOver)
        everything = [repr(events), repr(outcome), repr(runtime.alerts), caplog.text]
    everything += [repr(each.messages) for each in requests(of)]
    async with opened(store):
        everything += [repr(body) for _, _, body in await raw_rows(store, "s-1")]
    for text in everything:
        assert KEY not in text
        assert TOKEN not in text
    told = results(requests(of)[-1].messages)[-1].content
    for readable in ("api.example.test", "/v1/items", "400", "key=", "q=1"):
        assert readable in told


async def test_SC_01_a_fault_s_traceback_is_cleaned_too(store: MemoryStore) -> None:
    @tool(effect="read")
    async def broken() -> str:
        raise TypeError(f"cannot open https://api.example.test/?key={KEY}&q=1")

    of = agent([call("broken"), "x"], [broken])
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "bug"
    assert "TypeError" in outcome.dossier.upstream_error
    assert "broken" in outcome.dossier.upstream_error  # the frame it was raised in
    assert KEY not in repr(outcome)


# ---------------------------------------------------------------- failures in normal returns


async def test_SF_02_not_raising_is_not_success(store: MemoryStore) -> None:
    """The classification part: five posts that say ``ok: false`` are failures, and corrected."""

    def posted(answer: Any) -> bool:
        return bool(answer["ok"])

    ran: list[str] = []

    @tool(effect="write", success=posted)
    async def post(channel: str, text: str) -> dict[str, Any]:
        ran.append(channel)
        return {"ok": False, "error": "channel_not_found"}

    posts = [call("post", channel=f"c{number}", text="x") for number in range(5)]
    of = agent([*posts, "The message was posted."], [post])
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1")
    async with opened(store):
        entries = await journal(store, "s-1")
    kept = [each for each in entries if isinstance(each, Resulted)]
    assert {each.state for each in kept} == {"failed"}
    assert len(ran) == 4  # the original and three corrections
    assert all("channel_not_found" in each.content for each in kept)
    assert all(each.is_error for each in results(requests(of)[-1].messages))
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "planning"


@pytest.mark.parametrize("answer", [{"ok": True}, {"state": "failed"}, {"ok": False}], ids=str)
async def test_a_return_that_tells_of_no_known_failure_is_given_to_the_model(
    store: MemoryStore, answer: dict[str, Any]
) -> None:
    @tool(effect="read")
    async def fetch() -> dict[str, Any]:
        return answer

    of = agent([call("fetch"), "done"], [fetch])
    async with Runtime(store, agents=[of]) as runtime:
        assert await run_one(runtime, of) == Completed("done")


async def test_a_tool_s_own_judgement_has_the_first_word(store: MemoryStore) -> None:
    """An address that is checked may well be unknown: that is the answer, not a failure."""

    @tool(effect="read", success=lambda answer: True)
    async def check() -> dict[str, Any]:
        return {"ok": False, "error": "channel_not_found"}

    of = agent([call("check"), "done"], [check])
    async with Runtime(store, agents=[of]) as runtime:
        assert await run_one(runtime, of) == Completed("done")
        (record,) = (
            await runtime.session((await runtime.sessions())[0].session_id).checkpoint()
        ).tool_history
    assert record.state == "succeeded"


async def test_rules_of_ones_own_hold_for_tools_and_models(
    store: MemoryStore, tmp_path: Path
) -> None:
    """A text that nobody else knows gets a class, and its recovery."""
    rules = tmp_path / "rules.toml"
    rules.write_text(
        '[[rule]]\ntext = "warehouse is counting"\nclass = "transient"\nexecuted = "no"\n'
    )
    upstream = Upstream([Exception("the warehouse is counting"), "goods"])
    of = agent([call("fetch"), "done"], [upstream.tool()])
    async with Runtime(store, agents=[of]) as runtime:
        assert isinstance(await run_one(runtime, of), HandedOver)
    upstream.asked_at.clear()
    async with Runtime(store, agents=[of], rules=rules) as runtime:
        assert await run_one(runtime, of) == Completed("done")
    assert len(upstream.asked_at) == 2
