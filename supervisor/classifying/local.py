"""Judge what is no HTTP answer: gRPC, mail, processes, validation, sockets."""

from typing import Any

from ..errors import ErrorClass
from ..failure import Stage
from ..patterns import lazy_pattern
from .codes import of_code
from .evidence import Evidence
from .phrases import Verdict, first, parse_rules, parse_verdict
from .proto import reason, status_details
from .tables import (
    CURL,
    ERRNO,
    EXITS,
    FTP,
    GRPC,
    NAMES,
    SIGNALS,
    STATUS,
    WINERROR,
)
from .values import is_list, items, mapping, whole
from .words import of_connection, of_words

_C = ErrorClass
_INVALID = parse_verdict("invalid_argument no", "validation of the arguments")
_CHANGED = parse_verdict("bug maybe", "validation of the answer")
_UNREADABLE = parse_verdict("unknown yes", "an answer that cannot be read")
_SETTINGS = parse_verdict("permission_denied no", "validation of the settings")
_SHELL = parse_verdict("unknown maybe", "exit status")

_VALIDATORS = frozenset(("validationerror", "decodeerror", "jsondecodeerror", "schemaerror"))
_VALIDATION_HOMES = (
    "pydantic",
    "pydantic_core",
    "msgspec",
    "jsonschema",
    "marshmallow",
    "cerberus",
    "voluptuous",
    "attrs",
    "cattrs",
    "json",
    "requests",
    "simplejson",
    "orjson",
    "yaml",
    "fastjsonschema",
)


def of_validation(evidence: Evidence, stage: Stage) -> Verdict | None:
    """Validators mean the model's arguments, the settings, or an answer that has changed."""
    if evidence.module not in _VALIDATION_HOMES:
        return None
    if not any(name in _VALIDATORS for name in evidence.names):
        return None
    parse = evidence.has("jsondecodeerror", "decodeerror") and not evidence.has("validationerror")
    if stage == "response":
        return _UNREADABLE if parse else _CHANGED
    if stage == "args":
        return _INVALID
    title = evidence.text("title").lower()
    if any(word in title for word in ("setting", "config", "environment")):
        return _SETTINGS
    return parse_verdict("unknown maybe", "text that is not JSON") if parse else _INVALID


_GRPC_WORDS = {
    "resourceexhausted": parse_rules(
        """
invalid_argument no :: message larger than|larger than max|received message
permission_denied no :: quota & !per minute|per second|rate
permission_denied no :: billing|daily|per day|credit|disabled
resource_exhausted maybe :: disk|memory|space exceeded|storage|no space
""",
        "gRPC words",
    ),
    "unavailable": parse_rules(
        """
permission_denied no :: certificate|ssl_error|handshake failed
transient no :: overloaded|shutting down|draining|going away|retry later|maintenance
    |failed to connect|connection refused|name resolution|dns|no connection|not yet ready|connect
    & !read|recv|reset
in_doubt_timeout maybe :: socket closed|connection reset|reset by peer|broken pipe|goaway|recvmsg
    |stream removed|connection aborted|eof
""",
        "gRPC words",
    ),
    "failedprecondition": parse_rules(
        "permission_denied no :: billing|not enabled|location|not supported in|disabled",
        "gRPC words",
    ),
    "cancelled": parse_rules(
        "in_doubt_timeout maybe :: rst_stream|connection|timeout", "gRPC words"
    ),
    "internal": parse_rules(
        """
in_doubt_timeout maybe :: rst_stream|stream terminated|connection|eof|timeout
bug maybe :: nullpointer|panic|nil pointer|serializ|deserializ|parse|unmarshal
""",
        "gRPC words",
    ),
    "unknown": parse_rules(
        "bug maybe :: exception calling application|nullpointer|panic|typeerror|keyerror|attributeerror",
        "gRPC words",
    ),
    "notfound": parse_rules(
        "permission_denied no :: model|database|table|bucket|topic|subscription|queue|project|instance|endpoint",
        "gRPC words",
    ),
}


def of_grpc(evidence: Evidence) -> Verdict | None:
    """gRPC's code, with what the details say where one code stands for several things."""
    code = evidence.text("grpc_code")
    if not code:
        aborted = evidence.module == "google" and evidence.has("aborted")
        return GRPC["aborted"] if aborted else None
    key = code.lower().replace("_", "")
    details = evidence.text("grpc_details").lower()
    found = GRPC.get(key)
    if key != "ok" and (told := _reason(evidence)) is not None:
        return told
    if (said := first(_GRPC_WORDS.get(key, ()), details)) is not None:
        return said
    told = of_words(details) if key in ("unknown", "internal", "unavailable") else None
    weaker = (_C.TRANSIENT, _C.RATE_LIMITED, _C.INVALID_ARGUMENT)
    if told is not None and told.error_class not in weaker:
        return told
    return _pushed_back(evidence, found)


def _reason(evidence: Evidence) -> Verdict | None:
    """The reason in the details of the status, if it is one that decides."""
    for pair in evidence.attrs.get("trailing_metadata") or ():
        if str(pair[0]).lower() != "grpc-status-details-bin":
            continue
        for detail in status_details(str(pair[1])):
            if detail.kind == "ErrorInfo":
                found, firm = of_code(reason(detail.value))
                return found if firm else None
    return None


