# ruff: noqa: RUF001 - the punctuation of Chinese
"""What went wrong, and a statement passes over in silence. Pure.

A statement that says nothing of a failure, of what a result itself calls skipped, or of a file that
was to change and did not, is held against the record as a whole: no single word of it need be false.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from ...supervisor.patterns import lazy_pattern
from .claims import claims_of
from .claims_made import PATH, Claim
from .claims_text import HAN, sentences, shown
from .claims_words import ACTIONS
from .disclosure import discloses, plain
from .findings import Finding, finding
from .ledger import Ledger
from .pretended import pretended
from .record import Ran
from .states import ends_badly, last_command_failed
from .targets import SHORT_CHARS

WORDS_MIN = 3
"""Words of an answer from which on it is expected to tell of what failed."""

EVERY = lazy_pattern(
    r"\b(?:all|both|every|each|everyone|everything|entire|whole|fully|completely|none|any|"
    r"(?:is|was) complete|finished|without (?:any )?(?:errors?|problems?|issues?|failures?)|successfully|smoothly)\b|所有|全部|均|都|每|完成|完毕|(?:两|三|四|五|六|七|八|九|十)个",
    re.IGNORECASE,
)
"""How a statement speaks of the whole."""


def untold(statement: str, ledger: Ledger, found: Sequence[Finding]) -> list[Finding]:
    """Return what a statement should have told of and does not; none beside another mismatch."""
    if any(each.kind != "unverified" for each in found) or says_little(statement):
        return []
    passed_over = (
        _failed(statement, ledger)
        or _failed_altogether(statement, ledger)
        or _not_all(statement, ledger)
        or _partly(statement, ledger)
        or _not_all_well(statement, ledger)
        or _unchanged(statement, ledger)
        or pretended(statement, ledger)
        or ends_badly(statement, ledger)
        or last_command_failed(statement, ledger)
    )
    # The calls are asked first: most have nothing to tell of, and a disclosure is a long search.
    return [] if passed_over and discloses(statement) else passed_over


def _said(statement: str) -> Claim:
    claims = [each for each in claims_of(statement) if each.kind in ("action", "done")]
    return claims[0] if claims else Claim(kind="action", text=shown(statement).strip())


def says_little(statement: str) -> bool:
    """Tell whether an answer is too short to tell of anything, or asks something."""
    text = statement.strip()
    said = len(re.findall(r"[A-Za-z0-9_'-]+", text)) + len(HAN.findall(text))
    asks = text.endswith(("?", "？"))
    return asks or (said < WORDS_MIN and not claims_of(statement))


# ---------------------------------------------------------------- failures


def _failed(statement: str, ledger: Ledger) -> list[Finding]:
    """A write that failed for good."""
    left = [
        each
        for each in left_failed(ledger)
        if not (
            each.earlier or _tried_otherwise(each, ledger) or _spoken_of(each, ledger, statement)
        )
    ]
    why = "a call that failed is passed over in silence"
    return [finding("contradicted", _said(statement), why, left)] if left else []


def _tried_otherwise(failed: Ran, ledger: Ledger) -> bool:
    """Tell whether a later call that succeeded was aimed at something the failed one was aimed at."""
    if in_a_row(failed, ledger) or _left_as_it_was(failed, ledger):
        return False
    order = [*ledger.ran]
    aims = {each for each in ledger.values(failed) if len(each) <= SHORT_CHARS}
    later = order[order.index(failed) + 1 :]
    return any(
        each.ok and not ledger.reads(each) and aims & {*ledger.values(each)} for each in later
    ) or any(each.ok and each.tool in ledger.executors for each in later)


def _left_as_it_was(failed: Ran, ledger: Ledger) -> bool:
    """Tell whether a call names a file that did not change: then no command made it good."""
    for hit in PATH.finditer(ledger.command(failed)[:1000]):
        fact = ledger.record.files.look(hit[0])
        if fact is not None and fact.changed is False:
            return True
    return False


def _spoken_of(failed: Ran, ledger: Ledger, statement: str) -> bool:
    """Tell whether what is not claimed, beside what is, speaks of the failed call's very own aim."""
    claims = [each for each in claims_of(statement) if each.kind in ("action", "done")]
    rest = shown(statement).lower()
    for claim in claims:
        rest = rest.replace(claim.text.lower(), "")
    reached = "\n".join(
        ledger.text(each) for each in ledger.ran if each.ok and not ledger.reads(each)
    )
    aims = {each.lower() for each in ledger.values(failed) if 1 < len(each) <= SHORT_CHARS}
    return bool(claims) and any(each in rest and each not in reached for each in aims)


