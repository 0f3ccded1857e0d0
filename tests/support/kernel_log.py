"""Listen to a kernel and wait for what it tells, instead of sleeping."""

from collections.abc import Callable
from typing import TypeVar

import anyio

from ukemi.supervisor import Exited, Progress, Report, Started

R = TypeVar("R")


class Log:
    """Everything a kernel reported, and a way to wait for the next of it."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.progress: list[Progress] = []
        self._changed = anyio.Event()

    def on_report(self, report: Report) -> None:
        self.reports.append(report)
        self._wake()

    def on_progress(self, progress: Progress) -> None:
        self.progress.append(progress)
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    def of(self, kind: type[R]) -> list[R]:
        return [report for report in self.reports if isinstance(report, kind)]

    async def until(self, condition: Callable[[], bool], seconds: float = 5.0) -> None:
        """Wait until the condition holds; looked at whenever the kernel tells something."""
        with anyio.fail_after(seconds):
            while not condition():
                await self._changed.wait()

    async def report(self, kind: type[R], number: int = 1, seconds: float = 5.0) -> R:
        """Wait for the number-th report of this kind."""
        await self.until(lambda: len(self.of(kind)) >= number, seconds)
        return self.of(kind)[number - 1]

    def starts(self, path: str) -> int:
        return sum(1 for each in self.progress if isinstance(each, Started) and each.path == path)

    def exits(self) -> list[str]:
        """Return the paths of the lives that ended, in order."""
        return [each.path for each in self.progress if isinstance(each, Exited)]
