"""What docs/drill.md shows runs: its first example, and those of the fixtures."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ukemi.testing import DrillReport, FaultPlan, drill, run_virtual

PAGE = Path(__file__).parents[2] / "docs/drill.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GIVEN: dict[str, object] = {"virtual_time": run_virtual, "fault_plan": FaultPlan}


def blocks() -> list[str]:
    return BLOCK.findall(PAGE.read_text("utf-8"))


def ran(block: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(block, PAGE.name, "exec"), names)  # noqa: S102 - the project's own page
    return names


def test_the_first_example_keeps_its_promises_and_leaves_nothing_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a few of its faults, in this process."""
    monkeypatch.setattr(
        "ukemi.testing.drill", partial(drill, only=["lost", "undo", "undo_lost"], forks=False)
    )
    report: DrillReport = ran(blocks()[0])["report"]
    assert report.complete and not report.broken and len(report.cells) > 3


@pytest.mark.parametrize("block", blocks()[1:], ids=["virtual_time", "fault_plan"])
def test_an_example_of_a_fixture_holds(block: str) -> None:
    (test,) = (each for name, each in ran(block).items() if name.startswith("test_"))
    shown: Callable[..., None] = test
    arguments = test.__code__.co_varnames[: test.__code__.co_argcount]
    shown(**{name: GIVEN[name] for name in arguments})
