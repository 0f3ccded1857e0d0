"""Names of the arguments an error blames, from where each family of services puts them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..patterns import lazy_pattern
from .answers import WORDS_MAX
from .evidence import Evidence, decoded
from .phrases import token
from .proto import status_details, violated_fields
from .values import Record, is_list, is_mapping, items, mapping

FIELDS_MAX = 20
_KEYS = (
    "field",
    "param",
    "parameter",
    "fieldName",
    "field_name",
    "propertyName",
    "argument",
    "loc",
    "api_name",
)
_PLACES = frozenset(("body", "query", "path", "header", "cookie"))
_NAME = r"[A-Za-z_\u4e00-\u9fff][\w.\[\]\-]{0,60}"
_KIND = "(?:key|parameter|argument|field|property|value for|keyword argument)"
_ADJECTIVES = "[Ii]nvalid|[Uu]nknown|[Uu]nsupported|[Uu]nexpected|[Uu]nrecognized"
_VERBS = "is|was|must|cannot|can't|may not|should|has to|needs to"
_WRONG = "required|missing|invalid|not valid|not supported|unsupported|unknown|empty|malformed"
_ZH_WRONG = (
    "不能为空|为空|不存在|格式|无效|不合法|必须|必填|错误|不能大于|不能小于|不能超过|不得超过|过长|超长"
    "|只能是|不正确|应为|有误"
)
_TEXT = tuple(
    lazy_pattern(pattern)
    for pattern in (
        r"缺少(?:必[填要选])?(?:的)?(?:参数|字段)?[\uff1a:\s\[【'\"`]*([A-Za-z_][A-Za-z0-9_.]{0,60})",
        r"(?:参数|字段)[^A-Za-z\u4e00-\u9fff]{0,3}([A-Za-z_][A-Za-z0-9_.]{0,60})",
        rf"([A-Za-z_][\w.]{{0,60}}) ?(?:参数|字段)?(?:{_ZH_WRONG})",
        r"([A-Za-z_][A-Za-z0-9_.]{0,60}) ?(?:参数|字段)",
        r"(?:参数不合法|参数错误)[\uff1a: ]{1,2}([A-Za-z_]\w{0,60})",
        rf"([\u4e00-\u9fff]{{2,8}}?)(?:长度|格式)?(?:{_ZH_WRONG})",
        rf"(?:parameter|argument|field|property|column|attribute),? ['\"`\[]({_NAME})['\"`\]]",
        r"parameters?:? \[['\"](\w{1,60})['\"]",
        rf"[Mm]issing (?:a |the )?(?:required )?{_KIND}s?\b:? ?['\"`]?({_NAME})",
        r"^([A-Z][a-z]{2,30}) ['\"`][^'\"`]{1,60}['\"`] (?:is|must|cannot)",
        rf"['\"`]({_NAME})['\"`]:? is (?:a )?(?:{_WRONG})",
        rf"for (?:parameter|field|argument) ['\"`]?({_NAME})",
        rf"(?:{_ADJECTIVES}) (?:value for )?{_KIND}s?\b:? ?['\"`]?({_NAME})",
        rf"^['\"`]({_NAME})['\"`] ?: ",
        rf"[Tt]he ['\"`]({_NAME})['\"`] (?:number|value|id|address|date|name)\b",
        r"\b([A-Z]\w{1,40}) field is (?:missing|required|invalid)",
        r"[Rr]ange of ([a-z]\w{0,60})",
        r"(?:specify|provide|supply) (?:the |a |an )?['\"`]?([a-z]+_[a-z_]+)",
        rf"^([A-Za-z]\w{{0,40}}) (?:is|was) (?:a )?(?:{_WRONG})",
        rf"(?:^|, |: )([a-z][\w.]{{0,60}}) (?:{_VERBS}) ",
        r"\b([a-z]+(?:_[a-z]+)+) (?:missing|must be|is|has to)\b",
        r"[Ii]nvalid ([a-z]+_[a-z_]+)\b",
        r"[Ii]nvalid ([a-z]+ id)\b",
        r"\b([a-z]\w{1,40}) (?:is )?missing\b",
        r"^[Ii]nvalid ([a-z]\w{2,40})(?: rid:|\.?$)",
        rf"parameter in \w{{1,40}}: \"({_NAME})\"",
        r"at `\$\.([\w.\[\]]{1,60})`",
        r"^([a-z]+(?:[._]\w+)+): ",
        rf"key ['\"`]({_NAME})['\"`]",
    )
)
_POINTER = lazy_pattern(r"json-pointer:/([\w./]{1,80})")
_PYDANTIC = lazy_pattern(r"\d validation errors? for \w+\n([\w.]{1,60})\n")
_EXTRA = lazy_pattern(r"\(((?:'[^']{1,60}'(?:, )?)+) (?:was|were) unexpected\)")
_REQUIRED = lazy_pattern(r"^'([^']{1,60})' is a required property")
_NOT_NAMES = frozenset(
    """
    which that the a an is be are to of in for value values not was it this that and or input request
    参数 字段 请求参数 输入参数 请求 输入 数据
    """.strip().split()
)


def blamed_fields(evidence: Evidence, words: str) -> tuple[str, ...]:
    """Argument names or paths at fault, in the order found, each once."""
    found = list(_validation(evidence)) or list(_structured(evidence)) or list(_trailers(evidence))
    found = found or list(_of_codes(evidence)) or list(_embedded(words[:WORDS_MAX]))
    if not found:
        found = list(_of_text(words))
    return tuple(dict.fromkeys(name for name in found if name))[:FIELDS_MAX]


def _validation(evidence: Evidence) -> Iterator[str]:
    """pydantic, jsonschema, msgspec, botocore, database drivers, mail, the file system."""
    attrs = evidence.attrs
    for each in items(attrs.get("errors")):
        yield path(mapping(each).get("loc"))
    if "validator" in attrs:
        yield from _jsonschema(evidence)
    diag = mapping(attrs.get("diag"))
    for name in (attrs.get("column_name"), diag.get("column_name")):
        if isinstance(name, str):
            yield name
    detail = str(attrs.get("detail") or diag.get("message_detail") or "")
    if found := re.match(r"Key \(([^)]{1,200})\)=", detail):
        yield from (name.strip() for name in found[1].split(","))
    yield from _sql(evidence)
    if evidence.has("smtprecipientsrefused"):
        yield "to"
    if evidence.has(
        "invalidurl",
        "invalidschema",
        "missingschema",
        "unsupportedprotocol",
        "nonhttpurlclienterror",
    ):
        yield "url"
    if evidence.has("oserror") and evidence.module == "builtins" and evidence.attrs.get("filename"):
        yield "path"
    if evidence.message == "embedded null byte" or _NO_PATH.search(evidence.text("stderr")):
        yield "path"
    if "syntax error" in evidence.text("stderr"):
        yield "command"


_NO_PATH = lazy_pattern(r"cannot access|cannot stat|No such file or directory")
_SQL = lazy_pattern(
    r"no such (?:table|column)|syntax error|does not exist|ambiguous column|unrecognized token|incomplete input"
)
_NOT_NULL = lazy_pattern(
    r"NOT NULL constraint failed: (?:\w+\.)?(\w+)|Column '(\w+)' cannot be null"
)


def _sql(evidence: Evidence) -> Iterator[str]:
    """The statement itself, or the column that was left out."""
    state = evidence.text("sqlstate") or str(mapping(evidence.attrs.get("diag")).get("sqlstate"))
    database = evidence.module in (
        "sqlite3",
        "asyncpg",
        "psycopg",
        "psycopg2",
        "sqlalchemy",
        "pymysql",
    )
    if state[:2] == "42" or (database and _SQL.search(evidence.message)):
        yield "sql"
    elif database and (found := _NOT_NULL.search(evidence.message)):
        yield found[1] or found[2]


def _jsonschema(evidence: Evidence) -> Iterator[str]:
    where = path(evidence.attrs.get("absolute_path"))
    message = evidence.message.split("\n", 1)[0]
    if found := _REQUIRED.match(message):
        yield f"{where}.{found[1]}" if where else found[1]
    elif found := _EXTRA.search(message):
        yield from (name.strip(" '") for name in found[1].split(","))
    else:
        yield where


def path(loc: object) -> str:
    """A location as a dotted path, without the part of the request it is in."""
    if isinstance(loc, str):
        return loc
    if not is_list(loc):
        return ""
    parts = [str(part) for part in items(loc)]
    if len(parts) > 1 and parts[0] in _PLACES:
        parts = parts[1:]
    return ".".join(parts)


def _structured(evidence: Evidence) -> Iterator[str]:
    body = evidence.body
    yield from _lists(body)
    for node in _nodes(body, 0, [200]):
        for key in _KEYS:
            value = node.get(key)
            if isinstance(value, str) and value not in ("None", "null") and len(value) < 100:
                yield value.removeprefix("body.").removeprefix("$.").lstrip("/").replace("/", ".")
            elif is_list(value) and key in ("loc", "field"):
                yield path(value)
        yield from _maps(node)
        yield from _named(node)
        yield from (str(name) for name in items(node.get("fields"))[:FIELDS_MAX])


# What a code blames where the answer names no field, as the services document it.
_CODE_FIELDS: Mapping[str, str] = {
    "nosuchkey": "Key",
    "bucketalreadyexists": "Bucket",
    "channelnotfound": "channel",
    "usernotfound": "user",
    "messagenotfound": "ts",
    "threadnotfound": "thread_ts",
    "filenotfound": "file",
    "msgtoolong": "text",
    "notext": "text",
    "emailinvalid": "email",
    "amounttoosmall": "amount",
    "amounttoolarge": "amount",
}


def _of_codes(evidence: Evidence) -> Iterator[str]:
    codes: tuple[str, ...] = getattr(evidence.answer, "codes", ())
    for code in codes:
        if (name := _CODE_FIELDS.get(token(code))) is not None:
            yield name


def _trailers(evidence: Evidence) -> Iterator[str]:
    for pair in evidence.attrs.get("trailing_metadata") or ():
        if str(pair[0]).lower() == "grpc-status-details-bin":
            for detail in status_details(str(pair[1])):
                if detail.kind == "BadRequest":
                    yield from violated_fields(detail.value)


def _maps(node: Record) -> Iterator[str]:
    """``{"errors": {"start_date": ["is not a date"]}}`` and the like."""
    for key in ("errors", "fields", "fieldErrors", "field_errors", "invalid_params"):
        value = node.get(key)
        if not is_mapping(value):
            continue
        for name, text in mapping(value).items():
            if isinstance(text, str | list) and str(name) not in (
                "message",
                "code",
                "detail",
                "type",
            ):
                yield str(name)


_FAULTS = frozenset(("invalidfields", "invalidparams", "invalidparameters", "violations"))


def _named(node: Record) -> Iterator[str]:
    """``{"invalidFields": [{"name": "amount", "message": "is required"}]}``."""
    for key, value in node.items():
        if token(str(key)) in _FAULTS:
            for each in items(value)[:FIELDS_MAX]:
                name = mapping(each).get("name")
                if isinstance(name, str):
                    yield name


def _embedded(words: str) -> Iterator[str]:
    """Faults as JSON inside a sentence: ``... not valid: [{"name": "email", ...}]``."""
    start, end = words.find("[{"), words.rfind("}]")
    for each in items(decoded(words[start : end + 2]))[:FIELDS_MAX] if 0 <= start < end else ():
        node = mapping(each)
        yield path(node.get("path") or node.get("loc") or node.get("name") or node.get("field"))


_NOT_FIELDS = frozenset(
    ("errors", "errormessages", "messages", "warnings", "details", "nonfielderrors", "causes")
)


def _lists(body: object) -> Iterator[str]:
    """``{"name": ["has already been taken"]}``, bare or as the message: each field with its faults."""
    for node in (mapping(body), mapping(mapping(body).get("message"))):
        named = [(str(name), value) for name, value in node.items()]
        if named and all(_are_sentences(value) for _, value in named):
            yield from (name for name, _ in named if token(name) not in _NOT_FIELDS)


def _are_sentences(value: object) -> bool:
    told = items(value)
    return bool(told) and all(isinstance(each, str) and " " in each for each in told)


def _nodes(node: Any, depth: int, budget: list[int]) -> Iterator[Record]:
    budget[0] -= 1
    if depth > 7 or budget[0] < 0:
        return
    if is_mapping(node):
        record = mapping(node)
        yield record
        for key, value in record.items():
            if key not in ("input", "ctx", "request"):
                yield from _nodes(value, depth + 1, budget)
    elif is_list(node):
        for each in items(node)[:40]:
            yield from _nodes(each, depth + 1, budget)


def _of_text(words: str) -> Iterator[str]:
    if found := _PYDANTIC.search(words[:WORDS_MAX]):
        yield found[1]
        return
    for line in words[:WORDS_MAX].splitlines()[:10]:
        pointers = [found[1].replace("/", ".") for found in _POINTER.finditer(line[:500])]
        if pointers:
            yield from pointers[:5]
            return
        for pattern in _TEXT:
            names = [found[1].strip(".") for found in pattern.finditer(line[:500])]
            names = [name for name in names if name.lower() not in _NOT_NAMES]
            if names:
                yield from (_argument(name) for name in names[:5])
                return


def _argument(name: str) -> str:
    """A name as an argument is written: no capital from the start of a sentence, no brackets."""
    if name[:1].isupper() and name[1:].islower():
        name = name.lower()
    name = name.replace(" ", "_")
    return _INDEX.sub(r".\1", name) if name.startswith("items[") or "]." in name else name


_INDEX = lazy_pattern(r"\[(\d{1,6})\]")
