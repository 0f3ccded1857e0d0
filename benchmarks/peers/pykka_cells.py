"""pykka's cells. An actor is a thread, so many clients are one thread with many open questions.

Its actors are not restarted by anybody, so there is no cell of restarting. The processor time is of
all threads together.
"""
# The library is in an environment of its own, where no type checker looks.
# mypy: disable-error-code="import-not-found, misc"
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

import gc
from collections.abc import Callable
from typing import Any

import pykka

from ..cells import cell_main, rss_bytes
from ..kernel_meter import Figures, Spent


class Echo(pykka.ThreadingActor):
    def on_receive(self, message: Any) -> Any:
        return message


def _stopping(measure: Callable[..., Figures]) -> Callable[..., Figures]:
    def cell(*, uvloop: bool = False, **given: Any) -> Figures:
        try:
            return measure(**given)
        finally:
            pykka.ActorRegistry.stop_all()

    return cell


def tell(burst: int, total: int) -> Figures:
    """Tell one actor everything, and wait until it has read it."""
    ref = Echo.start()
    spent = Spent()
    for _ in range(total // burst):
        for number in range(burst):
            ref.tell(number)
    ref.ask(0)
    return spent.per(total)


def wake(actors: int, turns: int) -> Figures:
    refs = [Echo.start() for _ in range(actors)]
    spent = Spent()
    for _ in range(turns):
        for ref in refs:
            ref.tell(None)
    for ref in refs:
        ref.ask(None)
    return spent.per(actors * turns)


def ask(clients: int, each: int, timeout_s: float | None) -> Figures:
    refs = [Echo.start() for _ in range(clients)]
    spent = Spent()
    for _ in range(each):
        futures = [ref.ask(1, block=False) for ref in refs]
        for future in futures:
            future.get(timeout=timeout_s)
    return spent.per(clients * each)


def start(number: int) -> Figures:
    spent = Spent()
    for _ in range(number):
        Echo.start()
    return spent.per(number)


def idle(number: int) -> Figures:
    Echo.start()
    gc.collect()
    before = rss_bytes()
    for _ in range(number):
        Echo.start()
    gc.collect()
    return {"bytes": (rss_bytes() - before) / number}


CELLS: dict[str, Callable[..., Figures]] = {
    "tell": tell,
    "wake": wake,
    "ask": ask,
    "start": start,
    "idle": idle,
}

if __name__ == "__main__":
    cell_main({name: _stopping(measure) for name, measure in CELLS.items()})
