"""Load what the library leaves out until it is needed, most of it tables.

A process that only looks into a store needs none of it. A runtime loads it when it is made: the first
failure, answer or shell command must not hold up all sessions for as long as that takes. The patterns
in the tables are compiled one by one, when each is first met.
"""

import gc
from importlib import import_module

LATER = (
    "supervisor.classifying.classifier",
    "supervisor.shell.risks",
    "actors.audit.auditing",
    "actors.undo.unwinding",
)
"""Modules, below the package, that nothing loads before it uses them."""


def warm() -> None:
    """Load them; of no effect the second time."""
    collects = gc.isenabled()
    gc.disable()  # tables live as long as the process: to look for garbage among them takes half as long again
    try:
        for name in LATER:
            import_module(f"..{name}", __package__)
    finally:
        if collects:
            gc.enable()
