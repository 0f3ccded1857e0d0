"""Sessions followed to their ends, or until a signal comes, or until only waits are left."""

import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import anyio

from ..actors.events import Event, SessionParked
from ..actors.inspection import Inspection
from ..actors.runtime import Runtime
from ..stores.base import Head
from ..supervisor.errors import UkemiError
from .driven import Driven
from .left import heads_below, requests_of
from .progress import Progress
from .stored import CHILDREN_MAX

TOLD_S_MAX = 1.0
"""Seconds given to the last events of a session to be shown after its end."""

REFRESH_S = 0.2
ASKED_S = 2.0
"""Seconds between two looks at what no event tells of."""


async def drive(
    runtime: Runtime, driven: Sequence[Driven], progress: Progress, *, no_wait: bool
) -> bool:
    """Wait for all sessions to end and tell what happens; False if a signal came first.

    With ``no_wait``, until all that is unfinished is parked.
    """

    async def all_of_them() -> None:
        followed = [each for each in driven if each.error is None]
        async with anyio.create_task_group() as group:

            def settled() -> None:
                if no_wait and all(each.parked or not each.unfinished for each in followed):
                    group.cancel_scope.cancel()

            for each in followed:
                group.start_soon(_follow, each, runtime, progress, settled)

    try:
        return await until_signal(all_of_them, progress.refresh)
    finally:
        progress.close()


async def _follow(
    driven: Driven, runtime: Runtime, progress: Progress, settled: Callable[[], None]
) -> None:
    told = anyio.Event()

    async def tell() -> None:
        # Whoever waits for the outcome meets the same error, such as another process taking over.
        with suppress(UkemiError):
            async for event in driven.handle.events():
                await _note(driven, event, progress)
                settled()
        told.set()

    async with anyio.create_task_group() as group:
        group.start_soon(tell)
        group.start_soon(_look_on, driven, runtime, progress, settled)
        try:
            driven.outcome = await driven.handle.outcome()
            driven.found = await driven.handle.inspect()
        except UkemiError as error:
            driven.error = error
        else:
            with anyio.move_on_after(TOLD_S_MAX):
                await told.wait()
        group.cancel_scope.cancel()
    settled()


async def _note(driven: Driven, event: Event, progress: Progress) -> None:
    """Tell an event; of a session that is parked also what people were asked before this command."""
    if not isinstance(event, SessionParked):
        driven.parked = False
        progress.tell(event)
    elif not driven.parked:
        driven.parked = True
        with suppress(UkemiError):
            _tell_asks(driven, await driven.handle.inspect(), progress)
        progress.tell(event)


async def _look_on(
    driven: Driven, runtime: Runtime, progress: Progress, settled: Callable[[], None]
) -> None:
    """Tell what there is no event of: what sub-sessions ask, and parking before this listened."""

    async def below(parent: str) -> Sequence[Head]:
        return await runtime.sessions(status="running", parent=parent, limit=CHILDREN_MAX)

    while True:
        if not driven.parked:
            with suppress(UkemiError):
                found = await driven.handle.inspect()
                if found.status == "parked" and not driven.parked:
                    driven.parked = True
                    _tell_asks(driven, found, progress)
                    progress.rest(driven.handle.id)
                    settled()
                for head in await heads_below(driven.handle.id, below):
                    for each in requests_of(head):
                        progress.ask(each.session_id, each)
        await anyio.sleep(ASKED_S)


def _tell_asks(driven: Driven, found: Inspection, progress: Progress) -> None:
    for each in found.approvals:
        if each.state == "open":
            progress.ask(driven.handle.id, each)


async def until_signal(
    body: Callable[[], Awaitable[None]], tick: Callable[[], None] | None = None
) -> bool:
    """Run the body to its end, or until SIGINT or SIGTERM comes; tell whether it has ended.

    After the first signal the usual handlers are back, so a second one ends the process.
    """
    ended = False

    async def listen() -> None:
        try:
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                async for _ in signals:
                    break
        except NotImplementedError:
            return  # no such thing on this platform: an interrupt ends the process at once
        group.cancel_scope.cancel()

    async def refresh() -> None:
        while tick is not None:
            await anyio.sleep(REFRESH_S)
            tick()

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        group.start_soon(refresh)
        await body()
        ended = True
        group.cancel_scope.cancel()
    return ended
