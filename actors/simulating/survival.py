"""How long things last of which some were not seen to end: Kaplan and Meier's estimate. Pure."""

from collections.abc import Sequence

from msgspec import Struct

ENDED_MIN = 5
"""Ends that must have been seen before anything is drawn from a curve."""


class Lasted(Struct, frozen=True, gc=False):
    """How long one lasted, or, where it was not seen to end, how long it was seen to."""

    length: float
    ended: bool


class Curve(Struct, frozen=True):
    """The share that lasts longer than each length at which an end was seen; falling."""

    points: tuple[tuple[float, float], ...]
    ended: int


def curve_of(lasted: Sequence[Lasted]) -> Curve:
    """Return the estimate; what was not seen to end counts for as long as it was seen."""
    points: list[tuple[float, float]] = []
    left, share = len(lasted), 1.0
    for length in sorted({each.length for each in lasted}):
        here = [each for each in lasted if each.length == length]
        ends = sum(each.ended for each in here)
        if ends:
            share *= 1.0 - ends / left
            points.append((length, share))
        left -= len(here)
    return Curve(tuple(points), sum(each.ended for each in lasted))


def longer(curve: Curve, length: float, roll: float) -> float | None:
    """Draw how long one lasts that has lasted so long; None: longer than any that was seen to end.

    Args:
        roll: a number from 0 up to 1.
    """
    at_least = 1.0
    for known, share in curve.points:
        if known <= length:
            at_least = share
    wanted = at_least * (1.0 - roll)
    for known, share in curve.points:
        if known > length and share < wanted:
            return known
    return None
