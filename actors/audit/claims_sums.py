"""What can be worked out from results: counts of their parts, sums, differences, shares. Pure."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, cast

from ...supervisor.patterns import lazy_pattern
from .claims_values import DIGITS_MAX

STRUCTURED_CHARS_MAX = 200_000
"""Characters of a result that is read as JSON, for counts and sums of its parts."""

_DIGITS = lazy_pattern(r"\d+(?:,\d{3})*(?:\.\d+)?")


def numbers_in(text: str) -> Iterator[float]:
    """Return the numbers of a text, in order; digits that belong to a word or an id are none."""
    for hit in _DIGITS.finditer(text):
        start = hit.start()
        before = text[start - 2 : start] if start > 1 else text[:start]
        last = before[-1:]
        if (last and (last.isalpha() or last in "_.")) or hit.end() - start > DIGITS_MAX:
            continue
        negative = bool(last) and last in "-\u2212"
        if negative and before[:1].isalpha() and len(before) > 1:
            continue
        number = float(hit[0].replace(",", ""))
        yield -number if negative and not (len(before) > 1 and before[0].isalnum()) else number


def counts_of(result: str) -> set[float]:
    """Return how many lines, parts and equal values a result has."""
    lines = [line for line in result.splitlines() if line.strip() and not line.startswith("[")]
    found = {float(len(lines)), float(len(lines) - 1), float(len(lines) - 2)}
    firsts = Counter(line.split()[0] for line in lines[:2000])
    found |= {float(count) for count in firsts.values()}
    if "," in result and len(result) < 2000:
        found.add(float(result.count(",") + 1))
    for part in _parts(_structured(result)):
        if isinstance(part, list):
            items = part
            found.add(float(len(items)))
            found |= {float(count) for count in _repeated(items).values()}
        else:
            found.add(float(len(part)))
    return found


def _repeated(items: "list[Any]") -> Counter[str]:
    """How often each value of each key occurs in a list."""
    counts: Counter[str] = Counter()
    for item in items[:2000]:
        fields = cast("dict[str, Any]", item).items() if isinstance(item, dict) else (("", item),)
        counts.update(f"{key}={each}" for key, each in fields if not isinstance(each, dict | list))
    return counts


def _structured(result: str) -> Any:
    if len(result) > STRUCTURED_CHARS_MAX or result.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return None


def _parts(value: Any, depth: int = 0) -> "Iterator[list[Any] | dict[str, Any]]":
    """Every list and object of a structured value, itself included."""
    if depth > 20 or not isinstance(value, list | dict):
        return
    held = cast("list[Any] | dict[str, Any]", value)
    yield held
    for each in held.values() if isinstance(held, dict) else held[:2000]:
        yield from _parts(each, depth + 1)


def records_of(result: str) -> Iterator[list[str]]:
    """The plain values of each object of a structured result, as text."""
    for part in _parts(_structured(result)):
        if isinstance(part, dict):
            yield [str(each) for each in part.values() if isinstance(each, str | int | float)]


def sums_of(results: Sequence[str]) -> Iterator[float]:
    """Sums and averages of what belongs together: a list, a column, the lines of a text."""
    for series in _series(results):
        if 1 < len(series) <= 5000:
            yield from (sum(series), sum(series) / len(series), max(series) - min(series))
            yield sorted(series)[len(series) // 2]


def totals_of(results: Sequence[str]) -> Iterator[float]:
    """Sums of three or more that belong together."""
    for series in _series(results):
        if 2 < len(series) <= 5000:
            yield sum(series)


def parts_of_sums(results: Sequence[str]) -> Iterator[float]:
    """What each number of what belongs together is of the sum, in percent."""
    for series in _series(results):
        total = sum(series)
        if 1 < len(series) <= SHARED_MAX and total:
            yield from (each / total * 100 for each in series)


SHARED_MAX = 100
"""Numbers that belong together, of which shares are told."""


def _series(results: Sequence[str]) -> Iterator[list[float]]:
    each_one: list[float] = []
    for result in results:
        for part in _parts(_structured(result)):
            if isinstance(part, list):
                yield from _columns(part)
            else:
                yield [float(one) for one in part.values() if _is_number(one)]
        numbers = [*numbers_in(result[:STRUCTURED_CHARS_MAX])]
        yield numbers
        yield from _text_columns(result)
        if len(numbers) == 1:
            each_one += numbers
    yield each_one


_CELLS = lazy_pattern(r"\s*[,;|\t]\s*|\s{2,}")
_ROWS_MAX = 2000


def _text_columns(result: str) -> Iterator[list[float]]:
    """The columns of a table that is text: rows of equal length, their numbers by themselves."""
    columns: dict[tuple[int, int], list[float]] = {}
    for line in result[:STRUCTURED_CHARS_MAX].splitlines()[:_ROWS_MAX]:
        cells = _CELLS.split(line.strip())
        if len(cells) < 2:
            cells = line.split()
        for at, cell in enumerate(cells):
            plain = cell.strip("$€£¥% ")
            if len(plain) <= DIGITS_MAX and re.fullmatch(r"-?\d+(?:\.\d+)?", plain):
                columns.setdefault((len(cells), at), []).append(float(plain))
    yield from columns.values()


def _columns(items: "list[Any]") -> Iterator[list[float]]:
    yield [float(item) for item in items if _is_number(item)]
    columns: dict[str, list[float]] = {}
    for item in items[:5000]:
        if isinstance(item, dict):
            for key, each in cast("dict[str, Any]", item).items():
                if _is_number(each):
                    columns.setdefault(key, []).append(float(each))
    yield from columns.values()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def pairs_of(numbers: list[float]) -> Iterator[float]:
    """Sums, differences, shares in percent and changes in percent of each two."""
    for at, one in enumerate(numbers):
        for other in numbers[at + 1 :]:
            yield from (one + other, abs(other - one), one * other)
            for a, b in ((one, other), (other, one)):
                if b:
                    yield from (a / b, a / b * 100, (a - b) / b * 100, abs(a - b) / b * 100)


def spans_of(numbers: list[float]) -> Iterator[float]:
    """Sums and differences of each two."""
    for at, one in enumerate(numbers):
        for other in numbers[at + 1 :]:
            yield from (one + other, abs(other - one))
