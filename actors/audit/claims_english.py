"""Deeds that an English sentence claims. Pure."""

import re
from collections.abc import Iterator

from ...supervisor.patterns import lazy_pattern
from .claims_made import MODALS, NEGATED, Head
from .claims_text import Sentence, subordinate_at
from .claims_words import ACTIONS, NOUNS, OBJECT_NOUNS, PAST, words

FINITE = lazy_pattern(
    r"\b(?:is|are|was|were|has|have|had|will|would|can|could|should|may|might|must|does|do|did|"
    r"isn't|wasn't|i|we|you|it|they|he|she|there|this|that)\b",
    re.IGNORECASE,
)

_TOKEN = lazy_pattern(r"[A-Za-z][\w'-]*|\S")
_AUX_PASSIVE = words("was were is are been be being got gets 's")
_AUX_PERFECT = words("has have had i've we've having 've")
_AGENT = words("i we i've we've i'd")
_OTHERS = words(
    """
    you he she they who someone somebody anyone user users customer customers client team
    manager admin people colleague vendor supplier it that which your their his her u
    """
)
_DETERMINERS = words(
    """
    the a an this these those my our your its their his her any each every another such newly
    recently previously last first
    """
)
_ADVERBS = words(
    """
    successfully now just already also then finally correctly properly automatically both all
    recently since therefore indeed safely fully immediately directly subsequently too only
    manually quickly promptly then next first completely permanently
    """
)
_REPORTED = lazy_pattern(
    r"\b(?:already|yesterday|last (?:week|month|year|night)|ago|earlier|previously|originally|"
    r"in (?:19|20)\d\d|on \w+ \d{1,2}|on \d{1,2} \w+|on (?:19|20)\d\d|back in|since \w+ \d)\b",
    re.IGNORECASE,
)
_BY_OTHERS = lazy_pattern(
    r"\bby (?!me\b|us\b|the agent|myself|email|e-mail|mail|phone|default|mistake|design|means|then|now|"
    r"today|tomorrow|tonight|noon|midnight|about|around|over|up|one|two|three|half|using|running|the end|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|next|\w+ing\b)[A-Za-z]",
    re.IGNORECASE,
)
_TO_BE = lazy_pattern(r"\bto (?:be|have|get|been|being)(?: \w+ly)?$", re.IGNORECASE)
_BASE_CLAIM = lazy_pattern(
    r"\b(?:i|we) (?:was|were) able to (\w+)|\b(?:i|we) (?:have )?(?:successfully )?managed to (\w+)|"
    r"\b(?:i|we) did (\w+)\b",
    re.IGNORECASE,
)
_ABLE = lazy_pattern(r"\b(?:was|were) able to\b")
_NOMINAL = lazy_pattern(
    r"\b([a-z-]{1,40}) (?:(?:to|of|for) [\w .#:/@'-]{1,40} )?(?:(?:is|was|has been|are|were) (?:now |all )?)?"
    r"(?:successful|successfully|complete|completed|done|finished|went (?:through|well|fine|smoothly)|succeeded|confirmed|live)\b",
    re.IGNORECASE,
)
_LET_KNOW = lazy_pattern(
    r"\b(?:i|we|i've|we've|have) (?:have |also |already )*let [\w' ]{1,30}? know\b|\breached out to\b",
    re.IGNORECASE,
)
_FORMAL = words(
    """
    confirmed completed processed made placed issued submitted finalised finalized executed done
    finished initiated handled accepted registered recorded performed carried
    """
)
"""Verbs that leave it to a noun what was done: "your reservation is confirmed"."""
_JOINED = lazy_pattern(
    r"\badded\b.*\bto (?:the |your |our )?[\w' -]{0,30}?\b(?:team|project|group|channel|workspace|"
    r"organi[sz]ation|role|list of members|repository|admins?)\b",
    re.IGNORECASE,
)
_STATES = (
    (
        lazy_pattern(
            r"^(?!.*\b(?:problems?|errors?|issues?|warnings?|failures?|bugs?)\b).*\b(?:is|are) (?:now )?gone\b",
            re.IGNORECASE,
        ),
        ("delete",),
    ),
    (
        lazy_pattern(
            r"\b(?:is|are) (?:now )?(?:available|accessible|ready|present|stored|found|in|up) (?:now )?(?:in|on|at|from|under|for download)?\b[^.;]*\b(?:bucket|s3|storage|drive|cdn|blob|container)\b|"
            r"\b(?:can|may) (?:now )?(?:fetch|download|find|get|access|open) [^.;]{1,60}\b(?:bucket|s3|storage|drive|cdn)\b",
            re.IGNORECASE,
        ),
        ("upload", "create"),
    ),
    (
        lazy_pattern(
            r"\b(?:is|are) (?:now )?(?:online|public|visible (?:on|to|for))\b", re.IGNORECASE
        ),
        ("post", "deploy"),
    ),
    (
        lazy_pattern(
            r"\b(?:e-?mails?|mails?|messages?|invit\w+|notifications?|reminders?|letters?) (?:all )?(?:have |has )?(?:went|gone) out\b|\bin (?:their|your|his|her) inbox",
            re.IGNORECASE,
        ),
        ("send", "schedule", "grant"),
    ),
    (
        lazy_pattern(
            r"\b(?:now )?belongs? to \w+|\bis (?:now )?(?:the owner|in charge)\b", re.IGNORECASE
        ),
        ("grant", "update"),
    ),
    (
        lazy_pattern(
            r"\b(?:is|are) (?:now )?(?:on|in) (?:the|your|our|her|his|their) calendar\b",
            re.IGNORECASE,
        ),
        ("schedule",),
    ),
    (
        lazy_pattern(
            r"\btasks?\b[^.;]{0,40}\b(?:is|are) (?:now |all )?(?:complete|done)\b", re.IGNORECASE
        ),
        ("close",),
    ),
    (
        lazy_pattern(r"\b(?:is|are) (?:now )?on (?:its|their) way\b", re.IGNORECASE),
        ("send", "order", "deploy"),
    ),
)
"""How things are once something was done."""
_NOW = lazy_pattern(
    r"\bnow (?:runs?|is (?:at|on)|are (?:at|on)|has|have|uses?|points?|listens?|shows?|contains?|returns?|works?|responds?)\b|\b(?:is|are) now\b",
    re.IGNORECASE,
)
"""How a thing is after a change: only a change that was tried in vain speaks against it."""
_LIVE = lazy_pattern(
    r"\b(?:is|are) (?:now )?(?:live|up and running)(?: (?:on|in)\b|\W*$)|\bnow runs? \S*\d",
    re.IGNORECASE,
)
_IRREGULAR_OTHER = words("failed based given used needed required expected called named")


