"""Field cases about secrets in texts that were cut short, and in errors of the application's own functions."""

import logging
from typing import Any

import anyio
import pytest
from sessions import LoopClock, agent, ended, opened, raw_rows, requests, until

from ukemi import BusinessRejected, HandedOver, InvalidArgument, PermissionDenied, Runtime, tool
from ukemi.actors.handover.wording import clipped
from ukemi.actors.secrets import HIDDEN, mask
from ukemi.actors.text import shorten
from ukemi.models import call
from ukemi.stores.memory import MemoryStore

SECRET = "TOKENa-9f8e7d6c5b4a39281706zz"
LEFT = 8
"""So many characters of it in a row are too many."""


def left_of(text: str) -> list[str]:
    return [
        SECRET[at : at + LEFT]
        for at in range(len(SECRET) - LEFT + 1)
        if SECRET[at : at + LEFT] in text
    ]


@pytest.mark.parametrize("kept", range(1, len(SECRET)))
def test_a_part_that_a_cut_has_left_is_hidden(kept: int) -> None:
    """damianvtran/local-operator#1308: what was truncated did not match any more, and stayed."""
    head, tail = f"key {SECRET[:kept]}", f"{SECRET[kept:]} it was"
    for text in (head, tail):
        assert not left_of(mask(text, [SECRET]))
    cut = shorten(f"{'x' * 40} {SECRET}{'y' * 400}", 80 + kept, tail=0.3).text
    assert not left_of(mask(cut, [SECRET]))
    cut = clipped(f"{'x' * 40}{SECRET}{'y' * 400}", 60 + kept)
    assert not left_of(mask(cut, [SECRET]))
    both = mask(f"{SECRET[-12:]} and {SECRET[:12]}", [SECRET])
    assert both == f"{HIDDEN} and {HIDDEN}"


@pytest.mark.parametrize(
    "text", ["token", "the TOKEN", "a-9f", "6zz", "", "TOKENa is a name, 1706zz too"]
)
def test_what_is_no_part_worth_the_name_stays(text: str) -> None:
    assert mask(text, [SECRET]) == text


@pytest.mark.parametrize("length", [300, 2_000, 33_000])
@pytest.mark.parametrize(
    "error", [TypeError, InvalidArgument, RuntimeError, PermissionDenied, BusinessRejected]
)
async def test_a_long_error_gives_no_part_of_a_secret_away(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, error: type[Exception], length: int
) -> None:
    """frappe/frappe#42743: any cut falls inside of a text that is nothing but the secret."""
    caplog.set_level(logging.DEBUG)

    @tool(secrets=["token"])
    async def act(*, token: str) -> str:
        raise error(" ".join([SECRET] * (length // len(SECRET) + 40)))

    of = agent([*[call("act")] * 5, "x"], [act])
    async with Runtime(store, agents=[of], secrets={"token": SECRET}) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        events = [event async for event in handle.events()]
        outcome = await handle.outcome()
        everything = [repr(events), repr(outcome), repr(runtime.alerts), caplog.text]
    everything += [repr(each.messages) for each in requests(of)]
    async with opened(store):
        everything += [repr(body) for _, _, body in await raw_rows(store, "s-1")]
    assert isinstance(outcome, HandedOver)
    assert not left_of("".join(everything))


@pytest.mark.parametrize("hook", ["on_approval", "on_alert"])
async def test_a_hook_that_fails_with_a_secret_does_not_log_it(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, hook: str
) -> None:
    """uforia/MatterBot#286: the address of a webhook has its key in it, and errors have the address."""
    caplog.set_level(logging.DEBUG)

    async def fail(_: Any) -> None:
        raise ConnectionError(f"no answer of https://hooks.example.test/{' '.join([SECRET] * 40)}")

    @tool(danger="money", secrets=["token"])
    async def pay(*, token: str) -> str:
        return "paid"

    of = agent([call("pay"), PermissionDenied("no model any more")], [pay])
    hooks: dict[str, Any] = {hook: fail}
    async with Runtime(
        store, agents=[of], secrets={"token": SECRET}, clock=LoopClock(), **hooks
    ) as runtime:
        await runtime.start("agent", "go", session_id="s-1")

        async def parked() -> bool:
            return bool(await runtime.sessions(status="parked"))

        await until(parked, 60.0, 0.05)
        await runtime.decide("s-1:2.0", "approve")
        await ended(runtime, "s-1")
        await anyio.sleep(5.0)
        everything = [caplog.text, repr(runtime.alerts)]
    assert "hooks.example.test" in "".join(everything)
    assert not left_of("".join(everything))
