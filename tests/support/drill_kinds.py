"""Tools with one mistake each, and the same tools without it.

Each function returns the tools of an agent that calls ``order`` once; the service behind it is a stub.
"""

import asyncio
import base64
import os
import threading
from collections.abc import Callable
from typing import Any

import anyio

from ukemi import NOT_DONE, Agent, Tool, tool
from ukemi.actors.tooling.marks import NotDone
from ukemi.models import ScriptedModel, call
from ukemi.testing import EffectStub

AnyTool = Tool[..., Any]
Body = Callable[..., Any]
Made = Callable[[EffectStub], Body]


def agent(tools: list[AnyTool]) -> Agent:
    return Agent("a", model=ScriptedModel([call("order", sku="a"), "Done."]), tools=tools)


def order(
    body: Made | None = None,
    *,
    compensate: Made | None = None,
    probe: Made | None = None,
    once_per: tuple[str, ...] | None = None,
    **marks: Any,
) -> list[AnyTool]:
    """Return a tool that orders, with these parts; each is made for the shop that it talks to."""
    shop = EffectStub(name="shop", once_per=once_per)
    marks.setdefault("timeout_s", 10)
    if compensate is not None:
        marks["compensate"] = compensate(shop)
    if probe is not None:
        marks["probe"] = probe(shop)
    return [tool(name="order", **marks)((body or plain)(shop))]


# ---------------------------------------------------------------- bodies


def plain(shop: EffectStub) -> Body:
    async def order(sku: str) -> str:
        return str(await shop(sku=sku))

    return order


def threaded(shop: EffectStub) -> Body:
    def order(sku: str) -> str:
        return str(shop.do(sku=sku))

    return order


def keyed(shop: EffectStub) -> Body:
    async def order(sku: str, *, key: str) -> str:
        return str(await shop(sku=sku, key=key))

    return order


def key_ignored(shop: EffectStub) -> Body:
    async def order(sku: str, *, key: str) -> str:
        return str(await shop(sku=sku))

    return order


def key_made_up(shop: EffectStub) -> Body:
    async def order(sku: str, *, key: str) -> str:
        return str(await shop(sku=sku, key=os.urandom(8).hex()))

    return order


def limited_inside(shop: EffectStub) -> Body:
    async def order(sku: str) -> str:
        with anyio.fail_after(5):
            return str(await shop(sku=sku))

    return order


def hangs(shop: EffectStub) -> Body:
    async def order(sku: str) -> str:
        await shop(sku=sku)
        await anyio.sleep_forever()
        return ""

    return order


def hangs_in_thread(shop: EffectStub) -> Body:
    def order(sku: str) -> str:
        shop.do(sku=sku)
        threading.Event().wait()
        return ""

    return order


def swallows_and_returns(shop: EffectStub) -> Body:
    async def order(sku: str) -> str:
        try:
            return str(await shop(sku=sku))
        except asyncio.CancelledError:
            return "fine"

    return order


def swallows_and_raises(shop: EffectStub) -> Body:
    async def order(sku: str) -> str:
        try:
            return str(await shop(sku=sku))
        except BaseException as error:
            raise RuntimeError("it did not work") from error

    return order


def swallows_for_ever(shop: EffectStub) -> Body:
    async def order(sku: str) -> str:
        while True:
            try:
                await anyio.sleep(1)
                return str(await shop(sku=sku))
            except asyncio.CancelledError:
                pass

    return order


def error_as_success(shop: EffectStub) -> Body:
    async def order(sku: str) -> str:
        try:
            return str(await shop(sku=sku))
        except Exception:  # noqa: BLE001 - the mistake
            return "ordered"

    return order


def secret_in_result(shop: EffectStub) -> Body:
    async def order(sku: str, *, token: str) -> str:
        return f"{await shop(sku=sku)} by {token}"

    return order


def secret_printed(shop: EffectStub) -> Body:
    async def order(sku: str, *, token: str) -> str:
        print("asking with", token)
        return str(await shop(sku=sku))

    return order


def secret_encoded(shop: EffectStub) -> Body:
    async def order(sku: str, *, token: str) -> str:
        try:
            return str(await shop(sku=sku))
        except Exception as error:
            pair = base64.b64encode(f"user:{token}".encode()).decode()
            raise ConnectionError(f"refused: Basic {pair}") from error

    return order


def secret_of_environment(shop: EffectStub) -> Body:
    async def order(sku: str) -> str:
        try:
            return str(await shop(sku=sku))
        except Exception as error:
            raise ConnectionError(f"refused: {os.environ['SHOP_API_KEY']}") from error

    return order


def secret_kept(shop: EffectStub) -> Body:
    async def order(sku: str, *, token: str) -> str:
        assert token
        return str(await shop(sku=sku))

    return order


# ---------------------------------------------------------------- compensations


def cancels(shop: EffectStub) -> Body:
    def cancel(result: str) -> None:
        shop.cancel(result)

    return cancel


def undoes_twice(shop: EffectStub) -> Body:
    def cancel(result: str) -> None:
        shop.undo(result)
        shop.undo(result)

    return cancel


def undoes_nothing(shop: EffectStub) -> Body:
    def cancel(result: str) -> None:
        assert result

    return cancel


def undo_says_no(shop: EffectStub) -> Body:
    def cancel(result: str) -> dict[str, object]:
        return {"ok": False, "error": f"no order {result}"}

    return cancel


def undo_hangs(shop: EffectStub) -> Body:
    async def cancel(result: str) -> None:
        await anyio.sleep_forever()

    return cancel


def undo_ignores_key(shop: EffectStub) -> Body:
    def cancel(result: str, *, key: str) -> None:
        shop.undo(result)

    return cancel


def undo_tells_secret(shop: EffectStub) -> Body:
    def cancel(result: str, token: str) -> None:
        raise RuntimeError(f"401 for {token}")

    return cancel


# ---------------------------------------------------------------- probes


def found(shop: EffectStub) -> Body:
    def probe(sku: str) -> str | NotDone:
        answer = shop.find(sku=sku)
        return NOT_DONE if answer is None else str(answer)

    return probe


def always_yes(shop: EffectStub) -> Body:
    def probe(sku: str) -> str:
        return "shop-1"

    return probe


def always_no(shop: EffectStub) -> Body:
    def probe(sku: str) -> NotDone:
        return NOT_DONE

    return probe


def says_none(shop: EffectStub) -> Body:
    def probe(sku: str) -> str | None:
        answer = shop.find(sku=sku)
        return None if answer is None else str(answer)

    return probe


def probe_raises(shop: EffectStub) -> Body:
    def probe(sku: str) -> str:
        raise KeyError(sku)

    return probe


def probe_hangs(shop: EffectStub) -> Body:
    async def probe(sku: str) -> str:
        await anyio.sleep_forever()
        return ""

    return probe


def another_result(shop: EffectStub) -> Body:
    def probe(sku: str) -> str | NotDone:
        return NOT_DONE if shop.find(sku=sku) is None else "shop-7"

    return probe


def probe_orders(shop: EffectStub) -> Body:
    def probe(sku: str) -> NotDone:
        shop.do(sku="probe")
        return NOT_DONE

    return probe
