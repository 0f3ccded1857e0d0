"""Clients of models: they put a session's messages on the wire and read one whole answer back.

This room decides what of an answer is whole and what must be refused; it owns the vendors' SDK
clients. It never retries, never joins two attempts, and never runs or repairs a call.
"""

from .scripted import Hang, Pieces, Reply, Script, ScriptedModel, ScriptExhausted, call

__all__ = [
    "Hang",
    "Pieces",
    "Reply",
    "Script",
    "ScriptExhausted",
    "ScriptedModel",
    "call",
]
