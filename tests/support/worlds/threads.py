"""Worker threads under virtual time: a sync body's twin runs as a task that nobody can cancel."""

import asyncio
from collections.abc import Callable
from typing import Any

from .loop import THREAD
from .tools import twin_of


class Workers:
    """Stands in for the threads behind `Threads`; all else of that is the runtime's own."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def submit(self, job: Any, ended: Callable[[Any], None]) -> None:
        body, context = job.body, job.context
        job.body = job.context = None
        loop = asyncio.get_running_loop()
        work = self._work(job, twin_of(body), ended)
        self._running.add(loop.create_task(work, name=THREAD, context=context))

    def close(self) -> None:
        """There is nobody to send home."""

    async def _work(self, job: Any, body: Callable[[], Any], ended: Callable[[Any], None]) -> None:
        try:
            job.value = await body()
        except Exception as error:  # noqa: BLE001 - the boundary of the thread
            job.error = error
        ended(job)
