"""Ukemi: Erlang-style supervision for LLM agent sessions."""

__version__ = "0.1.0"
