"""From whatever was raised or answered to a `Failure`: the order in which evidence speaks.

Explicit errors raised by the tool, then rules of the user, then structured facts (codes before
types, types before statuses), then causes of wrappers that say nothing themselves, then words, and
UNKNOWN for all the rest: UNKNOWN is never retried. Client libraries are looked at, never imported.
"""

import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..errors import GRAVEST_FIRST, ErrorClass, Failed
from ..failure import Failure, Stage
from .answers import embedded, texts
from .code_words import of_wording
from .codes import of_code
from .databases import of_database
from .evidence import Evidence, of_exception, of_input
from .fields import blamed_fields
from .http import answer_of, of_answer
from .live import live_record
from .local import (
    of_ftp,
    of_grpc,
    of_mail,
    of_name,
    of_os,
    of_process,
    of_validation,
)
from .phrases import Verdict, first, parse_rules, parse_verdict, spaced
from .refill import refilled
from .tables import NAMES
from .user import UserRules
from .values import is_list, is_mapping, mapping
from .waits import received, stated_wait
from .words import clip, of_connection, of_words

_C = ErrorClass

_MESSAGE_MAX = 2_000
_DEPTH_MAX = 8
_WEAK = frozenset((_C.UNKNOWN, _C.INVALID_ARGUMENT))
_WAITING = frozenset((_C.TRANSIENT, _C.RATE_LIMITED))
_NO_RULES = UserRules()
_NOTHING = parse_verdict("unknown maybe", "nothing known")
_ARGS = parse_verdict("invalid_argument no", "stage args")
_CANCELLED = parse_verdict("cancelled maybe", "cancelled")
# Exceptions of clients that only say "connection": what is in the text and in the chain decides.
_CONNECTIONS = frozenset(
    """
    apiconnectionerror connectionerror connecterror apitimeouterror timeout proxyerror sslerror
    retryerror endpointconnectionerror httpclienterror transporterror maxretryerror urlerror
    clientconnectorerror gaierror networkerror httperror apierror protocolerror connectionclosederror
    slackrequesterror servernotfounderror servicerequesterror serviceresponseerror
    """.strip().split()
)
_CLIENTS = frozenset(
    """
    openai anthropic httpx httpx2 requests aiohttp urllib3 boto3 botocore aiosqlite stripe google grpc
    slack_sdk litellm redis asyncpg
    """.strip().split()
)
# Classes that anybody raises for anything.
_ANY = frozenset(("exception", "runtimeerror", "oserror", "baseexception", "environmenterror"))


def failure_of(
    error: BaseException | Mapping[str, Any],
    stage: Stage,
    received_at: float | None,
    rules: UserRules | None = None,
) -> Failure:
    """What `ukemi.supervisor.classify.classify` says, with the user's own rules before the shipped ones."""
    rules = rules or _NO_RULES
    evidence = _read(error)
    told = None if evidence.explicit is not None else rules.judge(evidence)
    decided, verdict = _decide(evidence, stage, 0, [32]) if told is None else (evidence, told)
    if stage == "args" and verdict.error_class in (_C.BUG, _C.UNKNOWN):
        verdict = _ARGS  # nothing was sent, so whatever failed was the arguments
    failure = _failure(decided, evidence, verdict, received_at)
    if failure.error_class is _C.BUG and isinstance(error, BaseException):
        return msgspec.structs.replace(failure, traceback=_traceback(error))
    return failure


def _read(error: object) -> Evidence:
    if isinstance(error, Failed):
        return Evidence(
            form="exception",
            type_name=type(error).__name__,
            names=("failed",),
            message=error.message,
            explicit=error,
        )
    if isinstance(error, BaseException):
        return of_exception(live_record(error))
    return of_input(mapping(error))


def _link(source: object) -> Evidence:
    """A cause or a member: an exception, or its stored form."""
    return _read(source) if isinstance(source, BaseException) else of_exception(mapping(source))


