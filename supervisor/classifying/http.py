"""Judge an answer over HTTP: its codes, then its words, then its status."""

from collections.abc import Mapping
from typing import cast

from ..errors import ErrorClass
from .answers import Answer, message_answer, read_answer
from .code_words import of_wording
from .codes import of_code
from .evidence import Evidence
from .phrases import Verdict, parse_verdict, spaced
from .tables import JSONRPC, SQLSTATE, STATUS
from .values import mapping, whole
from .vendors import of_number, vendor_of
from .waits import received, stated_wait
from .words import of_words, says_nothing

_C = ErrorClass
_UNKNOWN = parse_verdict("unknown maybe", "words nobody knows")
_STOP = frozenset((_C.TRANSIENT, _C.RATE_LIMITED))
_MODEL_PATHS = (
    "/chat/completions",
    "/v1/messages",
    "generatecontent",
    "/completions",
    "/embeddings",
    "/responses",
    "/model/",
    "/invoke",
    "/generate",
    "/chat",
)

_OVER = frozenset(
    (
        _C.PERMISSION_DENIED,
        _C.RATE_LIMITED,
        _C.CONTENT_REFUSED,
        _C.BUSINESS_REJECTED,
        _C.CONTEXT_OVERFLOW,
        _C.IN_DOUBT_TIMEOUT,
    )
)
# What words may still say where the status already says something.
_ALLOWED: Mapping[int, frozenset[ErrorClass]] = {
    401: frozenset(),
    407: frozenset(),
    511: frozenset(),
    402: frozenset((_C.BUSINESS_REJECTED, _C.CONTENT_REFUSED)),
    403: frozenset(
        (_C.RATE_LIMITED, _C.CONTENT_REFUSED, _C.BUSINESS_REJECTED, _C.CONTEXT_OVERFLOW)
    ),
    404: frozenset((_C.PERMISSION_DENIED, _C.CONTENT_REFUSED, _C.BUSINESS_REJECTED)),
    409: frozenset(
        (_C.TRANSIENT, _C.PERMISSION_DENIED, _C.BUG, _C.CONTENT_REFUSED, _C.RATE_LIMITED)
    ),
    412: frozenset((_C.PERMISSION_DENIED,)),
    413: frozenset(
        (_C.CONTEXT_OVERFLOW, _C.RATE_LIMITED, _C.PERMISSION_DENIED, _C.RESOURCE_EXHAUSTED)
    ),
    423: frozenset((_C.PERMISSION_DENIED, _C.TRANSIENT)),
    429: _OVER | {_C.TRANSIENT},
    502: _OVER,
    503: _OVER | {_C.TRANSIENT},
    504: frozenset((_C.PERMISSION_DENIED,)),
    529: frozenset((_C.PERMISSION_DENIED,)),
}
_NOT_BY_WORDS = frozenset((_C.TRANSIENT, _C.IN_DOUBT_TIMEOUT, _C.CANCELLED, _C.RESOURCE_EXHAUSTED))

_ANYWHERE = frozenset((401, 402, 403, 407, 429, 511))
_TELLING = frozenset(
    (
        _C.RATE_LIMITED,
        _C.PERMISSION_DENIED,
        _C.CONTENT_REFUSED,
        _C.CONTEXT_OVERFLOW,
        _C.BUSINESS_REJECTED,
    )
)
_RETRY_HEADERS = ("x-should-retry", "stripe-should-retry", "x-ms-should-retry")


# Clients whose text only repeats the status and the address.
_BARE_CLIENTS = frozenset(
    ("httpx", "httpx2", "requests", "aiohttp", "urllib", "urllib3", "tornado")
)


def answer_of(evidence: Evidence) -> Answer:
    """The codes and words of the answer, or of the exception that was made of it; read once."""
    if evidence.answer is None:
        evidence.answer = _answer_of(evidence)
    return cast("Answer", evidence.answer)


def _answer_of(evidence: Evidence) -> Answer:
    body = evidence.body
    if isinstance(body, str) and body.lstrip()[:1] == "<":
        answer = read_answer(body)
        # A page for people repeats the status.
        return answer if answer.codes or evidence.status < 400 else Answer()
    answer = read_answer(body)
    if answer.codes or answer.words or evidence.module in _BARE_CLIENTS:
        return answer
    if evidence.form != "exception" or body is not None:
        return answer
    return message_answer(evidence.message)


def of_answer(evidence: Evidence) -> Verdict | None:
    """The class of an answer; None if there is no answer, or nothing in it speaks."""
    answer = answer_of(evidence)
    status = evidence.status
    if not status and not answer.codes and not answer.words:
        return None
    told = answer.words
    found = _of_codes(evidence, answer, told) or _of_status(evidence, status, told)
    if status == 429 and found is not None and found.error_class is _C.BUSINESS_REJECTED:
        found = _counted(evidence, told) or found
    if found is not None and found.error_class in _STOP and _no_retry(evidence.headers):
        return Verdict(_C.UNKNOWN, found.executed, "the server says not to retry")
    return found


def _counted(evidence: Evidence, told: str) -> Verdict | None:
    """A 429 that states a wait counts calls, however it is worded."""
    moment = received(evidence.headers, 0.0)
    stated = stated_wait(evidence.headers, evidence.body, told, None, moment)
    return None if stated is None else STATUS[429]


def _no_retry(headers: Mapping[str, str]) -> bool:
    return any(headers.get(name, "").strip().lower() == "false" for name in _RETRY_HEADERS)


