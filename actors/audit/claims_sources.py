# ruff: noqa: RUF001 - the punctuation of Chinese
"""Whether a value that a statement reports comes from somewhere. Pure.

It does where it occurs in what was read, said or executed, or can be worked out from that: rounded,
in another unit, as a percentage, a count, a sum, a difference. When in doubt it is taken to do so: a
false alarm costs a model request and, in the end, a person's time.
"""

import datetime
import math
import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

from ...supervisor.patterns import lazy_pattern
from .claims_dates import CLOCK, clock_of, dates_in, day_of, in_24_hours
from .claims_sums import (
    counts_of,
    numbers_in,
    pairs_of,
    parts_of_sums,
    spans_of,
    sums_of,
    totals_of,
)
from .claims_text import shown
from .claims_units import BYTES, SIZES, near, readings, rounded
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

_COMPUTED = lazy_pattern(
    r"\b(?:total|sum|missing|short|lacking|rates?|convert\w*|combined|altogether|together|overall|in all|difference|remain\w*|left|"
    r"increase[ds]?|decrease[ds]?|gr[eo]w\w*|rose|risen|fell|fallen|drop\w*|change[ds]?|average|mean|"
    r"median|ratio|profit|margin|net|gross|times|twice|double|half|discount|save[ds]?|more|fewer|less|"
    r"\w+er (?:by|than)|minus|plus|compared|growth|duration|elapsed)\b|\d (?:out )?of (?:the )?\d|[%％+=×]|"
    r"合计|总|共|剩|差|增|减|平均|占|率|余|折|涨|跌|倍|用时|耗时|节省|便宜|贵|高出|低于|多出|少了|相差|比",
    re.IGNORECASE,
)
_CURRENCY = lazy_pattern(r"USD|EUR|GBP|JPY|CNY|CHF|INR|美元|欧元|人民币|日元|英镑|€|\$|£|¥")
_LATER = lazy_pattern(
    r"\b(?:days?|weeks?|months?|hours?|minutes?|tomorrow|next|later|today)\b|天|周|月后|小时|明|后",
    re.IGNORECASE,
)
_HEADER = lazy_pattern(r"\bhead(?:er|ing|line)s?\b|表头", re.IGNORECASE)
_SPANS = lazy_pattern(r"min|hour|hr|day|night|week|late|early|\d ?h|[分时天周日夜]", re.IGNORECASE)
_TIMES = frozenset(
    [
        "ms",
        "s",
        "sec",
        "secs",
        "second",
        "seconds",
        "min",
        "mins",
        "minute",
        "minutes",
        "hour",
        "hours",
        "秒",
    ]
)
"""Units of durations."""
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
        told = self._clocks if value.unit == "clock" else self._days
        return not told or value.text in told or _LATER.search(value.sentence) is not None

    @cached_property
    def _clocks(self) -> set[str]:
        return {clock_of(hit) for hit in CLOCK.finditer(in_24_hours(self._whole))}

    @cached_property
    def _days(self) -> set[str]:
        found = dates_in(self._whole)
        return {text for each in found for text in (day_of(*each), day_of(0, *each[1:]))}

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
        return SIZES.search(self._whole) is not None

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
        wanted = [*readings(value, 1 if value.unit.lower() not in BYTES or self._sized else 0)]
        if any(near(self.known, each, value) for each in wanted):
            return True
        if value.unit in _MEASURES and not value.decimals and rounded(self.known, value.number):
            return True
        if value.number == int(value.number) and value.number in self._counts(statement):
            return True
        if _SPANS.search(value.sentence) and value.number in self._between():
            return True
        if value.unit in ("%", "％") and near(self._shares(statement), value.number, value, 0.0):
            return True
        if any(near(self._totals, each, value, 0.02) for each in wanted):
            return True
        if self._of_an_example(value):
            return True
        if _has_header(value.sentence) and near(self.known, value.number + 1, value):
            return True
        if not _is_computed(value.sentence):
            return False
        if value.unit in _TIMES:
            return any(near(self._distances, each, value, 0.05) for each in wanted)
        return any(near(self._pairs(), each, value, 0.05) for each in wanted)

    def _of_an_example(self, value: Value) -> bool:
        """Tell whether a sentence reckons with a round number, and this is it, or follows from it."""
        assert value.number is not None
        times = _example(value.sentence)
        if times is None:
            return False
        return value.number == times or near(self.known, value.number / times, value)

    @cached_property
    def _totals(self) -> list[float]:
        """Sums of what belongs together: told without a word that says so."""
        return sorted({*totals_of(self._results)})

    @cached_property
    def _distances(self) -> list[float]:
        """Sums, averages and differences, of which alone a duration is made."""
        several = [each for each in self.known if math.isfinite(each)]
        found = {*sums_of(self._results)}
        return sorted(found | ({*spans_of(several)} if len(several) <= PAIRED_MAX else set()))

    def _shares(self, statement: str) -> list[float]:
        """What each count is of each other, in percent."""
        counts = sorted(each for each in self._counts(statement) if 0 < each <= 10_000)[:PAIRED_MAX]
        shares = {one / other * 100 for one in counts for other in counts}
        return sorted(shares | {*parts_of_sums(self._results)})

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


_EXAMPLE = lazy_pattern(
    r"\b(?:so|means|that)\b[^.;]{0,12}?(?<![\d,.])(10{1,2}|1,?000|10,?000)(?![,.]?\d)[^.;]{0,30}?"
    r"\b(?:costs?|would|takes?|needs?|weighs?|comes? to|makes?)\b",
    re.IGNORECASE,
)
"""A round number that a sentence reckons with: "so 1,000 of them cost 74"."""


SENTENCES_MAX = 8
"""Sentences of which what they say is kept, as each of their values asks for it."""


@lru_cache(SENTENCES_MAX)
def _example(sentence: str) -> float | None:
    found = _EXAMPLE.search(sentence)
    return None if found is None else float(found[1].replace(",", ""))


@lru_cache(SENTENCES_MAX)
def _has_header(sentence: str) -> bool:
    return _HEADER.search(sentence) is not None


@lru_cache(SENTENCES_MAX)
def _is_computed(sentence: str) -> bool:
    """Tell whether a sentence says that it reckons, or converts money."""
    return _COMPUTED.search(sentence) is not None or len({*_CURRENCY.findall(sentence)}) > 1


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
