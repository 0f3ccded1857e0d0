# ruff: noqa: RUF001 - the punctuation of Chinese
"""Whether a value that a statement reports comes from somewhere. Pure.

It does where it occurs in what was read, said or executed, or can be worked out from that: rounded,
in another unit, as a percentage, a count, a sum, a difference. When in doubt it is taken to do so: a
false alarm costs a model request and, in the end, a person's time.
"""

import datetime
import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import cast

from .claims_dates import CLOCK, clock_of, dates_in, day_of
from .claims_sums import counts_of, numbers_in, pairs_of, sums_of
from .claims_text import shown
from .claims_values import Value

SOURCE_CHARS_MAX = 4_000_000
"""Characters of sources that are searched: the newest, where there are more."""
RESULTS_MAX = 200
"""Results, the newest, of which counts and sums are worked out."""
NUMBERS_MAX = 20_000
"""Different numbers of the sources that are remembered."""
SPANS_MAX = 40
"""Times of day, and dates, of which the distances are worked out."""
TWICE_PAIRED_MAX = 10
"""Numbers of which sums and differences are tried as a price: times another."""
PAIRED_MAX = 60
"""Numbers that are tried in pairs, by sum, difference, share and change."""

_COMPUTED = re.compile(
    r"\b(?:total|sum|missing|short|lacking|rates?|convert\w*|combined|altogether|together|overall|in all|difference|remain\w*|left|"
    r"increase[ds]?|decrease[ds]?|gr[eo]w\w*|rose|risen|fell|fallen|drop\w*|change[ds]?|average|mean|"
    r"median|ratio|profit|margin|net|gross|times|twice|double|half|discount|save[ds]?|more|fewer|less|"
    r"\w+er (?:by|than)|minus|plus|compared|growth|duration|elapsed)\b|\d (?:out )?of (?:the )?\d|[%％+=×]|"
    r"合计|总|共|剩|差|增|减|平均|占|率|余|折|涨|跌|倍|用时|耗时|节省|便宜|贵|高出|低于|多出|少了|相差|比",
    re.IGNORECASE,
)
_CURRENCY = re.compile(r"USD|EUR|GBP|JPY|CNY|CHF|INR|美元|欧元|人民币|日元|英镑|€|\$|£|¥")
_LATER = re.compile(
    r"\b(?:days?|weeks?|months?|hours?|minutes?|tomorrow|next|later|today)\b|天|周|月后|小时|明|后",
    re.IGNORECASE,
)
_SCALE = {
    "k": 1e3, "m": 1e6, "million": 1e6, "billion": 1e9, "thousand": 1e3,
    "万": 1e4, "亿": 1e8, "千": 1e3, "百": 1e2,
}  # fmt: skip
_BYTES = {
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
_MEASURES = frozenset(
    {
        "ms",
        "s",
        "sec",
        "secs",
        "second",
        "seconds",
        "minutes",
        "min",
        "km",
        "kg",
        "MB",
        "GB",
        "KB",
        "秒",
    }
)
"""Units of what is measured, and often told without the decimals."""
"""What a source may have said where a statement uses the other system's unit."""


class Sources:
    """Texts that values may come from; read only as far as a value asks for.

    Args:
        texts: what was read, said and executed, in order.
        results: those of them that are results of tools.
    """

    def __init__(self, texts: Iterable[str], results: Sequence[str] = ()) -> None:
        self._whole = "\n".join(_newest(texts))
        self._lower: str | None = None
        self._results = results[-RESULTS_MAX:]
        self._known: list[float] | None = None
        self._derived: set[float] | None = None
        self._paired: list[float] | None = None
        self._spans: set[float] | None = None

    def supports(self, value: Value, statement: str) -> bool:
        """Tell whether a value of a statement occurs here, or can be worked out."""
        if value.unit in ("date", "clock"):
            return self._has_time(value)
        if value.unit == "grade" or value.unit.startswith("version"):
            return not self._has_another(value)
        if value.number is None:
            return self._has_id(value.text)
        if self._has_literal(value):
            return True
        if value.unit == "id":
            return False
        return self._has_number(value, statement)

    def _has_time(self, value: Value) -> bool:
        """Tell whether a date or time of day is told; where none is, it may be of today."""
        if value.unit == "clock":
            told = {clock_of(hit) for hit in CLOCK.finditer(self._whole)}
        else:
            told = {
                text
                for each in dates_in(self._whole)
                for text in (day_of(*each), day_of(0, *each[1:]))
            }
        return not told or value.text in told or _LATER.search(value.sentence) is not None

    def _has_another(self, value: Value) -> bool:
        """Tell whether a version or grade is told here, and it is another."""
        if re.search(
            rf"(?<![\w.]){re.escape(value.text)}(?!\w|\.\d)|\bv{re.escape(value.text)}(?!\w|\.\d)",
            self._whole,
        ):
            return False
        if value.unit == "grade":
            form = re.sub(r"\d", r"\\d", re.escape(value.text))
            return re.search(rf"(?<!\w){form}(?!\w)", self._whole) is not None
        label = re.escape(value.unit.partition(" ")[2])
        other = rf"(?<!\w){label}(?!\w)[\"':=\s>~^]{{1,4}}v?\d+(?:\.\d+)+"
        return re.search(other, self._whole, re.IGNORECASE) is not None

    def _has_id(self, text: str) -> bool:
        if self._lower is None:
            self._lower = self._whole.lower()
        lower = text.lower()
        if lower in self._lower:
            return True
        bare = re.sub(r"^(?:v|#)", "", lower)
        if bare != lower and bare in self._lower:
            return True
        parts = [part for part in re.split(r"[/_-]", lower) if part]
        return (
            "/" in lower
            and len(parts) > 1
            and "://" not in lower
            and all(part in self._lower for part in parts)
        )

    def _has_literal(self, value: Value) -> bool:
        plain = format(abs(value.number or 0), f".{value.decimals}f")
        for spelled in {plain, value.text.strip("$€£¥%元件个 ")}:
            if spelled and _stands_in(spelled, self._whole):
                return True
        return value.unit == "id" and plain in self._whole

    @cached_property
    def _sized(self) -> bool:
        """Whether any size is told in another unit than bytes."""
        return _SIZES.search(self._whole) is not None

    @property
    def known(self) -> list[float]:
        """Different numbers of the sources, sorted."""
        if self._known is None:
            found: set[float] = set()
            for number in numbers_in(self._whole):
                found.add(number)
                if len(found) >= NUMBERS_MAX:
                    break
            self._known = sorted(found)
        return self._known

    def _has_number(self, value: Value, statement: str) -> bool:
        assert value.number is not None
        wanted = [*_readings(value, 1 if value.unit.lower() not in _BYTES or self._sized else 0)]
        if any(_near(self.known, each, value) for each in wanted):
            return True
        if value.unit in _MEASURES and not value.decimals and _rounded(self.known, value.number):
            return True
        if value.number == int(value.number) and value.number in self._counts(statement):
            return True
        if value.number in self._between():
            return True
        if value.unit in ("%", "％") and _near(self._shares(statement), value.number, value, 0.0):
            return True
        if not (_COMPUTED.search(value.sentence) or len({*_CURRENCY.findall(value.sentence)}) > 1):
            return False
        return any(_near(self._pairs(), each, value, 0.05) for each in wanted)

    def _shares(self, statement: str) -> list[float]:
        """What each count is of each other, in percent."""
        counts = sorted(each for each in self._counts(statement) if 0 < each <= 10_000)[:PAIRED_MAX]
        return sorted({one / other * 100 for one in counts for other in counts})

    def _between(self) -> set[float]:
        """Minutes and hours between times of day, days and weeks between dates."""
        if self._spans is None:
            minutes = [int(hit[1]) * 60 + int(hit[2]) for hit in CLOCK.finditer(self._whole)]
            days = [_ordinal(*each) for each in dates_in(self._whole)]
            self._spans = {
                abs(one - other) / unit
                for told, unit in ((minutes, 1), (minutes, 60), (days, 1), (days, 7))
                for one in told[:SPANS_MAX]
                for other in told[:SPANS_MAX]
            }
        return self._spans

    def _counts(self, statement: str) -> set[float]:
        """Counts of lines and parts of results, and of points the statement itself lists."""
        if self._derived is None:
            self._derived = set()
            for result in self._results:
                self._derived |= counts_of(result)
        points = [
            line
            for line in shown(statement).splitlines()
            if re.match(r"\s*(?:[-*•]|\d+[.)])\s", line)
        ]
        return self._derived | {float(len(points)), float(len(self._results))}

    def _pairs(self) -> list[float]:
        """What sums, differences and shares give, sorted."""
        if self._paired is None:
            found = {*sums_of(self._results)}
            several = [each for each in self.known if math.isfinite(each)]
            if len(several) <= PAIRED_MAX:
                found |= {*pairs_of(several)}
            if len(several) <= PAIRED_MAX:
                read = {number for each in self._results for number in numbers_in(each)}
                added = [each for each in several if each not in read]  # a row of the session's own
                found |= {one + number for one in sums_of(self._results) for number in added}
            if len(several) <= TWICE_PAIRED_MAX:
                found |= {a * b for a in {*pairs_of(several)} for b in several}
            self._paired = sorted(found)
        return self._paired


def _ordinal(year: int, month: int, day: int) -> int:
    """Return the number of a day; of one in no calendar, near enough."""
    return datetime.date(year or 2000, month, min(max(day, 1), 28)).toordinal() + max(0, day - 28)


def _stands_in(number: str, text: str) -> bool:
    """Tell whether a number stands in a text by itself, not within a longer one or an identifier."""
    at = text.find(number)
    while at >= 0:
        before, after = text[max(0, at - 2) : at], text[at + len(number) : at + len(number) + 2]
        inside = before[-1:].isalnum() or before[-1:] in ("_", ".")
        inside = bool(before) and (inside or (before[-1] == "-" and before[:1].isalpha()))
        longer = after[:1].isdigit() or (after[:1] == "." and after[1:].isdigit())
        if not inside and not longer:
            return True
        at = text.find(number, at + 1)
    return False


def _newest(texts: Iterable[str]) -> list[str]:
    """Return the texts that are searched: as many of the newest as fit."""
    kept: list[str] = []
    room = SOURCE_CHARS_MAX
    for text in reversed([*texts]):
        if room <= 0:
            break
        kept.append(text[:room])
        room -= len(text)
    return kept[::-1]


_SIZES = re.compile(
    r"\d\s?(?:[kKmMgGtT]i?[bB]?)\b|_(?:[kmg]i?b)\b|\b(?:[kKmMgG]i?[bB]|(?:kilo|mega|giga)bytes)\b"
)


def _readings(value: Value, least: int = 1) -> Iterator[float]:
    """A number in the units its source may have used; of sizes, from a power of 1,000 on."""
    number, unit = cast(float, value.number), value.unit.lower()
    yield number
    if unit in _CONVERTED:
        yield from _CONVERTED[unit](number)
    elif unit in _SCALE:
        yield number * _SCALE[unit]
    elif unit in _BYTES:
        for base in (1000.0, 1024.0):
            for power in range(least or _BYTES[unit], _BYTES[unit] + 1):
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


def _near(known: Sequence[float], wanted: float, value: Value, about: float = 0.1) -> bool:
    """Tell whether one of these, sorted, is this number at the precision with which it is told."""
    tolerance = 1e-9 * max(1.0, abs(wanted))
    if value.unit.lower() in _CONVERTED and wanted != value.number:
        ratio = abs(wanted / value.number) if value.number else 1.0
        tolerance = 0.56 * 10.0**-value.decimals * max(1.0, ratio)
        tolerance = max(tolerance, abs(wanted) * 0.05 if value.approximate else 0.0)
        return _between(known, wanted - tolerance, wanted + tolerance)
    number = abs(value.number or 0) or 1.0
    scaled = abs(wanted) / number if wanted else 1.0
    if value.decimals or scaled != 1.0:
        tolerance = max(tolerance, 0.5000001 * 10.0**-value.decimals * scaled)
    elif value.unit in ("%", "％"):
        tolerance = 0.5000001
    if value.approximate:
        tolerance = max(tolerance, abs(wanted) * about)
    return _between(known, wanted - tolerance, wanted + tolerance)


def _between(known: Sequence[float], low: float, high: float) -> bool:
    at = bisect_left(known, low)
    return at < len(known) and known[at] <= high


def _rounded(known: Sequence[float], wanted: float) -> bool:
    """Tell whether a number with decimals, rounded, is this one."""
    at = bisect_left(known, wanted - 0.5)
    while at < len(known) and known[at] <= wanted + 0.5:
        if known[at] != int(known[at]):
            return True
        at += 1
    return False