def _decide(
    evidence: Evidence, stage: Stage, depth: int, budget: list[int]
) -> tuple[Evidence, Verdict]:
    """The verdict, and the evidence (of a cause or a member, perhaps) that it came from."""
    if evidence.members and depth < _DEPTH_MAX:
        return _worst(evidence, stage, depth, budget)
    explicit = evidence.explicit
    if explicit is not None:
        why = f"raised {evidence.type_name}"
        return evidence, Verdict(explicit.error_class, explicit.may_have_executed, why)
    found = _facts(evidence, stage) or _own_name(evidence)
    if found is not None:
        return evidence, found
    inner = evidence.orig if evidence.orig is not None else evidence.cause
    budget[0] -= 1
    if inner is not None and depth < _DEPTH_MAX and budget[0] > 0:
        decided, verdict = _decide(_link(inner), stage, depth + 1, budget)
        if verdict is not _NOTHING:
            return decided, verdict
    return evidence, _by_name_or_words(evidence)


def _worst(
    evidence: Evidence, stage: Stage, depth: int, budget: list[int]
) -> tuple[Evidence, Verdict]:
    found: list[tuple[Evidence, Verdict]] = []
    for member in evidence.members:
        budget[0] -= 1
        if budget[0] <= 0:
            return evidence, _NOTHING
        found.append(_decide(_link(member), stage, depth + 1, budget))
    worst = min(found, key=lambda each: GRAVEST_FIRST.index(each[1].error_class))
    if worst[1].executed == "no" and any(verdict.executed != "no" for _, verdict in found):
        return worst[0], worst[1]._replace(executed="maybe")
    return worst


def _facts(evidence: Evidence, stage: Stage) -> Verdict | None:
    """What the structure of an error says by itself; None for wrappers and for mere words."""
    if evidence.form != "exception":
        return _text_facts(evidence)
    if evidence.has("cancellederror", "cancelled", "keyboardinterrupt", "systemexit"):
        return _CANCELLED
    for judge in (of_grpc, of_database, of_mail, of_ftp, of_process):
        if (found := judge(evidence)) is not None:
            return found
    if (found := of_validation(evidence, stage)) is not None:
        return found
    return _answer_or_connection(evidence)


def _text_facts(evidence: Evidence) -> Verdict | None:
    if evidence.form == "http" or not isinstance(evidence.body, str):
        return of_answer(evidence)
    inner = embedded(evidence.message)
    told = of_answer(msgspec.structs.replace(evidence, body=inner)) if inner is not None else None
    if told is None or told.error_class in _WEAK:
        return of_words(evidence.message) or told
    return told


def _answer_or_connection(evidence: Evidence) -> Verdict | None:
    answered = evidence.status >= 300 or (evidence.body is not None and not evidence.has("oserror"))
    if answered and (found := of_answer(evidence)) is not None:
        wrapped = evidence.body is None and evidence.message.endswith("Connection error.")
        return (of_connection(_chain(evidence)) if wrapped else None) or found
    if evidence.module in ("builtins", "socket") and (found := of_os(evidence)) is not None:
        return found
    if evidence.module == "builtins" and evidence.names[0] in _ANY:
        return None
    if evidence.has("sslcertverificationerror", "sslerror", "certificateerror"):
        return of_connection(_chain(evidence)) or parse_verdict("permission_denied no", "TLS")
    if evidence.names[0] in _CONNECTIONS and evidence.module != "builtins":
        return _connection(evidence)
    return None


def _connection(evidence: Evidence) -> Verdict | None:
    """How far a connection came; in a class for the connect phase nothing had been sent."""
    found = of_connection(_chain(evidence))
    connecting = evidence.has("connecterror", "clientconnectorerror", "proxyerror")
    if found is not None and connecting and found.error_class is _C.IN_DOUBT_TIMEOUT:
        return of_name(evidence)
    return found


def _own_name(evidence: Evidence) -> Verdict | None:
    """A class whose own name is known speaks before its cause does."""
    if evidence.form != "exception" or evidence.names[0] in _ANY:
        return None
    builtin = evidence.module == "builtins"
    found = of_name(evidence) if builtin else NAMES.get(evidence.names[0])
    if evidence.names[0] in ("timeouterror", "timeout", "servertimeouterror"):
        found = of_connection(evidence.message) or found
    return found


def _chain(evidence: Evidence) -> str:
    """The messages of an exception and of what it was raised from, by cause or by context."""
    parts, node = [evidence.message], evidence
    for _ in range(_DEPTH_MAX):
        inner = node.cause if node.cause is not None else node.context
        if inner is None:
            break
        node = _link(inner)
        parts.append(f"{node.type_name} {node.message}")
    return texts(parts)


