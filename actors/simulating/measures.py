"""What one run under one policy comes to, in numbers. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from .courses import Fared
from .playing import Played

METRICS = (
    "completed",
    "handed_over",
    "seconds_p50",
    "seconds_p99",
    "calls",
    "tokens",
    "retries",
    "wasted",
    "peak_per_s",
    "in_doubt",
)
"""In the order in which they are shown. ``completed`` and ``handed_over`` are shares of the sessions."""

DECIMALS = 2
"""Of seconds: a record has its times in milliseconds, and a session many of them."""


class Measures(Struct, frozen=True):
    """One run: its numbers by name, why sessions were handed over, and each upstream's peak."""

    numbers: dict[str, float]
    reasons: dict[str, int]
    peaks: dict[str, int]
    unsure: float


def measured(played: Played) -> Measures:
    """Sum a run up; shares and quantiles of no sessions are 0."""
    of = played.sessions
    ended = Counter(each.outcome for each in of)
    completed, stopped = ended.pop("completed", 0), ended.pop("stopped", 0)
    peaks = {place: peak(times) for place, times in sorted(played.asked.items())}
    count = max(len(of), 1)
    seconds = sorted(each.seconds for each in of)
    return Measures(
        {
            "completed": completed / count,
            "handed_over": (len(of) - completed - stopped) / count,
            "seconds_p50": round(quantile(seconds, 0.5), DECIMALS),
            "seconds_p99": round(quantile(seconds, 0.99), DECIMALS),
            **_sums(of),
            "peak_per_s": max(peaks.values(), default=0),
        },
        dict(sorted(ended.items())),
        peaks,
        sum(each.unsure for each in of) / count,
    )


def _sums(of: Sequence[Fared]) -> dict[str, float]:
    return {
        "calls": sum(each.calls for each in of),
        "tokens": sum(each.tokens for each in of),
        "retries": sum(each.retries for each in of),
        "wasted": sum(each.wasted for each in of),
        "in_doubt": sum(each.in_doubt for each in of),
    }


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the least value that this share of all does not exceed; 0 of none."""
    if not ordered:
        return 0.0
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def peak(times: Iterable[float]) -> int:
    """Return the largest number of them within one second."""
    ordered = sorted(times)
    most, first = 0, 0
    for last, at in enumerate(ordered):
        while ordered[first] <= at - 1.0:
            first += 1
        most = max(most, last - first + 1)
    return most
