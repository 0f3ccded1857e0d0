# ruff: noqa: RUF001 - the punctuation of Chinese
"""Find the codes and the words in an answer of any shape: JSON, XML, HTML or plain text."""

import ast
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple, cast

from ..patterns import lazy_pattern
from .evidence import decoded
from .values import is_list, is_mapping, items, mapping, whole

WORDS_MAX = 6_000
_NODES_MAX = 400
_DEPTH_MAX = 8


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Names under which services give a code, the most specific first.
_RANKS = """
decline_code declinecode sub_code subcode error_subcode errorsubcode quotaid limit_source
reason issue info err_code errcode error_code errorcode errornum block_reason blockreason reasoncode reason_code
code error_type errortype __type exception exc_type exceptionname typekey errcodes codes error_name fault_code faultcode violation failure_code
error status_code statuscode statename
type .tag name status finish_reason finishreason stop_reason stopreason kind state
return_code result_code returncode resultcode
"""
_RANK: Mapping[str, int] = {
    name: rank for rank, line in enumerate(_RANKS.strip().splitlines()) for name in line.split()
}
_WORDS = _names(
    """
    message messages msg errmsg err_msg error_msg errormsg errormessage error_message detail details
    description error_description sub_msg submsg err_code_des title defaultmessage raw
    reason text faultstring return_msg status_msg statusmsg error failure_message
    failure_reason user_message info hint localizedmessage errors warning status_message
    desc zh_desc en_desc resultmsg retmsg errorsummary cause stderr error_summary display_message debug_message
    developermessage note error_user_msg blockreasonmessage statusdetail errordescription
    errordetail exception path_message error_details fault failed_reason err issue
    responsemessage resultmessage result_message error-text errortext result content answer comment why problem rawmessage summary
    """
)
_SPEAKING = _WORDS | _RANK.keys() | {"refusal"}
# What only repeats the caller's own words, or is a name, an address, a number of the request.
_ECHO = _names(
    """
    input params rejectedvalue request flagged_input doc query url id request_id requestid
    hostid host_id documentation_url path stack stacktrace help doc_url received prompt
    arguments args instance metadata_url moreinfo more_info help_url helplink log_id logid
    trace_id request_log_url sql parameters headers context_id created_at model recommend
    troubleshooter object mid usage created service domain location locationtype timestamp
    docs_url documentation
    """
)
# Codes that say "fine", or say no more than "something failed".
_EMPTY = _names(
    """
    0 ok success succeeded true false none null error errors fail failed failure
    unknownerror200 200 200000 00000 000000 10000 status exception clienterror
    """
)
_TAG = lazy_pattern(r"<[^>]{0,400}>")
_XML_CODE = lazy_pattern(
    r"<(?:\w+:)?(Code|faultcode|ErrorCode|errorCode)>([^<]{1,200})<", re.IGNORECASE
)
_XML_WORDS = lazy_pattern(
    r"<(?:\w+:)?(Message|faultstring|ErrorMessage|title|Detail)>([^<]{1,1000})<", re.IGNORECASE
)


class Answer(NamedTuple):
    """Codes, the most specific first, and the words of an answer in the order they stand."""

    codes: tuple[str, ...] = ()
    words: str = ""
    inner_status: int = 0  # an HTTP status given as a code inside the answer


EMPTY = Answer()


def read_answer(body: Any) -> Answer:
    """Read an answer; anything that is not recognised is words."""
    if body is None or body == "":
        return EMPTY
    if isinstance(body, str):
        return _markup(body) if body.lstrip()[:1] == "<" else Answer(words=body[:WORDS_MAX])
    found: list[tuple[int, int, int, str]] = []
    words: list[str] = []
    budget = [_NODES_MAX]
    _walk(body, "", 0, found, words, budget)
    found.sort()
    codes = list(dict.fromkeys(code for *_, code in found))
    inner = next((int(code) for code in codes if code.isdigit() and 400 <= int(code) < 600), 0)
    return Answer(tuple(codes[:12]), "\n".join(dict.fromkeys(words))[:WORDS_MAX], inner)


def _walk(
    node: Any,
    key: str,
    depth: int,
    found: list[tuple[int, int, int, str]],
    words: list[str],
    budget: list[int],
) -> None:
    """Collect codes and words, deeper ones as the more specific; bounded in depth and number."""
    budget[0] -= 1
    if budget[0] < 0 or depth > _DEPTH_MAX:
        return
    if isinstance(node, str):
        if node and (key in _SPEAKING or not key):
            _text(node, key, depth, found, words, budget)
    elif is_mapping(node):
        for name, value in node.items():
            lower = _key(str(name).lower(), key, value)
            if budget[0] < 0:
                return
            if value is not None and lower not in _ECHO:
                _walk(value, lower, depth + 1, found, words, budget)
    elif is_list(node):
        for value in items(node)[:40]:
            _walk(value, key, depth + 1, found, words, budget)
    elif key in _RANK and (number := whole(node)) is not None:
        _code(str(number), key, depth, found)


# Where a text stands with its language: {"message": {"lang": "en", "value": "..."}}.
_IN_LANGUAGE = frozenset(("value", "#text", "text", "default", "en"))


_FAULTS = frozenset(("error", "errors", "message", "messages", "detail", "details"))


def _is_said(value: object) -> bool:
    told = items(value) if is_list(value) else [value]
    return bool(told) and all(isinstance(each, str) and " " in each for each in told)


