"""The demo's agents on a model of a provider: its scripts, said by a server over OpenAI's wire.

So instructions, tools with their schemas, results and a person's answers all cross the wire, in
both workers, with the SDK between.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from loopback_llm import Answer, Received, chat, serve

from ukemi.actors.model import (
    AssistantMessage,
    Message,
    ModelRequest,
    NoteMessage,
    ToolMessage,
    ToolSchema,
    UserMessage,
)
from ukemi.cli.demo_agents import ORDER_INSTRUCTIONS, REPAIR_INSTRUCTIONS, say_order, say_repair
from ukemi.stores.records import ToolCall

BOUND_S = 90.0
DELAY_S = 0.03

Json = dict[str, Any]


class Impersonator:
    """Answers as the demo's scripts do, by what is on the wire alone."""

    def __init__(self) -> None:
        self.said = 0
        self.instructions = set[str]()
        self.tools = set[tuple[str, ...]]()

    def __call__(self, received: Received) -> Answer:
        request = request_of(received.body)
        self.instructions.add(request.instructions)
        self.tools.add(tuple(each.name for each in request.tools))
        repairs = any(each.name == "run_tests" for each in request.tools)
        reply = say_repair(request) if repairs else say_order(request)
        if isinstance(reply, str):
            return chat(reply, piece=1000).slow(DELAY_S)
        assert isinstance(reply, ToolCall | list)
        calls = [reply] if isinstance(reply, ToolCall) else [each for each in reply]
        named: list[tuple[str, str, str]] = []
        for each in calls:
            assert isinstance(each, ToolCall)
            self.said += 1
            named.append((f"call_{self.said}", each.name, each.arguments))
        return chat(None, named, piece=4000).slow(DELAY_S)


def request_of(body: Json) -> ModelRequest:
    """Return the request that a body of the chat completions API stands for."""
    names: dict[str, str] = {}
    messages: list[Message] = []
    instructions = ""
    for each in body["messages"]:
        text = each.get("content") or ""
        match each["role"]:
            case "system" | "developer":
                instructions = text
            case "user" if text.startswith("[runtime] "):
                messages.append(NoteMessage(text))
            case "user":
                messages.append(UserMessage(text))
            case "assistant":
                calls = [(call["id"], call["function"]) for call in each.get("tool_calls", ())]
                names |= {id: function["name"] for id, function in calls}
                made = [ToolCall(id, made["name"], made["arguments"]) for id, made in calls]
                messages.append(AssistantMessage(text, tuple(made)))
            case "tool":
                id, failed = each["tool_call_id"], text.startswith("[error]")
                messages.append(ToolMessage(id, names[id], text, is_error=failed))
            case other:
                raise AssertionError(f"nobody has the role {other!r}")
    tools = [each["function"] for each in body.get("tools", ())]
    schemas = [ToolSchema(tool["name"], tool["description"], tool["parameters"]) for tool in tools]
    return ModelRequest(
        session_id="", instructions=instructions, messages=messages, tools=tuple(schemas)
    )


@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_demo_holds_on_a_model_of_a_provider(tmp_path: Path, anyio_backend: str) -> None:
    player = Impersonator()
    with anyio.fail_after(BOUND_S):
        async with serve(player) as provider:
            ended = await anyio.run_process(
                [sys.executable, "-P", "-m", "ukemi", "demo", "--json", "--model", "openai:played"],
                cwd=tmp_path,
                env=environment(provider.openai_url),
                check=False,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
    said = ended.stderr.decode()
    assert ended.returncode == 0, said
    report = json.loads(ended.stdout.splitlines()[-1])
    assert (report["completed"], report["checkpoints_lost"]) == (22, 0)
    assert (report["orders_booked"], report["tests_green"]) == (32, True)
    assert report["resumed"] >= 1
    assert {each.body["model"] for each in provider.requests} == {"played"}
    assert player.instructions == {REPAIR_INSTRUCTIONS, ORDER_INSTRUCTIONS}
    assert player.tools == {
        ("list_files", "read_file", "write_file", "run_tests"),
        ("stock", "place_order"),
        ("stock", "order_by_form"),
    }


def environment(url: str) -> dict[str, str]:
    """Return an environment in which the SDK speaks to this address, past any proxy."""
    proxies = {"http_proxy", "https_proxy", "all_proxy"}
    kept = {name: value for name, value in os.environ.items() if name.lower() not in proxies}
    kept.pop("UKEMI_STORE", None)
    return kept | {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "PYTHONIOENCODING": "utf-8"}


def test_a_demo_without_the_providers_key_says_so_before_it_begins(tmp_path: Path) -> None:
    """Nothing is made, and no worker is started, for a model that cannot be asked."""
    environ = {name: value for name, value in os.environ.items() if "API_KEY" not in name}
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "ukemi", "demo", "--model", "openai:gpt-5"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "OPENAI_API_KEY" in ended.stderr
    assert list(tmp_path.iterdir()) == []
