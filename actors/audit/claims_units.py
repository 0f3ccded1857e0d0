# ruff: noqa: RUF001 - the punctuation of Chinese
"""A number in the units and at the precision in which its source may have told it. Pure."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from ...supervisor.patterns import lazy_pattern
from .claims_values import Value

_SCALE = {
    "k": 1e3, "m": 1e6, "million": 1e6, "billion": 1e9, "thousand": 1e3,
    "cent": 0.01, "cents": 0.01, "pence": 0.01, "万": 1e4, "亿": 1e8, "千": 1e3, "百": 1e2,
}  # fmt: skip
BYTES = {
    "kb": 1, "kib": 1, "ki": 1, "mb": 2, "mib": 2, "mi": 2, "gb": 3, "gib": 3, "gi": 3,
    "tb": 4, "tib": 4, "ti": 4,
}  # fmt: skip


_CONVERTED: dict[str, Callable[[float], tuple[float, ...]]] = {
    "°f": lambda n: ((n - 32) * 5 / 9,),
    "°c": lambda n: (n * 9 / 5 + 32, n + 273.15),
    "mph": lambda n: (n * 1.609344, n * 0.44704),
    "km/h": lambda n: (n / 1.609344, n / 3.6),
    "km": lambda n: (n / 1.609344, n * 1000),
    "mi": lambda n: (n * 1.609344,),
    "mile": lambda n: (n * 1.609344,),
    "miles": lambda n: (n * 1.609344,),
    "kg": lambda n: (n / 0.45359237, n * 1000),
    "lb": lambda n: (n * 0.45359237,),
    "lbs": lambda n: (n * 0.45359237,),
    "pounds": lambda n: (n * 0.45359237,),
}
"""What a source may have said where a statement uses the other system's unit."""

SIZES = lazy_pattern(
    r"\d\s?(?:[kKmMgGtT]i?[bB]?)\b|_(?:[kmg]i?b)\b|\b(?:[kKmMgG]i?[bB]|(?:kilo|mega|giga)bytes)\b"
)


def readings(value: Value, least: int = 1) -> Iterator[float]:
    """A number in the units its source may have used; of sizes, from a power of 1,000 on."""
    number, unit = cast(float, value.number), value.unit.lower()
    yield number
    if unit in _CONVERTED:
        yield from _CONVERTED[unit](number)
    elif unit in _SCALE:
        yield number * _SCALE[unit]
    elif unit in BYTES:
        for base in (1000.0, 1024.0):
            for power in range(least or BYTES[unit], BYTES[unit] + 1):
                yield number * base**power
    elif unit in ("%", "％"):
        yield number / 100
        yield 100 - number
        yield 1 - number / 100
    elif unit.startswith(("s", "min", "h", "m", "秒")):
        for factor in (1000.0, 60.0, 3600.0, 1 / 60, 1 / 1000):
            yield number * factor
    elif value.decimals or unit in ("$", "€", "£", "eur", "usd", "元"):
        yield number * 100


def near(known: Sequence[float], wanted: float, value: Value, about: float = 0.1) -> bool:
    """Tell whether one of these, sorted, is this number at the precision with which it is told."""
    tolerance = 1e-9 * max(1.0, abs(wanted))
    if value.unit.lower() in _CONVERTED and wanted != value.number:
        ratio = abs(wanted / value.number) if value.number else 1.0
        tolerance = 0.56 * 10.0**-value.decimals * max(1.0, ratio)
        tolerance = max(tolerance, abs(wanted) * 0.05 if value.approximate else 0.0)
        return between(known, wanted - tolerance, wanted + tolerance)
    number = abs(value.number or 0) or 1.0
    scaled = abs(wanted) / number if wanted else 1.0
    if value.decimals or scaled != 1.0:
        tolerance = max(tolerance, 0.5000001 * 10.0**-value.decimals * scaled)
    elif value.unit in ("%", "％"):
        tolerance = 0.5000001
    if value.approximate:
        tolerance = max(tolerance, abs(wanted) * about)
    return between(known, wanted - tolerance, wanted + tolerance)


def between(known: Sequence[float], low: float, high: float) -> bool:
    at = bisect_left(known, low)
    return at < len(known) and known[at] <= high


def rounded(known: Sequence[float], wanted: float) -> bool:
    """Tell whether a number with decimals, rounded, is this one."""
    at = bisect_left(known, wanted - 0.5)
    while at < len(known) and known[at] <= wanted + 0.5:
        if known[at] != int(known[at]):
            return True
        at += 1
    return False
