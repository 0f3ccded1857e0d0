"""A small language for rules over words, and the verdict every rule gives.

One rule is one line: ``CLASS EXECUTED :: PHRASE``. A phrase is a conjunction of terms joined by
`` & ``; a term is a list of alternatives joined by ``|``, ``<`` and ``>`` tie an alternative to the
beginning or end of a word, ``!`` before a term forbids it, and ``/.../`` is a regular expression for what plain words cannot say. The text is in lower case.

    rate_limited no :: rate limit|throttl & !per order

Plain substring tests are linear in the text, so no input makes a rule run away; the few regular
expressions are written without nested repetition, and the text is bounded before it comes here.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import NamedTuple

from ..errors import ErrorClass, MayHaveExecuted
from ..patterns import lazy_pattern


class Verdict(NamedTuple):
    """What one rule says: the class, whether the call may have run, and by what it was concluded.

    ``why`` names the source, and for words the phrase that was met.
    """

    error_class: ErrorClass
    executed: MayHaveExecuted
    why: str


class Term(NamedTuple):
    """One condition of a phrase: any of the words, or the pattern, is in the text; or none is."""

    wanted: bool
    words: tuple[str, ...]
    pattern: re.Pattern[str] | None = None
    bounded: Mapping[str, re.Pattern[str]] = {}

    def holds(self, text: str) -> bool:
        """Whether the condition is met by a text in lower case."""
        if self.pattern is not None:
            return (self.pattern.search(text) is not None) is self.wanted
        for word in self.words:
            if word in text and (word not in self.bounded or self.bounded[word].search(text)):
                return self.wanted
        return not self.wanted

    def met_by(self, text: str) -> str:
        """What of a text met the condition, in the rule's own words: the text may hold a secret."""
        if self.pattern is not None:
            found, source = self.pattern.search(text), self.pattern.pattern
            return "" if found is None else _own_words(found[0], source)
        for word in self.words:
            if word in text and (word not in self.bounded or self.bounded[word].search(text)):
                return word.strip()
        return ""


_PARTS = lazy_pattern(r"[a-z']+|[^\sa-z']")
_LEFT_OUT = lazy_pattern(r"…(?: ?…)*")


def _own_words(matched: str, source: str) -> str:
    """A matched text, with all that the pattern does not say itself left out."""

    def own(part: re.Match[str]) -> str:
        return part[0] if part[0].isalpha() and part[0] in source else "…"

    return _LEFT_OUT.sub("…", _PARTS.sub(own, matched[:_MATCH_MAX]))


_MATCH_MAX = 200


class Rule(NamedTuple):
    """A phrase and what it stands for."""

    verdict: Verdict
    terms: tuple[Term, ...]

    def holds(self, text: str) -> bool:
        """Whether every term holds."""
        return all_hold(self.terms, text)

    def told(self, text: str) -> Verdict:
        """The verdict on a text for which the rule holds, with the words that met it."""
        found = dict.fromkeys(term.met_by(text) for term in self.terms if term.wanted)
        shown = [f'"{each}"' for each in found if sum(each in other for other in found) == 1]
        error_class, executed, family = self.verdict
        return Verdict(error_class, executed, f"{family} {' + '.join(shown)}" if shown else family)


class RuleBook:
    """Rules in order, indexed by a piece of each word of their first term.

    A text is cut into its pieces once. Only words whose piece it has are looked for, and only rules
    whose first term is met by one of them are tried further.
    """

    def __init__(self, rules: Iterable[Rule], piece: int) -> None:
        self.rules = tuple(rules)
        self._piece = piece
        self._index: dict[str, list[tuple[str, re.Pattern[str] | None, list[int]]]] = {}
        self._always: list[int] = []
        entries: dict[tuple[str, re.Pattern[str] | None], list[int]] = {}
        for number, rule in enumerate(self.rules):
            term = rule.terms[0]
            if not term.wanted or term.pattern or any(len(word) < piece for word in term.words):
                self._always.append(number)
                continue
            for word in term.words:
                entries.setdefault((word, term.bounded.get(word)), []).append(number)
        for (word, bound), numbers in entries.items():
            self._index.setdefault(word[:piece], []).append((word, bound, numbers))

    def first(self, text: str) -> Verdict | None:
        """The verdict of the first rule that holds for a text in lower case."""
        size, index = self._piece, self._index
        pieces = {text[at : at + size] for at in range(len(text) - size + 1)}
        met: set[int] = set()
        for piece in pieces & index.keys():
            for word, bound, numbers in index[piece]:
                if word in text and (bound is None or bound.search(text)):
                    met.update(numbers)
        for number in sorted(met.union(self._always)):
            rule = self.rules[number]
            terms = rule.terms[1:] if number in met else rule.terms
            if all_hold(terms, text):
                return rule.told(text)
        return None


def all_hold(terms: tuple[Term, ...], text: str) -> bool:
    """Whether every term holds; a loop, since this is the hot path."""
    for term in terms:
        if not term.holds(text):
            return False
    return True


