"""What a drill could not tell, so that it does not read as a promise that held. Pure."""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from msgspec import Struct

from ...supervisor.errors import UsageError
from .promises import ToolPromises

Part = Literal["effects", "compensation", "probe"]

Allowed = Literal["fail", "allow"] | Collection[str]
"""What may stay untested: nothing (``fail``), anything (``allow``), or these tools."""

NEVER_CALLED = "the task never calls it"
NOT_COUNTED = "no EffectStub counts what it does"
NO_REPEATS = "its stub counts no effects, so it cannot tell a repeat; an EffectStub can"
TAKEN_FOR_UNDONE = (
    "a stub stands in for it, and is believed; own runs it, over an EffectStub that counts"
)


class Untested(Struct, frozen=True, kw_only=True):
    """What of a tool could not be checked, and why.

    ``what``: ``effects`` (they happen once, and are there when it says so), ``compensation`` (it undoes
    them), ``probe`` (it tells the truth about them).
    """

    tool: str
    what: tuple[Part, ...]
    why: str

    def __str__(self) -> str:
        return f"{self.tool}: {' and '.join(self.what)}: {self.why}"


def untested_of(tool: str, marks: ToolPromises, *, called: bool, effects: int) -> Untested | None:
    """Return what could not be told of a tool.

    Args:
        called: the clean run has called it. ``effects``: how many were counted there, for one call.
    """
    if not marks.write or marks.shipped:
        return None
    every: list[Part] = ["effects"]
    if marks.compensates:
        every.append("compensation")
    if marks.probes:
        every.append("probe")
    if not called:
        return Untested(tool=tool, what=tuple(every), why=NEVER_CALLED)
    if not marks.counts:
        return Untested(tool=tool, what=tuple(every), why=NO_REPEATS)
    if not effects:
        return Untested(tool=tool, what=tuple(every), why=NOT_COUNTED)
    if marks.compensates and not marks.undo_judged:
        return Untested(tool=tool, what=("compensation",), why=TAKEN_FOR_UNDONE)
    return None


def not_allowed(untested: Iterable[Untested], allowed: Allowed) -> tuple[Untested, ...]:
    """Return what may not stay untested.

    Raises:
        UsageError: a single text that is neither ``fail`` nor ``allow``.
    """
    if isinstance(allowed, str):
        if allowed not in ("fail", "allow"):
            raise UsageError(
                f"untested={allowed!r}: write 'fail', 'allow', or a list of tools, [{allowed!r}]"
            )
        return () if allowed == "allow" else tuple(untested)
    return tuple(each for each in untested if each.tool not in allowed)


def count_of(untested: Iterable[Untested]) -> int:
    """Return how many things could not be checked: each part of each tool is one."""
    return sum(len(each.what) for each in untested)


def names_of(untested: Sequence[Untested]) -> str:
    """Return them in a few words, such as ``book (effects, compensation), mail (effects)``."""
    return ", ".join(f"{each.tool} ({', '.join(each.what)})" for each in untested)
