# ruff: noqa: RUF001 - the punctuation of Chinese
"""Numbers beside names, against results that give each name its number. Pure.

"Boltico is cheapest at 0.074" is false where 0.074 is what another asks, however right the number is;
and so is "most of them are on the team plan", where another plan has more.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ...supervisor.patterns import lazy_pattern
from .claims_made import NEGATED, NEGATED_ZH, Claim
from .claims_sums import numbers_in
from .claims_text import Sentence, sentences
from .findings import Finding, finding
from .ledger import Ledger

READ_CHARS = 50_000
"""Characters of a result that is read for names and numbers."""
ROWS_MAX = 60
"""Rows of one result that are looked at; a longer one is told in parts."""
NAME_CHARS = 40
NUMBER_MIN = 10
"""Smaller whole numbers stand for too much to be anybody's own."""

Rows = Mapping[str, Mapping[str, float]]
"""Names with their numbers by key."""


def rows_of(content: str) -> Iterator[Rows]:
    """Lists of objects of a structured result: the name of each, and its numbers by key."""
    if content.lstrip()[:1] not in ("{", "[") and "[{" not in content[:200]:
        return
    start = min((at for at in (content.find("{"), content.find("[")) if at >= 0), default=0)
    try:
        waiting: list[Any] = [json.loads(content[start:READ_CHARS])]
    except (ValueError, RecursionError):
        return
    for _ in range(200):
        if not waiting:
            return
        part = waiting.pop()
        if isinstance(part, dict):
            waiting += [
                each
                for each in cast("dict[str, Any]", part).values()
                if isinstance(each, list | dict)
            ]
        elif isinstance(part, list):
            rows = _rows(cast("Sequence[Any]", part))
            if rows:
                yield rows
            else:
                waiting += [
                    each
                    for each in cast("Sequence[Any]", part)[:ROWS_MAX]
                    if isinstance(each, list | dict)
                ]


def _rows(items: Sequence[Any]) -> dict[str, dict[str, float]]:
    """Names with numbers, where each item has exactly one text that no other has, and a number."""
    if not 1 < len(items) <= ROWS_MAX or not all(isinstance(each, dict) for each in items):
        return {}
    found: dict[str, dict[str, float]] = {}
    for item in items:
        fields = cast("dict[str, Any]", item)
        names = [each for each in fields.values() if isinstance(each, str) and _is_name(each)]
        numbers = {key: float(each) for key, each in fields.items() if _is_number(each)}
        if len(names) != 1 or not numbers or names[0].lower() in found:
            return {}
        found[names[0].lower()] = numbers
    return found


def _is_name(text: str) -> bool:
    return 1 < len(text) <= NAME_CHARS and re.search(r"[^\W\d_]", text) is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_CLAUSE = lazy_pattern(
    r"[,;|，；、](?!\d)|\s[-–—]\s|\s(?:and|while|but|whereas|versus|vs\.?)\s|[()]|以及|而|和"
)
_COMPARED = lazy_pattern(
    r"\b(?:than|more|less|fewer|above|below|behind|ahead|difference|total|sum|average|both|together|before|after|from|instead of)\b|"
    r"比|多|少|差|共|合计|平均",
    re.IGNORECASE,
)


_MAY_COMPARE = lazy_pattern(r"\d|st|最", re.IGNORECASE)
"""What is said of a name has a number, or a superlative."""


def wrong_pairs(statement: str, ledger: Ledger) -> list[Finding]:
    """Return what a statement says of a name that a result says only of another."""
    told = _compared(statement)
    if not told:
        return []
    tables = [
        (rows, call)
        for call in ledger.ran
        if call.ok and not call.earlier
        for rows in rows_of(call.content)
    ]
    if not tables or len(tables) > 20:
        return []
    for sentence in told:
        for clause in _CLAUSE.split(sentence.text):
            for rows, call in tables:
                why = _wrong(clause, rows)
                if why:
                    claim = Claim(kind="action", text=sentence.text)
                    return [finding("contradicted", claim, why, [call])]
    return []


def compares(statement: str) -> bool:
    """Tell whether a statement has anything that `wrong_pairs` compares."""
    return bool(_compared(statement))


def _compared(statement: str) -> list[Sentence]:
    return [
        each
        for each in sentences(statement, quotes=True)
        if each.asserted == len(each.fragments) and _MAY_COMPARE.search(each.text)
    ]


def _wrong(clause: str, rows: Rows) -> str:
    """Say what is wrong with a clause that names one row; empty where nothing is."""
    named = [name for name in rows if _names(name, clause)]
    if len(named) != 1 or NEGATED.search(clause) or NEGATED_ZH.search(clause):
        return ""
    own = rows[named[0]]
    return _of_another(clause, named[0], own, rows) or _no_extreme(clause, named[0], own, rows)


def _names(name: str, clause: str) -> bool:
    if not name.isascii():
        return name in clause
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", clause.lower()) is not None


def _of_another(clause: str, name: str, own: Mapping[str, float], rows: Rows) -> str:
    if _COMPARED.search(clause):
        return ""
    bare = clause.lower().replace(name, " ")
    numbers = [*numbers_in(re.sub(r"\d+(?:\.\d+)?\s?[%％]", " ", bare))]
    if len(numbers) != 1 or numbers[0] in own.values():
        return ""
    number = numbers[0]
    if number == int(number) and abs(number) < NUMBER_MIN:
        return ""
    others = [each for each in rows if each != name and number in rows[each].values()]
    keys = {key for each in others for key, value in rows[each].items() if value == number}
    if len(others) != 1 or not keys <= {*own}:
        return ""
    return f"{number:g} is that of {others[0]}"


_HIGH = lazy_pattern(
    r"(?<!second )(?<!third )(?<!second-)\b(?:the )(?:most(?! recent| likely| of\b|ly)|highest|largest|biggest|longest|greatest|slowest)\b|"
    r"\b(?:is|was) (?:highest|largest|biggest|longest|slowest)\b|(?<!第二)最(?:多|高|大|长|慢|贵)",
    re.IGNORECASE,
)
_LOW = lazy_pattern(
    r"(?<!second )(?<!third )(?<!second-)\b(?:the )(?:least|fewest|lowest|smallest|shortest|cheapest|fastest)\b|"
    r"\b(?:is|was) (?:cheapest|lowest|smallest|shortest|fastest)\b|(?<!第二)最(?:少|低|小|短|快|便宜)",
    re.IGNORECASE,
)


def _no_extreme(clause: str, name: str, own: Mapping[str, float], rows: Rows) -> str:
    """Something is said to be the first of all by a measure, and by none of its numbers is it."""
    for pattern, best in ((_HIGH, max), (_LOW, min)):
        if not pattern.search(clause):
            continue
        keys = [key for key in own if all(key in each for each in rows.values())]
        if keys and all(own[key] != best(each[key] for each in rows.values()) for key in keys):
            return f"{name} has not the {'highest' if best is max else 'lowest'} number"
    return ""
