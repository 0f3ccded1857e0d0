"""The project the demo repairs: where it is, a copy of it, and whether its tests pass."""

import os
import shutil
import sys
from pathlib import Path

from msgspec import Struct

from ..tools.processes import run_group
from ..tools.shell import environment, text_of
from .errors import CannotRead

# In a checkout a link to examples/demo_project, in an installed package the files themselves.
SOURCE = Path(__file__).parent / "demo_project"

TESTS_S_MAX = 30.0
GRACE_S = 1.0
_RUN_TESTS = ("-B", "-m", "unittest")


class TestRun(Struct, frozen=True):
    """How a run of the project's tests ended. ``status`` None: not within its time."""

    status: int | None
    printed: str

    @property
    def green(self) -> bool:
        return self.status == 0

    @property
    def last_line(self) -> str:
        lines = [line for line in self.printed.splitlines() if line.strip()]
        return lines[-1] if lines else "nothing was printed"


def copy_project(target: Path) -> None:
    """Copy the demo project to a folder that does not exist yet.

    Raises:
        CannotRead: the project is not where it was installed.
    """
    if not (SOURCE / "till").is_dir():
        raise CannotRead(f"the demo's project is missing: {SOURCE} should be there; install again")
    shutil.copytree(SOURCE, target, ignore=shutil.ignore_patterns("__pycache__"))


def restore_tests(workspace: Path) -> None:
    """Put the project's own tests back, so that nobody passes by changing them."""
    shutil.rmtree(workspace / "tests", ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCE / "tests", workspace / "tests", ignore=ignored)


def is_as_copied(workspace: Path) -> bool:
    """Tell whether a copy of the project has the files it was made with, and no others."""
    return _contents(workspace) == _contents(SOURCE)


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }


async def run_project_tests(workspace: str) -> TestRun:
    """Run the project's tests in a process of their own."""
    finished = await run_group(
        [sys.executable, *_RUN_TESTS],
        cwd=workspace,
        env=environment(os.environ, {}),
        timeout_s=TESTS_S_MAX,
        grace_s=GRACE_S,
    )
    printed, _ = text_of(finished.stderr)
    return TestRun(None if finished.timed_out else finished.status, printed)
