"""Documents taken in: a session that came half-way is nobody's to run."""

import secrets
from collections.abc import Sequence

import anyio
import pytest
from sessions import GONE, LoopClock, agent, opened, requests

from ukemi import Runtime, tool
from ukemi.actors.portable import Portable, import_portable
from ukemi.models import call
from ukemi.stores.base import StoreFailed, Write, Written
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import (
    Answered,
    Intended,
    JournalEntry,
    Opened,
    Resulted,
    Said,
    ToolCall,
    encode_row,
)

BEGUN: list[JournalEntry] = [Opened("agent", 1), Said(1, "Order one")]


def ordered(times: int) -> list[JournalEntry]:
    """Return the journal of a session that has ordered so often."""
    entries = [*BEGUN]
    for n in range(2, 2 * times + 2, 2):
        entries += (
            Answered(n, calls=(ToolCall("c", "order"),)),
            Intended(n, 0, tool="order", digest="d"),
            Resulted(n, 0, counter=n // 2, content="ordered"),
        )
    return entries


class Killed(MemoryStore):
    """A store whose process dies after so many commits."""

    commits_left = 0

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        if not self.commits_left:
            raise StoreFailed("the process is gone")
        self.commits_left -= 1
        return await super().commit(writes)


@pytest.mark.parametrize(("times", "commits"), [(0, 1), (1, 1), (600, 2)])
async def test_what_a_killed_import_has_left_is_run_by_nobody(times: int, commits: int) -> None:
    name = secrets.token_hex(8)
    ran: list[str] = []

    @tool
    async def order() -> str:
        ran.append("order")
        return "ordered"

    entries = ordered(times)
    portable = Portable("one", times, "agent", encode_row(entries), {})
    async with opened(Killed(name)) as store:
        assert isinstance(store, Killed)
        store.commits_left = commits
        with pytest.raises(StoreFailed):
            await import_portable(store, portable, entries, session_id="one", owner=GONE, at_ms=0)
    of = agent([call("order")] * 700, [order])
    async with Runtime(f"memory:{name}", agents=[of], clock=LoopClock()) as runtime:
        await anyio.sleep(60)
        assert (await runtime.session("one").inspect()).status == "running"
    assert not requests(of)
    assert not ran
