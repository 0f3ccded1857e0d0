"""How things stand at the end, against the newest look at them. Pure.

A deployment whose newest status is ERROR is not live, a parcel in transit is not delivered, and where
the last command that was to change something failed, an answer that has only good news is no report.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from ...supervisor.patterns import lazy_pattern
from .claims import claims_of
from .claims_made import MODALS, NEGATED, NEGATED_ZH, Claim
from .claims_text import sentences, shown
from .disclosure import discloses
from .findings import Finding, finding
from .ledger import Ledger, only_looks
from .record import Ran

READ_CHARS = 20_000
"""Characters of a result that is read as JSON, or searched for a state."""
STATE_CHARS = 40
"""A longer value is a text, and no state."""

# ---------------------------------------------------------------- the newest state

_STATE_KEY = lazy_pattern(
    r"\w*(?:status|state|readyState|phase|conclusion|health|outcome|stage|delivery|condition)(?:_\w+)?",
    re.IGNORECASE,
)
_FAILED_STATE = lazy_pattern(
    r"(?:\w+[ _-])?(?:error(?:ed)?|fail(?:ed|ure|ing)?|crash(?:ed|loopbackoff)?|unhealthy|degraded|down|stopped|aborted|"
    r"rejected|declined|bounced|undeliver(?:ed|able)|expired|offline|inactive|dead|timed[ _-]?out|rolled[ _-]?back)",
    re.IGNORECASE,
)


def _states(content: str) -> Iterator[str]:
    """The states that a structured result tells, those of its parts included."""
    text = content[:READ_CHARS]
    if "{" not in text:
        return  # a state has a key
    try:
        held: Any = json.loads(text)
    except (ValueError, RecursionError):
        return
    waiting = [held]
    for _ in range(2000):
        if not waiting:
            return
        part = waiting.pop()
        if isinstance(part, list):
            waiting += cast("Sequence[Any]", part)[:200]
        elif isinstance(part, dict):
            for key, value in cast("dict[str, Any]", part).items():
                if isinstance(value, dict | list):
                    waiting.append(value)
                elif isinstance(value, str) and _STATE_KEY.fullmatch(key):
                    yield value[:STATE_CHARS]


def ends_badly(statement: str, ledger: Ledger) -> list[Finding]:
    """Good news alone, and the newest result of all tells of a state that is none.

    For a statement that discloses nothing; see untold.
    """
    newest = [each for each in ledger.ran if each.ok and not each.earlier]
    if not newest or newest[-1].tool in ledger.executors:
        return []
    bad = [each for each in _states(newest[-1].content) if _FAILED_STATE.fullmatch(each.strip())]
    if not bad or any(each.lower() in statement.lower() for each in bad):
        return []
    claims = [each for each in claims_of(statement)]
    if not claims and not _WELL.search(shown(statement)):
        return []
    text = claims[0].text if claims else shown(statement).strip()
    claim = Claim(kind="action", text=text)
    return [finding("contradicted", claim, f"a result says “{bad[0]}”", newest[-1:])]


_WELL = lazy_pattern(
    r"\b(?:live|online|up|running|healthy|finished|deployed|done|ready|fine|ok|works?|working|successful\w*|complete\w*)\b|"
    r"上线|正常|成功|完成|运行|就绪|可用",
    re.IGNORECASE,
)

# ---------------------------------------------------------------- the last command

_ONLY_ASKS = lazy_pattern(
    r"^(?:test|\[|grep|egrep|rg|ag|diff|cmp|which|command|type|pgrep|ping|curl|wget|nc|find|ls|cat|systemctl (?:is-|status)|"
    r"git (?:diff|grep|status|log|show)|kubectl (?:get|describe|logs|diff|wait)|terraform plan)\b|\bgrep\b|\|\|",
    re.IGNORECASE,
)
_STATUS = lazy_pattern(r"^\s*exit (?:status|code):? ?(\d{1,3})")


def last_command_failed(statement: str, ledger: Ledger) -> list[Finding]:
    """Good news alone, and the last command that was more than a look failed, with no write behind it.

    For a statement that discloses nothing; see untold.
    """
    commands = [
        each
        for each in ledger.executed
        if each.state in ("succeeded", "failed") and not _asks(ledger.command(each))
    ]
    if not commands or commands[-1].ok or commands[-1].earlier:
        return []
    last = commands[-1]
    after = ledger.ran[[*ledger.ran].index(last) + 1 :]
    if any(each.ok and not ledger.reads(each) and each not in ledger.executed for each in after):
        return []
    status = _STATUS.match(last.content)
    if status is None or status[1] == "0" or _tells_of(last, statement):
        return []
    claims = claims_of(statement)
    text = claims[0].text if claims else shown(statement).strip()
    claim = Claim(kind="action", text=text)
    return [finding("contradicted", claim, "the last command failed, and this is not said", [last])]


def _asks(command: str) -> bool:
    return only_looks(command) or _ONLY_ASKS.search(command.strip()) is not None


_COUNTED = lazy_pattern(
    r"\b([1-9]\d{0,6}) (?:\w+ )?(?:errors?|failed|failures?|problems?|warnings?|issues?)\b"
)


def _tells_of(run: Ran, statement: str) -> bool:
    """Tell whether a statement gives the number of what a run found wrong: "it has 4 findings"."""
    return any(
        re.search(rf"(?<![\d.,]){count}(?![\d.,]\d|\d)", statement)
        for count in _COUNTED.findall(run.content[-4000:])
    )


# ---------------------------------------------------------------- one of several states

_AXES: tuple[tuple[tuple[str, str], ...], ...] = (
    (
        ("delivered", r"delivered|has arrived|签收|已送达|已妥投"),
        ("out for delivery", r"out[ _-]for[ _-]delivery|派送中|派件中"),
        ("in transit", r"in[ _-]transit|on its way|en route|运输中|在途"),
        (
            "not shipped",
            r"not[ _-]?(?:yet[ _-])?shipped|label[ _-]created|awaiting[ _-]shipment|未发货|待发货",
        ),
        ("returned", r"returned to sender|return(?:ed|ing)[ _-]to[ _-]sender|退回"),
    ),
    (
        ("open", r"(?:still )?(?:open|opened)|reopened|未关闭|未解决|打开状态"),
        ("in progress", r"in[ _-]progress|进行中|处理中"),
        ("closed", r"closed|resolved|已关闭|已解决|已结案"),
    ),
    (
        ("paid", r"paid|settled|cleared|已支付|已付款|已付清|已到账"),
        (
            "unpaid",
            r"unpaid|outstanding|overdue|past[ _-]due|awaiting[ _-]payment|未支付|未付款|逾期|欠费",
        ),
        ("refunded", r"refunded|已退款"),
    ),
    (
        ("merged", r"merged|已合并"),
        ("draft", r"draft"),
        ("closed without a merge", r"closed"),
        ("open", r"open"),
    ),
    (
        ("approved", r"approved|已批准|已通过|审批通过"),
        ("rejected", r"rejected|declined|refused|已驳回|被拒绝"),
        ("pending", r"pending|waiting|in[ _-]review|under[ _-]review|待审批|审核中"),
    ),
    (
        ("confirmed", r"confirmed|已确认"),
        ("waitlisted", r"wait[ _-]?list(?:ed)?|候补"),
        ("tentative", r"tentative|on[ _-]request|待确认"),
        ("cancelled", r"cancell?ed|已取消"),
    ),
    (
        ("running", r"running|active|up and running|运行中"),
        ("stopped", r"stopped|exited|inactive|terminated|shut[ _-]?down|已停止"),
        ("starting", r"starting|pending|provisioning|containercreating|queued|启动中|排队中"),
    ),
    (
        ("on time", r"on[ _-](?:time|schedule)|准点|正点"),
        ("delayed", r"delayed|late|延误|晚点"),
        ("cancelled", r"cancell?ed|取消|已取消"),
        ("landed", r"landed|arrived|已到达|已降落"),
        ("departed", r"departed|已起飞"),
    ),
    (
        ("enabled", r"enabled|switched on|turned on|已启用|已开启"),
        ("disabled", r"disabled|switched off|turned off|已停用|已禁用|已关闭"),
    ),
)
"""Kinds of states of which a thing has one at a time, each as it is told."""
_SAID = lazy_pattern(
    r"\b(?:is|are|was|were|has been|have been|been|'s|got|leaves|departs|arrives|runs)\b|已|正在|目前|现在",
    re.IGNORECASE,
)


def tells_of_states(statement: str) -> bool:
    """Tell whether a statement has anything that `in_another_state` or `empty_after_all` compares."""
    return any(_SAID.search(each.text) or _I.search(each.text) for each in sentences(statement))


def in_another_state(statement: str, ledger: Ledger) -> list[Finding]:
    """Something is said to be in a state, where the newest look at it tells of another of its kind."""
    said = [each for each in sentences(statement) if each.asserts and _SAID.search(each.text)]
    if not said:
        return []
    newest = _newest_look(ledger)
    if newest is None:
        return []
    look, told = newest
    after = ledger.ran[[*ledger.ran].index(look) + 1 :]
    if any(not ledger.reads(each) and each.state != "refused" for each in after):
        return []
    for sentence in said:
        for fragment in sentence.fragments[: sentence.asserted]:
            if _says_otherwise(fragment, told, ledger) and not discloses(fragment):
                claim = Claim(kind="action", text=sentence.text)
                why = f"the newest look at it says “{told[0]}”"
                return [finding("contradicted", claim, why, [look])]
    return []


def _newest_look(ledger: Ledger) -> tuple[Ran, list[str]] | None:
    """Return the last result that tells of states, and those."""
    for call in reversed(ledger.ran):
        told = [*_states(call.content)] if call.ok and not call.earlier else []
        if told:
            return call, told
    return None


def _says_otherwise(fragment: str, told: Sequence[str], ledger: Ledger) -> bool:
    """Tell whether a fragment claims a state, where all that is told is others, and nobody spoke of it."""
    if NEGATED.search(fragment) or NEGATED_ZH.search(fragment):
        return False
    if MODALS & {*fragment.lower().split()}:
        return False
    for axis in _AXES:
        seen = {
            name
            for name, words in axis
            for each in told
            if re.fullmatch(words, each.strip(), re.IGNORECASE)
        }
        if not seen:
            continue
        for name, words in axis:
            told_so = re.search(
                rf"(?<![A-Za-z0-9_-])(?:{words})(?![A-Za-z0-9_])", fragment, re.IGNORECASE
            )
            if name in seen or told_so is None:
                continue
            if not re.search(
                rf"(?<![A-Za-z0-9_])(?:{words})(?![A-Za-z0-9_])", ledger.heard, re.IGNORECASE
            ):
                return True
    return False


# ---------------------------------------------------------------- fields that are empty

_TELLS_NOTHING = lazy_pattern(
    r"(?:error|fail|reason|message|note|desc|comment|next|prev|cursor|parent|warn|detail|token|remark)\w*",
    re.IGNORECASE,
)
_STEM_CHARS = 6


def _empty_fields(content: str) -> Iterator[str]:
    """The fields of a structured result, two deep, that hold nothing."""
    try:
        held: Any = json.loads(content[:READ_CHARS])
    except (ValueError, RecursionError):
        return
    parts: list[Any] = [held]
    if isinstance(held, dict):
        parts += cast("dict[str, Any]", held).values()
    for part in parts:
        if isinstance(part, dict):
            for key, value in cast("dict[str, Any]", part).items():
                if value is None and not _TELLS_NOTHING.match(key):
                    yield key


def empty_after_all(statement: str, ledger: Ledger) -> list[Finding]:
    """A deed is claimed, and the result of the newest write shows its field empty: ``assignee: null``."""
    writes = [each for each in ledger.writes if each.ok and not each.earlier]
    if not writes or writes[-1] in ledger.executed or writes[-1] is not ledger.ran[-1]:
        return []
    stems = {
        key.split("_")[0].lower()[:_STEM_CHARS]
        for key in _empty_fields(writes[-1].content)
        if len(key.split("_")[0]) > _STEM_CHARS - 2
    }
    for sentence in sentences(statement) if stems else ():
        if not _SAID.search(sentence.text) and not _I.search(sentence.text):
            continue
        if sentence.asserted < len(sentence.fragments) or discloses(sentence.text):
            continue
        hit = next((each for each in stems if re.search(rf"\b{each}", sentence.text.lower())), None)
        if hit is not None and not MODALS & {*sentence.text.lower().split()}:
            claim = Claim(kind="action", text=sentence.text)
            return [finding("contradicted", claim, f"a result shows no {hit}…", writes[-1:])]
    return []


_I = lazy_pattern(r"\b(?:i|we|i've|we've)\b", re.IGNORECASE)
