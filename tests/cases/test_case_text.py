"""Hostile and long texts from a tool, through session, store and the next request."""

import hashlib
import json
import secrets
from pathlib import Path

import pytest
from sessions import PATIENT, REAL_BACKENDS, agent, ended, requests, results, run_one

from ukemi import Agent, Completed, Runtime, tool
from ukemi.actors.model import AssistantMessage, Message, ToolMessage, UserMessage
from ukemi.actors.tooling.results import CONTENT_BYTES_MAX
from ukemi.models import call
from ukemi.stores.base import Store
from ukemi.stores.memory import MemoryStore
from ukemi.stores.sqlite import SqliteStore

MEGABYTES = 10 * 1024 * 1024
OUTPUTS: dict[str, str | bytes] = {
    "NUL": "a\x00b",
    "UTF-16": b"\xff\xfe\x41\x00\x42\x00",
    "lone surrogate": "half \ud83d of it",
    "line separators": "a\u2028b\x85c",
    "escape sequences": "\x1b[31mred\x1b[0m",
    "10 MB": "x" * MEGABYTES,
}


@pytest.fixture(params=REAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Files are read and written here, so the clock is the real one."""
    backend: tuple[str, dict[str, object]] = request.param
    return backend


@pytest.fixture(params=["memory", "sqlite"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the place of a store that outlives its runtimes."""
    if request.param == "memory":
        return f"memory:{secrets.token_hex(8)}"
    return str(tmp_path / "store.db")


def store_at(where: str) -> Store:
    if where.startswith("memory:"):
        return MemoryStore(where.removeprefix("memory:"))
    return SqliteStore(where)


def size_of(where: str) -> int:
    """Return the bytes of a store's file and of what lies beside it."""
    path = Path(where)
    return sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*"))


def printing(output: str | bytes, *, also: int = 3) -> Agent:
    """Return an agent whose tool returns this once and then a few plain results."""

    @tool(effect="read")
    async def show(what: str) -> str | bytes:
        return output if what == "it" else "plain"

    steps = [call("show", what="it"), *(call("show", what="other") for _ in range(also))]
    return agent([*steps, "done", "done again"], [show])


def wire(messages: tuple[Message, ...]) -> bytes:
    """Encode a request as providers get it: JSON in UTF-8."""
    plain: list[dict[str, object]] = []
    for message in messages:
        match message:
            case ToolMessage():
                plain.append({"role": "tool", "id": message.call_id, "content": message.content})
            case AssistantMessage():
                calls = [{"name": each.name, "arguments": each.arguments} for each in message.calls]
                plain.append({"role": "assistant", "content": message.text, "calls": calls})
            case _:
                plain.append({"role": "user", "content": message.text})
    return json.dumps(plain, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize("output", list(OUTPUTS.values()), ids=list(OUTPUTS))
class TestTX01:
    async def test_TX_01_every_checkpoint_is_stored_and_loads(
        self, where: str, output: str | bytes
    ) -> None:
        of = printing(output)
        async with Runtime(where, agents=[of], policy=PATIENT) as runtime:
            assert await run_one(runtime, of, session_id="s-1") == Completed("done")
        async with Runtime(where) as reader:
            for counter in range(1, 5):
                checkpoint = await reader.session("s-1").checkpoint(counter)
                assert checkpoint.checkpoint_counter == counter
                assert len(checkpoint.tool_history) == counter
                # In memory while it ran and read back from the store: the same text.
                seen = results(requests(of)[counter].messages)
                assert [each.content for each in results(checkpoint.messages)] == [
                    each.content for each in seen
                ]

    async def test_TX_01_the_request_encodes_as_utf8_json_also_after_a_reload(
        self, where: str, output: str | bytes
    ) -> None:
        of = printing(output)
        async with Runtime(where, agents=[of], policy=PATIENT) as runtime:
            await run_one(runtime, of, session_id="s-1")
        async with Runtime(where, agents=[of], policy=PATIENT) as runtime:
            await runtime.session("s-1").send("and now?")
            assert await ended(runtime, "s-1", 30.0) == Completed("done again")
        assert len(requests(of)) == 6
        for request in requests(of):
            assert "\ufffd" not in json.loads(wire(tuple(request.messages)))[0]["content"]
            assert b"\x00" not in wire(tuple(request.messages))

    async def test_TX_01_what_was_changed_is_visible_and_said_and_the_original_is_kept(
        self, where: str, output: str | bytes
    ) -> None:
        of = printing(output)
        async with Runtime(where, agents=[of], policy=PATIENT) as runtime:
            await run_one(runtime, of, session_id="s-1")
            full = await runtime.session("s-1").result_text(1)
            (first, *_) = (await runtime.session("s-1").checkpoint()).tool_history
        raw = output.encode("utf-8", "surrogatepass") if isinstance(output, str) else output
        if first.content != output:
            assert "[replaced: " in first.content or "missing" in first.content
            assert first.blob == hashlib.sha256(raw).hexdigest()
        if isinstance(output, str) and "\ud83d" not in output:
            assert full == output

    async def test_TX_01_no_later_step_fails_because_of_it(
        self, where: str, output: str | bytes
    ) -> None:
        of = printing(output, also=12)
        async with Runtime(where, agents=[of], policy=PATIENT) as runtime:
            assert await run_one(runtime, of, session_id="s-1") == Completed("done")
            assert (await runtime.session("s-1").checkpoint()).checkpoint_counter == 13


async def test_TX_01_of_ten_megabytes_the_model_gets_a_bounded_excerpt(where: str) -> None:
    of = printing(OUTPUTS["10 MB"])
    async with Runtime(where, agents=[of], policy=PATIENT) as runtime:
        await run_one(runtime, of, session_id="s-1")
        full = await runtime.session("s-1").result_text(1)
    (content,) = [each.content for each in results(requests(of)[1].messages)]
    assert len(content.encode()) <= CONTENT_BYTES_MAX
    shown = content.count("x")
    assert str(MEGABYTES - shown) in content or f"{MEGABYTES - shown:,}" in content
    assert len(full) == MEGABYTES


@pytest.mark.parametrize("where", ["sqlite"], indirect=True)
async def test_TX_01_the_full_text_is_stored_once_and_not_with_each_checkpoint(where: str) -> None:
    of = printing(OUTPUTS["10 MB"], also=40)
    async with Runtime(where, agents=[of], policy=PATIENT) as runtime:
        await run_one(runtime, of, session_id="s-1")
    assert size_of(where) < 1.5 * MEGABYTES


@pytest.mark.parametrize("where", ["sqlite"], indirect=True)
async def test_TX_01_two_sessions_with_the_same_text_keep_it_once(where: str) -> None:
    of = printing(OUTPUTS["10 MB"])
    async with Runtime(where, agents=[of], policy=PATIENT) as runtime:
        for name in ("s-1", "s-2", "s-3"):
            await run_one(runtime, of, session_id=name)
        assert len(await runtime.session("s-3").result_text(1)) == MEGABYTES
    assert size_of(where) < 1.5 * MEGABYTES


@pytest.mark.parametrize("field", ["task", "answer", "argument", "error", "tool name"])
async def test_TX_01_hostile_text_from_elsewhere_does_not_break_the_session_either(
    where: str, field: str
) -> None:
    """Not only results: what the user, the model or an error says is stored, too."""
    bad = "bad \x00 and \ud83d half"

    @tool(effect="read")
    async def fail(text: str = "") -> str:
        raise ValueError(f"cannot: {bad}") if field == "error" else ValueError(text)

    first = {
        "argument": call("fail", text="x").__class__("c", "fail", json.dumps({"text": bad})),
        "tool name": call("fail").__class__("c", f"fail{bad}", "{}"),
    }.get(field, call("fail"))
    of = agent([first, bad if field == "answer" else "done", "done again"], [fail])
    async with Runtime(where, agents=[of], policy=PATIENT) as runtime:
        handle = await runtime.start("agent", bad if field == "task" else "go", session_id="s-1")
        await ended(runtime, "s-1", 30.0)
        await handle.send("once more")
        await ended(runtime, "s-1", 30.0)
    async with Runtime(where) as reader:
        messages = (await reader.session("s-1").checkpoint()).messages
        assert isinstance(messages[0], UserMessage)
        wire(messages)


# ---------------------------------------------------------------- TX-02

TEXT = "x" * 999 + "\N{GRINNING FACE}" + "y" * 500
FLAG = (
    "x" * 999
    + "\N{REGIONAL INDICATOR SYMBOL LETTER D}\N{REGIONAL INDICATOR SYMBOL LETTER E}"
    + "y" * 500
)
ACCENT = "x" * 999 + "e\N{COMBINING ACUTE ACCENT}" + "y" * 500


@pytest.mark.parametrize("text", [TEXT, FLAG, ACCENT], ids=["emoji", "flag", "accent"])
@pytest.mark.parametrize("shift", range(-10, 11, 2))
async def test_TX_02_a_result_cut_anywhere_is_whole_characters_after_store_and_load(
    where: str, text: str, shift: int
) -> None:
    """The cut of a result falls around the character; the unit tests take every single limit."""
    # The excerpt is cut at a fixed size, so the text is moved over it byte by byte.
    filler = "z" * (CONTENT_BYTES_MAX - 1000 - len(text.encode()) // 2 + shift)
    output = (filler + text) * 3
    of = printing(output, also=0)
    async with Runtime(where, agents=[of], policy=PATIENT) as runtime:
        await run_one(runtime, of, session_id="s-1")
        full = await runtime.session("s-1").result_text(1)
    async with Runtime(where) as reader:
        (content,) = [
            each.content for each in results((await reader.session("s-1").checkpoint()).messages)
        ]
    assert full == output
    content.encode("utf-8")
    assert "\ufffd" not in content
    assert "[replaced" not in content
    assert len(content.encode()) <= CONTENT_BYTES_MAX
    assert "missing" in content or "left out" in content
    assert content.startswith(output[:100]) and content.endswith(output[-100:])
    wire(tuple(requests(of)[-1].messages))
