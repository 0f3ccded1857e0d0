"""A rate or a quota, looked at once more: does waiting alone help, within what a session can wait?"""

from ..errors import ErrorClass
from .evidence import Evidence
from .phrases import Verdict, first, parse_rules
from .waits import received, stated_wait

_ONE_REQUEST = parse_rules(
    "context_overflow no :: request too large|too large for & token|tpm|per min", "one request"
)
_MONEY = parse_rules(
    """
permission_denied no :: credit balance|spending limit|spend limit|extra usage|free allocated
    |free quota|免费额度|欠费|续费|充值
permission_denied no :: limit: 0|limit": 0|limit=0|quota of 0|limit 0,
""",
    "money",
)
_LONG = parse_rules(
    """
permission_denied no :: 额度已用|次数已用|次数已达|次数用完|次数上限|用量|配额|额度用完
permission_denied no :: /quota/ & !perminute|persecond|per minute|per second|rate|minute|second|req/s|/s>|/min
permission_denied no :: billing|upgrade your plan|contact sales|check your plan|free tier
    |usage limit|usage_limit|套餐
permission_denied no :: per day|perday|daily|daily limit
    |/ month|/month|/ day|/day|a month|each month|per month|permonth|monthly|per week|weekly|24 hours|每日|每天|当日|当天|今日|单日|每月|当月|本月|日调用|日限 & !per minute|perminute|每分钟|每秒|per second
""",
    "no stated wait for a window of days:",
)


def refilled(found: Verdict, evidence: Evidence, words: str, codes: tuple[str, ...]) -> Verdict:
    """The verdict on a rate limit, or what it is instead.

    One request above the ceiling is too large. Money does not refill. A day or a month does, but a
    session cannot wait for it unless the answer states how long.
    """
    if found.error_class is not ErrorClass.RATE_LIMITED:
        return found
    text = (words + " " + " ".join(codes)).lower()
    if (told := first(_ONE_REQUEST, text) or first(_MONEY, text)) is not None:
        return told
    told = first(_LONG, text)
    if told is None:
        return found
    # Only whether a wait is stated matters here, not from when it counts.
    moment = received(evidence.headers, 0.0)
    trailers = evidence.attrs.get("trailing_metadata")
    body = evidence.body if evidence.body is not None else evidence.attrs
    wait = stated_wait(evidence.headers, body, words, trailers, moment)
    return told if wait is None else found
