"""Whole drills: the planted mistakes and the mended agent, the workspace, people, processes."""

import os
import time
from pathlib import Path

import drill_kinds as kinds
import pytest

from ukemi import Agent, tool
from ukemi.cli.loading import load_agent
from ukemi.models import ScriptedModel, call
from ukemi.testing import OWN, EffectStub, Reply, drill
from ukemi.tools import read_file, shell, write_file

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(name: str) -> Agent:
    _, (clerk,) = load_agent(f"{EXAMPLES / name}:clerk")
    return clerk


@pytest.mark.slow
def test_five_planted_mistakes_are_found_and_nothing_else() -> None:
    """One finding each, of the promise that the mistake breaks."""
    report = drill(example("drill_planted.py"), "Book seat 12A", stubs={"*": OWN}, forks=False)
    assert {(each.promise, each.tool) for each in report.findings} == {
        ("undone", "book"),
        ("probe", "charge"),
        ("bounded", "seat_map"),
        ("secret", "book"),
        ("once", "mail"),
    }
    with pytest.raises(AssertionError, match="5 broken promises"):
        report.assert_promises()


@pytest.mark.slow
def test_nothing_is_found_in_the_mended_agent() -> None:
    """Every fault at every step, and some of each verdict that is none to worry about."""
    report = drill(example("drill_mended.py"), "Book seat 12A", stubs={"*": OWN}, forks=False)
    report.assert_promises()
    assert {each.verdict for each in report.cells} == {"recovered", "handed over"}
    assert len(report.cells) > 150


def test_the_workspace_itself_is_left_alone(tmp_path: Path) -> None:
    """Files and the shell need no stub: they have a copy, a new one in each run."""
    (tmp_path / "a.txt").write_text("hello\n")
    script: list[Reply] = [
        call("read_file", path="a.txt"),
        call("write_file", path="b.txt", text="x"),
        call("shell", command="cat a.txt >> b.txt"),
        "Done.",
    ]
    tools: list[kinds.AnyTool] = [read_file, write_file, shell]
    writer = Agent("writer", model=ScriptedModel(script), tools=tools)
    report = drill(
        writer, "go", workspace=tmp_path, cells=["2:kill_after", "3:lost", "3:undo"], forks=False
    )
    report.assert_promises()
    assert report.clean == "completed"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "hello\n"


def test_a_person_is_asked_and_may_deny() -> None:
    """Everything is approved, but for what the cell denies: then the body never runs."""
    shop = EffectStub(name="shop", once_per=None)

    @tool(danger="money", timeout_s=5)
    async def order(sku: str) -> str:
        """Order it."""
        return str(await shop(sku=sku))

    report = drill(
        kinds.agent([order]), "go", stubs={"*": OWN}, only=["denied", "kill_before"], forks=False
    )
    report.assert_promises()
    denied = next(each for each in report.cells if each.fault == "denied")
    assert denied.verdict == "handed over"
    assert not any("attempt" in line for line in denied.story), "no body was entered"


def test_tools_of_a_sub_session_are_drilled_too() -> None:
    """The calls of both sessions are steps; an agent as a tool needs no stub."""
    (order,) = kinds.order(kinds.key_ignored, accepts_key=True)
    buyer = Agent(
        "buyer", model=ScriptedModel([call("order", sku="z"), "Bought z."]), tools=[order]
    )
    boss = Agent(
        "boss",
        model=ScriptedModel([call("buyer", task="buy z"), "Bought."]),
        tools=[buyer.as_tool()],
    )
    report = drill(
        boss, "go", agents=[buyer], stubs={"*": OWN}, cells=["2:lost", "2:kill_after"], forks=False
    )
    assert {(each.promise, each.tool) for each in report.findings} == {("once", "order")}


def test_a_mistake_without_any_fault_is_found_in_the_clean_run() -> None:
    report = drill(
        kinds.agent(kinds.order(effect="read")),
        "go",
        stubs={"*": OWN},
        only=["denied"],
        forks=False,
    )
    (finding,) = report.findings
    assert finding.clean and finding.promise == "read only" and report.cells == ()


def test_a_tool_that_the_task_never_calls_is_named() -> None:
    idle = Agent("a", model=ScriptedModel(["Done."]), tools=kinds.order())
    report = drill(idle, "go", stubs={"*": OWN}, only=["undo"], forks=False)
    assert [str(each) for each in report.untested] == ["order: effects: the task never calls it"]
    with pytest.raises(AssertionError, match=r"order \(effects\)"):
        report.assert_promises()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_body_that_blocks_the_loop_is_ended_from_outside() -> None:
    """Each run is a process of its own, and has a limit of real time."""

    @tool(timeout_s=5)
    async def order(sku: str) -> str:
        """Order it, and never give the loop back."""
        time.sleep(1000)  # noqa: ASYNC251 - the mistake
        return sku

    report = drill(kinds.agent([order]), "go", stubs={"*": OWN}, cell_s_max=1.5)
    (finding,) = report.findings
    assert finding.promise == "bounded" and "blocks the event loop" in finding.why


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_runs_apart_leave_nothing_behind() -> None:
    """What a run does to the module's own variables stays in its process."""
    seen: list[str] = []
    shop = EffectStub(name="shop")

    @tool(timeout_s=5)
    def order(sku: str) -> str:
        """Order it, once for each time that the module was loaded."""
        assert not seen, "a run before this one has left something"
        seen.append(sku)
        return str(shop.do(sku=sku))

    report = drill(
        kinds.agent([order]), "go", stubs={"*": OWN}, cells=["1:kill_before", "m1:transient"]
    )
    report.assert_promises()
    assert [each.verdict for each in report.cells] == ["handed over", "recovered"]
    assert (seen, shop.count) == ([], 0)
