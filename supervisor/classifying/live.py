"""Read a live exception into the stored form; client libraries are looked at, never imported.

Only attributes that some rule uses are read. Nothing is called that could wait: a body is taken
from where the client already keeps it, never through a property that may read the network.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any, cast

from ..errors import message_of
from .values import Record, is_list, is_mapping, mapping

_TEXT_MAX = 20_000
_DEPTH_MAX = 6
_ITEMS_MAX = 60
_NODES_MAX = 2_000

_ATTRS = (
    *("status_code", "http_status", "status", "code", "type", "param", "reason", "errno"),
    *("strerror", "filename", "returncode", "cmd", "stderr", "stdout", "sqlstate", "pgcode"),
    *("detail", "hint", "column_name", "constraint_name", "sqlite_errorcode", "sqlite_errorname"),
    *("error_code", "user_message", "operation_name", "fmt", "kwargs", "details", "smtp_code"),
    *("smtp_error", "recipients", "name", "absolute_path", "json_path", "validator"),
    *("validator_value", "doc", "msg", "retry_after", "title", "error_type", "data", "obj"),
    *("headers", "body", "json_body", "http_body", "error", "diag", "decline_code"),
)
_WANTED = frozenset(_ATTRS)
_DIAG = ("sqlstate", "message_primary", "message_detail", "column_name", "constraint_name")


def live_record(error: BaseException) -> dict[str, Any]:
    """The stored form of an exception; its links stay exceptions until a rule follows them."""
    kind = type(error)
    attrs = _attrs(error)
    return {
        "type": f"{kind.__module__}.{kind.__qualname__}",
        "mro": [f"{each.__module__}.{each.__qualname__}" for each in kind.__mro__[:-1]],
        "message": message_of(error, _TEXT_MAX),
        "attrs": attrs,
        "args": [_plain(each) for each in error.args[:8]],
        "cause": error.__cause__,
        "context": None if error.__suppress_context__ else error.__context__,
        "orig": _link(getattr_quiet(error, "orig")),
        "exceptions": _members(error),
        "raised_in": _raised_in(error),
    }


def getattr_quiet(value: object, name: str) -> Any:
    """An attribute, or None, also where a foreign property raises (httpx's ``request`` does)."""
    try:
        return getattr(value, name, None)
    except Exception:  # noqa: BLE001 - a foreign property may raise anything; then there is nothing to see
        return None


def _attrs(error: BaseException) -> dict[str, Any]:
    if (call := _grpc(error)) is not None:
        return call
    attrs: dict[str, Any] = {}
    for name in _readable(error):
        value = getattr_quiet(error, name)
        if value is None or callable(value) or value in ("", b""):
            continue
        attrs[name] = _diag(value) if name == "diag" else _plain(value)
    if (response := _response(error)) is not None:
        attrs["response"] = response
    request = getattr_quiet(error, "request")
    if (method := getattr_quiet(request, "method")) is not None:
        attrs["request"] = {"method": str(method), "url": str(getattr_quiet(request, "url") or "")}
    if (errors := _errors(error)) is not None:
        attrs["errors"] = errors
    return attrs


def _readable(error: BaseException) -> Iterable[str]:
    """The names worth asking for: those of the object itself, and those its class defines."""
    own: Record = getattr(error, "__dict__", {})
    known = _of_class(type(error))
    return (*known, *(name for name in own if name in _WANTED and name not in known))


_KNOWN_MAX = 1_024
_known: dict[type, tuple[str, ...]] = {}


def _of_class(kind: type) -> tuple[str, ...]:
    """The same few classes come again and again; what they define is asked once."""
    known = _known.get(kind)
    if known is None:
        defined = {name for each in kind.__mro__ for name in vars(each)}
        known = tuple(name for name in _ATTRS if name in defined)
        if len(_known) < _KNOWN_MAX:
            _known[kind] = known
    return known


def _grpc(error: BaseException) -> dict[str, Any] | None:
    """A gRPC error is also the call: its code, its details and what came behind the answer."""
    code = getattr_quiet(error, "code")
    details = getattr_quiet(error, "details") if callable(code) else None
    if not (callable(code) and callable(details)):
        return None
    try:
        found = code()
        trailing = getattr_quiet(error, "trailing_metadata")
        pairs = cast("Iterable[Any]", trailing() or ()) if callable(trailing) else ()
        return {
            "grpc_code": getattr(found, "name", str(found)),
            "grpc_details": str(details() or ""),
            "trailing_metadata": [[str(key), _plain(value)] for key, value in pairs],
        }
    except Exception:  # noqa: BLE001 - not a gRPC call after all: foreign methods of these names
        return {}


def _errors(error: BaseException) -> Any:
    """Validation errors of pydantic, or a plain list of errors."""
    errors = getattr_quiet(error, "errors")
    if callable(errors) and type(error).__module__.startswith("pydantic"):
        return _plain(errors())
    return _plain(errors) if (is_list(errors) or is_mapping(errors)) else None


def _diag(diag: object) -> dict[str, Any]:
    found = {name: getattr_quiet(diag, name) for name in _DIAG}
    return {name: value for name, value in found.items() if isinstance(value, str)}


def _response(error: BaseException) -> dict[str, Any] | None:
    response = getattr_quiet(error, "response")
    if response is None:
        response = getattr_quiet(error, "_response")
    if is_mapping(response):
        return cast("dict[str, Any]", _plain(response))
    status = getattr_quiet(response, "status_code")
    status = getattr_quiet(response, "status") if status is None else status
    headers = {} if response is None else _headers(response)
    if not isinstance(status, int) and not headers:
        return None
    found: dict[str, Any] = {"status": status if isinstance(status, int) else 0, "headers": headers}
    data = getattr_quiet(response, "data")
    if is_mapping(data):
        found["data"] = _plain(data)
    elif body := _kept_body(response):
        found["body"] = body
    return found


def _headers(response: object) -> dict[str, str]:
    headers = getattr_quiet(response, "headers")
    try:
        pairs = list(headers.items())
        return {str(name).lower(): str(value) for name, value in pairs[:_ITEMS_MAX]}
    except Exception:  # noqa: BLE001 - headers of a foreign type: then there are none to see
        return {}


def _kept_body(response: object) -> str:
    """The body where httpx and requests keep what they have read; nothing is read here."""
    for name in ("_content", "content", "_body", "text"):
        value = mapping(getattr_quiet(response, "__dict__")).get(name)
        if isinstance(value, bytes | bytearray):
            return bytes(value[:_TEXT_MAX]).decode("utf-8", "replace")
        if isinstance(value, str):
            return value[:_TEXT_MAX]
    return ""


def _members(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return list(cast("BaseExceptionGroup[BaseException]", error).exceptions)[:_ITEMS_MAX]
    return []


def _link(value: object) -> BaseException | None:
    return value if isinstance(value, BaseException) else None


def _raised_in(error: BaseException) -> str:
    """The module of the innermost frame."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return str(trace.tb_frame.f_globals.get("__name__") or "")


def _plain(value: Any, budget: list[int] | None = None, depth: int = 1) -> Any:
    """Plain data of a foreign value, bounded in depth, number and length."""
    budget = [_NODES_MAX] if budget is None else budget
    budget[0] -= 1
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value[:_TEXT_MAX]
    if isinstance(value, bytes | bytearray):
        return bytes(value[:_TEXT_MAX]).decode("utf-8", "replace")
    if depth > _DEPTH_MAX or budget[0] < 0:
        return type(value).__name__
    if is_mapping(value):
        pairs = islice(value.items(), _ITEMS_MAX)
        return {str(key)[:200]: _plain(each, budget, depth + 1) for key, each in pairs}
    if isinstance(value, list | tuple | set | frozenset) or type(value).__name__ == "deque":
        each_of = islice(cast("Iterable[Any]", value), _ITEMS_MAX)
        return [_plain(each, budget, depth + 1) for each in each_of]
    return _foreign(value, budget, depth)


def _foreign(value: Any, budget: list[int], depth: int) -> Any:
    name = getattr_quiet(value, "name")
    if isinstance(name, str) and getattr_quiet(value, "value") is not None:
        return name  # an enum
    try:
        if hasattr(value, "model_dump"):
            return _plain(value.model_dump(mode="json", exclude_none=True), budget, depth + 1)
        return str(value)[:400]
    except Exception:  # noqa: BLE001 - a foreign __str__ or model_dump may raise anything
        return type(value).__name__
