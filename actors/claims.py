# ruff: noqa: RUF001 - the punctuation of Chinese
"""What a statement claims was done: actions, files, test results, failures, the task itself. Pure.

Built to err on the side of no claim: negated, conditional, intended, advised, asked and quoted
words are none, nor is what others are said to have done. Whether a claim is true is for audit.py.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from msgspec import Struct

from .claims_text import HAN, Sentence, sentences, subordinate
from .claims_words import (
    ACTIONS,
    CHINESE,
    COMPLETION,
    COMPLETION_ZH,
    COMPLETION_ZH_WORD,
    NOUNS,
    OBJECT_NOUNS,
    PAST,
    TEXT_PRODUCTS,
)

Kind = Literal["action", "tests", "failure", "done", "given"]

CLAIMS_MAX = 60
"""Claims of one statement that are looked at."""


class Claim(Struct, frozen=True, kw_only=True):
    """One thing a statement says was done.

    Attributes:
        kind: a deed, that tests pass, that something was tried and failed, the whole task, or what
            was given in a structured form.
        actions: what the verb may stand for; see claims_words.
        verb: the word itself, in its base form where it is in no table.
        text: the words of the claim, up to the next one.
        reported: it may tell of what others did: a passive without a doer.
        standing: it may tell of what is so in general: "errors are logged".
        after: the words behind the verb, where its object usually is.
        value: a value the deed is said to have led to; of structured claims only.
        tool: the tool that is said to have done it; of structured claims only.
    """

    kind: Kind
    text: str
    actions: tuple[str, ...] = ()
    verb: str = ""
    reported: bool = False
    standing: bool = False
    after: str = ""
    value: str = ""
    tool: str = ""


_ONE_WORD = re.compile(r"\W*[A-Za-z]+\W*")


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
    found = _tests(sentence)
    heads = [*(_chinese(sentence) if sentence.chinese else _english(sentence))]
    found += _with_spans(sentence, heads)
    return found + list(_failures(sentence))


class _Head(NamedTuple):
    """Where a claim begins: its fragment, and its verb there."""

    fragment: int
    actions: tuple[str, ...]
    verb: str
    reported: bool
    after: str
    standing: bool = False


def _with_spans(sentence: Sentence, heads: list[_Head]) -> list[Claim]:
    """Give each claim its words: those up to the fragment of the next."""
    found: list[Claim] = []
    for at, head in enumerate(heads):
        later = [each.fragment for each in heads[at + 1 :] if each.fragment > head.fragment]
        end = later[0] if later else len(sentence.fragments)
        own = sentence.fragments[head.fragment : end]
        rest = _and_objects(own)
        text = ", ".join(rest)
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
                after=after,
            )
        )
    return found


_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|would|can|could|should|may|might|must|does|do|did|"
    r"isn't|wasn't|i|we|you|it|they|he|she|there|this|that)\b",
    re.IGNORECASE,
)


def _and_objects(fragments: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first fragment and those that only go on with its objects."""
    kept = [*fragments[:1]]
    for fragment in fragments[1:]:
        if _FINITE.search(fragment) or _NEGATED.search(fragment) or _NEGATED_ZH.search(fragment):
            break
        kept.append(fragment)
    return tuple(kept)


_ARTICLES = frozenset(
    [
        "a",
        "an",
        "the",
        "your",
        "this",
        "my",
        "our",
        "some",
        "short",
        "brief",
        "new",
        "quick",
        "full",
        "detailed",
    ]
)


def _is_text_product(head: _Head, after: str) -> bool:
    """Tell whether what was made may be the answer itself: a summary, a list; no file is named."""
    if not {"create", "update"} & set(head.actions) or PATH.search(after):
        return False
    words = [word for word in re.findall(r"[a-z]+", after.lower()) if word not in _ARTICLES][:2]
    if any(word in TEXT_PRODUCTS for word in words):
        return not re.search(r"\b(?:sent|saved|stored|ticket|record|database)\b", after)
    return any(word in after[:12] for word in TEXT_PRODUCTS if HAN.match(word))


