# ruff: noqa: RUF001 - the punctuation of Chinese
"""Numbers, identifiers, dates and times of day that a statement reports. Pure.

Numbers of steps, versions, list marks and the like are no values.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ...supervisor.patterns import lazy_pattern
from .claims_dates import CLOCK, DATES, MONTH, OTHER_ZONE, clock_of, dates_in, day_of, in_24_hours
from .claims_text import sentences

DIGITS_MAX = 30
"""Longer runs of digits are no numbers that anybody calculates with."""
NEAR_CHARS = 60
"""Characters beside a number that tell what it is."""
VALUES_MAX = 200
"""Values of one statement that are looked at."""


class Value(NamedTuple):
    """A number (``number`` is set) or an identifier, as it stands in a statement."""

    text: str
    number: float | None
    decimals: int
    unit: str
    approximate: bool
    sentence: str


_NUMBER = lazy_pattern(
    r"(?<![A-Za-z_#/\\.])(?<![A-Za-z]-)(?<!\d[.,:/])(?<!\d)([-−]?)(\d{1,3}(?:[,   ']\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?![\d_])(?!-[A-Za-z\d]*[A-Za-z]\d)(?!\.\d)\s?(%|％|‰|°C|°F|km/h\b|mph\b|km\b|miles?\b|mi\b|kg\b|lbs?\b|pounds\b|[kKMGT]i?B\b|bytes?\b|ms\b|s\b|seconds?\b|secs?\b|minutes?\b|mins?\b|"
    r"hours?\b|cents?\b|pence\b|[kKmM]\b|million\b|billion\b|thousand\b|[万亿千百元件个台秒]|EUR\b|USD\b|€|\$|£|¥)?(?![A-Za-z\d])",
)
_ID = lazy_pattern(
    r"(?<![\w@./-])(?:https?://[^\s<>\"')\]，。；]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|"
    r"(?=[\w/.-]*\d)(?=[\w/.-]*[A-Za-z])[A-Za-z0-9]+(?:[-_/.#][A-Za-z0-9]+)*)(?![\w@])",
    re.ASCII,
)
_COMMON_ID = lazy_pattern(
    r"(?:UTF|SHA|MD|HTTPS?|ISO|RFC|GPT|IPv|TLS|SSL|COVID|ES|HTML|CSS|MP|OAuth|Python|Java|Node|Q|H|P|T|X|B|A|v|"
    r"version|Web|PEP|OWASP|CO|Win|x|int|float|uint|log|top|step|level|phase|day|week|part|option)-?\d{1,4}(?:\.\d+)*"
    r"|\d+(?:st|nd|rd|th|x|d|D|am|pm|AM|PM|h|s|m|ms|min|kg|g|mg|km|cm|mm|ml|l|L|px|pt|em|rem|vw|fps|"
    r"[kKMGT]i?[Bb]?|bit|w|W|V|A|Hz|kHz|MHz|GHz|kWh|ch|p|°C|GB|MB|KB|TB)|24/7|\d+/\d+|(?:\d+[:hH]){1,2}\d+\w?|[\d.,:/-]+",
    re.IGNORECASE,
)
_LABEL = lazy_pattern(
    r"(?:\b(?:number|no\.?|id|#|reference|ref|code|ticket|order|invoice|tracking|confirmation|hash|commit|"
    r"sha|issue|pr|pull request)|编号|单号|订单号|流水号|工单|号码|尾号)\s*(?:is|was|为|是)?[\s:：#]*$",
    re.IGNORECASE,
)
_APPROXIMATE = lazy_pattern(
    r"(?:\b(?:about|approximately|approx\.?|around|roughly|nearly|almost|over|more than|less than|under|at least|"
    r"up to|circa|ca\.?|some|just)|~|≈|约|大约|近|超过|不到|至少|将近|大概|左右)\s*[$€£¥]?$",
    re.IGNORECASE,
)
_EXEMPT_BEFORE = lazy_pattern(
    r"(?:\b(?:step|steps|option|options|phase|part|section|chapter|page|top|first|last|next|past|version|python|"
    r"level|line|lines|point|node|http|status|stage|item|rule|day|week|figure|table|question|answer|round)|第|前|步骤|"
    r"方案|选项|版本|Q|(?:step|part|page|item) \d+ of)\s*$",
    re.IGNORECASE,
)
_EXEMPT_AFTER = lazy_pattern(
    r"^\s*(?:of the|ways?\b|steps?\b|options?\b|things?\b|reasons?\b|步|点建议|种)", re.IGNORECASE
)


ADVICE = lazy_pattern(
    r"\b(?:should(?! (?:arrive|land|reach)\b)|could|would|might|may|recommend\w*|(?:plan|next(?: steps?)?|to[- ]?do)(?=:)|suggest\w*|consider|i'd|we'd|try|typically|usually|"
    r"generally|in general)\b|建议|可以|应该|可能|推荐|通常|一般来说",
    re.IGNORECASE,
)
"""Advice and general knowledge report no value of this session."""


_MEASURED = lazy_pattern(
    r"(\d{1,20}(?:\.\d{1,10})?)(Ki|Mi|Gi|Ti|KB|MB|GB|TB|kB|k|K|M|ms|m|s|h|min|kg|g|km|cm|mm|kWh|W|V|GHz|MHz)"
)
"""A number with its unit behind it, in one word."""


_MAY_HOLD = lazy_pattern(r"\d|@|://")
"""Every value has a digit, but for the address of a person or a page."""


def values_of(statement: str) -> list[Value]:
    """Return the values a statement reports, in its order; not those of questions and plans."""
    found: list[Value] = []
    for sentence in sentences(statement, quotes=True):
        if not _MAY_HOLD.search(sentence.text):
            continue
        if sentence.asserted < len(sentence.fragments) or ADVICE.search(sentence.text):
            continue
        text, times = _without_times(sentence.text)
        text, spans = _without_spans(text)
        ids = [*_ids(text)]
        found += [*times, *spans, *ids, *_versions(text), *_numbers(_without_ids(text, ids))]
        if len(found) >= VALUES_MAX:
            break
    return found[:VALUES_MAX]


def _without_times(text: str) -> tuple[str, list[Value]]:
    """Take dates and times of day out of a text, so that their numbers are no others."""
    text = in_24_hours(text)
    found = [Value(day_of(*each), None, 0, "date", False, text) for each in dates_in(text)]
    if not OTHER_ZONE.search(text):
        clocks = (clock_of(hit) for hit in CLOCK.finditer(text))
        found += [Value(each, None, 0, "clock", False, text) for each in clocks]
    for pattern in (CLOCK, *DATES):
        text = pattern.sub(lambda hit: "·" * len(hit[0]), text)
    return text, found


_SPAN = lazy_pattern(
    r"(?<![\w.,:-])(?:(\d{1,6})\s?(?:hours?|hrs?|h|小时)\s?(?:and )?(\d{1,2})\s?(?:minutes?|mins?|m|分钟?)|"
    r"(\d{1,6})\s?(?:minutes?|mins?|m|分钟?)\s?(?:and )?(\d{1,2}(?:\.\d)?)\s?(?:seconds?|secs?|s|秒))(?![A-Za-z\d])"
)
"""A duration in two units: "5 min 40 s"."""


def _without_spans(text: str) -> tuple[str, list[Value]]:
    """Take durations in two units out of a text: each is one number, of the lesser unit."""
    found: list[Value] = []
    for hit in _SPAN.finditer(text):
        more, less, unit = (hit[1], hit[2], "min") if hit[1] else (hit[3], hit[4], "s")
        number = int(more) * 60 + float(less)
        found.append(Value(hit[0], number, len(less.partition(".")[2]), unit, False, text))
    return _SPAN.sub(lambda hit: "·" * len(hit[0]), text), found


def _without_ids(text: str, ids: list[Value]) -> str:
    """Take identifiers out of a text, so that their digits are no numbers of their own."""
    for each in ids:
        if each.unit == "id" and len(each.text) > 4:
            text = text.replace(each.text, "·" * len(each.text))
    return text


_VERSION = lazy_pattern(
    r"\b(version|v|release|python|node(?:\.?js)?|java|go|ruby|php|postgres(?:ql)?|mysql|redis|django|react|rust|kubernetes)"
    r"[\s:]{0,2}v?(\d+(?:\.\d+){1,3})(?![\w.]*\d)|版本\s*(?:号)?\s*(?:为|是|：|:)?\s*v?(\d+(?:\.\d+){1,3})",
    re.IGNORECASE,
)


def _versions(text: str) -> Iterator[Value]:
    """Versions with what they are of; a bare number behind such a word is none of this session's."""
    for hit in _VERSION.finditer(text):
        yield Value(
            hit[2] or hit[3], None, 0, f"version {(hit[1] or 'version').lower()}", False, text
        )


