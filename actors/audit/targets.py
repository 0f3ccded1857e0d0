# ruff: noqa: RUF001 - the punctuation of Chinese
"""Whether a deed was done to all that a statement names, and as many times as it says. Pure."""

import re
from collections.abc import Sequence

from ...supervisor.patterns import lazy_pattern
from .claims_dates import CLOCK, OTHER_ZONE, clock_of, dates_in, day_of
from .claims_made import PATH, Claim
from .claims_sums import records_of
from .claims_values import Value, values_of
from .claims_words import words
from .counted import NUMBER_WORDS, counted_otherwise, left_of_a_list, ranges, too_few
from .disclosure import discloses
from .findings import Finding, finding
from .ledger import Ledger, claim_words
from .record import Ran, object_words

_ALL = lazy_pattern(
    r"\b(?:all|both|every|each|everyone|everything|entire)\b|所有|全部|均|都|两|三", re.IGNORECASE
)
_NAMES = lazy_pattern(r"\b([A-Z][a-z]+)((?:, [A-Z][a-z]+)*),? (?:and|&) ([A-Z][a-z]+)\b")
_NAMES_ZH = lazy_pattern(
    r"(?:给|向|通知|告知|邀请|提醒)了?([\u4e00-\u9fff]{2,3}?)(?:和|与|及|、)([\u4e00-\u9fff]{2,3})"
)
SHORT_CHARS = 40
"""Longer arguments are contents, not what a call is aimed at."""


def targets_missed(
    claim: Claim, ledger: Ledger, calls: Sequence[Ran], statement: str
) -> list[Finding]:
    """Return the finding that a deed was done, but not to everything the claim names."""
    done = [each for each in calls if each.ok]
    bad = [each for each in calls if not each.ok and each.state != "refused"]
    missed = (
        _failed_target(claim, ledger, done, bad)
        or _coordinated(claim, ledger, done)
        or _other_target(claim, ledger, done)
        or _other_word(claim, ledger, done)
        or _other_time(claim, ledger, done)
    )
    if missed:
        return [finding("contradicted", claim, f"not done for {missed}", bad or done)]
    wrong = _quantity(claim, ledger, done) or counted_otherwise(claim, ledger, done)
    if wrong:
        return [finding("contradicted", claim, f"{wrong} is in no call that does this", done)]
    few = None
    if not discloses(statement):
        few = too_few(claim, ledger, done) or left_of_a_list(claim, ledger, done)
    if few:
        return [finding("contradicted", claim, f"fewer calls than {few} succeeded", done)]
    if (
        bad
        and bad[-1] is ledger.ran[-1]
        and bad[-1] in ledger.executed
        and not discloses(statement)
    ):
        return [finding("contradicted", claim, "the last command failed", bad[-1:])]
    left = [each for each in bad if not _made_good(ledger, each, done)]
    if left and not discloses(statement) and _says_all(claim, ledger, done):
        return [finding("contradicted", claim, "some of the calls failed", left)]
    return []


def _says_all(claim: Claim, ledger: Ledger, done: Sequence[Ran]) -> bool:
    if _ALL.search(claim.text):
        return True
    tools = [ledger.tools[each.tool] for each in done]
    about = claim_words(claim.text)
    if not any(about & object_words(each.name, each.description) for each in tools):
        return False
    counts = [
        count for word, count in NUMBER_WORDS.items() if re.search(_bounded(word), claim.text)
    ]
    return any(count > len(done) for count in counts)


def _bounded(word: str) -> str:
    return rf"\b{word}\b" if word.isascii() else word


def _made_good(ledger: Ledger, failed: Ran, done: Sequence[Ran]) -> bool:
    """Tell whether a later call of the same tool, with much the same arguments, succeeded."""
    wanted = {*ledger.values(failed)}
    order = [*ledger.ran]
    for call in done:
        if call.tool == failed.tool and order.index(call) > order.index(failed):
            same = wanted & {*ledger.values(call)}
            if wanted and len(same) * 2 >= len(wanted):
                return True
    return False


def _failed_target(
    claim: Claim, ledger: Ledger, done: Sequence[Ran], bad: Sequence[Ran]
) -> str | None:
    """Return what the claim names that only a call that failed was aimed at."""
    reached = "\n".join(ledger.text(each) for each in done)
    text = claim.text.lower()
    for call in bad:
        made_good = _made_good(ledger, call, done)
        for value in (*ledger.values(call), *_aliases(call, ledger, reached)):
            lower = value.lower()
            if len(value) > SHORT_CHARS or len(value) < 2 or _within(lower, reached):
                continue
            if (
                made_good
                and "error (invalid_argument)" in call.content
                and _spelled(lower, reached)
            ):
                continue
            if _within(lower, text):
                return value
            local = lower.partition("@")[0]
            if (
                local != lower
                and len(local) > 2
                and _within(local, text)
                and not _within(local, reached)
            ):
                return value
    return None


