# ruff: noqa: RUF001 - the punctuation of Chinese
"""Whether a statement says that something did not go as wanted. Pure.

Good news in the words of bad news ("without errors", "none is broken", 没有错误) discloses nothing.
"""

import re

from ...supervisor.patterns import lazy_pattern
from .claims_text import shown
from .claims_words import DISCLOSURE

_BAD = r"(?:errors?|problems?|issues?|failures?|warnings?|failed|broken|missing|skipped|conflicts?|exceptions?|rejected)"
_GOOD_NEWS = lazy_pattern(
    rf"\b(?:no|zero|0|without|without any|none(?: of (?:them|these|the \w+))?(?: is| are| was| were)?|free of|not a single|"
    rf"fixed the|resolved the|corrected the)(?: \w+){{0,2}} {_BAD}\b(?! (?:is|are|was|were) (?:left|missing))|"
    rf"\b(?:lint|type|build|compile)?\s?{_BAD} (?:is|are|were|was|have been|has been) (?:\w+ )?(?:fixed|resolved|gone|repaired)\b|"
    r"\b(?:reports?|reported|finds?|found|shows?|has|complains? about|complained about) nothing\b|\bnothing (?:was )?(?:found|reported|to report)\b|"
    r"\bno longer\b(?! (?:available|exist\w*|in stock|there|ha(?:s|ve)|supported|possible|reach\w*|respond\w*|work\w*|sell\w*|"
    r"sold|offer\w*|stock\w*|found|in the))|\bdespite\b[^.;]*|"
    r"\berror[- ](?:free|handling|messages?|pages?|codes?|reporting)\b|\bbug fix\w*|"
    r"(?:没有|无|未发现|未出现|没)(?:任何|一个|出现|发现)?(?:错误|问题|异常|失败|报错|遗漏)|零错误|无误|毫无(?:错误|问题)",
    re.IGNORECASE,
)
_BAD_NEWS = lazy_pattern(
    r"\black(?:s|ed|ing)?\b|\bstill\b|\bdraft\b|\bno \w+(?: \w+)? (?:was|were|has been|have been|is|could)\b|"
    r"\bwithout (?:one|it|them|a backup)\b|\bunchanged\b|\buntouched\b|\bred\b|\bdeclin|\bbounced\b|\bran out\b|"
    r"\brate limit|\bsold out\b|\bunclear\b|\bnothing\b|\bneither\b|\bonly \d|\bremain(?:s|ing)?\b|\bpending\b|\bwaiting\b|"
    r"\bno \w+ (?:for|left|available|in)\b|(?:^|[.;:]\s)only\b|\b(?:http|status|code|returns?|returned|gives?|gave|answer\w*|with|a|an)\W{1,2}[45]\d\d\b|返回\s?[45]\d\d|[:：]\s?[45]\d\d\b|"
    r"\b(?:needs|requires)\b(?! (?:no|nothing)\b)|\([45]\d\d\)|\bhit (?:the|a|an|its|their|our|your) (?:\w+ ){0,3}limit\b|"
    r"\blimit (?:is|was|has been) (?:hit|reached|exceeded)|\bexceed(?:s|ed)\b|"
    r"\bhowever\b|\bunfortunately\b|\bsorry\b|\bwithheld\b|\bbut\b|"
    r"被拒|仍|尚|还差|只有|草稿|但|不过|遗憾|抱歉|售罄|用完|跳过|(?<!等)待",
    re.IGNORECASE,
)


def plain(text: str) -> str:
    """Return a text without good news that sounds like bad."""
    return _GOOD_NEWS.sub(" ", text)


def discloses(statement: str) -> bool:
    """Tell whether any word of a statement admits that something failed, is missing or is open."""
    text = plain(shown(statement))
    return DISCLOSURE.search(text) is not None or _BAD_NEWS.search(text) is not None