def _of_codes(evidence: Evidence, answer: Answer, told: str) -> Verdict | None:
    """A code that decides; else words that the status allows; else a code by its wording."""
    vendor = vendor_of(evidence.url, evidence.body)
    rpc = "jsonrpc" in mapping(evidence.body) or "mcperror" in evidence.names
    weak: Verdict | None = None
    for code in answer.codes:
        found, firm = _of_code(code, vendor, rpc)
        if found is not None and firm and not _contradicted(found, evidence.status):
            return found
        weak = weak or (None if firm else found)
    status = evidence.status if evidence.status >= 300 else answer.inner_status or evidence.status
    for code in answer.codes:
        worded = of_wording(code)
        telling = worded is not None and (worded.error_class in _TELLING or _idle(worded))
        if telling and worded is not None and _may(status, worded):
            return worded
    spoken = _spoken(status, told)
    if spoken is not None and spoken.error_class is _C.UNKNOWN and weak is not None:
        spoken = None
    if spoken is not None:
        return None if status == 403 and _denied(spoken, answer.codes) else spoken
    for code in answer.codes:
        worded = of_wording(code)
        if worded is not None and _may(status, worded):
            return worded
    if weak is not None and (_may(status, weak) or not (status in _ANYWHERE or status >= 500)):
        if status == 404 and _is_model(evidence):
            return None
        bare = weak.error_class is _C.UNKNOWN and status >= 500 and says_nothing(told)
        return None if bare else weak
    if status != evidence.status:
        return _of_status(evidence, status, told)
    return None


def _denied(spoken: Verdict, codes: tuple[str, ...]) -> bool:
    """A 403 whose code denies a right, too: words that sound of a rule do not outweigh both."""
    if spoken.error_class is not _C.BUSINESS_REJECTED:
        return False
    return any(right in spaced(code) for code in codes for right in _RIGHTS)


_RIGHTS = ("not authorized", "unauthorized", "denied", "permission", "not permitted", "scope")


def _is_model(evidence: Evidence) -> bool:
    """Whether a model was asked: then what is not found or too large is the set-up or the prompt."""
    url = evidence.url.lower()
    return any(part in url for part in _MODEL_PATHS)


def _contradicted(found: Verdict, status: int) -> bool:
    """A code for a failure of an upstream, where the status says that the request was refused."""
    passing = found.error_class is _C.TRANSIENT and found.executed == "maybe"
    return passing and status in (404, 413, 422)


def _idle(found: Verdict) -> bool:
    """A code for something not begun: not ready, in progress, overloaded."""
    return found.error_class is _C.TRANSIENT and found.executed == "no"


def _of_code(code: str, vendor: str, rpc: bool) -> tuple[Verdict | None, bool]:
    number = whole(code)
    if number is None:
        state = SQLSTATE.get(code.lower()) if len(code) == 5 and code[:2].isdigit() else None
        return (state, True) if state is not None else of_code(code)
    if rpc and number in JSONRPC:
        return JSONRPC[number], number not in (-32603, -32600)
    return of_number(vendor, code)


def _spoken(status: int, told: str) -> Verdict | None:
    """What the words say, unless the status rules that out."""
    if says_nothing(told):
        return None
    found = of_words(told, with_status=status < 300 or status == 500)
    if found is None or not _may(status, found):
        return None
    if status == 429 and found.error_class is _C.TRANSIENT and found.executed != "no":
        return None
    if status == 402 and found.error_class is _C.BUSINESS_REJECTED and _our_purse(told):
        return None
    begun = found.executed != "no" or found.error_class is not _C.TRANSIENT
    loose = status in (408, 409, 423, 425, 429) or not 400 <= status < 500
    if begun and not loose and found.error_class in _NOT_BY_WORDS:
        return None if found.error_class is _C.IN_DOUBT_TIMEOUT else _UNKNOWN
    return found


_PAYERS = ("card", "customer", "payer", "buyer", "wallet", "bank", "holder", "declined")
_PURSES = ("balance", "fund", "credit", "budget", "quota", "usage", "spend", "plan", "subscription")


def _our_purse(told: str) -> bool:
    """A 402 about money, and no word of somebody who pays: the account that asks is empty."""
    lower = told.lower()
    money = any(word in lower for word in _PURSES)
    return money and not any(word in lower for word in _PAYERS)


def _may(status: int, found: Verdict) -> bool:
    allowed = _ALLOWED.get(status)
    if allowed is not None:
        return found.error_class in allowed
    return not (status >= 505 and found.error_class is _C.INVALID_ARGUMENT)


def _of_status(evidence: Evidence, status: int, told: str) -> Verdict | None:
    if 300 <= status < 400:
        place = evidence.headers.get("location", "").lower()
        login = any(
            word in place for word in ("login", "signin", "sso", "auth", "passport", "cas/")
        )
        moved = login or status in (301, 308)
        return parse_verdict("permission_denied no" if moved else "unknown maybe", "a redirect")
    if status in (400, 422, 500) and not says_nothing(told):
        return _UNKNOWN  # a sentence nobody knows: a rule or a right may be behind it
    if status == 500 and (evidence.status < 300 or evidence.body in ({}, [], "null")):
        return _UNKNOWN
    if status in (404, 413) and _is_model(evidence):
        large = status == 413
        head = "context_overflow no" if large else "permission_denied no"
        return parse_verdict(head, f"status {status} of a model")
    if status == 408 and told and not says_nothing(told):
        return parse_verdict("in_doubt_timeout maybe", "status 408 with a reason")
    if status in STATUS:
        return STATUS[status]
    if 400 <= status < 600 or told or evidence.body:
        return _UNKNOWN
    return None