PATH = re.compile(
    r"(?<![\w/@:.-])(?:~?/|\.{1,2}/)?(?:[\w@+-][\w@.+-]*/)*[\w@+.-]*[\w]\."
    r"(?:py|pyi|js|jsx|ts|tsx|mjs|java|kt|go|rs|rb|php|c|h|cc|cpp|hpp|cs|swift|scala|sh|bash|ps1|"
    r"bat|sql|md|rst|txt|log|csv|tsv|json|jsonl|ndjson|yaml|yml|toml|ini|cfg|conf|env|xml|html|"
    r"htm|css|scss|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|mp[34]|wav|zip|tar|gz|tgz|bz2|7z|"
    r"db|sqlite3?|parquet|ipynb|tex|lock|bak|tmp|out|dat|bin|proto|tf|vue|svelte|r|jl|lua|pl|patch|"
    r"diff|pem|key|crt|ics|eml|service|dockerfile|mk|gradle|properties|rtf|odt|ods)\b"
    r"|(?<![\w/@:.-])(?:~|\.{1,2})?/(?:[\w@.+-]+/)*[\w@+-][\w@.+-]*"
    r"|(?<![\w/@:.-])(?:Makefile|Dockerfile|LICENSE|Jenkinsfile)\b",
    re.IGNORECASE | re.ASCII,
)
"""A file as it is named in text."""

# ---------------------------------------------------------------- English

