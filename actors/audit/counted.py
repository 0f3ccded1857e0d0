# ruff: noqa: RUF001 - the punctuation of Chinese
"""How many a deed is said to have been done to, and where, against the calls that did it. Pure."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from ...supervisor.patterns import lazy_pattern
from .claims_made import Claim
from .claims_sums import records_of
from .claims_text import sentences
from .claims_words import ACTIONS, words
from .disclosure import discloses
from .findings import Finding, finding
from .ledger import Ledger, claim_words
from .record import Ran, object_words

NUMBER_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "both": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10,
}  # fmt: skip
_COUNT = lazy_pattern(
    r"(?<!\bof )(?<!\bof the )(?<!\bof your )(?<!\bof these )(?<!\bof our )"
    rf"\b(?:all |the |these |those ){{0,2}}({'|'.join(w for w in NUMBER_WORDS if w.isascii())}|[2-9]|[1-9]\d)\b"
    rf"(?! (?:of|out of)\b)(?:\s+(?:of (?:the|these|them)))? +(?:(?!and\b|for\b|in\b|to\b)[a-z-]+ )?([a-z]{{3,}}s|people)\b|(?<!\d)([两三四五六七八九十]|[2-9])\s*(?:个|条|张|封|位|台|份|名)",
    re.IGNORECASE,
)
_NO_THINGS = words(
    """
    times minutes hours days weeks months years seconds percent steps units items pieces seats nights
    lines rows characters bytes points degrees guests persons euros dollars pounds cents replicas pods
    copies words pages options places occurrences versions
    """
)


def too_few(claim: Claim, ledger: Ledger, done: Sequence[Ran]) -> str | None:
    """Return the count a claim says, where each call did one, and fewer of them succeeded."""
    if any(each.tool in ledger.executors or _of_many(each) for each in done):
        return None
    found = _COUNT.search(claim.text)
    if found is None:
        return None
    word = (found[1] or found[3]).lower()
    count = NUMBER_WORDS.get(word) or int(word)
    noun = (found[2] or "").lower()
    targets = {each.arguments for each in done}
    if noun in _NO_THINGS or count <= len(targets):
        return None
    reached = "\n".join(ledger.text(each) for each in done)
    if re.search(rf"(?<!\w){count}(?!\w)", reached):
        return None
    if noun and not _about(noun, done, ledger):
        return None
    return found[0].strip()


_ALL_OF = lazy_pattern(
    r"\b(all|both|every)(?: (?:of|the|these|those|your|my|open|unpaid|pending|remaining)){0,3} ([a-z]{3,})\b|(都|均|全部|所有)",
    re.IGNORECASE,
)
LISTED_MAX = 20


def left_of_a_list(claim: Claim, ledger: Ledger, done: Sequence[Ran]) -> str | None:
    """Return something a look-up has listed, where a deed is claimed for all and left it out."""
    found = _ALL_OF.search(claim.text)
    if found is None or any(each.tool in ledger.executors or _of_many(each) for each in done):
        return None
    noun = (found[2] or "").lower()
    if noun and not _about(noun, done, ledger):
        return None
    aims = {value for call in done for value in ledger.values(call)}
    for call in ledger.ran:
        if not call.ok or not ledger.reads(call):
            continue
        items = [each[0] for each in records_of(call.content) if each]
        listed = [each for each in items if re.search(r"\d", each)]
        left = [each for each in listed if each not in aims]
        if 1 < len(listed) <= LISTED_MAX and left and len(left) < len(listed):
            return f"all: {left[0]}"
    return None


def _about(noun: str, done: Sequence[Ran], ledger: Ledger) -> bool:
    """Tell whether a plural names what the tools of these calls are about."""
    same = claim_words(noun)
    tools = [ledger.tools[each.tool] for each in done]
    if any(same & object_words(each.name, each.description) for each in tools):
        return True
    if any(re.search(rf"\b{noun.rstrip('s')}", each.description.lower()) for each in tools):
        return True
    keys = {key.lower() for call in done for key, _ in ledger.named(call)}
    return bool(same & keys)


def _of_many(call: Ran) -> bool:
    """Tell whether a call was for several at once: an argument is a list, or has several lines."""
    try:
        arguments: Any = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return True
    if not isinstance(arguments, dict):
        return True
    held = cast("dict[str, Any]", arguments).values()
    return any(
        isinstance(each, list | dict) or (isinstance(each, str) and re.search(r"[,;\n]\s*\S", each))
        for each in held
    )


_RANGE = lazy_pattern(
    r"(?<![\w-])([A-Za-z]{1,8}-?|#?)(\d{1,6})\s*(?:to|through|thru|–|—|-|至|到|~)\s*(?:\1)(\d{1,6})(?![\w-]|\.\d)"
)
RANGE_MAX = 50


def ranges(text: str) -> Iterator[list[str]]:
    """Identifiers that a range stands for: "T-1 to T-4"; of bare numbers it may be anything else."""
    for hit in _RANGE.finditer(text):
        first, last = int(hit[2]), int(hit[3])
        if hit[1].strip("#") and 0 < last - first <= RANGE_MAX:
            yield [f"{hit[1]}{number}" for number in range(first, last + 1)]


def counted_otherwise(claim: Claim, ledger: Ledger, done: Sequence[Ran]) -> str | None:
    """Return the count of a claim, where the result says by the verb itself that it was another.

    ``{"migrated": 48190}`` is what "migrated 48,210 rows" is held against.
    """
    changed = _rows_changed(claim, ledger, done)
    if changed:
        return changed
    past = {
        claim.verb,
        *(word for each in claim.actions if each in ACTIONS for word in ACTIONS[each].past),
    }
    told: set[int] = set()
    for call in done:
        try:
            held: Any = json.loads(call.content)
        except (ValueError, RecursionError):
            continue
        if isinstance(held, dict):
            for key, value in cast("dict[str, Any]", held).items():
                whole = isinstance(value, int) and not isinstance(value, bool)
                if whole and past & {*re.split(r"[_\W]+", key.lower())}:
                    told.add(value)
    said = [
        int(hit.replace(",", ""))
        for hit in re.findall(r"(?<![\w.,-])\d[\d,]{0,15}(?![\d,]|[\w.-]{0,20}\d)", claim.text)
    ]
    if not told or not said or told & {*said} or sum(told) in said:
        return None
    return format(said[0], ",")


_ROWS = lazy_pattern(
    r"^\W{0,40}(?:DELETE|UPDATE|MERGE|COPY|INSERT 0) (\d{1,12})\W{0,40}$|\b(\d{1,12}) rows? (?:were )?(?:affected|deleted|updated|inserted|changed|copied)\b|"
    r'"(?:rows_?affected|affected_?rows|changes|row_?count|(?:deleted|modified|updated|inserted)_?count)": ?(\d{1,12})',
    re.IGNORECASE | re.MULTILINE,
)
_EVERY_ROW = lazy_pattern(r"\b(?:all|every|each|whole|entire)\b|所有|全部|均", re.IGNORECASE)
_OF_ROWS = frozenset({"delete", "update", "create", "move", "migrate"})
_SAID_NUMBER = lazy_pattern(r"(?<![\w.,#-])(\d{1,3}(?:,\d{3})+|\d{1,12})(?![\w%]|[.,]\d|[-/]\w)")
_TIME_BEHIND = lazy_pattern(
    r"\s?(?:s|ms|sec\w*|min\w*|hours?|days?|weeks?|months?|years?|月|日|天|年)\b"
)


def _rows_changed(claim: Claim, ledger: Ledger, done: Sequence[Ran]) -> str | None:
    """Return the count of a claim where the statement that changed rows tells of others; for "all of
    them" without a count, there must have been more of them."""
    if not _OF_ROWS & {*claim.actions}:
        return None
    changed = [
        int(next(each for each in hit.groups() if each))
        for call in done
        for hit in _ROWS.finditer(call.content[-4000:])
    ]
    if not changed:
        return None
    said = [
        int(hit[1].replace(",", ""))
        for hit in _SAID_NUMBER.finditer(claim.text)
        if not _TIME_BEHIND.match(claim.text[hit.end() :])
    ]
    possible = {*changed, sum(changed)}
    if len(said) == 1 and said[0] not in possible and said[0] > 1:
        return format(said[0], ",")
    if not said and _EVERY_ROW.search(claim.text):
        more = _rows_counted(ledger, done)
        if more is not None and more > sum(changed):
            return f"all {more:,}"
    return None


