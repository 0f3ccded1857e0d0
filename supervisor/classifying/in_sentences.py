"""Codes that stand in a sentence: ``[08S01]``, ``ORA-00060``, ``RESOURCE_LOCKED - ...``, ``code = Unavailable``.

A code that a server writes into its text is as good as one in a field of its own. One of a standard
or of a known server decides; a name of several words in capitals is read as words, and is asked
where the sentence itself says nothing, or no more than that something about the request was wrong.
"""

from ..errors import ErrorClass
from ..patterns import lazy_pattern
from .code_words import of_wording
from .codes import of_code
from .phrases import Verdict
from .server_numbers import of_oracle
from .tables import GRPC, MYSQL, SQLSTATE

_C = ErrorClass
_STATE = lazy_pattern(r"\bSQLSTATE[ :=\[(]{1,3}([0-9A-Z]{5})\b")
_MYSQL = lazy_pattern(r"\bERROR (\d{4}) \([0-9A-Z]{5}\)")
_RPC = lazy_pattern(r"\brpc error: code = ([A-Z]\w{1,24}) desc\b|\bStatusCode\.([A-Z_]{2,24})\b")
# At the head of a text, after a number, a quote or a bracket, and before what it says.
_HEAD = lazy_pattern(
    r"^[\s(\[\"']{0,3}(?:\d{3}[,:]? ?[\"']?)?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\]?(?: - |: )"
)
_NAMES = lazy_pattern(r"(?<![\w./$-])([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?![\w./=-])")
_LABELLED = lazy_pattern(
    r"\b(?:name|code|reason|error_?code)[=:] ?[\"']?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]\w+(?:\.\w+){1,4})"
)
# The name of a class, as traces and wrappers write it: ``pkg.errors.AuthorizationFailedError: ...``.
_CLASSES = lazy_pattern(
    r"(?:^|(?<=[\s:.$\"'(]))([A-Z][a-z]+[A-Za-z0-9]*(?:Error|Exception|Failure|Fault))(?=:|\b ?\(|\s*$|[\"'])"
)
_NAMES_MAX = 6
# States that drivers give for anything.
_ANY_STATE = frozenset(("HY000", "42000", "01000", "00000", "XX000"))
# What a mere name may say before the words of its sentence, and instead of them where they are weak.
_TELLING = frozenset(
    (_C.PERMISSION_DENIED, _C.BUSINESS_REJECTED, _C.CONTENT_REFUSED, _C.CONTEXT_OVERFLOW)
)
_SAFE = _TELLING | {
    _C.IN_DOUBT_TIMEOUT,
    _C.RESOURCE_EXHAUSTED,
    _C.RATE_LIMITED,
    _C.BUG,
    _C.INVALID_ARGUMENT,
}


def of_standard(text: str) -> Verdict | None:
    """A code of a standard or of a known server, which decides before any word."""
    if "ORA-" in text or "DPY-" in text or "DPI-" in text:
        return of_oracle(text)
    if "SQLSTATE" in text:
        for found in _STATE.finditer(text):
            if found[1] not in _ANY_STATE:
                state = found[1].lower()
                return SQLSTATE.get(state) or SQLSTATE.get(state[:2])
    if "ERROR " in text and (number := _MYSQL.search(text)) is not None:
        return MYSQL.get(int(number[1]))
    return None


def of_head(text: str) -> Verdict | None:
    """A name in capitals that opens the text, where it stops: ``ACCESS_REFUSED - access to ...``."""
    found = _HEAD.match(text)
    told = _read(found[1]) if found else None
    return told if told is not None and told.error_class in _TELLING else None


def of_names(text: str) -> Verdict | None:
    """What the names in a text say; nothing that is not known exactly is repeated for one of them."""
    if (rpc := _RPC.search(text)) is not None:
        told = GRPC.get((rpc[1] or rpc[2]).lower().replace("_", ""))
        return told and told._replace(executed="maybe")
    for name in _names(text):
        told = _read(name)
        if told is not None and told.error_class in _SAFE:
            return told._replace(executed="maybe")
    return None


def may_outweigh(named: Verdict, told: Verdict) -> bool:
    """Whether a name says more than words that blame the arguments, or nobody."""
    if told.error_class is _C.UNKNOWN:
        return True
    return named.error_class in _TELLING or named.error_class is _C.RESOURCE_EXHAUSTED


def _names(text: str) -> list[str]:
    """Names in a text: those with a label first, then in the order they stand."""
    labelled = [found[1] for found in _LABELLED.finditer(text)]
    others = [found[1] for found in _NAMES.finditer(text)] if "_" in text else []
    classes = [found[1] for found in _CLASSES.finditer(text)]
    return [*labelled, *others, *classes][:_NAMES_MAX]


def _read(name: str) -> Verdict | None:
    told, firm = of_code(name)
    return told if firm else of_wording(name) or told