_TOKEN = re.compile(r"[A-Za-z][\w'’-]*|\S")
_NEGATED = re.compile(
    r"\b(?:not|never|no|nothing|none|nobody|without|cannot|neither|nor|failed|unable|refused|"
    r"denied|rejected|blocked|instead of|rather than|hardly|forgot)\b|n['’]t\b|\bby (?:hand|yourself)\b",
    re.IGNORECASE,
)
_MODALS = frozenset(
    [
        "will",
        "would",
        "can",
        "could",
        "should",
        "may",
        "might",
        "must",
        "shall",
        "cannot",
        "please",
        "let",
        "going",
        "want",
        "wants",
        "wanted",
        "need",
        "needs",
        "needed",
        "plan",
        "plans",
        "planned",
        "intend",
        "intended",
        "ready",
        "able",
        "about",
        "try",
        "tried",
        "trying",
        "attempt",
        "attempted",
        "attempting",
        "expected",
        "supposed",
        "asked",
        "ask",
        "waiting",
        "pending",
        "awaiting",
        "'ll",
        "i'll",
        "we'll",
        "you'll",
        "it'll",
        "they'll",
        "would've",
        "should've",
        "could've",
        "requested",
        "like",
        "before",
        "unless",
        "i'd",
        "you'd",
        "wish",
        "hope",
        "hopes",
        "request",
        "requests",
        "yet",
        "cannot",
    ]
)
_AUX_PASSIVE = frozenset(["was", "were", "is", "are", "been", "be", "being", "got", "gets", "'s"])
_AUX_PERFECT = frozenset(["has", "have", "had", "i've", "we've", "having", "'ve"])
_AGENT = frozenset(["i", "we", "i've", "we've", "i'd"])
_OTHERS = frozenset(
    [
        "you",
        "he",
        "she",
        "they",
        "who",
        "someone",
        "somebody",
        "anyone",
        "user",
        "users",
        "customer",
        "customers",
        "client",
        "team",
        "manager",
        "admin",
        "people",
        "colleague",
        "vendor",
        "supplier",
        "it",
        "that",
        "which",
        "your",
        "their",
        "his",
        "her",
        "u",
    ]
)
_DETERMINERS = frozenset(
    [
        "the",
        "a",
        "an",
        "this",
        "these",
        "those",
        "my",
        "our",
        "your",
        "its",
        "their",
        "his",
        "her",
        "any",
        "each",
        "every",
        "another",
        "such",
        "newly",
        "recently",
        "previously",
        "last",
        "first",
    ]
)
_ADVERBS = frozenset(
    [
        "successfully",
        "now",
        "just",
        "already",
        "also",
        "then",
        "finally",
        "correctly",
        "properly",
        "automatically",
        "both",
        "all",
        "recently",
        "since",
        "therefore",
        "indeed",
        "safely",
        "fully",
        "immediately",
        "directly",
        "subsequently",
        "too",
        "only",
        "manually",
        "quickly",
        "promptly",
        "then",
        "next",
        "first",
        "completely",
        "permanently",
    ]
)
_REPORTED = re.compile(
    r"\b(?:already|yesterday|last (?:week|month|year|night)|ago|earlier|previously|originally|"
    r"in (?:19|20)\d\d|on \w+ \d{1,2}|on \d{1,2} \w+|on (?:19|20)\d\d|back in|since \w+ \d)\b",
    re.IGNORECASE,
)
_BY_OTHERS = re.compile(
    r"\bby (?:hand\b|(?!me\b|us\b|the agent|myself)(?:the|a|an|his|her|their|its|you|[A-Z]|customer|user|someone))"
)
_TO_BE = re.compile(r"\bto (?:be|have|get|been|being)(?: \w+ly)?$", re.IGNORECASE)
_BASE_CLAIM = re.compile(
    r"\b(?:i|we) (?:was|were) able to (\w+)|\b(?:i|we) (?:have )?(?:successfully )?managed to (\w+)|"
    r"\b(?:i|we) did (\w+)\b",
    re.IGNORECASE,
)
_ABLE = re.compile(r"\b(?:was|were) able to\b")
_NOMINAL = re.compile(
    r"\b([a-z-]+) (?:to [\w ]{1,30} |of [\w ]{1,30} |for [\w ]{1,30} )?(?:(?:is|was|has been|are|were) (?:now |all )?)?"
    r"(?:successful|successfully|complete|completed|done|finished|went through|succeeded|confirmed|live)\b",
    re.IGNORECASE,
)
_LIVE = re.compile(r"\b(?:is|are) (?:now )?(?:live|up and running) (?:on|in)\b", re.IGNORECASE)
_IRREGULAR_OTHER = frozenset(
    ["based", "given", "used", "needed", "required", "expected", "called", "named"]
)


def _english(sentence: Sentence) -> Iterator[_Head]:
    status: bool | None = None  # of the verb before, whose auxiliary the next may share
    for at, fragment in enumerate(sentence.fragments[: sentence.asserted]):
        tokens = _TOKEN.findall(fragment)
        verbs = [i for i, each in enumerate(tokens) if _actions_of(each.lower())]
        if subordinate(fragment):
            status = False
            continue
        claimed = False
        for i in verbs:
            claimed = _claimed(tokens, i, fragment, at, status)
            if claimed or i == verbs[-1]:
                status = claimed
            if claimed:
                yield _head(at, tokens, i, fragment)
                break
        if not claimed:
            yield from _other_forms(at, fragment)


def _actions_of(word: str) -> tuple[str, ...]:
    """Return the actions of a past form; one that is in no table stands for its own stem."""
    word = word.replace("’", "'")
    known = PAST.get(word)
    if known is not None:
        return known
    if len(word) > 5 and word.endswith("ed") and word.isascii() and word not in _IRREGULAR_OTHER:
        return (f"={word[:-2]}",)
    return ()


