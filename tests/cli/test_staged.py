"""Staged changes on the command line: what was decided about each, and what it would have changed."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

KEY = "AKIA" + "Q7R2T9W4X1Z8B5N3"  # put together, so that nobody takes this file for a leak
DRIVE = f"""\
import anyio
from ukemi import Agent, Runtime
from ukemi.models import ScriptedModel, call
from ukemi.tools import write_file

SCRIPT = [
    call("write_file", path="a.txt", text="key {KEY}"),
    call("write_file", path="a.txt", text="two"),
    "done",
]
clerk = Agent("clerk", model=ScriptedModel(SCRIPT), tools=[write_file.staged()])


async def main() -> None:
    async with Runtime("ukemi.db", agents=[clerk]) as runtime:
        session = await runtime.start("clerk", "go", session_id="one", working_directory="tree")
        await session.outcome()


anyio.run(main)
"""


@pytest.mark.realtime
def test_staged_changes_are_shown(ukemi: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "drive.py").write_text(DRIVE)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a.txt").write_text("one\n")

    async def drive() -> None:
        await anyio.run_process([sys.executable, "drive.py"], cwd=tmp_path)

    anyio.run(drive)
    rejected, committed = ukemi("show", "one", "--staged", "--json").data
    assert (rejected["state"], rejected["by"]) == ("rejected", "secrets")
    assert rejected["why"] == "a.txt would hold an access key"
    assert "+key ***" in rejected["diff"]
    assert (committed["state"], committed["paths"]) == ("committed", [["a.txt", "changed", 3]])
    shown = ukemi("show", "one", "--staged").out
    assert "2.0 write_file rejected by secrets: a.txt would hold an access key" in shown
    assert "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two" in shown
    assert KEY not in shown
    tree = ukemi("show", "one").out
    assert "staged: would change a.txt (changed); rejected by secrets" in tree
    assert "staged: would change a.txt (changed); checks passed" in tree
    log = ukemi("log", "one").out
    assert "2.0 would change a.txt (changed)" in log
    (tmp_path / "ukemi.db-files").unlink()
    assert ukemi("show", "one", "--staged").out.count("write_file") == 2
