# ruff: noqa: RUF001 - the punctuation of Chinese
"""That tests pass, and that something was tried in vain: claims about what came back. Pure."""

import re
from collections.abc import Iterator

from ...supervisor.patterns import lazy_pattern
from .claims_made import MODALS, NEGATED, Claim
from .claims_text import Sentence, subordinate_at
from .claims_words import ACTIONS, CHINESE, NOUNS, PAST

_TESTS = lazy_pattern(
    r"\b(?:run|suite|tests?)\b[\w\s]{0,20}\bwithout (?:any )?(?:failures|errors|problems)\b|"
    r"\b(?:tests?|test suite|suite|checks|ci|pipeline|specs?)\b[\w\s]{0,30}?(?<!not )(?:\bpass(?:es|ed|ing)?\b|"
    r"\bgreen\b|\bsucceed(?:s|ed)?\b|\bsuccessful(?:ly)?\b)|\ball (?:of them )?green\b|\b\d+ passed\b|"
    r"\b(?:tests?|pytest|jest|vitest|suite)\b[\w\s,]{0,30}\b(?:came back|comes back|ran|runs|is|are|were|was) (?:all )?(?:clean|cleanly|green|fine)\b|"
    r"(?<!\d)(\d{1,6})/\1(?!\d) (?:tests? )?(?:are )?(?:green|pass(?:ed|es|ing)?|ok|successful)\b|\bno (?:tests? )?(?:fails?|failing)\b|"
    r"\b(?:test|tests|suite) (?:failures?|errors?) (?:is|are|was|were|has been|have been) (?:now )?(?:fixed|resolved|gone|solved)\b|"
    # Named before, and then by a pronoun or none: "I ran pytest, and they all passed".
    r"\b(?:tests?|suite|specs|pytest|jest|vitest|mocha|ctest|rspec|unittest)\b[\w\s]{0,30}[,:;] (?:and |which |that )?"
    r"(?:(?:all|each|both|everything|they|it|these|which)(?: of (?:them|these|those))? )?(?:now |still |all |have |has |are |were |is |was )*"
    r"(?:pass(?:es|ed|ing)?|green|succeeded|successful)\b(?! (?:the|an?|to|on|along|by|in|into|over|review|inspection|validation)\b)|"
    r"\bpassing (?:all )?(?:the )?tests\b|\beverything (?:is )?(?:green|pass(?:es|ed))\b|\bpass(?:es|ed) all (?:the )?tests\b",
    re.IGNORECASE,
)
_TESTS_ZH = lazy_pattern(
    r"测试\S{0,12}?(?<!未)(?<!没有)(?<!未能)(?<!不)通过|通过了?(?:所有|全部|单元|集成|回归)\S{0,6}测试|测试\S{0,4}全绿|"
    r"测试[，,]\s?(?:并且?|而且|结果)?(?:所有|全部|全都|都|均|已){0,2}通过"
)
_TESTS_BAD = lazy_pattern(
    r"\b[1-9]\d*\s+(?:\w+\s+)?(?:fail|(?:do|does|did)(?: not|n.t)\b)|\bfail(?:s|ed|ing|ure|ures)?\b|\bexcept\b|未通过|失败|除了|部分",
    re.IGNORECASE,
)
_NO_FAILURES = lazy_pattern(
    r"\b(?:0|no|zero|without)(?: \w+)? (?:fail|error)\w*|"
    r"\b(?:failures?|errors?) (?:is|are|was|were|has been|have been) (?:now )?(?:fixed|resolved|gone|solved)\b|没有失败|无失败|0 ?个?失败",
    re.IGNORECASE,
)

_SHARE = lazy_pattern(r"\b(\d+) (?:out )?of (?:the )?(\d+)\b")