def deeds_in_english(sentence: Sentence) -> Iterator[Head]:
    """Yield the deeds an English sentence says were done."""
    status: bool | None = None  # of the verb before, whose auxiliary the next may share
    for at, fragment in enumerate(sentence.fragments[: sentence.asserted]):
        when = subordinate_at(fragment)
        if when is not None and len(fragment[:when].split()) > 1:
            fragment = fragment[:when].rstrip()  # "I merged it after commenting"
            when = None
        tokens = _TOKEN.findall(fragment)
        verbs = [i for i, each in enumerate(tokens) if _actions_of(each.lower())]
        if when is not None:
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
    known = PAST.get(word)
    if known is not None:
        return known
    if len(word) > 4 and word.endswith("ed") and word.isascii() and word not in _IRREGULAR_OTHER:
        return (f"={word[:-2]}",)
    return ()


def _claimed(tokens: list[str], i: int, fragment: str, at: int, before: bool | None) -> bool:
    """Tell whether the past form at this place says that the agent did it."""
    lower = [each.lower() for each in tokens]
    left = [each for each in lower[:i] if each not in _ADVERBS]
    if lower[i] == "booked" and lower[i - 1 : i] == ["fully"]:
        return False  # how a place is, not what was done
    if _denied(lower, i, fragment) or _only_begun(lower, i):
        return False
    if _BY_OTHERS.search(" ".join(tokens[i : i + 6])):
        return False
    if not left:
        return lower[i] not in _ALSO_BASE and (not at or before is not False)
    if lower[i] == "run" and not (_AUX_PERFECT | _AUX_PASSIVE) & set(left[-2:]):
        return False  # "everything I run"
    if left[-1] in _DETERMINERS and not _ends_headline(left, lower[i + 1 :]):
        return False
    auxiliary = _auxiliary(left)
    if auxiliary in _AUX_PASSIVE:
        return lower[i] not in _REFUSALS
    if any(each in _AGENT for each in left):
        return True
    if auxiliary or _OTHERS & set(left):
        return False
    return _ends_headline(left, lower[i + 1 :])


def _only_begun(lower: list[str], i: int) -> bool:
    """Whether the verb says that something else was begun: "started sending"."""
    following = lower[i + 1] if i + 1 < len(lower) else ""
    return lower[i] in ("started", "stopped") and following.endswith("ing")


