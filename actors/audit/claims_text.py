# ruff: noqa: RUF001 - the punctuation of Chinese
"""A statement cut into sentences and fragments, and which of them assert anything. Pure.

Code blocks and quoted text are somebody else's words; questions, plans, conditions and advice
claim nothing. What is left is looked at word by word in claims.py.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from ...supervisor.patterns import lazy_pattern

STATEMENT_MAX = 20_000
"""Characters of a statement that are read; its beginning and its end where it is longer."""

_FENCED = lazy_pattern(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_QUOTED = lazy_pattern(r"“[^”\n]{0,400}”|「[^」\n]{0,400}」|(?<![\w=])\"[^\"\n]{0,400}\"")
_LINE_MARK = lazy_pattern(
    r"^\s*(?:(?:[-*•+>]|\d{1,3}[.)、]|#{1,6})\s+)?(?:\[[ xX]\]\s+)?(?:[^\w\s\"'(“「$€£¥~.\\/`*_+-]+\s*)?"
)
_OPEN_BOX = lazy_pattern(r"^\s*(?:[-*•+]\s+)?\[ \]")
_SENTENCE_END = lazy_pattern(
    r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<![,;:] \d\.)[\"')\]]*\s+|(?<=[。！？；;])"
)
_PLAN_HEADING = lazy_pattern(
    r"^\W*(?:next steps?|plan|to[- ]?do|remaining|not (?:yet )?done|open (?:points|items|questions)|"
    r"suggest\w*|recommend\w*|proposed?\b.*|options?|what (?:you|to)\b.*|how to\b.*|steps? to\b.*|"
    r"still (?:open|missing|to do)|待办|下一步\w*|后续\w*|计划|建议|未完成\w*|剩余\w*|步骤)[^.。]{0,40}[:：]?\W*$",
    re.IGNORECASE,
)
_DRAFT = lazy_pattern(
    r"(?:\bdraft\b|\b(?:rewritten|revised|polished|shortened|translated|reworded|proposed|suggested|"
    r"edited|corrected|improved) (?:\w+ )?(?:version|intro\w*|text|paragraph|e-?mail|message|letter|wording|"
    r"article|abstract|post|summary)\b|\btemplate\b|\bhere(?: is|'s) (?:the|a|your|my) (?:e-?mail|message|letter|text|reply|post|"
    r"announcement|note|wording)|草稿|文案|模板|示例)[^.。\n]{0,60}[:：]\s*$",
    re.IGNORECASE,
)
_BLOCKER = lazy_pattern(
    r"\b(?:if|unless|whether|please|suppose|assuming|provided that|make sure|should you|let me know|"
    r"would you|do you|did you|shall i|want me|for example|e\.g\.|imagine|in case|either|presumably|probably|perhaps|maybe|likely)\b",
    re.IGNORECASE,
)
_SUBORDINATE = lazy_pattern(
    r"\b(?:when|once|after|until|before|as soon as|by the time|till|whenever)\b(?!\s+(?:i|we|i've|we've)\b)",
    re.IGNORECASE,
)
_FRAGMENT_EN = lazy_pattern(
    r"\s*(?:[,;]|\s[-–—]\s|—)\s+(?:(?:and|but|then|so|also)\s+)*|\s+(?:and|but|then|so|while|although|though|however|"
    r"yet|whereas|because|since|as)\s+(?:also\s+|then\s+)*|:\s+|\s*[()]\s*"
)
# Many blanks are one: patterns that begin with blanks try each of them, and look on to the last.
_BLANKS = lazy_pattern(r"[^\S\n]{2,}")
_CONJUNCTION = lazy_pattern(r"^(?:(?:and|but|then|so|also|or)\s+)+")
_FRAGMENT_ZH = lazy_pattern(
    r"[，：；]|:(?!\d)|、|但是|但|不过|然而|而且|并且|并|而|然后|随后|接着|（|）|因为|由于|因此|所以"
)
HAN = lazy_pattern(r"[\u4e00-\u9fff]")


class Sentence(NamedTuple):
    """One sentence: its text, its fragments, and from which fragment on nothing is asserted."""

    text: str
    fragments: tuple[str, ...]
    asserted: int
    chinese: bool
    heading: bool = False

    def part(self, start: int, end: int) -> str:
        """Return the words from one fragment to another, with what stands between them."""
        places: list[tuple[int, int]] = []
        at = 0
        for fragment in self.fragments[:end]:
            at = max(self.text.find(fragment, at), at)
            places.append((at, at + len(fragment)))
            at += len(fragment)
        return self.text[places[start][0] : places[-1][1]]

    @property
    def asserts(self) -> bool:
        """Whether anything in it is asserted."""
        return self.asserted > 0


def shown(statement: str) -> str:
    """Return the part of a statement that is read, without code blocks."""
    statement = statement.replace("\u2019", "'")
    if len(statement) > STATEMENT_MAX:
        half = STATEMENT_MAX // 2
        statement = f"{statement[:half]}\n{statement[-half:]}"
    return _FENCED.sub("\n", _BLANKS.sub(" ", statement))


def sentences(statement: str, *, quotes: bool = False) -> tuple[Sentence, ...]:
    """Cut a statement into sentences; quoted words are left out unless asked for."""
    return _cut(statement, quotes)


@lru_cache(maxsize=4)
def _cut(statement: str, quotes: bool) -> tuple[Sentence, ...]:
    """Cut it once for all the rules that read it, which do so one after the other."""
    found: list[Sentence] = []
    text = shown(statement)
    if not quotes:
        text = _QUOTED.sub(" … ", text)
    planned = drafted = False
    for line in text.splitlines():
        if not line.strip():
            planned = False
            continue
        if drafted or line.lstrip().startswith(">"):
            continue  # words that others are to say
        drafted = line.rstrip().endswith((":", "：")) and _DRAFT.search(line) is not None
        if _PLAN_HEADING.match(line.strip()):
            planned = True
            continue
        skipped = planned or _OPEN_BOX.match(line) is not None
        body = _LINE_MARK.sub("", line).replace("`", "").replace("**", "").replace("__", "")
        for piece in _SENTENCE_END.split(body):
            if piece.strip():
                found.append(_sentence(piece.strip(), skipped))
    return tuple(found)


def _sentence(text: str, planned: bool) -> Sentence:
    chinese = HAN.search(text) is not None
    fragments = _fragments(text, chinese)
    question = text.rstrip("\"')】」”").endswith(("?", "？"))
    asserted = 0 if planned or question else _asserted(fragments, chinese)
    return Sentence(text, fragments, asserted, chinese)


def _fragments(text: str, chinese: bool) -> tuple[str, ...]:
    cut = _FRAGMENT_ZH if chinese else _FRAGMENT_EN
    parts = (_CONJUNCTION.sub("", part.strip()) for part in cut.split(text) if part)
    return tuple(part for part in parts if part) or (text,)


_BLOCKER_ZH = lazy_pattern(
    r"如果|若|假如|是否|要是|一旦|请|吗|建议|可以|只要|除非|例如|比如|完成后|之后再|等待|待"
)


def _asserted(fragments: tuple[str, ...], chinese: bool) -> int:
    """Return how many fragments, from the first on, assert anything: up to a condition or request."""
    for at, fragment in enumerate(fragments):
        if _BLOCKER.search(fragment) or (chinese and _BLOCKER_ZH.search(fragment)):
            return at
    return len(fragments)


def subordinate_at(fragment: str) -> int | None:
    """Return from where on a fragment says when something is the case, not that it is."""
    found = _SUBORDINATE.search(fragment)
    return None if found is None else found.start()