def tests_claimed(sentence: Sentence) -> list[Claim]:
    """Return the claim that tests pass, where the sentence makes it."""
    said = ", ".join(sentence.fragments[: sentence.asserted])
    found = _TESTS_ZH.search(said) if sentence.chinese else None
    found = found or _TESTS.search(said)
    if any(some != whole for some, whole in _SHARE.findall(sentence.text)):
        return []
    if found is None or _TESTS_BAD.search(_NO_FAILURES.sub("", sentence.text)):
        return []
    before = said[: found.end()]
    words = before.lower().split()
    if any(each in MODALS for each in words[-8:]) or NEGATED.search(
        _NO_FAILURES.sub("", " ".join(words[-8:]))
    ):
        return []
    if any(_only_when(each) for each in sentence.fragments):
        return []
    return [Claim(kind="tests", text=said)]


def _only_when(fragment: str) -> bool:
    """Tell whether a fragment says when the tests pass, or what happens then: not that they do."""
    when, tests = subordinate_at(fragment), _TESTS.search(fragment)
    return when is not None and tests is not None and when < tests.end()


_FAILURE = lazy_pattern(
    r"\b(?:returned (?:an? )?(?:\w+ )?error|timed out|was (?:denied|rejected|refused)|were (?:denied|rejected)|"
    r"(?:is|was|were) (?:down|unavailable|unreachable|blocked)|failed|rejected|refused|denied|"
    r"error(?:ed)?|(?:tried|attempted) to|blocked)\b",
    re.IGNORECASE,
)
_COULD_NOT = lazy_pattern(
    r"\b(?:i|we) (?:could not|couldn['’]t|was unable to|were unable to|failed to|tried to|was not able to|"
    r"wasn['’]t able to) (\w+)",
    re.IGNORECASE,
)


def failures_claimed(sentence: Sentence) -> Iterator[Claim]:
    """A deed said to have been tried, and to have failed on the other side."""
    if sentence.chinese:
        yield from _failures_in_chinese(sentence)
        return
    yield from passive_failures(sentence)
    could_not = _COULD_NOT.search(sentence.text)
    if could_not is None or sentence.asserted < len(sentence.fragments):
        return
    if not _FAILURE.search(sentence.text.replace(could_not[0], "")):
        return
    word = could_not[1].lower()
    actions = tuple(each.name for each in ACTIONS.values() if word in each.tools and each.specific)
    yield Claim(kind="failure", text=sentence.text, actions=actions or (f"={word}",), verb=word)


_PASSIVE_COULD_NOT = lazy_pattern(
    r"\b([a-z]+) (?:could not|couldn['\u2019]t|was not|cannot) be (?:\w+ly )?(\w+)\b[^.;]*\b(?:because|since|as|due to)\b([^.;]*)",
    re.IGNORECASE,
)
_BY_THE_OTHER = lazy_pattern(
    r"\b(?:rejected|declined|refused|denied|returned an error|timed out)\b", re.IGNORECASE
)


def passive_failures(sentence: Sentence) -> Iterator[Claim]:
    """What is said to have been tried and turned down: "the payment could not be made because …"."""
    hit = _PASSIVE_COULD_NOT.search(sentence.text)
    if hit is None or not _BY_THE_OTHER.search(hit[3]):
        return
    action = NOUNS.get(hit[1].lower()) or next(iter(PAST.get(hit[2].lower(), ())), None)
    if action is not None and ACTIONS[action].specific:
        actions = ("pay", "transfer") if action in ("pay", "transfer") else (action,)
        yield Claim(kind="failure", text=sentence.text, actions=actions, verb=hit[2].lower())


_FAILED_ZH = lazy_pattern(r"^(?:了)?(?:失败|未成功|不成功|出错|被拒)")
_CAUSE_ZH = lazy_pattern("返回|错误|超时|拒绝|异常|因为|由于|不可用|无响应|报错|宕机")


def _failures_in_chinese(sentence: Sentence) -> Iterator[Claim]:
    """A deed said to have failed, with a cause on the other side: 发送失败, 服务器返回错误."""
    if sentence.asserted < len(sentence.fragments):
        return
    for word, action in CHINESE:
        place = sentence.text.find(word)
        if place < 0 or not ACTIONS[action].specific:
            continue
        rest = sentence.text[place + len(word) :]
        failed = _FAILED_ZH.match(rest)
        if failed is not None and _CAUSE_ZH.search(rest[failed.end() :]):
            yield Claim(kind="failure", text=sentence.text, actions=(action,), verb=word)
            return