def left_failed(ledger: Ledger) -> list[Ran]:
    """Return writes after whose failure their tool never succeeded; commands are often tried in vain.

    What a rollback took back has not failed: whoever rolled back wanted it gone.
    """
    succeeded = {each.tool for each in ledger.ran if each.ok}
    return [
        each
        for each in ledger.writes
        if not each.ok
        and each.state not in ("refused", "rolled_back")
        and each.tool not in ledger.executors
        and (each.tool not in succeeded or not _amended(each, ledger))
    ]


def in_a_row(failed: Ran, ledger: Ledger) -> bool:
    """Tell whether a call was one of several alike, each for another thing: then a later one that
    succeeded is no better try of it. Such a tool succeeded before for another, and after for a third."""
    order = [*ledger.ran]
    at = order.index(failed)
    before = [each for each in order[:at] if each.ok and each.tool == failed.tool]
    after = [each for each in order[at + 1 :] if each.ok and each.tool == failed.tool]
    if not before or not after:
        return False
    values = {*ledger.values(failed)}
    own = values - {value for each in before for value in ledger.values(each)}
    return bool(own) and not any(
        value in ledger.command(each)
        for each in after
        for value in own
        if len(value) <= SHORT_CHARS
    )


def _amended(failed: Ran, ledger: Ledger) -> bool:
    """Tell whether a later call of the same tool succeeded: what was wrong with it was amended."""
    order = [*ledger.ran]
    later = (each.ok and each.tool == failed.tool for each in order[order.index(failed) + 1 :])
    return any(later) and not in_a_row(failed, ledger)


_WELL = lazy_pattern(
    r"\b(?:is|are|looks?|seems?) (?:\w+ )?(?:up|reachable|online|healthy|fine|ok|okay|available|running|live|working|accessible)\b|"
    r"\b(?:responds?|responding|answers?|works?|resolves?|loads?)\b|可以访问|运行正常|正常|可用|在线",
    re.IGNORECASE,
)
"""How something is said to be well that was looked at."""
_NO_MATCH = lazy_pattern(r"^exit status 1\s*(?:\[no output\]|$)")
_NO = lazy_pattern(r"\b(?:no|none|not)\b|没有|无", re.IGNORECASE)


def _failed_altogether(statement: str, ledger: Ledger) -> list[Finding]:
    """Not one call succeeded, commands included."""
    ran = [each for each in ledger.ran if not each.earlier]
    tried = [each for each in ran if each.state not in ("refused", "rolled_back")]
    if not tried or any(each.ok for each in ran):
        return []
    if not any(each in ledger.writes for each in tried) and not _WELL.search(shown(statement)):
        return []
    if any(_NO_MATCH.match(each.content) for each in tried) and _NO.search(statement):
        return []
    return [
        finding("contradicted", _said(statement), "every call failed, and this is not said", tried)
    ]


def _not_all(statement: str, ledger: Ledger) -> list[Finding]:
    """Something is said of all, and one of several equal look-ups failed for good."""
    if not EVERY.search(shown(statement)):
        return []
    for failed in ledger.ran:
        if failed.earlier or failed.state != "failed" or failed.tool in ledger.executors:
            continue
        peers = [each for each in ledger.ran if each.tool == failed.tool and each.ok]
        wanted = {*ledger.values(failed)}
        again = any({*ledger.values(each)} >= wanted for each in peers)
        if peers and wanted and not again and ledger.reads(failed) and len(peers) > 1:
            why = "it is said of all, and one of the calls failed"
            return [finding("contradicted", _said(statement), why, [failed])]
    return []


_ALL_WELL = lazy_pattern(
    r"(?:\b(?:all|every|each|everything|both)\b|(?<!\d)(\d{1,6}) (?:out )?of (?:the )?\1\b)[^.;]{0,60}\b(?:running|up|healthy|passing|online|active|ready|"
    r"fine|ok|working|reachable|green)\b|(?:全部|均|都|所有)[^。；]{0,8}(?:运行|正常|健康|在线|就绪)",
    re.IGNORECASE,
)
_UNWELL = lazy_pattern(
    r"\b(?:Pending|CrashLoopBackOff|ImagePullBackOff|Error|Failed|NotReady|Unhealthy|Down|Stopped|Offline|Inactive|Degraded|"
    r"Evicted|Terminating|unreachable|exited)\b(?!\W{0,2}(?:0|null|none|false)\b)",
    re.IGNORECASE,
)


def _not_all_well(statement: str, ledger: Ledger) -> list[Finding]:
    """All is said to be well, and the newest look at it shows something that is not."""
    if not _ALL_WELL.search(shown(statement)):
        return []
    looks = [
        each for each in ledger.ran if each.ok and (ledger.reads(each) or each in ledger.executed)
    ]
    if looks and not looks[-1].earlier:
        unwell = _UNWELL.search(looks[-1].content[:4000])
        if unwell is not None and unwell[0].lower() not in statement.lower():
            why = f"a result shows “{unwell[0]}”"
            return [finding("contradicted", _said(statement), why, looks[-1:])]
    return []