def _pushed_back(evidence: Evidence, found: Verdict | None) -> Verdict | None:
    """A push-back of less than zero says not to retry; any other, that nothing was begun."""
    pushed = any(
        pair[0] == "grpc-retry-pushback-ms" and str(pair[1]).startswith("-")
        for pair in evidence.attrs.get("trailing_metadata") or ()
    )
    if found is not None and pushed and found.error_class in (_C.TRANSIENT, _C.RATE_LIMITED):
        return Verdict(_C.UNKNOWN, found.executed, "the server says not to retry")
    return found


_ENHANCED = lazy_pattern(r"\b([245])\.(\d{1,3})\.(\d{1,3})\b")
_SMTP_WORDS = parse_rules(
    """
permission_denied no :: daily|per day|in a day & limit|quota|exceed
business_rejected no :: spam|content|virus|blocked for policy|dmarc policy & !rate|too many
rate_limited no :: rate limit|too many messages|too many connections|throttl
""",
    "SMTP words",
)


def of_mail(evidence: Evidence) -> Verdict | None:
    """SMTP replies, by their enhanced status code (RFC 3463) or their number."""
    if evidence.module not in ("smtplib", "aiosmtplib"):
        return None
    code, text = evidence.number("smtp_code"), evidence.text("smtp_error")
    recipients = mapping(evidence.attrs.get("recipients"))
    for reply in recipients.values():
        if is_list(reply) and len(items(reply)) >= 2:
            code, text = whole(reply[0]), str(items(reply)[1])
            break
    if code is None:
        return of_connection(evidence.message)
    return _smtp(code, text)


def _smtp(code: int, text: str) -> Verdict:
    if (said := first(_SMTP_WORDS, text.lower())) is not None:
        return said
    found = _ENHANCED.search(text)
    subject, detail = (int(found[2]), int(found[3])) if found else (0, 0)
    if code < 500:
        return parse_verdict("transient no", f"SMTP {code}")
    head = "invalid_argument no"
    if code in (530, 534, 535, 538) or subject == 7 or code == 554:
        head = "permission_denied no"
    elif (subject == 2 and detail in (1, 2, 4)) or (code == 552 and subject != 3):
        head = "business_rejected no"
    elif code in (500, 502, 503, 504):
        head = "bug no"
    return parse_verdict(head, f"SMTP {code} {found[0] if found else ''}".strip())


def of_ftp(evidence: Evidence) -> Verdict | None:
    """A reply of FTP; its numbers are not those of HTTP."""
    reply = _FTP_REPLY.match(evidence.message) if evidence.module == "ftplib" else None
    if reply is None:
        return None
    told = of_words(evidence.message[reply.end() :])
    if told is not None and told.error_class not in (_C.UNKNOWN, _C.INVALID_ARGUMENT):
        return told
    return FTP.get(int(reply[1])) or told


_FTP_REPLY = lazy_pattern(r"([45]\d\d)[ -]")
_CURL_STATUS = lazy_pattern(r"returned error: (\d{3})")


def of_process(evidence: Evidence) -> Verdict | None:
    """How a program ended: its signal, its exit status, what it wrote to stderr."""
    code = evidence.number("returncode")
    if code is None:
        return None
    stderr = f"{evidence.text('stderr')}\n{evidence.text('stdout')}".strip()
    if code < 0:
        return SIGNALS.get(-code, _SHELL)
    if (found := EXITS.get(code)) is not None and code in (124, 126, 127):
        return found
    if 128 < code < 160 and code - 128 in SIGNALS and "heap" not in stderr:
        return SIGNALS[code - 128]
    if _program(evidence.attrs.get("cmd")) == "curl" or stderr.startswith("curl:"):
        return _curl(code, stderr)
    told = of_words(stderr) if stderr else None
    return told or found or _SHELL


def _program(cmd: Any) -> str:
    name = items(cmd)[0] if is_list(cmd) and cmd else cmd
    return str(name or "").split(" ", 1)[0].rsplit("/", 1)[-1]


def _curl(code: int, stderr: str) -> Verdict | None:
    if code == 22 and (status := _CURL_STATUS.search(stderr)):
        return STATUS.get(int(status[1]), _SHELL)
    lower = stderr.lower()
    if code == 28 and ("connection timed out" in lower or "failed to connect" in lower):
        return CURL[7]
    return CURL.get(code) or of_words(stderr)


_WINDOWS = lazy_pattern(r"\[WinError (\d{1,5})\]")


def of_os(evidence: Evidence) -> Verdict | None:
    """An errno; a program that is missing is the set-up, a path that is missing the argument."""
    number = evidence.number("errno")
    if number is None or not evidence.has("oserror"):
        return None
    if windows := _WINDOWS.match(evidence.message):
        return WINERROR.get(int(windows[1])) or ERRNO.get(number)
    if evidence.has("gaierror"):
        return of_connection(evidence.message)
    if evidence.has("sslerror") or evidence.has("herror"):
        return None
    if number == 2 and evidence.raised_in.startswith(("subprocess", "asyncio", "anyio")):
        return parse_verdict("permission_denied no", "the program is not there")
    return ERRNO.get(number)


def of_name(evidence: Evidence) -> Verdict | None:
    """The class of the exception, or the nearest ancestor that is known."""
    for name in evidence.names:
        if (found := NAMES.get(name)) is not None:
            return found
    return None
