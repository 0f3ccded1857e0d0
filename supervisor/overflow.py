"""How far a request was over a model's limit, as far as the refusal says so. Pure.

Providers tell it in words only, and each in its own; what is not understood is left out. The
numbers are tokens, or whatever else the provider counts: their ratio is what matters.
"""

import re

from msgspec import Struct

from .patterns import lazy_pattern

NUMBER_MIN = 256
"""Smaller numbers are a status, a position, a count of messages."""

TEXT_MAX = 10_000
"""Characters that are looked at; a refusal says it at its beginning."""

_NUMBER = r"(\d{1,3}(?:,\d{3}){1,4}|\d{1,12})(?!\d)"
_SUM = lazy_pattern(rf"{_NUMBER}\s*\+\s*{_NUMBER}\s*(?:tokens?\s*)?>\s*{_NUMBER}")
_COMPARED = lazy_pattern(rf"{_NUMBER}\s*(?:tokens?\s*)?>\s*{_NUMBER}")
_PARTS = lazy_pattern(
    rf"{_NUMBER} in (?:the|your) (?:messages|prompt)[;,] {_NUMBER} (?:in|for) the completion"
)
_BOUND_WORDS = (
    r"max(?:imum)?\b|max_\w+|limit(?:ed)?\b|at most|up to|allowed|less than|not exceed|<=|context size"
    r"|最大|上限|不超过|不能超过|限制"
)
_BOUND_BEFORE = lazy_pattern(rf"(?:{_BOUND_WORDS})[^\d]{{0,40}}?{_NUMBER}", re.IGNORECASE)
_BOUND_BEHIND = lazy_pattern(rf"{_NUMBER}[^\d.;]{{0,12}}(?:{_BOUND_WORDS})", re.IGNORECASE)
_RANGE = lazy_pattern(rf"\[\s*[01]\s*,\s*{_NUMBER}\s*\]")
_ANY = lazy_pattern(rf"(?<![\w.]){_NUMBER}(?![\w.]*\d)")


class Overflow(Struct, frozen=True):
    """What a refusal tells: how large the request was and how large it may be."""

    size: int | None = None
    limit: int | None = None

    @property
    def share(self) -> float | None:
        """The share of the request that would have been allowed; None where it is not told."""
        if self.size is None or self.limit is None:
            return None
        return self.limit / self.size


def overflow_in(text: str) -> Overflow:
    """Return the numbers a refusal tells.

    Room that the answer was to have is taken off the limit where the provider counts it in.
    """
    text = text[:TEXT_MAX]
    exact = _told_exactly(text)
    if exact is not None:
        return exact
    limit = _limit_in(text)
    if limit is None:
        return Overflow()
    parts = _PARTS.search(text)
    if parts is not None and 0 < _int(parts[2]) < limit:
        return _checked(_int(parts[1]), limit - _int(parts[2]))
    numbers = (_int(each) for each in _ANY.findall(text))
    return Overflow(next((each for each in numbers if each > limit), None), limit)


def _told_exactly(text: str) -> Overflow | None:
    added = _SUM.search(text)
    if added is not None:
        size, answer, limit = (_int(each) for each in added.groups())
        return _checked(size, limit - answer)
    compared = _COMPARED.search(text)
    return _checked(_int(compared[1]), _int(compared[2])) if compared else None


def _limit_in(text: str) -> int | None:
    """Return the number that is called a limit, the last where several are."""
    found = [
        number
        for pattern in (_RANGE, _BOUND_BEHIND, _BOUND_BEFORE)
        for each in pattern.finditer(text)
        if (number := _int(each[1])) >= NUMBER_MIN
    ]
    # Of several, the request is over the smallest.
    return min(found, default=None)


def _checked(size: int, limit: int) -> Overflow:
    """An answer's room alone may be over the limit; then no share of the request is allowed."""
    return Overflow(size, max(limit, 0)) if size >= NUMBER_MIN else Overflow()


def _int(digits: str) -> int:
    return int(digits.replace(",", ""))
