# ruff: noqa: RUF001 - the punctuation of Chinese
"""Numbers and identifiers a statement reports, and whether they come from somewhere. Pure.

A value is supported where it occurs in what was read, said or executed, or can be worked out from
it: rounded, in another unit, as a percentage, a count, a sum, a difference. When in doubt it is
taken to be supported: a false alarm costs a model request and, in the end, a person's time.
"""

import json
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from .claims_text import sentences, shown

VALUES_MAX = 200
"""Values of one statement that are looked at."""
SOURCE_CHARS_MAX = 4_000_000
"""Characters of sources that are searched: the newest, where there are more."""
NUMBERS_MAX = 20_000
"""Different numbers of the sources that are remembered."""
PAIRED_MAX = 60
"""Numbers that are tried in pairs, by sum, difference, share and change."""
STRUCTURED_CHARS_MAX = 200_000
"""Characters of a result that is read as JSON, for counts and sums of its parts."""


class Value(NamedTuple):
    """A number (``number`` is set) or an identifier, as it stands in a statement."""

    text: str
    number: float | None
    decimals: int
    unit: str
    near: str
    approximate: bool
    sentence: str


_NUMBER = re.compile(
    r"(?<![A-Za-z_#/\\.])(?<![A-Za-z]-)(?<!\d[.,:/])(?<!\d)([-−]?)(\d{1,3}(?:[,   ']\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?![\d_])(?!-[A-Za-z\d]*[A-Za-z]\d)(?!\.\d)\s?(%|％|‰|°C|°F|[kKMGT]i?B\b|bytes?\b|ms\b|seconds?\b|secs?\b|minutes?\b|mins?\b|"
    r"hours?\b|[kKmM]\b|million\b|billion\b|thousand\b|[万亿千百元件个台秒]|EUR\b|USD\b|€|\$|£|¥)?(?![A-Za-z\d])",
)
_ID = re.compile(
    r"(?<![\w@./-])(?:https?://[^\s<>\"')\]，。；]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|"
    r"(?=[\w/.-]*\d)(?=[\w/.-]*[A-Za-z])[A-Za-z0-9]+(?:[-_/.#][A-Za-z0-9]+)*)(?![\w@])",
    re.ASCII,
)
_COMMON_ID = re.compile(
    r"(?:UTF|SHA|MD|HTTPS?|ISO|RFC|GPT|IPv|TLS|SSL|COVID|ES|HTML|CSS|MP|OAuth|Python|Java|Node|Q|H|P|T|X|B|A|v|"
    r"version|Web|PEP|OWASP|CO|Win|x|int|float|uint|log|top|step|level|phase|day|week|part|option)-?\d{1,4}(?:\.\d+)*"
    r"|\d+(?:st|nd|rd|th|x|d|D|am|pm|AM|PM|h|s|m|ms|min|kg|g|mg|km|cm|mm|ml|l|L|px|pt|em|rem|vw|fps|"
    r"[kKMGT]i?[Bb]?|bit|w|W|V|A|Hz|kHz|MHz|GHz|kWh|ch|p|°C|GB|MB|KB|TB)|24/7|\d+/\d+|(?:\d+[:hH]){1,2}\d+\w?|[\d.,:/-]+",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:\b(?:number|no\.?|id|#|reference|ref|code|ticket|order|invoice|tracking|confirmation|hash|commit|"
    r"sha|issue|pr|pull request)|编号|单号|订单号|流水号|工单|号码|尾号)\s*(?:is|was|为|是)?[\s:：#]*$",
    re.IGNORECASE,
)
_APPROXIMATE = re.compile(
    r"(?:\b(?:about|approximately|approx\.?|around|roughly|nearly|almost|over|more than|less than|under|at least|"
    r"up to|circa|ca\.?|some|just)|~|≈|约|大约|近|超过|不到|至少|将近|大概|左右)\s*[$€£¥]?$",
    re.IGNORECASE,
)
_EXEMPT_BEFORE = re.compile(
    r"(?:\b(?:step|steps|option|options|phase|part|section|chapter|page|top|first|last|next|past|version|python|"
    r"level|line|lines|point|node|http|status|stage|item|rule|day|week|figure|table|question|answer|round)|第|前|步骤|"
    r"方案|选项|版本|Q)\s*$",
    re.IGNORECASE,
)
_EXEMPT_AFTER = re.compile(
    r"^\s*(?:of the|ways?\b|steps?\b|options?\b|things?\b|reasons?\b|步|点建议|种)", re.IGNORECASE
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_CLOCK = re.compile(r"(?<![\d:.])([01]?\d|2[0-3])[:：]([0-5]\d)(?:[:：]\d{2})?(?![\d:])")
_OTHER_ZONE = re.compile(
    r"\b(?:UTC|GMT|CET|EST|PST|local time|time zone|[ap]\.?m\b)|时区|下午|晚上|上午|[ap]m\b",
    re.IGNORECASE,
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DATES = (
    re.compile(r"(?<!\d)(?P<year>(?:19|20)\d\d)[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)"),
    re.compile(
        rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\.? (?:of )?(?P<word>{_MONTH})\b\.?,?(?: (?P<year>(?:19|20)\d\d))?",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<word>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\d.:])(?:,? (?P<year>(?:19|20)\d\d))?",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:(?P<year>(?:19|20)\d\d)\s*年\s*)?(?P<month>\d{1,2})\s*月\s*(?P<day>\d{1,2})\s*[日号]"
    ),
)
_COMPUTED = re.compile(
    r"\b(?:total|sum|combined|altogether|together|overall|in all|difference|remain\w*|left|more|less|fewer|"
    r"increase[ds]?|decrease[ds]?|gr[eo]w\w*|rose|risen|fell|fallen|drop\w*|up|down|change[ds]?|average|mean|"
    r"median|per|each|ratio|rate|share|profit|margin|net|gross|difference|times|twice|double|half|discount|save[ds]?|"
    r"\w+er (?:by|than)|\w+est|cost\w*|spent|minus|plus|balance|compared|growth|took|duration|elapsed|every)\b|[%％+=×]|合计|总|共|剩|差|"
    r"增|减|平均|占|率|每|余|比|折|涨|跌|倍|用时|耗时|节省",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\b(?:days?|weeks?|months?|hours?|minutes?|tomorrow|next|later|today)\b|天|周|月后|小时|明|后",
    re.IGNORECASE,
)
_SCALE = {
    "k": 1e3, "m": 1e6, "million": 1e6, "billion": 1e9, "thousand": 1e3,
    "万": 1e4, "亿": 1e8, "千": 1e3, "百": 1e2,
}  # fmt: skip
_BYTES = {"kb": 1, "kib": 1, "mb": 2, "mib": 2, "gb": 3, "gib": 3, "tb": 4, "tib": 4}


def values_of(statement: str) -> list[Value]:
    """Return the values a statement reports, in its order; not those of questions and plans."""
    found: list[Value] = []
    for sentence in sentences(statement, quotes=True):
        if sentence.asserted < len(sentence.fragments):
            continue
        text, times = _without_times(sentence.text)
        found += [*times, *_ids(text), *_numbers(text)]
        if len(found) >= VALUES_MAX:
            break
    return found[:VALUES_MAX]


def _without_times(text: str) -> tuple[str, list[Value]]:
    """Take dates and times of day out of a text, so that their numbers are no others."""
    found = [Value(_day(*each), None, 0, "date", "", False, text) for each in dates_in(text)]
    if not _OTHER_ZONE.search(text):
        clocks = (_clock(hit) for hit in _CLOCK.finditer(text))
        found += [Value(each, None, 0, "clock", "", False, text) for each in clocks]
    for pattern in (_CLOCK, *_DATES):
        text = pattern.sub(lambda hit: "·" * len(hit[0]), text)
    return text, found


def _clock(hit: re.Match[str]) -> str:
    return f"{int(hit[1]):02}:{hit[2]}"


def _day(year: int, month: int, day: int) -> str:
    return f"{year:04}-{month:02}-{day:02}" if year else f"{month:02}-{day:02}"


def dates_in(text: str) -> list[tuple[int, int, int]]:
    """Return the dates of a text as year (0: not told), month and day."""
    found: list[tuple[int, int, int]] = []
    for pattern in _DATES:
        for hit in pattern.finditer(text):
            parts = hit.groupdict()
            word = parts.get("word")
            month = _MONTHS.index(word[:3].lower()) + 1 if word else int(parts["month"])
            if 1 <= month <= 12:
                found.append((int(parts["year"] or 0), month, int(parts["day"])))
    return found


def _ids(text: str) -> Iterator[Value]:
    for hit in _ID.finditer(text):
        word = hit[0].rstrip(".,;:")
        if _COMMON_ID.fullmatch(word) or len(word) < 3:
            continue
        yield Value(word, None, 0, "id", text[: hit.start()][-24:], False, text)


def _numbers(text: str) -> Iterator[Value]:
    for hit in _NUMBER.finditer(text):
        sign, digits, unit = hit.groups()
        before, after = text[: hit.start()], text[hit.end() :]
        if _exempt(digits, unit, before, after, text):
            continue
        if _ID.match(text, hit.start()) and not unit:
            continue
        plain = re.sub(r"[,   ']", "", digits)
        number = float(plain)
        if sign and not re.search(r"[\w)]\s?$", before):
            number = -number
        decimals = len(plain.partition(".")[2])
        near = (
            _APPROXIMATE.search(before) is not None or "左右" in after[:4] or after.startswith("+")
        )
        label = "id" if _LABEL.search(before) and not unit else (unit or "")
        yield Value(hit[0].strip(), number, decimals, label, before[-24:], near, text)


def _exempt(digits: str, unit: str | None, before: str, after: str, text: str) -> bool:
    """Whether a number is none that could be reported: an ordinal, a step, a year in a date."""
    if _EXEMPT_BEFORE.search(before) or (not unit and _EXEMPT_AFTER.search(after)):
        return True
    if unit in ("%", "％") and digits == "100":
        return True
    if not unit and digits in ("0", "1") and not _LABEL.search(before):
        return True
    return re.search(rf"{_MONTH}\.?\s+$", before, re.IGNORECASE) is not None and len(digits) == 4


# ---------------------------------------------------------------- where values come from

_PLAIN = re.compile(
    r"(?<![A-Za-z_.])(?<![A-Za-z]-)(?<!\d)([-−]?)(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
)


class Sources:
    """Texts that values may come from; read only as far as a value asks for.

    Args:
        texts: what was read, said and executed, in order.
        results: those of them that are results of tools.
    """

    def __init__(self, texts: Iterable[str], results: Sequence[str] = ()) -> None:
        self._whole = "\n".join(_newest(texts))
        self._lower: str | None = None
        self._results = results
        self._known: list[float] | None = None
        self._derived: set[float] | None = None
        self._paired: set[float] | None = None

    def supports(self, value: Value, statement: str) -> bool:
        """Tell whether a value of a statement occurs here, or can be worked out."""
        if value.unit in ("date", "clock"):
            return self._has_time(value)
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
            told = {_clock(hit) for hit in _CLOCK.finditer(self._whole)}
        else:
            told = {
                text for each in dates_in(self._whole) for text in (_day(*each), _day(0, *each[1:]))
            }
        return not told or value.text in told or _LATER.search(value.sentence) is not None

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
            if spelled and re.search(
                rf"(?<![\w.])(?<![A-Za-z]-){re.escape(spelled)}(?![\d]|\.\d)", self._whole
            ):
                return True
        return value.unit == "id" and plain in self._whole

    @property
    def known(self) -> list[float]:
        """Different numbers of the sources, sorted."""
        if self._known is None:
            found: set[float] = set()
            for hit in _PLAIN.finditer(self._whole):
                number = float(hit[2].replace(",", ""))
                found.add(
                    -number
                    if hit[1] and not re.search(r"\w$", self._whole[: hit.start()][-1:])
                    else number
                )
                if len(found) >= NUMBERS_MAX:
                    break
            self._known = sorted(found)
        return self._known

    def _has_number(self, value: Value, statement: str) -> bool:
        assert value.number is not None
        wanted = [*_readings(value)]
        if any(_near(self.known, each, value) for each in wanted):
            return True
        if value.number == int(value.number) and value.number in self._counts(statement):
            return True
        if not _COMPUTED.search(value.sentence):
            return False
        return any(_near(sorted(self._pairs()), each, value) for each in wanted)

    def _counts(self, statement: str) -> set[float]:
        """Counts of lines and parts of results, and of points the statement itself lists."""
        if self._derived is None:
            self._derived = set()
            for result in self._results:
                self._derived |= _counts_of(result)
        points = [
            line
            for line in shown(statement).splitlines()
            if re.match(r"\s*(?:[-*•]|\d+[.)])\s", line)
        ]
        return self._derived | {float(len(points)), float(len(self._results))}

    def _pairs(self) -> set[float]:
        if self._paired is None:
            self._paired = {*_sums(self._results)}
            several = [each for each in self.known if math.isfinite(each)]
            if len(several) <= PAIRED_MAX:
                self._paired |= {*_pairs(several)}
        return self._paired


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


def _readings(value: Value) -> Iterator[float]:
    """A number in the units its source may have used."""
    number, unit = cast(float, value.number), value.unit.lower()
    yield number
    if unit in _SCALE:
        yield number * _SCALE[unit]
    elif unit in _BYTES:
        for base in (1000.0, 1024.0):
            for power in range(1, _BYTES[unit] + 1):
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


def _near(known: Sequence[float], wanted: float, value: Value) -> bool:
    """Tell whether one of these, sorted, is this number at the precision with which it is told."""
    tolerance = 1e-9 * max(1.0, abs(wanted))
    number = abs(value.number or 0) or 1.0
    scaled = abs(wanted) / number if wanted else 1.0
    if value.decimals or scaled != 1.0:
        tolerance = max(tolerance, 0.5000001 * 10.0**-value.decimals * scaled)
    elif value.unit in ("%", "％"):
        tolerance = 0.5000001
    if value.approximate:
        tolerance = max(tolerance, abs(wanted) * 0.1)
    low, high = wanted - tolerance, wanted + tolerance
    at = bisect_left(known, low)
    return at < len(known) and known[at] <= high


# ---------------------------------------------------------------- working out


def _counts_of(result: str) -> set[float]:
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


def _sums(results: Sequence[str]) -> Iterator[float]:
    """Sums and averages of what belongs together: a list, a column, the lines of a text."""
    for series in _series(results):
        if 1 < len(series) <= 5000:
            yield from (sum(series), sum(series) / len(series), max(series) - min(series))
            yield sorted(series)[len(series) // 2]


def _series(results: Sequence[str]) -> Iterator[list[float]]:
    each_one: list[float] = []
    for result in results:
        for part in _parts(_structured(result)):
            if isinstance(part, list):
                yield from _columns(part)
            else:
                yield [float(one) for one in part.values() if _is_number(one)]
        numbers = [
            float(hit[2].replace(",", "")) for hit in _PLAIN.finditer(result[:STRUCTURED_CHARS_MAX])
        ]
        yield numbers
        if len(numbers) == 1:
            each_one += numbers
    yield each_one


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


def _pairs(numbers: list[float]) -> Iterator[float]:
    """Sums, differences, shares in percent and changes in percent of each two."""
    for at, one in enumerate(numbers):
        for other in numbers[at + 1 :]:
            yield from (one + other, abs(other - one), one * other)
            for a, b in ((one, other), (other, one)):
                if b:
                    yield from (a / b, a / b * 100, (a - b) / b * 100, abs(a - b) / b * 100)