_ALIAS_CHARS_MIN = 4


def _aliases(failed: Ran, ledger: Ledger, reached: str) -> list[str]:
    """What a result calls the thing that a failed call was aimed at: the name beside its id."""
    aims = {each for each in ledger.values(failed) if re.search(r"\d", each)}
    found: list[str] = []
    for call in ledger.ran:
        if not call.ok or not aims or not any(each in call.content for each in aims):
            continue
        for values in records_of(call.content):
            if aims & {*values}:
                found += [
                    each
                    for each in values
                    if len(each) >= _ALIAS_CHARS_MIN
                    and not each[0].isdigit()
                    and each.lower() not in reached
                ]
    return found


def _spelled(word: str, reached: str) -> bool:
    """Tell whether a value that was amended may be the same in other words: no number of its own."""
    return word in reached or not re.search(r"\d", word)


def _within(word: str, text: str) -> bool:
    if not word.isascii():
        return word in text
    return re.search(rf"(?<![\w@-]){re.escape(word)}(?![\w@]|-\w)", text) is not None


def _coordinated(claim: Claim, ledger: Ledger, done: Sequence[Ran]) -> str | None:
    """Return one of several names side by side that no call was aimed at, where another was."""
    reached = "\n".join(ledger.text(each) for each in done)
    together = (
        *_named_together(claim.text),
        *_values_together(claim.text),
        *ranges(claim.text),
    )
    for names in together:
        hit = [each for each in names if each.lower() in reached]
        missed = [each for each in names if each.lower() not in reached]
        if hit and missed:
            return missed[0]
    return (
        _other_field(claim, ledger, done)
        or _other_file(claim, ledger, done)
        or _other_kind(claim, ledger, done)
    )


_FIELDS = lazy_pattern(
    r"\b([a-z]{3,})(?:, (?:the |his |her |their )?([a-z]{3,}))? and (?:the |his |her |their |its )?([a-z]{3,})\b"
)


def _other_field(claim: Claim, ledger: Ledger, done: Sequence[Ran]) -> str | None:
    """Return a field said to be changed beside another, where calls have only the other: "phone and
    email"."""
    if "update" not in claim.actions or any(each.tool in ledger.executors for each in done):
        return None
    keys = {key.lower() for call in done for key, _ in ledger.named(call)}
    reached = "\n".join(ledger.text(each) for each in done)
    for hit in _FIELDS.finditer(claim.text.lower()):
        nouns = [each for each in hit.groups() if each]
        held = [each for each in nouns if each in keys]
        missed = [each for each in nouns if each not in reached and each not in _NO_VALUES]
        if held and missed and all(_is_field(each, ledger) for each in missed):
            return missed[0]
    return None


_CAPS = lazy_pattern(r"\b([A-Z]{1,6}) (?:and|or|&) ([A-Z]{1,6})\b")


def _other_kind(claim: Claim, ledger: Ledger, done: Sequence[Ran]) -> str | None:
    """Return a kind in capitals beside another, where calls name only the other: "A and AAAA"."""
    values = {value for call in done for value in ledger.values(call)}
    heard = "\n".join(each.content for each in ledger.ran)
    for hit in _CAPS.finditer(claim.text):
        missed = [each for each in hit.groups() if each not in values]
        if len(missed) == 1 and missed[0] not in heard:
            return missed[0]
    return None


def _is_field(word: str, ledger: Ledger) -> bool:
    """Tell whether a word is the name of a field: some record that was read, or a tool, has it."""
    if word in _FIELD_NAMES:
        return True
    return any(f'"{word}"' in ledger.text(each) for each in ledger.ran)


_FIELD_NAMES = words(
    """
    email mail phone address name title status priority owner assignee role price quantity description
    birthday city country zip street company department salary date time location language plan
    """
)


def _other_file(claim: Claim, ledger: Ledger, done: Sequence[Ran]) -> str | None:
    """Return a file named beside another, where calls were aimed only at the other."""
    if any(each.tool in ledger.executors for each in done):
        return None
    reached = "\n".join(ledger.text(each) for each in done)
    for hit in re.finditer(
        rf"(?:{PATH.pattern})(?:(?:{_TOGETHER.pattern})(?:{PATH.pattern}))+", claim.text, PATH.flags
    ):
        files = [each[0] for each in PATH.finditer(hit[0])]
        there = [each for each in files if each.lower() in reached]
        missed = [each for each in files if each.lower() not in reached]
        if there and missed:
            return missed[0]
    return None


_ID = lazy_pattern(
    r"(?<![\w.+-])[\w.+-]+@[\w.-]*\w|(?<![\w@.-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*(?![\w@])"
)


