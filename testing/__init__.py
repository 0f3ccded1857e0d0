"""What tests of agents need, shipped: virtual time, planned faults, and assertions on promises.

Decides: what goes wrong when, and whether what came of it keeps the promises.
Owns: the virtual clock of one event loop, the plan of faults, the counters of effects that stand for
the world outside. Never: anything that runs in production; nothing below imports it.

Files, each using only those before it: clock · faults · passing_on · store · effects · drilling · plugin.
``drilling`` is the drill; ``plugin`` has fixtures for pytest, which it alone imports.
"""

from ..models.scripted import Hang, Pieces, Reply, Script, ScriptedModel, call
from .clock import (
    VIRTUAL_BACKENDS,
    VirtualClock,
    VirtualTimeLoop,
    run_virtual,
    virtual_backend,
)
from .drilling.drill import drill
from .drilling.report import CellResult, DrillReport, Finding
from .drilling.stubs import OWN, Ok, Stub
from .drilling.untested import Untested
from .effects import Effect, EffectStub
from .faults import Fault, FaultPlan, error_of
from .store import FaultyStore

__all__ = [
    "OWN",
    "VIRTUAL_BACKENDS",
    "CellResult",
    "DrillReport",
    "Effect",
    "EffectStub",
    "Fault",
    "FaultPlan",
    "FaultyStore",
    "Finding",
    "Hang",
    "Ok",
    "Pieces",
    "Reply",
    "Script",
    "ScriptedModel",
    "Stub",
    "Untested",
    "VirtualClock",
    "VirtualTimeLoop",
    "call",
    "drill",
    "error_of",
    "run_virtual",
    "virtual_backend",
]
