"""Load what the library leaves out until it is needed, most of it tables.

A process that only looks into a store needs none of it. A runtime loads what a first failure needs when it
is made, since failures come many at a time; the rest when its sessions have gone on for a while, or when one
of them needs it sooner, which holds up the others by some milliseconds. The patterns in the tables are
compiled one by one, when each is first met.
"""

import gc
from functools import partial
from importlib import import_module

from ..supervisor.timers import Timers

FAILURES = "supervisor.classifying.classifier"

LATER = (
    "actors.audit.auditing",
    "supervisor.shell.risks",
    "actors.undo.unwinding",
)
"""Modules, below the package, that nothing loads before it uses them. Each takes less than ten milliseconds."""

BEGIN_S, NEXT_S = 5.0, 0.1
"""After how many seconds the first of them is loaded, and the next one after it: sessions run between."""


def warm() -> None:
    """Load what a failure needs; of no effect the second time."""
    collects = gc.isenabled()
    gc.disable()  # tables live as long as the process: to look for garbage among them takes half as long again
    try:
        _load(FAILURES)
    finally:
        if collects:
            gc.enable()


def warm_later(timers: Timers) -> None:
    """Load the rest, one by one, while the timers run."""
    for at, name in enumerate(LATER):
        timers.after(BEGIN_S + at * NEXT_S, partial(_load, name))


def _load(name: str) -> None:
    import_module(f"..{name}", __package__)