def _claimed(tokens: list[str], i: int, fragment: str, at: int, before: bool | None) -> bool:
    """Tell whether the past form at this place says that the agent did it."""
    lower = [each.lower().replace("’", "'") for each in tokens]
    left = [each for each in lower[:i] if each not in _ADVERBS]
    if _denied(lower, i, fragment):
        return False
    if _BY_OTHERS.search(" ".join(tokens[i : i + 6])):
        return False
    if not left:
        return lower[i] not in _ALSO_BASE and (not at or before is not False)
    if left[-1] in _DETERMINERS and not _ends_headline(left, lower[i + 1 :]):
        return False
    if any(each in _AGENT for each in left):
        return True
    return _passive_or_headline(tokens, left, lower, i, fragment)


def _denied(lower: list[str], i: int, fragment: str) -> bool:
    """Whether the verb is negated, only wanted, or to come."""
    head, tail = lower[:i], lower[i + 1 : i + 3]
    if _NEGATED.search(" ".join(head[-10:])) or {"nothing", "none", "no", "neither"} & set(tail):
        return True
    return bool(_MODALS & set(head[-7:])) or _TO_BE.search(" ".join(head)) is not None


def _passive_or_headline(
    tokens: list[str], left: list[str], lower: list[str], i: int, fragment: str
) -> bool:
    aux = next((each for each in reversed(left[-3:]) if each in _AUX_PASSIVE | _AUX_PERFECT), None)
    if aux in _AUX_PASSIVE:
        return True
    if aux in _AUX_PERFECT or _OTHERS & set(left):
        return False
    return _ends_headline(left, lower[i + 1 :])


def _ends_headline(left: list[str], right: list[str]) -> bool:
    """Whether these are the words of a headline: "Order placed", "old.log deleted"."""
    if not left or len(left) > 9 or any(_FINITE.fullmatch(each) for each in (*left, *right)):
        return False
    return any(each.strip(":") in OBJECT_NOUNS for each in left[-4:]) or left[-1] in _EXTENSIONS


_EXTENSIONS = frozenset(
    [
        "py",
        "js",
        "ts",
        "md",
        "txt",
        "log",
        "csv",
        "json",
        "yaml",
        "yml",
        "toml",
        "html",
        "css",
        "sh",
        "sql",
        "pdf",
        "xlsx",
    ]
)


def _head(at: int, tokens: list[str], i: int, fragment: str) -> _Head:
    word = tokens[i].lower().replace("’", "'")
    left = [each.lower() for each in tokens[:i]]
    agent = bool(_AGENT & set(left)) or not left
    actions = _narrowed(_actions_of(word), word, tokens, i)
    passive = not agent and any(each in _AUX_PASSIVE for each in left)
    reported = passive or (not agent and _REPORTED.search(fragment) is not None)
    after = fragment[fragment.lower().find(word) + len(word) :]
    standing = passive and not {"was", "were", "been", "got", "now"} & set(left)
    return _Head(at, actions, word, reported, after, standing)


_ALSO_BASE = frozenset({"run", "set", "reset", "read", "put"})
"""Past forms that are the base form too: at the beginning they may be an order, or a plan."""

_FIRM_PAST = {
    ("set", "up"): ("create", "update", "install"),
    ("rolled", "back"): ("restore", "deploy"),
    ("rolled", "out"): ("deploy",),
    ("backed", "up"): ("backup",),
    ("looked", "up"): ("look",),
    ("cleaned", "up"): ("delete", "update", "run"),
    ("signed", "up"): ("create",),
    ("wrote", "to"): ("create", "send"),
    ("switched", "to"): ("=switch",),
}
_LOOSE = frozenset({"promoted", "backed", "placed", "credited", "raised", "rolled", "settled"})


def _narrowed(actions: tuple[str, ...], word: str, tokens: list[str], i: int) -> tuple[str, ...]:
    """Return what a verb stands for, with the word behind it."""
    following = tokens[i + 1].lower() if i + 1 < len(tokens) else ""
    return _FIRM_PAST.get((word, following), actions)