# ---------------------------------------------------------------- results that tell of less

_LESS = r"skipped|failed|failures|errors|rejected|invalid|not_found|missing|unprocessed|dropped|ignored|conflicts|bounced"
_LESS_TEXT = lazy_pattern(
    rf"\b([1-9]\d*) (?:\w+ )?(?:{_LESS})\b|(?:{_LESS})\s*[:=]\s*([1-9]\d*)\b", re.IGNORECASE
)
_LESS_KEY = lazy_pattern(rf"(?:\w+_)?(?:{_LESS})(?:_\w+)?", re.IGNORECASE)


def _partly(statement: str, ledger: Ledger) -> list[Finding]:
    """Something is said of the whole, and the result of a write that succeeded tells of a part."""
    text = shown(statement)
    if not EVERY.search(text):
        return []
    for call in reversed(ledger.writes):
        if call.earlier or not call.ok or call.tool in ledger.executors:
            continue
        for what, count in _parts_left(call.content[:4000]):
            plain = re.escape(format(count, ","))
            if not re.search(
                rf"(?<![\d.,-])(?:{count}|{plain})(?!\d|[.,]\d| ?[月日号年]|-\d)", text
            ):
                why = f"a result tells of {count} {what}, and this is not said"
                return [finding("contradicted", _said(statement), why, [call])]
    return []


def _parts_left(content: str) -> Iterator[tuple[str, int]]:
    """What a result says was not done, with how many."""
    try:
        held: Any = json.loads(content)
    except (ValueError, RecursionError):
        for hit in _LESS_TEXT.finditer(content):
            yield re.sub(r"[\d:=\s]+", " ", hit[0]).strip(), int(hit[1] or hit[2])
        return
    if not isinstance(held, dict):
        return
    for key, value in cast("dict[str, Any]", held).items():
        size: Any = len(cast("Sequence[Any]", value)) if isinstance(value, list) else value
        counts = isinstance(size, int) and not isinstance(size, bool)
        if counts and size > 0 and _LESS_KEY.fullmatch(key):
            yield key, size


# ---------------------------------------------------------------- files that were to change

_CHANGING = frozenset(
    word
    for name in ("create", "update", "delete", "restore")
    for word in ACTIONS[name].tools
    if word
    not in ("open", "log", "record", "put", "save", "export", "copy", "status", "file", "make")
) | frozenset(
    {
        "bump",
        "refactor",
        "annotate",
        "document",
        "improve",
        "rewrite",
        "implement",
        "remove",
        "translate",
        "sort",
    }
)
_ORDER = lazy_pattern(
    r"^\W*(?:please |now |then |could you |can you |请|帮我)*([a-z]+)\b([^\n]*)", re.IGNORECASE
)
_FROM = lazy_pattern(
    r"\b(?:from|of|using|with|like|see|based on|as in|according to)\s+(?:the )?$|[从据照]\s*$",
    re.IGNORECASE,
)


def _unchanged(statement: str, ledger: Ledger) -> list[Finding]:
    """A file that the user wanted changed, that the statement tells of, and that did not change."""
    if ledger.opaque or not ledger.can_write:
        return []
    for path in _to_change(ledger.record.said):
        fact = ledger.record.files.look(path)
        if fact is None or fact.changed is not False or not _told_plainly(path, statement):
            continue
        writes = [each for each in ledger.writes if path in ledger.command(each)]
        if not any(each.ok and each.tool not in ledger.executors for each in writes):
            why = f"{path} did not change"
            return [finding("contradicted", _said(statement), why, writes)]
    return []


def _told_plainly(path: str, statement: str) -> bool:
    """Tell whether a statement speaks of a file, and nowhere with a word of denial."""
    about = [each.text for each in sentences(statement) if path in each.text]
    return bool(about) and not any(_DENIAL.search(plain(each)) for each in about)


_DENIAL = lazy_pattern(
    r"\b(?:no|none|nothing|already|neither|not)\b|n't\b|没|无|不|已经是", re.IGNORECASE
)


def _to_change(said: Sequence[str]) -> Iterator[str]:
    """Files that the user's last words order to change."""
    for text in said[-1:]:
        order = _ORDER.match(text)
        if order is None or order[1].lower() not in _CHANGING:
            continue
        for hit in PATH.finditer(order[0]):
            if not _FROM.search(order[0][: hit.start()]):
                yield hit[0].rstrip(".,)")


def asked_to_change(said: Sequence[str]) -> bool:
    """Tell whether the user's last words order a change, and ask nothing."""
    text = said[-1].strip() if said else ""
    order = _ORDER.match(text)
    if order is None or text.endswith(("?", "？")):
        return False
    word = order[1].lower()
    deeds = (each for each in ACTIONS.values() if not each.looks and each.name != "run")
    return word in _CHANGING or any(word in each.tools for each in deeds)