def _other_target(claim: Claim, ledger: Ledger, done: Sequence[Ran]) -> str | None:
    """Return an identifier of the claim where every call was aimed at another of the same form."""
    reached = "\n".join(ledger.text(each) for each in done)
    text = claim.text.lower()
    aimed = [value for call in done for value in ledger.values(call) if _ID.fullmatch(value)]
    others = {_form(value) for value in aimed if value.lower() not in text}
    for hit in _ID.finditer(claim.text):
        if hit[0].lower() not in reached and _form(hit[0]) in others:
            return hit[0]
    return None


def _other_time(claim: Claim, ledger: Ledger, done: Sequence[Ran]) -> str | None:
    """Return a date or time of the claim, where the calls that did it name only others."""
    reached = "\n".join(ledger.text(each) for each in done)
    days = {each[1:] for each in dates_in(reached)}
    for each in dates_in(claim.text):
        if days and each[1:] not in days:
            return day_of(*each)
    clocks = {clock_of(hit) for hit in CLOCK.finditer(reached)}
    if OTHER_ZONE.search(claim.text):
        return None
    told = [clock_of(hit) for hit in CLOCK.finditer(claim.text)]
    return next((each for each in told if clocks and each not in clocks), None)


_NO_VALUES = words(
    """
    the a an this that its his her their your my our new old same requested correct right given
    chosen existing current other second first all both every each no to from in on of for with and
    is was were are has been now as at by same user wrong required desired proper appropriate
    """
)


def _other_word(claim: Claim, ledger: Ledger, done: Sequence[Ran]) -> str | None:
    """Return what a claim says beside a parameter's name, where no call had that: "reader role"."""
    text = claim.text.lower()
    reached = "\n".join(ledger.text(each) for each in done)
    for key, value in (pair for call in done for pair in ledger.named(call)):
        if not re.fullmatch(r"[a-z]{3,20}", value.lower()) or value.lower() in text:
            continue
        found = re.search(rf"\b([a-z]{{3,20}}) {re.escape(key.lower())}\b", text)
        if found is None or found[1] in _NO_VALUES or found[1].endswith(("ed", "ing", "ly")):
            continue
        if found[1] not in reached and found[1] not in claim.verb:
            return f"{found[1]} {key}"
    return None


def _form(value: str) -> str:
    return "@" if "@" in value else re.sub(r"\d+", "9", re.sub(r"[A-Za-z]+", "a", value))


def _named_together(text: str) -> list[list[str]]:
    groups = [
        [hit[1], *re.findall(r"[A-Z][a-z]+", hit[2]), hit[3]] for hit in _NAMES.finditer(text)
    ]
    return groups + [[hit[1], hit[2]] for hit in _NAMES_ZH.finditer(text)]


_TOGETHER = lazy_pattern(r"\s*(?:,(?!\d{3}(?!\d))|，|、|and|&|和|与|及|, and)\s*")


def _values_together(text: str) -> list[list[str]]:
    """Numbers and identifiers side by side: "12 and 13", "a@x, b@x and c@x"."""
    groups: list[list[str]] = []
    for start, item in (
        # Looked for where a word begins: from each place in a very long one, it would take its square.
        (r"(?<![\w.+-])", r"[\w.+-]+@[\w.-]*\w"),
        ("", r"(?<![\w.@])#?(?:[A-Za-z]+-|[A-Z]{1,4})?\d[\w-]*"),
        ("", r"(?<![\w.@/])[A-Za-z]+(?:_[A-Za-z0-9]+)+"),
    ):
        for hit in re.finditer(rf"{start}(?:{item})(?:{_TOGETHER.pattern}(?:{item}))+", text):
            groups.append([each.lstrip("#") for each in re.findall(item, hit[0])])
    return groups


def _quantity(claim: Claim, ledger: Ledger, done: Sequence[Ran]) -> str | None:
    """Return a number of the claim that is in no call that did it, where those take numbers."""
    numbers = [float(each) for call in done for each in ledger.values(call) if _is_number(each)]
    if not numbers or any(each.tool in ledger.executors for each in done):
        return None
    reached = "\n".join(ledger.text(each) for each in done)
    asked = "\n".join(ledger.record.said)
    known = [ledger.text(each) for each in ledger.ran if each.ok]
    possible = {*numbers, sum(numbers), float(len(done))}
    for value in values_of(claim.text):
        if not _is_quantity(value) or value.number in possible:
            continue
        plain = format(value.number or 0, f".{value.decimals}f")
        spelled = lazy_pattern(rf"(?<![\w.]){re.escape(plain)}(?![\w]|\.\d)")
        if spelled.search(reached):
            continue
        if spelled.search(asked) or (
            _bare(value) and not any(spelled.search(each) for each in known)
        ):
            return value.text
    return None


def _bare(value: Value) -> bool:
    """Tell whether a number counts things: "2 seats"."""
    return not value.unit and not value.decimals


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(?:\.\d+)?", text) is not None


def _is_quantity(value: Value) -> bool:
    return value.number is not None and not value.approximate and value.unit not in ("id", "%")