def _other_forms(at: int, fragment: str) -> Iterator[_Head]:
    """Claims without a past form of the verb: "I was able to send it", "the deployment is complete"."""
    open_ended = _NEGATED.search(fragment) or _MODALS & {*fragment.lower().split()}
    if open_ended and (not _ABLE.search(fragment) or "not able" in fragment):
        return
    base = _BASE_CLAIM.search(fragment)
    if base is not None:
        word = next(each for each in base.groups() if each).lower()
        actions = tuple(
            each.name
            for each in ACTIONS.values()
            if word == each.name or (word in each.tools and each.specific)
        )
        if actions:
            yield _Head(at, actions, word, False, fragment[base.end() :])
        return
    for nominal in _NOMINAL.finditer(fragment):
        action = NOUNS.get(nominal[1].lower()) or NOUNS.get(nominal[1].lower().rstrip("s"))
        if action is not None and not ACTIONS[action].looks:
            yield _Head(at, (action,), nominal[1].lower(), True, fragment[nominal.end() :])
            return
    if _LIVE.search(fragment):
        yield _Head(at, ("deploy", "post"), "live", True, fragment)


# ---------------------------------------------------------------- Chinese

_NEGATED_ZH = re.compile(
    r"未|没有|没能|没|无法|尚未|不能|不会|不可|不要|不|失败|拒绝|无需|别|难以|取消了?失败|出错|报错"
)
_FUTURE_ZH = re.compile(
    r"将会|将要|会|准备|打算|计划|需要|可以|可|应该|应|建议|想要|想|要求|要|即将|待|正在|尝试|试图|等待|能够|能|帮您|帮你|希望|为了|用于|以便|如何|怎么|后再|前请|时请"
)
_FUTURE_JIANG = re.compile(r"(?<!已)(?<!已经)将(?![^，。]*?(?:了|完成|成功))")
_DONE_ZH = re.compile(r"已经|已|成功|完成|完毕|好了|了|过|均|妥|到位|完$")
_OTHERS_ZH = re.compile(
    r"(?:客户|用户|对方|您|你|他|她|他们|管理员|同事|系统|被客户|被用户|由\S{1,8}|被\S{1,6})(?:已经|已|自行|主动)?$"
)
_BY_OTHERS_ZH = re.compile(r"被(?:客户|用户|对方|管理员|系统|他|她|买家|卖家|您|你)")
_FOR_YOU = re.compile(r"(?:为|给|帮|替|向)(?:您|你|大家|客户|用户)")


def _chinese(sentence: Sentence) -> Iterator[_Head]:
    for at, fragment in enumerate(sentence.fragments[: sentence.asserted]):
        taken: list[tuple[int, int]] = []
        for word, action in CHINESE:
            place = fragment.find(word)
            if place < 0 or any(start < place + len(word) and place < end for start, end in taken):
                continue
            taken.append((place, place + len(word)))
            if _claimed_zh(fragment, place, place + len(word)):
                same = tuple(each for each in (a for w, a in CHINESE if w == word) if each)
                yield _Head(at, same or (action,), word, _passive_zh(fragment, place), fragment)
        if not HAN.search(fragment):
            yield from _english(Sentence(fragment, (fragment,), 1, False))


def _passive_zh(fragment: str, place: int) -> bool:
    return (
        not re.search(r"我|为您|为你|帮您|帮你|本人", fragment[:place])
        and "将" not in fragment[:place]
    )


def _claimed_zh(fragment: str, start: int, end: int) -> bool:
    """Tell whether the word at this place says that it was done."""
    before, after = _FOR_YOU.sub("", fragment[:start]), fragment[end:]
    if _NEGATED_ZH.search(before[-8:]) or _NEGATED_ZH.search(after[:6]):
        return False
    if _BY_OTHERS_ZH.search(before) or _OTHERS_ZH.search(before):
        return False
    if re.match(r"(?:了|过|好)?的(?!是)", after) or after.startswith(
        ("时", "后", "前", "中", "结果", "期限", "方式")
    ):
        return False
    future = _FUTURE_ZH.search(before.replace("会议", "")[-6:])
    if future is not None and not re.search(r"已|成功|了$", before):
        return False
    word_done = fragment[start:end].endswith(("了", "好", "成")) or fragment[start:end].startswith(
        "已"
    )
    return bool(word_done or _DONE_ZH.search(before) or _DONE_ZH.search(after[:14]))


