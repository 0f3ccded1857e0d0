"""What can be seen of one error: a live exception and its stored form are read into the same.

The stored form is plain JSON (``type``, ``mro``, ``message``, ``attrs``, links); `classify_live`
reads an exception object into that form, so both get the same answer from the same rules.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ..errors import Failed
from .phrases import token
from .values import Record, is_mapping, items, mapping, whole

BODY_MAX = 200_000
"""Longest body, in characters, that is read as JSON; of a longer one only the head is words."""


class Evidence(msgspec.Struct, kw_only=True):
    """Facts of one error, without a judgement; links are read only when a rule asks for them."""

    form: str
    type_name: str = ""
    names: tuple[str, ...] = ()  # of the class and its ancestors, nearest first, as tokens
    module: str = ""  # the package the class comes from
    raised_in: str = ""
    message: str = ""
    attrs: Record = {}
    status: int = 0
    headers: Mapping[str, str] = {}
    body: Any = None  # decoded if it was JSON, else text
    method: str = ""
    url: str = ""
    cause: Any = None
    context: Any = None
    orig: Any = None
    members: tuple[Any, ...] = ()
    explicit: Failed | None = None  # raised by a tool that knows what happened
    answer: Any = None  # codes and words of the body, once they have been read

    def has(self, *names: str) -> bool:
        """Whether the class or an ancestor has one of these names (as tokens)."""
        return any(name in self.names for name in names)

    def number(self, name: str) -> int | None:
        """An attribute that is a whole number, or a text that is one."""
        return whole(self.attrs.get(name))

    def text(self, name: str) -> str:
        """An attribute that is a text, else the empty one."""
        value = self.attrs.get(name)
        return value if isinstance(value, str) else ""


def of_http(record: Record) -> Evidence:
    """Read an HTTP answer: ``request``, ``status``, ``headers``, ``body``."""
    request = mapping(record.get("request"))
    return Evidence(
        form="http",
        status=whole(record.get("status")) or 0,
        headers=_headers(record.get("headers")),
        body=decoded(record.get("body")),
        method=str(request.get("method") or ""),
        url=str(request.get("url") or ""),
    )


def of_text(record: Record) -> Evidence:
    """Read what a command, a queue or an MCP tool handed over as text."""
    text = str(record.get("text") or "")
    return Evidence(form=str(record.get("form")), message=text, body=decoded(text))


def of_exception(record: Record) -> Evidence:
    """Read the stored form of an exception."""
    attrs = mapping(record.get("attrs"))
    path = str(record.get("type") or "")
    response = mapping(attrs.get("response"))
    request = mapping(attrs.get("request"))
    return Evidence(
        form="exception",
        type_name=path.rsplit(".", 1)[-1],
        names=tuple(_name(each) for each in record.get("mro") or (path,)),
        module=path.split(".", 1)[0],
        raised_in=str(record.get("raised_in") or ""),
        message=str(record.get("message") or ""),
        attrs=attrs,
        status=_status(attrs, response, path),
        headers=_answer_headers(attrs, response),
        body=_body(attrs, response),
        method=str(request.get("method") or ""),
        url=str(request.get("url") or ""),
        cause=record.get("cause"),
        context=record.get("context"),
        orig=record.get("orig"),
        members=tuple(items(record.get("exceptions"))),
    )


_READERS: Mapping[str, Callable[[Record], Evidence]] = {
    "exception": lambda record: of_exception(mapping(record.get("exception"))),
    "http": of_http,
    "text": of_text,
    "tool_result": of_text,
}


def of_input(record: Record) -> Evidence:
    """Read one stored error of any of the four forms.

    Raises:
        ValueError: there is no such form.
    """
    reader = _READERS.get(str(record.get("form")))
    if reader is None:
        raise ValueError(f"form {record.get('form')!r} is none of {', '.join(_READERS)}")
    return reader(record)


_tokens: dict[str, str] = {}


def _name(path: str) -> str:
    """The token of a class path; the few names there are come again and again."""
    known = _tokens.get(path)
    if known is None:
        known = token(path.rsplit(".", 1)[-1])
        if len(_tokens) < 4_096:
            _tokens[path] = known
    return known


def _status(attrs: Record, response: Record, path: str) -> int:
    meta = mapping(response.get("ResponseMetadata"))
    for value in (
        response.get("status"),
        response.get("status_code"),
        meta.get("HTTPStatusCode"),
        attrs.get("status_code"),
        attrs.get("http_status"),
        attrs.get("status"),
    ):
        if isinstance(value, int) and 100 <= value < 600:
            return value
    code = attrs.get("code")
    coded = path.startswith(("urllib.", "google.", "werkzeug.", "tornado."))
    if coded and isinstance(code, int) and 100 <= code < 600:
        return code
    return 0


def _answer_headers(attrs: Record, response: Record) -> Mapping[str, str]:
    meta = mapping(response.get("ResponseMetadata"))
    return _headers(response.get("headers") or meta.get("HTTPHeaders") or attrs.get("headers"))


def _headers(value: object) -> Mapping[str, str]:
    return {str(name).lower(): str(text) for name, text in mapping(value).items()}


def _body(attrs: Record, response: Record) -> Any:
    """The fullest form of the answer that came with the exception."""
    for value in (response.get("body"), response.get("data")):
        if value:
            return decoded(value)
    if "Error" in response:  # botocore
        return {"Error": response["Error"]}
    for name in ("body", "json_body", "http_body", "details", "error"):
        value = attrs.get(name)
        if mapping(value) or (value and name in ("body", "http_body")):
            return decoded(value)
    content = decoded(attrs.get("content"))  # of clients that keep no answer beside its text
    return content if is_mapping(content) else None


def decoded(value: object) -> Any:
    """JSON text as what it says; anything else as it is; never an error."""
    if not isinstance(value, str) or not value:
        return value
    head = value.lstrip()[:1]
    if head in ("{", "[") and len(value) <= BODY_MAX:
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return value
    if value.startswith(("data:", "event:")):
        return _event(value)
    return value


def _event(text: str) -> Any:
    """The last JSON object of a stream of server-sent events."""
    for line in reversed(text[-8_000:].splitlines()):
        found = mapping(decoded(line[5:].strip()) if line.startswith("data:") else None)
        if found:
            return found
    return text
