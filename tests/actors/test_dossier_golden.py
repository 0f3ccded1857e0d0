"""The handover of docs/handover.md, from a real run: whoever has not seen the session can decide by it."""

from pathlib import Path

import anyio
import msgspec
from sessions import run_one

from ukemi import Agent, Budget, HandedOver, Runtime, tool
from ukemi.actors.handover.markdown import markdown_of
from ukemi.models import ScriptedModel, call
from ukemi.models.scripted import Script
from ukemi.stores.memory import MemoryStore

PAGE = Path(__file__).parent.parent.parent / "docs/handover.md"
TASK = "Order three A-17 for the Bonn office, at most 30 EUR each"


class Shop:
    """A shop whose orders get lost on the way."""

    def agent(self) -> Agent:
        @tool(effect="read", upstream="warehouse")
        async def stock(sku: str) -> int:
            return 12

        async def release(sku: str, units: int) -> str:
            return f"{units} {sku} released"

        @tool(effect="write", compensate=release)
        async def reserve(sku: str, units: int) -> str:
            return f"{units} {sku} reserved"

        @tool(effect="write", upstream="shop", timeout_s=30.0)
        async def place_order(sku: str, units: int) -> str:
            await anyio.sleep(3600)
            return "unreachable"

        script: Script = [
            call("stock", sku="A-17"),
            call("reserve", sku="A-17", units=3),
            call("place_order", sku="A-17", units=3),
            "Done.",
        ]
        return Agent("buyer", model=ScriptedModel(script), tools=[stock, reserve, place_order])


async def handed_over(store: MemoryStore) -> HandedOver:
    of = Shop().agent()
    async with Runtime(store, agents=[of]) as runtime:
        budget = Budget(steps=20, seconds=120)
        outcome = await run_one(runtime, of, TASK, session_id="s-order-17", budget=budget)
    assert isinstance(outcome, HandedOver)
    return outcome


def in_docs() -> str:
    return PAGE.read_text().partition("~~~markdown\n")[2].partition("~~~\n")[0]


async def test_the_page_shows_what_a_run_gives(store: MemoryStore) -> None:
    outcome = await handed_over(store)
    assert markdown_of("s-order-17", "buyer", outcome, task=TASK) == in_docs()


def part(title: str) -> str:
    return in_docs().partition(f"## {title}\n\n")[2].partition("\n## ")[0]


def test_it_answers_what_somebody_new_would_ask() -> None:
    """What failed, with what input, what was said, what was tried, what can I do, what is in effect."""
    text = in_docs()
    assert TASK in text and "agent buyer" in text
    assert part("What failed").strip() == "call 4.0 place\\_order"
    assert '{"sku":"A-17","units":3}' in part("Its input")
    assert "30" in part("What the other side said")
    assert "not" in part("What was tried")
    can_do = part("What you can do")
    for line in (
        "ukemi resolve s-order-17 done --call 4.0 --result RESULT",
        "ukemi resolve s-order-17 not_done --call 4.0",
        "ukemi resolve s-order-17 retry --call 4.0 --args JSON",
        "ukemi resolve s-order-17 abandon --call 4.0",
        "ukemi resolve s-order-17 go_on --result MESSAGE",
        "ukemi resolve s-order-17 cancel",
    ):
        assert line in can_do
    assert part("Open questions").strip() == "- did place\\_order (call 4.0) take effect?"
    assert "reserve" in part("Effects") and "frozen" in part("Effects")
    assert "place\\_order" in part("Nothing was undone")
    assert "30 of 120" in part("Budget")


async def test_as_json_it_has_the_same(store: MemoryStore) -> None:
    """For programs: each option with the call it is about and what it needs."""
    outcome = await handed_over(store)
    data = msgspec.json.decode(msgspec.json.encode(outcome))
    first = data["dossier"]["options"][0]
    assert (first["name"], first["call"]) == ("done", [4, 0])
    assert first["command"].split()[:3] == ["ukemi", "resolve", "s-order-17"]
    assert first["code"].startswith(
        "await runtime.session('s-order-17').resolve('done', call=(4, 0)"
    )
    assert first["needs"] == ["result: what the call gave"]