# ---------------------------------------------------------------- tests, failures

_TESTS = re.compile(
    r"\b(?:tests?|test suite|suite|checks|ci|pipeline|specs?)\b[\w\s]{0,30}?(?<!not )(?:\bpass(?:es|ed|ing)?\b|"
    r"\bgreen\b|\bsucceed(?:s|ed)?\b|\bsuccessful(?:ly)?\b)|\ball (?:of them )?green\b|\b\d+ passed\b|"
    r"\bpassing (?:all )?(?:the )?tests\b|\beverything (?:is )?(?:green|pass(?:es|ed))\b|\bpass(?:es|ed) all (?:the )?tests\b",
    re.IGNORECASE,
)
_TESTS_ZH = re.compile(
    r"测试\S{0,12}?(?<!未)(?<!没有)(?<!未能)(?<!不)通过|通过了?(?:所有|全部|单元|集成|回归)\S{0,6}测试|测试\S{0,4}全绿"
)
_TESTS_BAD = re.compile(
    r"\b[1-9]\d*\s+(?:\w+\s+)?fail|\bfail(?:s|ed|ing|ure|ures)?\b|\bexcept\b|未通过|失败|除了|部分",
    re.IGNORECASE,
)
_NO_FAILURES = re.compile(
    r"\b(?:0|no|zero|without)(?: \w+)? (?:fail|error)\w*|没有失败|无失败|0 ?个?失败", re.IGNORECASE
)


def _tests(sentence: Sentence) -> list[Claim]:
    """Return the claim that tests pass, where the sentence makes it."""
    said = ", ".join(sentence.fragments[: sentence.asserted])
    found = _TESTS_ZH.search(said) if sentence.chinese else None
    found = found or _TESTS.search(said)
    if found is None or _TESTS_BAD.search(_NO_FAILURES.sub("", sentence.text)):
        return []
    before = said[: found.end()]
    words = before.lower().split()
    if any(each in _MODALS for each in words[-8:]) or _NEGATED.search(
        _NO_FAILURES.sub("", " ".join(words[-8:]))
    ):
        return []
    if any(subordinate(each) and _TESTS.search(each) for each in sentence.fragments):
        return []
    return [Claim(kind="tests", text=said)]


_FAILURE = re.compile(
    r"\b(?:returned (?:an? )?(?:\w+ )?error|timed out|was (?:denied|rejected|refused)|were (?:denied|rejected)|"
    r"(?:is|was|were) (?:down|unavailable|unreachable|blocked)|failed|rejected|refused|denied|"
    r"error(?:ed)?|(?:tried|attempted) to|blocked)\b",
    re.IGNORECASE,
)
_COULD_NOT = re.compile(
    r"\b(?:i|we) (?:could not|couldn['’]t|was unable to|were unable to|failed to|tried to|was not able to|"
    r"wasn['’]t able to) (\w+)",
    re.IGNORECASE,
)


def _failures(sentence: Sentence) -> Iterator[Claim]:
    """A deed said to have been tried, and to have failed on the other side."""
    could_not = _COULD_NOT.search(sentence.text)
    if could_not is None or sentence.asserted < len(sentence.fragments):
        return
    if not _FAILURE.search(sentence.text.replace(could_not[0], "")):
        return
    word = could_not[1].lower()
    actions = tuple(each.name for each in ACTIONS.values() if word in each.tools and each.specific)
    yield Claim(kind="failure", text=sentence.text, actions=actions or (f"={word}",), verb=word)
