"""What tests of agents need, shipped: virtual time, planned faults, and assertions on promises.

Decides: what goes wrong when, and whether what came of it keeps the promises.
Owns: the virtual clock of one event loop, the plan of faults, the counters of effects that stand for
the world outside. Never: anything that runs in production; nothing below imports it.

Files, each using only those before it: clock · faults · store.
"""

from ..models.scripted import Hang, Pieces, Reply, Script, ScriptedModel, call
from .clock import (
    VIRTUAL_BACKENDS,
    VirtualClock,
    VirtualTimeLoop,
    run_virtual,
    virtual_backend,
)
from .faults import Fault, FaultPlan, error_of
from .store import FaultyStore

__all__ = [
    "VIRTUAL_BACKENDS",
    "Fault",
    "FaultPlan",
    "FaultyStore",
    "Hang",
    "Pieces",
    "Reply",
    "Script",
    "ScriptedModel",
    "VirtualClock",
    "VirtualTimeLoop",
    "call",
    "error_of",
    "run_virtual",
    "virtual_backend",
]
