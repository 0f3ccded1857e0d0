# ruff: noqa: RUF001 - the punctuation of Chinese
"""Dates and times of day in a text. Pure."""

import re

from ...supervisor.patterns import lazy_pattern

MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
CLOCK = lazy_pattern(r"(?<![\d:.])([01]?\d|2[0-3])[:：]([0-5]\d)(?:[:：]\d{2})?(?![\d:])")
TWELVE = lazy_pattern(
    r"(?<![\d:.])(1[0-2]|0?[1-9])(?:[:.]([0-5]\d))?\s?([ap])\.?m\b\.?", re.IGNORECASE
)
"""A time of day of twelve hours: "9 pm", "5:30 pm"."""
OTHER_ZONE = lazy_pattern(
    r"\b(?:UTC|GMT|CET|EST|PST|local time|time zone|[ap]\.?m\b)|时区|下午|晚上|上午|[ap]m\b",
    re.IGNORECASE,
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DATES = (
    lazy_pattern(
        r"(?<!\d)(?P<year>(?:19|20)\d\d)[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)"
    ),
    lazy_pattern(
        rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\.? (?:of )?(?P<word>{MONTH})\b\.?,?(?: (?P<year>(?:19|20)\d\d))?",
        re.IGNORECASE,
    ),
    lazy_pattern(
        rf"\b(?P<word>{MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\d.:])(?:,? (?P<year>(?:19|20)\d\d))?",
        re.IGNORECASE,
    ),
    lazy_pattern(
        r"(?:(?P<year>(?:19|20)\d\d)\s*年\s*)?(?P<month>\d{1,2})\s*月\s*(?P<day>\d{1,2})\s*[日号]"
    ),
)


def in_24_hours(text: str) -> str:
    """Write times of twelve hours as those of a day: "9 pm" is 21:00; of the same length or longer."""
    return TWELVE.sub(
        lambda hit: f"{int(hit[1]) % 12 + (12 if hit[3] in 'pP' else 0):02}:{hit[2] or '00'}", text
    )


def clock_of(hit: re.Match[str]) -> str:
    return f"{int(hit[1]):02}:{hit[2]}"


def day_of(year: int, month: int, day: int) -> str:
    return f"{year:04}-{month:02}-{day:02}" if year else f"{month:02}-{day:02}"


def dates_in(text: str) -> list[tuple[int, int, int]]:
    """Return the dates of a text as year (0: not told), month and day."""
    found: list[tuple[int, int, int]] = []
    for pattern in DATES:
        for hit in pattern.finditer(text):
            parts = hit.groupdict()
            word = parts.get("word")
            month = _MONTHS.index(word[:3].lower()) + 1 if word else int(parts["month"])
            if 1 <= month <= 12:
                found.append((int(parts["year"] or 0), month, int(parts["day"])))
    return found