_IPV4 = lazy_pattern(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")


_HASH = lazy_pattern(r"(?<![\w#&/])#(\d{2,7})\b")
"""The number of an issue or a pull request."""


def _ids(text: str) -> Iterator[Value]:
    for hit in _HASH.finditer(text):
        yield Value(hit[0], float(hit[1]), 0, "id", False, text)
    for hit in _IPV4.finditer(text):
        yield Value(hit[0], None, 0, "address", False, text)
    for hit in _ID.finditer(text):
        word = hit[0].rstrip(".,;:")
        measured = _MEASURED.fullmatch(word)
        if measured is not None:
            plain = measured[1]
            decimals = len(plain.partition(".")[2])
            near = (
                _APPROXIMATE.search(text[max(0, hit.start() - NEAR_CHARS) : hit.start()])
                is not None
            )
            yield Value(word, float(plain), decimals, measured[2], near, text)
            continue
        if _GRADE.fullmatch(word):
            yield Value(word, None, 0, "grade", False, text)
            continue
        if _COMMON_ID.fullmatch(word) or len(word) < 3:
            continue
        yield Value(word, None, 0, "id", False, text)


_GRADE = lazy_pattern(r"(?:P|S|SEV-?|L|Q)\d")
"""A grade, such as a priority: only another of the same kind in the sources speaks against it."""


def _numbers(text: str) -> Iterator[Value]:
    for hit in _NUMBER.finditer(text):
        sign, digits, unit = hit.groups()
        before = text[max(0, hit.start() - NEAR_CHARS) : hit.start()]
        after = text[hit.end() : hit.end() + NEAR_CHARS]
        if _exempt(digits, unit, before, after, text):
            continue
        if _ID.match(text, hit.start()) and not unit:
            continue
        if len(digits) > DIGITS_MAX:
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
        yield Value(hit[0].strip(), number, decimals, label, near, text)


def _exempt(digits: str, unit: str | None, before: str, after: str, text: str) -> bool:
    """Whether a number is none that could be reported: an ordinal, a step, a year in a date."""
    if _EXEMPT_BEFORE.search(before) or (not unit and _EXEMPT_AFTER.search(after)):
        return True
    if unit in ("%", "％") and digits == "100":
        return True
    if not unit and digits in ("0", "1") and not _LABEL.search(before):
        return True
    return re.search(rf"{MONTH}\.?\s+$", before, re.IGNORECASE) is not None and len(digits) == 4
