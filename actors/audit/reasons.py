# ruff: noqa: RUF001 - the punctuation of Chinese
"""Why something is said to be blocked, against what the calls that failed said. Pure.

"Blocked, because the budget was exceeded" is a claim like any other: some call has to have said so.
Only causes of a few plain kinds are compared; of any other reason nothing can be told.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ...supervisor.patterns import lazy_pattern
from .claims_made import Claim
from .claims_text import sentences
from .findings import Finding, finding
from .ledger import Ledger

_FAILED = lazy_pattern(
    r"\b(?:could(?: not|n['’]t)|cannot|can['’]t|was(?: not|n['’]t)|were(?: not|n['’]t)|unable|failed|blocked|rejected|refused|denied)\b|"
    r"无法|未能|失败|不能|被拒|受阻|没有|没能|未",
    re.IGNORECASE,
)
_BECAUSE = lazy_pattern(
    r"\b(?:because(?: of)?|since|due to|as|owing to|the reason(?: is| was)?(?: that)?|:)\s+|因为|由于|原因[是为：]|：",
    re.IGNORECASE,
)


class Cause(NamedTuple):
    """A kind of cause: how it is told, and what a result that bears it out says."""

    name: str
    told: re.Pattern[str]
    shown: re.Pattern[str]


def _cause(name: str, told: str, shown: str) -> Cause:
    return Cause(
        name, lazy_pattern(told, re.IGNORECASE), lazy_pattern(f"{told}|{shown}", re.IGNORECASE)
    )


CAUSES = (
    _cause(
        "permission",
        r"\bpermissions?\b|\baccess (?:was |is |has been )?(?:denied|refused)|\b(?:not|n['’]t) (?:authori[sz]ed|allowed|permitted)|"
        r"\bunauthori[sz]ed|\bforbidden\b|\black\w* (?:the )?(?:access|rights)|没有权限|权限不足|无权",
        r"denied|\b40[13]\b|access|\bauth|credential|scope|role|allowed|权限|拒绝|policy|read-only|token|expired|login|EACCES|EPERM",
    ),
    _cause(
        "server",
        r"\b(?:server|service|site|api|upstream|shop|host|system|database)\b[\w'\s]{0,20}\b(?:is|was|were|being) (?:down|unavailable|unreachable|offline|overloaded)|"
        r"\b\w+ (?:is|was|were) (?:currently |still )?(?:down|unreachable|offline)\b|"
        r"\b50[0234]\b|\boutage\b|\bunavailable\b|服务器?(?:宕机|不可用|故障)|宕机",
        r"\b5\d\d\b|transient|unavailable|timed? ?out|timeout|refused|reset|connect|unreachable|down|offline|no answer|maintenance|resolve|network|overload|interrupted|temporar|超时|连接|不可用",
    ),
    _cause(
        "rate",
        r"\brate[- ]limit\w*|\btoo many requests\b|\bquota\b|\b429\b|限流|频率限制|配额",
        r"rate|quota|429|too many|limit|thrott|限",
    ),
    _cause(
        "budget",
        r"\bbudget (?:was |is |has been )?(?:exceeded|used up|spent|exhausted)|\bover budget\b|\b(?:insufficient|not enough) (?:funds|balance|money|credit)|余额不足|预算(?:超支|不足|用完)",
        r"budget|\bfunds?\b|balance|limit|credit|spend|amount|exceed|余额|预算|额度",
    ),
    _cause(
        "time",
        r"\btimed? ?out\b|\btimeouts?\b|\btook too long\b|超时",
        r"time|504|deadline|gateway|slow|no answer|no response|hang|hung|超时|等待",
    ),
    _cause(
        "existence",
        r"\b(?:does|do|did)(?: not|n['’]t) exist\b|\bno such\b|\bis(?: not|n['’]t) (?:there|found)\b|\b(?:was|were)(?: not|n['’]t) found\b|不存在|找不到",
        r"404|410|not[ _]found|no such|unknown|exist|cannot find|can't find|no \w+ (?:named|found|with|matches)|missing|invalid|"
        r"resolve|empty|\[\]|none|null|\b0\b|ENOENT|NXDOMAIN|deleted|gone|不存在|找不到|未找到|没有",
    ),
    _cause(
        "closure",
        r"\b(?:accounts?|cards?|warehouse|mailbox|users?|subscription|tenant|project|store|shop|tickets?|channel|cluster|wallet)\b[^.;,]{0,20}?"
        r"\b(?:is|are|was|were|has been|have been|been|'s) (?:\w+ )?(?:suspended|closed|frozen|deactivated|disabled)\b|(?:已|被)(?:冻结|停用|注销|封禁|关闭)",
        r"suspend|clos|frozen|freeze|deactivat|disabl|inactive|archiv|lock|冻结|停用|注销|封禁|关闭",
    ),
    _cause(
        "stock",
        r"\bsold out\b|\bout of stock\b|\bnot in stock\b|售罄|缺货|无货|库存不足",
        r"sold|stock|unavailable|inventory|available|\b0\b|discontinued|库存|货",
    ),
    _cause(
        "disk",
        r"\bdisk (?:is |was )?full\b|\bno (?:disk )?space\b|\bout of (?:disk )?space\b|磁盘(?:已?满|空间不足)",
        r"space|disk|full|quota|ENOSPC|storage|磁盘",
    ),
    _cause(
        "memory",
        r"\bout of memory\b|\bran out of memory\b|内存不足",
        r"memory|oom|alloc|killed|137|内存",
    ),
)


def reasons_missed(statement: str, ledger: Ledger) -> list[Finding]:
    """Return the reasons a statement gives for a failure that no call bears out."""
    if not ledger.tools:
        return []
    found: list[Finding] = []
    for text, why in _reasons(statement):
        for cause in CAUSES:
            if cause.told.search(why) and not cause.shown.search(ledger.heard):
                claim = Claim(kind="failure", text=text)
                said = f"no call says that of {cause.name}"
                failed = [each for each in ledger.ran if not each.ok]
                found.append(finding("contradicted", claim, said, failed))
                break
    return found


def gives_reasons(statement: str) -> bool:
    """Tell whether a statement has anything that `reasons_missed` compares."""
    return any(_reasons(statement))


def _reasons(statement: str) -> Iterator[tuple[str, str]]:
    """Sentences that tell of a failure, each with the reason it gives."""
    for sentence in sentences(statement):
        if sentence.asserted < len(sentence.fragments):
            continue
        before, *why = _BECAUSE.split(sentence.text, maxsplit=1)
        if why and _FAILED.search(before):
            yield sentence.text, why[0]
