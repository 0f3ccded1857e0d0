"""What a statement claims was done: actions, files, test results, failures, the task itself. Pure.

Built to err on the side of no claim: negated, conditional, intended, advised, asked and quoted
words are none, nor is what others are said to have done. Whether a claim is true is for audit.py.
"""

import re
from itertools import islice

from ...supervisor.patterns import lazy_pattern
from .claims_chinese import deeds_in_chinese
from .claims_english import FINITE, deeds_in_english
from .claims_made import NEGATED, NEGATED_ZH, PATH, Claim, Head
from .claims_results import failures_claimed, tests_claimed
from .claims_text import HAN, Sentence, sentences
from .claims_words import COMPLETION, COMPLETION_ZH, COMPLETION_ZH_WORD, PAST, TEXT_PRODUCTS, words

SUBJECT_WORDS_MAX = 4
SUBJECT_CHARS_MAX = 10
_DONE_BEFORE = lazy_pattern("已|了|为|在|是|将")
CLAIMS_MAX = 60
"""Claims of one statement that are looked at."""

_ONE_WORD = lazy_pattern(r"\W*[A-Za-z]+\W*")


def claims_of(statement: str) -> list[Claim]:
    """Return what a statement claims, in its order; at most `CLAIMS_MAX`.

    A single word claims nothing: many programs end a conversation with one.
    """
    found: list[Claim] = []
    if _ONE_WORD.fullmatch(statement):
        return found
    for sentence in sentences(statement):
        if not sentence.asserts:
            continue
        found += _of_sentence(sentence)
        if len(found) >= CLAIMS_MAX:
            break
    return found[:CLAIMS_MAX]


def _of_sentence(sentence: Sentence) -> list[Claim]:
    text = sentence.text
    if COMPLETION.match(text) or (COMPLETION_ZH.match(text) and COMPLETION_ZH_WORD.search(text)):
        return [Claim(kind="done", text=text)]
    found = tests_claimed(sentence)
    deeds = deeds_in_chinese(sentence) if sentence.chinese else deeds_in_english(sentence)
    heads = [*islice(deeds, CLAIMS_MAX)]
    found += _with_spans(sentence, heads)
    return found + list(failures_claimed(sentence))


def _with_spans(sentence: Sentence, heads: list[Head]) -> list[Claim]:
    """Give each claim its words: those up to the fragment of the next."""
    found: list[Claim] = []
    taken = 0
    for at, head in enumerate(heads):
        later = [each.fragment for each in heads[at + 1 :] if each.fragment > head.fragment]
        end = later[0] if later else len(sentence.fragments)
        rest = _and_objects(sentence.fragments[head.fragment : end])
        start = _and_subjects(sentence.fragments, head.fragment, taken)
        taken = head.fragment + len(rest)
        text = sentence.part(start, taken)
        after = ", ".join((head.after, *rest[1:]))
        if _is_text_product(head, after):
            continue
        found.append(
            Claim(
                kind="action",
                text=text,
                actions=head.actions,
                verb=head.verb,
                reported=head.reported,
                standing=head.standing,
                implicit=head.implicit,
                after=after,
            )
        )
    return found


def _and_subjects(fragments: tuple[str, ...], at: int, taken: int) -> int:
    """Return from where on the fragments before a verb are its subjects: "A, B and C were paid"."""
    while at > taken and len(fragments[at - 1].split()) <= SUBJECT_WORDS_MAX:
        before = fragments[at - 1]
        if HAN.search(before) and (len(before) > SUBJECT_CHARS_MAX or _DONE_BEFORE.search(before)):
            break
        if FINITE.search(before) or NEGATED.search(before) or NEGATED_ZH.search(before):
            break
        if any(word.lower() in PAST for word in before.split()):
            break
        at -= 1
    return at


def _and_objects(fragments: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first fragment and those that only go on with its objects."""
    kept = [*fragments[:1]]
    for fragment in fragments[1:]:
        if FINITE.search(fragment) or NEGATED.search(fragment) or NEGATED_ZH.search(fragment):
            break
        kept.append(fragment)
    return tuple(kept)


_ARTICLES = words("a an the your this my our some short brief new quick full detailed")


def _is_text_product(head: Head, after: str) -> bool:
    """Tell whether what was made may be the answer itself: a summary, a list; no file is named."""
    if not {"create", "update"} & set(head.actions) or PATH.search(after):
        return False
    words = [word for word in re.findall(r"[a-z]+", after.lower()) if word not in _ARTICLES][:2]
    if any(word in TEXT_PRODUCTS for word in words):
        return not re.search(r"\b(?:sent|saved|stored|ticket|record|database)\b", after)
    return any(word in after[:12] for word in TEXT_PRODUCTS if HAN.match(word))