def _denied(lower: list[str], i: int, fragment: str) -> bool:
    """Whether the verb is negated, only wanted, or to come."""
    head, tail = lower[:i], lower[i + 1 : i + 3]
    if NEGATED.search(" ".join(head[-10:])) or {"nothing", "none", "no", "neither"} & set(tail):
        return True
    return bool(MODALS & set(head[-7:])) or _TO_BE.search(" ".join(head)) is not None


def _auxiliary(left: list[str]) -> str:
    """Return the auxiliary that governs a past form; empty where there is none."""
    return next((each for each in reversed(left[-3:]) if each in _AUX_PASSIVE | _AUX_PERFECT), "")


_REFUSALS = words("rejected declined")
"""What the other side did, where something was done so."""


def _ends_headline(left: list[str], right: list[str]) -> bool:
    """Whether these are the words of a headline: "Order placed", "old.log deleted"."""
    if right and right[0].isalpha() and right[0] not in _AFTER_HEADLINE:
        return False  # it has an object: "release 2.1 added dark mode"
    ends = not any(each[0].isalnum() for each in right)
    if ends and 1 <= len(left) <= 3 and not any(FINITE.fullmatch(each) for each in left):
        return True  # "Rent paid."
    if not left or len(left) > 9 or any(FINITE.fullmatch(each) for each in (*left, *right)):
        return False
    return any(each.strip(":") in OBJECT_NOUNS for each in left[-4:]) or left[-1] in _EXTENSIONS


_AFTER_HEADLINE = words(
    """
    to with at on in for from by as via and into onto under through successfully now today again
    after before without within correctly twice once only per too also accordingly
    """
)
_EXTENSIONS = words("py js ts md txt log csv json yaml yml toml html css sh sql pdf xlsx")


def _head(at: int, tokens: list[str], i: int, fragment: str) -> Head:
    word = tokens[i].lower()
    left = [each.lower() for each in tokens[:i]]
    passive = _auxiliary([each for each in left if each not in _ADVERBS]) in _AUX_PASSIVE
    agent = not passive and (bool(_AGENT & set(left)) or not left)
    actions = _narrowed(_actions_of(word), word, tokens, i)
    reported = passive or (not agent and _REPORTED.search(fragment) is not None)
    after = fragment[fragment.lower().find(word) + len(word) :]
    implicit = not left
    noun = _noun_of(word, tokens)
    if actions == ("send",) and any(each.startswith("invit") for each in (*left, after.lower())):
        actions = ("send", "schedule", "grant")
    if noun is not None:
        return Head(at, (noun,), word, reported, after, implicit=implicit)
    if _JOINED.search(fragment):
        actions = (*actions, "grant")
    standing = passive and not {"was", "were", "been", "got", "now"} & set(left)
    return Head(at, actions, word, reported, after, standing, implicit)


def _noun_of(word: str, tokens: list[str]) -> str | None:
    """Return the action of a noun whose verb says only that it was done."""
    if word not in _FORMAL:
        return None
    for token in tokens:
        noun = token.lower()
        action = NOUNS.get(noun) or NOUNS.get(noun.rstrip("s"))
        if action is not None and not ACTIONS[action].looks:
            return action
    return None


_ALSO_BASE = frozenset({"run", "set", "reset", "read", "put"})
"""Past forms that are the base form too: at the beginning they may be an order, or a plan."""

_FIRM_PAST = {
    ("set", "up"): ("create", "update", "install"),
    ("marked", "complete"): ("close", "update"),
    ("marked", "done"): ("close", "update"),
    ("ticked", "off"): ("close", "update"),
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


def _other_forms(at: int, fragment: str) -> Iterator[Head]:
    """Claims without a past form of the verb: "I was able to send it", "the deployment is complete"."""
    told = _LET_KNOW.search(fragment)
    if told is not None and not NEGATED.search(fragment):
        yield Head(at, ("send",), "let know", False, fragment)
        return
    open_ended = NEGATED.search(fragment) or MODALS & {*fragment.lower().split()}
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
            yield Head(at, actions, word, False, fragment[base.end() :])
        return
    for nominal in _NOMINAL.finditer(fragment):
        action = NOUNS.get(nominal[1].lower()) or NOUNS.get(nominal[1].lower().rstrip("s"))
        if action is not None and not ACTIONS[action].looks:
            yield Head(at, (action,), nominal[1].lower(), True, fragment[nominal.end() :])
            return
    for pattern, actions in _STATES:
        if pattern.search(fragment):
            yield Head(at, actions, "", True, fragment)
            return
    if _LIVE.search(fragment):
        yield Head(at, ("deploy", "post"), "live", True, fragment)
    elif _NOW.search(fragment):
        yield Head(at, ("update",), "now", True, fragment, standing=True)