def _key(lower: str, outer: str, value: object) -> str:
    """The name as the tables have it: ``o:errorCode`` and ``error-code`` are ``errorcode``."""
    if outer in _WORDS and lower in _IN_LANGUAGE and isinstance(value, str):
        return outer
    if lower in _SPEAKING or lower in _ECHO:
        return lower
    if outer in _FAULTS and (is_list(value) or outer[-1] == "s") and _is_said(value):
        return outer  # {"errors": {"tag": ["must be unique"]}}: the name is the field's
    bare = lower.rsplit(":", 1)[-1].removeprefix("@").removeprefix("odata.")
    bare = bare.removesuffix("s") if bare.removesuffix("s") in _WORDS else bare
    if bare not in _SPEAKING:
        bare = bare.replace("_", "").replace("-", "").replace(".", "")
    return bare if bare in _SPEAKING else lower


def _text(
    text: str,
    key: str,
    depth: int,
    found: list[tuple[int, int, int, str]],
    words: list[str],
    budget: list[int],
) -> None:
    if text[0] in "{[" and (is_mapping(inner := decoded(text)) or is_list(inner)):
        _walk(cast("Any", inner), key, depth + 1, found, words, budget)
        return
    if key == "refusal":
        _code("refusal", "reason", depth, found)
        words.append(text)
    elif key in _RANK and _is_code(text):
        _code(text, key, depth, found)
        if key in ("reason", "error", "detail", "issue"):
            words.append(text)
    elif key in _WORDS or key in _RANK or not key:
        words.append(text)


def message_answer(message: str) -> Answer:
    """Read the text of an exception that wraps an answer: JSON in it is read as an answer."""
    if (inner := embedded(message)) is not None:
        return read_answer(inner)
    return Answer(words=message[:WORDS_MAX])


# What may stand behind an answer that a text ends with: a quote, "<Response [401]>".
_BEHIND_MAX = 40
_LITERAL_MAX = 4_000


def embedded(message: str) -> Mapping[str, Any] | None:
    """The answer that a text ends with, as JSON or as Python shows a dict or bytes."""
    at, end = message.find("{"), message.rfind("}")
    if at < 0 or end < at or len(message) - end > _BEHIND_MAX:
        return None
    text = message[at : end + 1]
    inner = decoded(text)
    if not is_mapping(inner) and len(text) <= _LITERAL_MAX and text[1:2] in "'\"":
        inner = _literal(text)
    return inner if is_mapping(inner) else None


def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _is_code(text: str) -> bool:
    return 0 < len(text) <= 120 and not any(mark in text for mark in (" ", "，", "。", "\n"))


def _code(text: str, key: str, depth: int, found: list[tuple[int, int, int, str]]) -> None:
    plain = text.rsplit("/", 1)[-1].rsplit("#", 1)[-1]
    if plain.lower().replace("_", "") not in _EMPTY:
        found.append((_RANK[key], -depth, len(found), plain))


def _markup(text: str) -> Answer:
    """XML as AWS and SOAP write it, else the text of a page."""
    head = text[:20_000]
    codes = tuple(found[2].strip() for found in _XML_CODE.finditer(head))
    told = [found[2].strip() for found in _XML_WORDS.finditer(head)]
    if codes:
        return Answer(codes, "\n".join(told)[:WORDS_MAX])
    return Answer(words=" ".join(_TAG.sub(" ", head).split())[:WORDS_MAX])


_FALSE = frozenset(("ok", "success", "succeeded", "issuccess", "is_success"))
_CODES = frozenset(("errcode", "error_code", "err_code", "code", "errorcode", "ret", "retcode"))
_FINE = frozenset(("0", "200", "201", "ok", "success", "00000", "000000", "10000", "", "200000"))
_FAILED = frozenset(
    ("failed", "error", "failure", "fail", "denied", "rejected", "stopped", "errored")
)
_ERRORS = frozenset(("error", "errors", "error_response", "iserror", "is_error"))
_EXITS = frozenset(("returncode", "exit_code", "exitcode", "exit_status", "return_code"))


def is_declared(value: Mapping[Any, Any]) -> bool:
    """Whether a normal return says that it is a failure: by flag, code, status, error or exit."""
    for name, each in islice(value.items(), _NODES_MAX):
        key = str(name).lower()
        if _is_express(key, each):
            return True
        if key in _CODES and isinstance(each, int | str) and not _is_fine(each):
            return True
    inner = mapping(value.get("base_resp") or value.get("header") or value.get("Response"))
    return inner.get("status_code") not in (None, 0) or (bool(inner) and is_declared(inner))


def is_express(value: Mapping[Any, Any]) -> bool:
    """Whether it says so by flag, status, error or exit: not by a code alone, which may be anything's."""
    return any(
        _is_express(str(name).lower(), each) for name, each in islice(value.items(), _NODES_MAX)
    )


def _is_express(key: str, value: object) -> bool:
    if key in _FALSE:
        return value is False or str(value).lower() == "false"
    if key in _EXITS:
        return isinstance(value, int) and value != 0
    if key == "status":
        return isinstance(value, str) and value.lower() in _FAILED
    return key in _ERRORS and _is_error(value)


def _is_fine(code: object) -> bool:
    """Codes that mean success; a code that is a plain word is no failure by itself."""
    if isinstance(code, bool):
        return True
    text = str(code).lower()
    return text in _FINE or (isinstance(code, str) and not re.search(r"\d|err|fail|_", text))


def _is_error(value: object) -> bool:
    return bool(value) and (isinstance(value, str | bool) or is_mapping(value) or is_list(value))


def texts(values: Iterable[object]) -> str:
    """Several texts as one."""
    return "\n".join(str(value) for value in values if value)
