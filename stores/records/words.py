"""What all entries are made of: literals, counts, the windows of the working directory, and the base of entries."""

from typing import Literal

from msgspec import Struct

RECORD_VERSION = 1
"""Version of the entries this code writes; stored beside every row."""

CallState = Literal["succeeded", "failed", "in_doubt", "denied", "refused"]
"""How a call's ledger entry stands once it has a result.

``refused``: the body never ran (bad arguments, a limit, an incomplete call).
"""

SessionStatus = Literal["running", "parked", "completed", "handed_over", "stopped"]


class Usage(Struct, frozen=True, omit_defaults=True, gc=False):
    """What one model request consumed; tokens as the provider counts them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class Spent(Struct, frozen=True, array_like=True, gc=False):
    """What a session itself has consumed, sub-sessions not included. Durations are monotonic."""

    seconds: float = 0.0
    active_seconds: float = 0.0
    steps: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    retries: int = 0
    corrections: int = 0


class Entry(Struct, frozen=True, omit_defaults=True, tag_field="t", gc=False):
    """Base of all journal entries. They hold plain data and no cycles, so no collector need look."""


class TreeWindow(Struct, frozen=True, array_like=True, gc=False):
    """The working directory before and after an attempt, as digests of kept trees.

    ``shared``: another session wrote there meanwhile, so what changed may be either's. ``uncovered``
    counts the paths that are there and were not kept.
    """

    before: str
    after: str
    shared: bool = False
    uncovered: int = 0
