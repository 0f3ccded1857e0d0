"""What a user may give in the place of a tool's own functions."""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final

from msgspec import Struct

from ..effects import EffectStub

Function = Callable[..., Any]


class Own(Enum):
    """Says that a function may run as it is; `OWN` is its one value."""

    OWN = "own"


OWN: Final = Own.OWN
"""In the place of a stub: the tool's own function runs, for what it talks to is a stand-in already."""


class Ok(Struct, frozen=True):
    """A stub that answers the same each time."""

    value: object


Stub = Own | Ok | EffectStub | Callable[..., Any]