_TABLE = lazy_pattern(r"\b(?:from|into|update|table)\s+([\w.]+)", re.IGNORECASE)


def _rows_counted(ledger: Ledger, done: Sequence[Ran]) -> int | None:
    """Return how many rows a query counted, before any of them were changed, in the same table."""
    first = [*ledger.ran].index(done[0])
    tables = {each.lower() for call in done for each in _TABLE.findall(ledger.command(call))}
    for call in reversed(ledger.ran[:first]):
        command = ledger.command(call)
        numbers = re.findall(r"\d+", call.content[:200])
        same = tables & {each.lower() for each in _TABLE.findall(command)}
        one = len(numbers) == 1 and len(numbers[0]) < 12
        if call.ok and same and one and "count(" in command.lower():
            return int(numbers[0])
    return None


# ---------------------------------------------------------------- places

_PLACES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, lazy_pattern(pattern, re.IGNORECASE))
    for name, pattern in (
        ("production", r"\bprod(?:uction)?\b|生产(?:环境)?|正式环境|线上"),
        ("staging", r"\bstag(?:ing|e)\b|\bpre-?prod\w*\b|预发布?|预生产"),
        ("development", r"\bdev(?:elopment)?\b|开发环境"),
        ("test", r"\b(?:qa|uat)\b|\btest(?:ing)? (?:environment|cluster|server|system)\b|测试环境"),
        ("sandbox", r"\bsandbox\b|沙箱|沙盒"),
    )
)
_OPEN = lazy_pattern(
    r"\b(?:will|would|should|could|before|next|later|ready (?:for|to)|go on|shall|when|once|until|after|promote|towards?|like)\b|"
    r"之前|之后|将|再|准备",
    re.IGNORECASE,
)


def places_in(text: str) -> set[str]:
    """The environments that a text names."""
    return {name for name, pattern in _PLACES if pattern.search(text)}


def elsewhere(statement: str, ledger: Ledger) -> list[Finding]:
    """Return what is said of one environment, where every write was in another."""
    if not places_in(statement) or ledger.opaque:
        return []
    changed: list[tuple[Ran, set[str]]] = []
    heard: set[str] = set()
    for call in ledger.ran:
        places = places_in(ledger.command(call))
        if call.ok:
            heard |= places | places_in(call.content[:4000])
            if not ledger.reads(call) and places:
                changed.append((call, places))
    if not changed:
        return []
    did = {place for _, places in changed for place in places}
    for sentence in sentences(statement):
        if sentence.asserted < len(sentence.fragments) or _OPEN.search(sentence.text):
            continue
        if discloses(sentence.text):
            continue
        named = places_in(sentence.text)
        missed = named - did - heard
        if missed and not named & did:
            claim = Claim(kind="action", text=sentence.text)
            calls = [call for call, _ in changed]
            why = (
                f"done in {' and '.join(sorted(did))}, and nothing in {' or '.join(sorted(missed))}"
            )
            return [finding("contradicted", claim, why, calls)]
    return []
