"""Where the store is what failed, the dossier is complete all the same, and lies beside the store."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest
from anyio import Path as AsyncPath
from sessions import agent, run_one

from ukemi import HandedOver, PermissionDenied, Policy, Runtime, StoreFailed, tool
from ukemi.actors.handover.file import place_of, write_dossier
from ukemi.actors.outcome import Dossier
from ukemi.models import call
from ukemi.stores.base import Append, Write, Written
from ukemi.stores.sqlite import SqliteStore
from ukemi.supervisor.policy_sessions import RestartPolicy, StoragePolicy

POLICY = Policy(
    storage=StoragePolicy(retry_s_max=0.0),
    restarts=RestartPolicy(intensity=0, delay_s_first=0.0, delay_s_max=0.0),
)


@pytest.fixture
def anyio_backend() -> str:
    """Real files are written by threads, which virtual time does not wait for."""
    return "asyncio"


class FullDisk(SqliteStore):
    """A store that takes no more rows once it is full."""

    full = False

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        if self.full and any(isinstance(each, Append) for each in writes):
            raise StoreFailed("no space left on device")
        return await super().commit(writes)


async def handed_over(store: FullDisk) -> tuple[HandedOver, tuple[str, ...]]:
    @tool
    async def refund(order: int) -> str:
        store.full = True
        return f"refunded {order}"

    of = agent([call("refund", order=9), "Done."], [refund])
    async with Runtime(store, agents=[of], policy=POLICY) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1")
        store.full = False
        assert isinstance(outcome, HandedOver)
        return outcome, runtime.alerts


async def test_it_is_whole_and_lies_beside_the_store(tmp_path: Path) -> None:
    outcome, alerts = await handed_over(FullDisk(tmp_path / "agents.db"))
    dossier, place = outcome.dossier, tmp_path / "agents.db-handover-s-1.md"
    assert dossier.file == str(place)
    assert any(f"it is in {place}" in each for each in alerts)
    assert dossier.unsaved is not None and "refunded 9" in dossier.unsaved
    for part in (dossier.failed_step, dossier.input, dossier.upstream_error):
        assert part
    assert dossier.tried and dossier.options and dossier.budget
    text = place.read_text()
    assert text.startswith("# s-1: restarts\n") and "refunded 9" in text
    data = json.loads(place.with_suffix(".json").read_text())
    assert (data["session_id"], data["agent"], data["reason"]) == ("s-1", "agent", "restarts")
    assert data["dossier"]["unsaved"] == dossier.unsaved
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


async def test_where_it_cannot_be_written_either_the_outcome_still_has_it_all(
    tmp_path: Path,
) -> None:
    (tmp_path / "agents.db-handover-s-1.md").mkdir()
    outcome, alerts = await handed_over(FullDisk(tmp_path / "agents.db"))
    assert outcome.dossier.file is None and "refunded 9" in (outcome.dossier.unsaved or "")
    assert any("it could not be written" in each for each in alerts)


@pytest.mark.parametrize(
    ("undo", "undone", "standing"),
    [("compensate", "none", "to be undone"), ("keep", "nothing to undo", "kept")],
)
async def test_what_could_not_be_undone_any_more_is_told_as_still_in_effect(
    tmp_path: Path, undo: Literal["compensate", "keep"], undone: str, standing: str
) -> None:
    store = FullDisk(tmp_path / "agents.db")

    async def pay_again(order: int) -> None:
        raise AssertionError("its intent could not be stored")

    @tool(compensate=pay_again, undo=undo)
    async def refund(order: int) -> str:
        return f"refunded {order}"

    @tool
    async def fill() -> str:
        store.full = True
        raise PermissionDenied("no")

    of = agent([call("refund", order=9), call("fill")], [refund, fill])
    async with Runtime(store, agents=[of], policy=POLICY) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1")
        store.full = False
    assert isinstance(outcome, HandedOver)
    assert outcome.dossier.undone == undone
    assert {each.tool: each.standing for each in outcome.dossier.effects} == {"refund": standing}


def test_a_new_one_replaces_the_old_one_whole(tmp_path: Path) -> None:
    place = place_of(tmp_path / "agents.db", "s-1")
    for words in ("first", "second"):
        dossier = Dossier(
            failed_step=words, input="i", upstream_error="\ud800", tried=("t",), options=()
        )
        write_dossier(place, "s-1", "buyer", "Order", HandedOver("unknown", dossier))
    assert "second" in place.read_text() and "first" not in place.read_text()
    assert len(list(tmp_path.iterdir())) == 2


class NoEnd(SqliteStore):
    """A store that takes everything but the session's end."""

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        if any(isinstance(each, Append) and each.status == "handed_over" for each in writes):
            raise StoreFailed("disk failed")
        return await super().commit(writes)


async def test_why_it_was_handed_over_is_not_lost_to_the_failing_store(tmp_path: Path) -> None:
    @tool
    async def refund(order: int) -> str:
        raise PermissionDenied("may not refund")

    of = agent([call("refund", order=9), "Done."], [refund])
    async with Runtime(NoEnd(tmp_path / "agents.db"), agents=[of], policy=POLICY) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1")
    assert isinstance(outcome, HandedOver) and outcome.reason == "permission"
    dossier = outcome.dossier
    assert (dossier.failed_step, dossier.input) == ("call 2.0 refund", '{"order":9}')
    assert "may not refund" in dossier.upstream_error and "disk failed" in (dossier.unsaved or "")
    assert (
        dossier.file is not None and "may not refund" in await AsyncPath(dossier.file).read_text()
    )
