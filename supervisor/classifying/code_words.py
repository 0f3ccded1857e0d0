"""How codes are worded by services nobody has listed: ``IncorrectInstanceStatus`` is "incorrect
instance status". Names of exception classes are read the same way.
"""

from .codes import WEAK
from .phrases import Verdict, first, parse_rules, spaced, token

# From the most telling to the least.
WORDED = parse_rules(
    """
in_doubt_timeout maybe :: /^expired$/
cancelled maybe :: /^(?:task |job |run |request |operation )?(?:cancelled|canceled)(?: by user| exception)?$/
content_refused no :: censor|content block|sensitive content|content filter|content policy|moderation|risky content
    |sensitive word|content safety|prohibited content|inappropriate
context_overflow no :: context length|context window|context size|prompt too long|max prompt
    |input tokens|token limit exceed
permission_denied no :: insufficient|access & /insufficient (?:\\w+ )?(?:access|right|privilege|permission|scope|role|capabilit)|access refused/
resource_exhausted maybe :: out of memory|memory limit|local memory|insufficient memory|insufficient disk|insufficient storage|insufficient resource
    |disk full|no space left
in_doubt_timeout maybe :: time limit|execution time|run time limit
permission_denied no :: required & /(?:registration|verification|onboarding|authentication|login|consent|subscription|licen[cs]e|payment|enrol\\w*|mfa|captcha) required/
permission_denied no :: not enough|insufficient|no & credits
permission_denied no :: insufficient quota|arrear|overdue|billing|payment required
    |credit exhausted|out of credit|spend|budget|free tier|free quota|plan limit|usage limit
    |not subscri|subscription & !per minute|per second|per hour|per day
permission_denied no :: billing|account|api|model & balance
rate_limited no :: daily query|over query limit|query over|daily limit|day limit|monthly|per day|perday|daily quota
rate_limited no :: too many & /too many (?:\\w+ ){0,2}(?:requests|calls|queries|connections|sessions|operations|jobs|attempts)/
rate_limited no :: rate limit|ratelimit|flood|throttl|too many request|too fast|too frequen|frequency
    |freq limit|qps|rpm|tpm|perminute|persecond|per minute|per second|flow control|request limit
    |slow down|call limit|concurrency limit|cooldown|cooling down|hourly
permission_denied no :: user key|userkey|unauthori|unauthenti|auth failure|auth fail|access denied|permission
    |no privilege|not privilege|forbidden|signature|sign error|sign invalid|sign check|sign fail|invalid sign|access key|accesskey
    |api key|apikey|credential|provider token|expired token|token expired|token invalid|invalid token|invalid access token
    |invalid session|session expired|access token|login required|not login|not authorized|authorization|not writable|no auth
    |not allowed ip|whitelist|white list|suspended|account disabled|user disabled|account locked
    |not activated|not enabled|service disabled|service not open|not open|license|certificate
    |model not found|model not exist|deployment not found|endpoint not found
    |logon failure|login failure|authorization fail|authentication fail|insufficient capabilit|insufficient scope
rate_limited no :: /\\bquota\\b/
business_rejected no :: /^cant |^cannot |cvv|cvc|card declined|declined|card expired|expired card/
business_rejected no :: constraint violation|constraint validation|cas mismatch|version mismatch|bad version|timestamp mismatch|revision mismatch|etag mismatch|unwilling to perform|exceed max
business_rejected no :: insufficient|not enough|stock|sold out|already |duplicate|has been |closed
    |<expired |incorrect status|invalid status|incorrect state|invalid state|status error
    |state error|unexpected state|status not|state not|not allow|dependency violation|in use
    |<locked|frozen|declined|refused|rejected|blacklist|black list|limit exceeded|exceed limit
    |over limit|max number|maximum number|risk control|approval|not approved|precondition|conflict|violates|business
transient maybe :: idempoten & concurrent|in progress|in use
transient maybe :: temporary error|temporary internal
transient no :: /queue full|not a leader| (?:down|offline|unreachable|not responding)$/
transient no :: connection unavailable|database unavailable|backend unavailable|server unavailable
transient no :: capacity exceed|service unavailable|overload|server busy|system busy|service busy|temporar
    |try again|try later|lock timeout|deadlock|concurrent|in progress|not ready
in_doubt_timeout maybe :: processing|pending|accepted
in_doubt_timeout maybe :: connection loss|connection lost|connection closed|connection reset
in_doubt_timeout maybe :: timeout|timed out|time out|deadline
invalid_argument no :: /\\binvalid$|\\bvalidation (?:failure|failed)/
invalid_argument no :: invalid |missing |malformed|out of range|too long|too short|too large
    |too small|required|illegal|not valid|unsupported value|bad param|param error|parameter
    |not exist|not found|no such|unknown field|format
invalid_argument no :: /^bad (?!gateway|credit|debt)/
bug no :: null pointer|nullpointer|method not found|not implemented|class cast|index out
    |parse error|json error|idempoten
""",
    "a code's words",
)


_MEMO: dict[str, Verdict | None] = {}


def of_wording(code: str) -> Verdict | None:
    """What the words inside a code say; the few codes there are come again and again."""
    if token(code) in WEAK:
        return None
    if code not in _MEMO:
        if len(_MEMO) > 2_048:
            _MEMO.clear()
        _MEMO[code] = first(WORDED, spaced(code)[:200]) if any(map(str.isalpha, code)) else None
    return _MEMO[code]
