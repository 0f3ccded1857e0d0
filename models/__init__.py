"""Clients of models: they put a session's messages on the wire and read one whole answer back.

This room decides what of an answer is whole and what must be refused; it owns the vendors' SDK
clients. It never retries, never joins two attempts, and never runs or mends a call.

Files, each using only those before it: text, usage, calls · scripted · clients · openai_wire,
openai_stream, openai_model · anthropic_wire, anthropic_stream, anthropic_model · parse. The wire
and stream files are pure; the SDKs are imported when a model of theirs is made, never before.
"""

from .anthropic_model import AnthropicModel
from .clients import AnswerError
from .openai_model import OpenAIModel
from .parse import parse_model
from .scripted import Hang, Pieces, Reply, Script, ScriptedModel, ScriptExhausted, call

__all__ = [
    "AnswerError",
    "AnthropicModel",
    "Hang",
    "OpenAIModel",
    "Pieces",
    "Reply",
    "Script",
    "ScriptExhausted",
    "ScriptedModel",
    "call",
    "parse_model",
]
