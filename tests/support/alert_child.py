"""A process that dies while it tells an alert: the hook writes that it was called, and kills it.

python alert_child.py STORE LOG
"""

import os
import signal
import sys

import anyio

from ukemi import Agent, PermissionDenied, Runtime, tool
from ukemi.actors import AlertRaised
from ukemi.models import ScriptedModel, call


@tool
async def order(sku: str) -> str:
    raise PermissionDenied("the key has expired")


def buyer() -> Agent:
    return Agent("buyer", model=ScriptedModel([call("order", sku="A"), "Done."]), tools=[order])


async def main(store: str, log: str) -> None:
    async def dies(alert: AlertRaised) -> None:
        await anyio.Path(log).write_text(alert.name)
        os.kill(os.getpid(), signal.SIGKILL)

    async with Runtime(store, agents=[buyer()], on_alert=dies) as runtime:
        session = await runtime.start("buyer", "Order an A", session_id="s-1")
        await session.outcome()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
