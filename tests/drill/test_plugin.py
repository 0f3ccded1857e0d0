"""The fixtures, as a project of a user's has them; and an interpreter that ends after a drill."""

import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = 'pytest_plugins = ["ukemi.testing.plugin"]\n'
TEST = """
import anyio
from ukemi import Agent, ErrorClass
from ukemi.models import ScriptedModel, call
from ukemi.testing import Fault, error_of
from ukemi.tools import write_file

writer = Agent("w", model=ScriptedModel([call("write_file", path="a", text="x"), "Done."]), tools=[write_file])

def test_promises(drill):
    # Its process is killed here, with a thread of the snapshots still waiting for work.
    report = drill(writer, "go", cells=["1:kill_after", "1:undo"], forks=False)
    report.assert_promises()
    assert len(report.cells) == 2

async def an_hour():
    await anyio.sleep(3600)
    return anyio.current_time()

def test_time(virtual_time, fault_plan):
    assert virtual_time(an_hour) == 3600
    assert fault_plan([Fault(at=1, do="hang")]).due("tool").do == "hang"
"""


@pytest.mark.slow
def test_fixtures_work_where_the_plugin_is_named(tmp_path: Path) -> None:
    """Nothing is left that keeps the interpreter from ending, and no warning is raised."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TEST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