def parse_phrase(
    phrase: str, pattern: Callable[[str], re.Pattern[str]] = lazy_pattern
) -> tuple[Term, ...]:
    """Read a phrase of the language above.

    Args:
        pattern: makes a pattern of a regular expression.

    Raises:
        ValueError: a term is empty, or ``pattern`` found that its regular expression is not one.
    """
    return tuple(_term(part.strip(" "), pattern) for part in re.split(r" & |^& ", phrase))


def _term(part: str, pattern: Callable[[str], re.Pattern[str]]) -> Term:
    wanted = not part.startswith("!")
    part = part.removeprefix("!")
    if len(part) > 2 and part[0] == part[-1] == "/":
        try:
            return Term(wanted, (), pattern(part[1:-1]))
        except re.error as error:
            raise ValueError(f"{part!r} is no regular expression: {error}") from None
    words = tuple(part.split("|"))
    if not all(words):
        raise ValueError(f"an empty word in {part!r}")
    if "<" not in part and ">" not in part:
        return Term(wanted, words)
    bounded = {_bare(word): _bounds(word) for word in words if word[0] == "<" or word[-1] == ">"}
    return Term(wanted, tuple(_bare(word) for word in words), None, bounded)


def _bare(word: str) -> str:
    return word.removeprefix("<").removesuffix(">")


def _bounds(word: str) -> re.Pattern[str]:
    """``<word>`` stands alone, ``<word`` begins a word; a plain word may be part of another."""
    left = r"(?<![a-z0-9])" if word[0] == "<" else ""
    right = r"(?![a-z0-9])" if word[-1] == ">" else ""
    return lazy_pattern(left + re.escape(_bare(word)) + right)


def parse_rules(table: str, family: str) -> tuple[Rule, ...]:
    """Read a table of rules, one a line; lines that start with ``#`` and empty ones are skipped,
    and an indented line goes on with the one before it.

    Raises:
        ValueError: a line is not a rule; the message gives the line.
    """
    return tuple(_rule(line, family) for line in _lines(table))


def _lines(table: str) -> Iterable[str]:
    """The lines of a table; an indented one goes on with the one before it."""
    whole: list[str] = []
    for raw in table.splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if whole and raw[0] == " ":
            whole[-1] += f" {line}" if line[0] == "&" else line
        else:
            whole.append(line)
    return whole


def _rule(line: str, family: str) -> Rule:
    head, separator, phrase = line.partition(" :: ")
    if not separator:
        raise ValueError(f"not a rule: {line!r}")
    return Rule(parse_verdict(head, family), parse_phrase(phrase))


def parse_verdict(head: str, why: str) -> Verdict:
    """Read ``CLASS EXECUTED``, the left side of a rule.

    Raises:
        ValueError: no such class, or the second word is not no, maybe or yes.
    """
    name, _, executed = head.strip().partition(" ")
    executed = executed.strip() or "no"
    if executed not in _EXECUTED:
        raise ValueError(f"{executed!r} is none of no, maybe, yes")
    return Verdict(ErrorClass(name), _EXECUTED[executed], why)


_EXECUTED: Mapping[str, MayHaveExecuted] = {"no": "no", "maybe": "maybe", "yes": "yes"}


def first(rules: Iterable[Rule], text: str) -> Verdict | None:
    """The verdict of the first rule that holds."""
    for rule in rules:
        if rule.holds(text):
            return rule.told(text)
    return None


def parse_codes(table: str, family: str) -> dict[str, Verdict]:
    """Read ``CLASS EXECUTED :: code code code``: exact codes, compared by `token`.

    Raises:
        ValueError: a line is not a rule, or a code stands in the table twice.
    """
    codes: dict[str, Verdict] = {}
    for line in _lines(table):
        head, separator, listed = line.partition(" :: ")
        if not separator:
            raise ValueError(f"not a list of codes: {line!r}")
        error_class, executed, _ = parse_verdict(head, family)
        for code in listed.split():
            key = token(code)
            if key in codes:
                raise ValueError(f"{code!r} stands in {family} twice")
            codes[key] = Verdict(error_class, executed, f"{family} {code}")
    return codes


@cache
def _squeeze() -> dict[int, None]:
    return dict.fromkeys(map(ord, " _-./:'\"()[]"))


def token(code: str) -> str:
    """A code without case and punctuation: RATE_LIMIT_EXCEEDED, RateLimitExceeded are one."""
    return code.lower().translate(_squeeze())


def has_chinese(text: str) -> bool:
    """Whether a text holds ideographs or kana."""
    return any("\u3040" <= each <= "\u9fff" for each in text)


_HUMP = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-./:]+")


def spaced(code: str) -> str:
    """A code as words: ``RateLimit.TooFast`` is ``rate limit too fast``."""
    return _HUMP.sub(" ", code).lower().strip()