def _by_name_or_words(evidence: Evidence) -> Verdict:
    """What is left when no fact and no cause has spoken."""
    if evidence.form != "exception":
        return of_words(evidence.message) or _NOTHING
    named = of_os(evidence) or of_name(evidence)
    builtin = evidence.module == "builtins"
    if named is not None and not (builtin and evidence.names[0] in _ANY):
        # An ancestor like LookupError says less than a name of one's own: ZoneInfoNotFoundError.
        inherited = named.error_class is _C.BUG and evidence.names[0] not in NAMES
        return (inherited and _named_so(evidence)) or named
    if evidence.message.startswith("embedded null"):
        return parse_verdict("invalid_argument no", "a null byte")
    told = of_words(evidence.message)
    refused = evidence.names[0] == "valueerror" and _in_client(evidence.raised_in)
    if refused and (told is None or told.error_class is not _C.PERMISSION_DENIED):
        return parse_verdict("bug no", "a value the client refused before sending")
    if told is not None and builtin and told.error_class in (_C.TRANSIENT, _C.INVALID_ARGUMENT):
        return _NOTHING
    if told is None or told.error_class in _WEAK:
        told = _named_so(evidence) or told
    return told or named or _NOTHING


# What the name of an unknown class may say: nothing of it is repeated for its name alone.
_TOLD_BY_NAMES = frozenset(
    (
        _C.PERMISSION_DENIED,
        _C.CONTENT_REFUSED,
        _C.CONTEXT_OVERFLOW,
        _C.IN_DOUBT_TIMEOUT,
        _C.RESOURCE_EXHAUSTED,
        _C.INVALID_ARGUMENT,
    )
)
_RULE_IN_NAME = parse_rules(
    """
business_rejected no :: already exist|duplicate|constraint violation|constraint validation|unwilling to perform
    |cas mismatch|version mismatch|bad version|timestamp mismatch
    |insufficient funds|declined|precondition
""",
    "type",
)


def _named_so(evidence: Evidence) -> Verdict | None:
    """The words in the name of a class that is in no table: ``TopicAuthorizationFailedError``."""
    if evidence.module == "builtins":
        return None
    name = evidence.type_name.rsplit(".", 1)[-1]
    found = of_wording(name) or of_code(name)[0]
    if found is None or found.error_class not in _TOLD_BY_NAMES:
        found = first(_RULE_IN_NAME, spaced(name))
    if found is None:
        return None
    return found._replace(executed="maybe", why=f"type {evidence.type_name}")


def _in_client(module: str) -> bool:
    """Whether an exception was raised inside a client library."""
    return module.partition(".")[0] in _CLIENTS


def _failure(
    decided: Evidence,
    outer: Evidence,
    verdict: Verdict,
    received_at: float | None,
) -> Failure:
    answer = answer_of(decided)
    words = answer.words or clip(_spoken(decided))
    if decided.status in (0, 200) and "stream" in decided.raised_in and verdict.executed == "no":
        verdict = verdict._replace(executed="maybe")  # the answer had begun
    verdict = refilled(verdict, decided, words, answer.codes)
    wait = None
    if verdict.error_class in _WAITING:
        moment = received(decided.headers, received_at)
        body = (
            decided.body if (is_mapping(decided.body) or is_list(decided.body)) else decided.attrs
        )
        trailers = decided.attrs.get("trailing_metadata")
        wait = stated_wait(decided.headers, body, words, trailers, moment)
    fields: Sequence[str] = ()
    if (explicit := decided.explicit) is not None:
        wait, fields = explicit.retry_after, explicit.fields
    elif verdict.error_class is _C.INVALID_ARGUMENT:
        fields = blamed_fields(decided, words)
    return Failure(
        error_class=verdict.error_class,
        message=(outer.message or words)[:_MESSAGE_MAX],
        type_name=outer.type_name,
        retry_after=wait,
        fields=tuple(fields),
        may_have_executed=verdict.executed,
        evidence=(verdict.why,),
    )


def _spoken(evidence: Evidence) -> str:
    """The words of an exception: its text, what a process wrote, what gRPC gave as details."""
    attrs = evidence.attrs
    return texts(
        (evidence.message, attrs.get("stderr"), attrs.get("grpc_details"), attrs.get("smtp_error"))
    )


def _traceback(error: BaseException) -> str:
    """The frames without the values in them, newest last, bounded."""
    places = list(traceback.walk_tb(error.__traceback__))[-8:]
    return "\n".join(
        f"{frame.f_code.co_filename}:{line} in {frame.f_code.co_name}" for frame, line in places
    )
