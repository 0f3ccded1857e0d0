"""``ukemi resume`` without a policy goes on under the one that the sessions began under.

What a policy asks people about would run unasked if it were merely forgotten.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import cli_agents
import pytest
from left_behind import leave_behind
from sessions import journal, opened

from ukemi import Policy, Runtime
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import JournalEntry, Opened
from ukemi.stores.sqlite import SqliteStore

Ukemi = Callable[..., Any]

ASKS = '[[danger.rules]]\nthen = "ask"\ntool = "put"\n'


def of_the_clerk(policies: dict[str, str]) -> None:
    """Leave sessions behind: id and the policy each began under."""
    leave_behind(dict.fromkeys(policies, "clerk"), policies=policies)


@pytest.fixture
def asking(ukemi: Ukemi) -> str:
    """A policy that asks about what the clerk does; its whole path."""
    Path("asks.toml").write_text(ASKS)
    return str(Path("asks.toml").absolute())


@pytest.mark.parametrize("ids", [("s-1",), ()], ids=["by id", "all"])
def test_what_it_asks_about_is_asked_about(ukemi: Ukemi, asking: str, ids: tuple[str, ...]) -> None:
    of_the_clerk({"s-1": asking})
    ran = ukemi("resume", "cli_agents", *ids, "--no-wait")
    assert ran.status == 1
    assert f"policy: {asking}, as when it began; --policy FILE for another" in ran.err
    assert [each["tool"] for each in ukemi("approvals", "--json").data] == ["put"]
    assert ukemi("show", "s-1", "--effects", "--json").data == []


def test_a_policy_that_is_named_holds(ukemi: Ukemi, asking: str) -> None:
    of_the_clerk({"s-1": asking})
    Path("other.toml").write_text("")
    ran = ukemi("resume", "cli_agents", "s-1", "--policy", "other.toml")
    assert (ran.status, ran.out) == (0, "put 3\n")
    assert "as when it began" not in ran.err


def test_one_that_began_under_the_defaults_needs_none(ukemi: Ukemi) -> None:
    of_the_clerk({"s-1": ""})
    ran = ukemi("resume", "cli_agents")
    assert (ran.status, ran.out) == (0, "put 3\n")
    assert "policy" not in ran.err


def test_a_file_that_is_gone_is_named_and_nothing_claimed(ukemi: Ukemi, asking: str) -> None:
    of_the_clerk({"s-1": asking})
    Path(asking).unlink()
    ran = ukemi("resume", "cli_agents", "s-1")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == (
        f"ukemi: s-1 began under the policy {asking!r}, which is not there;"
        " name one with --policy FILE\n"
    )
    (left,) = ukemi("sessions", "--json").data
    assert (left["status"], left["owner"]) == ("running", "gone")


def test_different_ones_are_told_apart_and_nothing_claimed(ukemi: Ukemi, asking: str) -> None:
    of_the_clerk({"s-1": asking, "s-2": "", "s-3": asking})
    ran = ukemi("resume", "cli_agents")
    assert (ran.status, ran.out) == (1, "")
    assert "s-2 under the defaults; " in ran.err
    assert f"and 1 more under {asking}" in ran.err
    assert ran.err.endswith("give their ids, or --policy FILE for all of them\n")
    assert {each["owner"] for each in ukemi("sessions", "--json").data} == {"gone"}
    ran = ukemi("resume", "cli_agents", "s-2")
    assert (ran.status, ran.out) == (0, "put 3\n")


def test_run_notes_the_whole_path(ukemi: Ukemi, asking: str) -> None:
    words = ("--policy", "asks.toml", "--session-id", "s-1", "--no-wait")
    assert ukemi("run", "cli_agents:clerk", "go on", *words).status == 1

    async def look() -> JournalEntry:
        async with opened(SqliteStore("ukemi.db")) as store:
            return (await journal(store, "s-1"))[0]

    begun = anyio.run(look)
    assert isinstance(begun, Opened)
    assert begun.policy == asking


async def test_a_session_begins_under_the_policy_in_force(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("")
    found: list[str] = []
    async with Runtime(MemoryStore(), agents=[cli_agents.clerk], policy=Policy()) as runtime:
        for policy in (None, file, Policy()):
            runtime.reload_policy(policy)
            session = await runtime.start("clerk", "go on")
            await session.outcome()
            found.append((await session.inspect()).policy)
    assert found == ["", str(file), ""]
