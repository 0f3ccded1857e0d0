"""Compensations in threads: real ones, so in real time."""

import threading
from typing import Any

import pytest
from sessions import REAL_BACKENDS, agent, run_one, until

from ukemi import HandedOver, PermissionDenied, Runtime, tool
from ukemi.models import call
from ukemi.stores.memory import MemoryStore

pytestmark = pytest.mark.realtime


@pytest.fixture(params=REAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    backend: tuple[str, dict[str, Any]] = request.param
    return backend


@tool
async def locked() -> str:
    raise PermissionDenied("no such right")


async def test_one_that_outlives_its_time_is_in_doubt_until_its_thread_ends() -> None:
    """The session ends without it; what the thread says in the end settles the record."""
    go = threading.Event()

    def cancel(what: str) -> str:
        go.wait(30)
        return f"{what} is cancelled"

    @tool(compensate=cancel, timeout_s=0.2)
    def order(what: str) -> str:
        return "ordered"

    of = agent([call("order", what="car"), call("locked")], [order, locked])
    async with Runtime(MemoryStore(), agents=[of]) as runtime:
        try:
            outcome = await run_one(runtime, of, session_id="one")
            assert isinstance(outcome, HandedOver)
            (end,) = outcome.dossier.effects
            assert (end.standing, outcome.dossier.undone) == ("compensation in doubt", "none")
        finally:
            go.set()

        async def settled() -> bool:
            facts = await runtime.session("one").inspect()
            return facts.undone == "all" and not facts.questions

        await until(settled)
        assert (await runtime.session("one").inspect()).status == "handed_over"
