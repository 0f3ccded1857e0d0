"""A session whose owner is certainly dead is free at once; ``adopt=False`` leaves others alone."""

import subprocess
import sys

import anyio
import pytest
from virtual_time import VIRTUAL_BACKENDS, run_virtual

from ukemi import Agent, Completed, Runtime
from ukemi.models import ScriptedModel
from ukemi.stores.base import Create, Facts, Renew
from ukemi.stores.liveness import owner_id
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Opened, Said, encode_row

LEASE_MS = 10**15  # far in the future: only the owner's death can free the session


def dead_owner() -> str:
    """Return the name of a process of this machine that has ended."""
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    parts = owner_id().split("/")
    parts[3], parts[4] = child.stdout.decode().strip(), "1"
    return "/".join(parts)


async def store_left_behind(owner: str) -> MemoryStore:
    """Return a store with a session that this owner began and did not finish."""
    store = MemoryStore("")
    await store.open()
    body = encode_row([Opened("helper", 1, limits={}), Said(1, "hello")])
    await store.commit(
        [
            Renew(owner=owner, lease_until_ms=LEASE_MS),
            Create(session_id="s-1", owner=owner, facts=Facts(agent="helper"), body=body),
        ]
    )
    return store


def agent() -> Agent:
    return Agent("helper", model=ScriptedModel(["done"]))


async def test_a_dead_owners_session_is_resumed_by_its_id_before_the_lease_ends() -> None:
    store = await store_left_behind(dead_owner())
    async with Runtime(store, agents=[agent()], adopt=False) as runtime:
        session = await runtime.resume("s-1")
        assert await session.outcome() == Completed("done")


async def test_a_dead_owners_session_can_be_cancelled_before_the_lease_ends() -> None:
    store = await store_left_behind(dead_owner())
    async with Runtime(store, agents=[agent()], adopt=False) as runtime:
        await runtime.session("s-1").cancel()
        assert (await runtime.sessions())[0].status == "stopped"


@pytest.mark.parametrize("backend", VIRTUAL_BACKENDS)
def test_adopt_false_leaves_orphans_alone_at_every_renewal_of_the_lease(backend: str) -> None:
    """Several renewals pass; the orphan stays as it was."""

    async def wait() -> str:
        store = await store_left_behind(dead_owner())
        async with Runtime(store, agents=[agent()], adopt=False, lease_s=3.0) as runtime:
            await anyio.sleep(10.0)
            return (await runtime.sessions())[0].status

    assert run_virtual(wait, backend=backend) == "running"
