"""Turn a live exception into the plain-JSON form used by the corpus.

The result holds only what a classifier could look at in the real process: the
class path, the class ancestry, the message, simple public attributes, a
response if one is attached, and the chain of causes.
"""
from __future__ import annotations

import base64
import re
from typing import Any

_MAX_TEXT = 2400
_DEPTH = 4

# attributes worth keeping when they are present (beyond what vars() shows)
_PROPS = (
    "errno", "strerror", "filename", "filename2",
    "status_code", "status", "code", "type", "param", "reason", "message",
    "returncode", "cmd", "stdout", "stderr", "timeout",
    "sqlstate", "pgcode", "severity", "detail", "hint", "column_name",
    "constraint_name", "table_name", "sqlite_errorcode", "sqlite_errorname",
    "http_status", "user_message", "request_id", "error_code", "api_message",
    "operation_name", "fmt", "kwargs", "details", "data",
    "smtp_code", "smtp_error", "recipients",
    "name", "obj", "path", "absolute_path", "json_path", "validator",
    "validator_value", "lineno", "colno", "pos", "msg", "encoding", "start",
    "end", "partial", "expected", "llm_provider", "model", "max_retries",
    "retry_after", "errors_list", "grpc_status_code", "title", "error_type",
    "verify_code", "verify_message", "library", "timeout_",
)
_SKIP = {
    "args", "with_traceback", "add_note", "request", "response", "connection_key",
    "_response", "instance", "schema", "context", "parent", "cause", "__notes__",
    "completion", "json_body", "headers", "body", "http_body", "error",
    "_state", "_call_error", "_operation", "sock", "connection", "os_error",
    "ssl_error", "request_info", "history", "litellm_debug_info", "exception",
    "original_exception", "orig", "params", "statement", "connection_invalidated",
    "errors", "pool", "url", "e", "ehlo_resp", "litellm_response_headers",
}


def class_path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _simple(value: Any, depth: int = 0) -> Any:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return value[:_MAX_TEXT]
    if isinstance(value, (bytes, bytearray, memoryview)):
        raw = bytes(value)[:_MAX_TEXT]
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(raw).decode("ascii")}
    if depth > 5:
        return str(value)[:200]
    if isinstance(value, dict) or hasattr(value, "items") and hasattr(value, "keys"):
        try:
            return {str(k): _simple(v, depth + 1) for k, v in list(value.items())[:60]}
        except Exception:
            return str(value)[:400]
    if isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ == "deque":
        return [_simple(v, depth + 1) for v in list(value)[:40]]
    if isinstance(value, type):
        return class_path(value)
    if hasattr(value, "name") and hasattr(value, "value") and not callable(value.name):
        return str(value.name)
    if hasattr(value, "model_dump"):
        try:
            return _simple(value.model_dump(mode="json", exclude_none=True), depth + 1)
        except Exception:
            return _safe(value)
    return _safe(value)


def _safe(value: Any) -> str:
    try:
        return str(value)[:400]
    except Exception:
        return f"<{class_path(type(value))}>"


def _headers(h: Any) -> dict[str, str]:
    try:
        return {str(k).lower(): str(v) for k, v in h.items()}
    except Exception:
        return {}


def _response(resp: Any) -> dict[str, Any] | None:
    """httpx / httpx2 / requests / aiohttp / urllib style response objects."""
    if resp is None or isinstance(resp, (dict, str, bytes)):
        return None
    status = getattr(resp, "status_code", None)
    if status is None:
        status = getattr(resp, "status", None)
    if not isinstance(status, int):
        return None
    out: dict[str, Any] = {"status": int(status), "headers": _headers(getattr(resp, "headers", {}))}
    try:
        text = resp.text
        if isinstance(text, str):
            out["body"] = text[:_MAX_TEXT]
    except Exception:
        pass
    return out


def serialise(exc: BaseException, depth: int = 0) -> dict[str, Any]:
    out: dict[str, Any] = {
        "type": class_path(type(exc)),
        "mro": [class_path(c) for c in type(exc).__mro__ if c is not object],
        "message": _text(exc),
    }
    attrs: dict[str, Any] = {}

    # gRPC: the error object is also the call
    if callable(getattr(exc, "code", None)) and callable(getattr(exc, "details", None)):
        try:
            code = exc.code()
            attrs["grpc_code"] = getattr(code, "name", str(code))
            attrs["grpc_details"] = exc.details()
            md = exc.trailing_metadata() or ()
            attrs["trailing_metadata"] = [
                [k, base64.b64encode(v).decode() if isinstance(v, bytes) else v] for k, v in md
            ]
        except Exception:
            pass
    else:
        for name in list(vars(exc)) + list(_PROPS):
            if name in _SKIP or name.startswith("_") or name in attrs:
                continue
            try:
                value = getattr(exc, name)
            except Exception:
                continue
            if callable(value) or value is None:
                continue
            attrs[name] = _simple(value)

    diag = getattr(exc, "diag", None)
    if diag is not None and hasattr(diag, "sqlstate"):
        attrs["diag"] = {
            k: getattr(diag, k) for k in
            ("severity", "sqlstate", "message_primary", "message_detail", "message_hint",
             "column_name", "constraint_name", "table_name") if getattr(diag, k, None)
        }

    for name in ("body", "headers", "json_body", "error"):
        value = getattr(exc, name, None)
        if value is None or callable(value):
            continue
        if name == "headers":
            h = _headers(value)
            if h:
                attrs["headers"] = h
        else:
            attrs[name] = _simple(value)

    resp = getattr(exc, "response", None)
    if resp is None:
        resp = getattr(exc, "_response", None)
    if isinstance(resp, dict):                       # botocore
        attrs["response"] = _simple(resp)
    elif type(resp).__name__ == "SlackResponse":
        attrs["response"] = {"status": resp.status_code, "headers": _headers(resp.headers),
                             "data": _simple(resp.data)}
    else:
        r = _response(resp)
        if r:
            attrs["response"] = r
    req = None
    try:
        req = getattr(exc, "request", None)
    except Exception:
        req = None
    if req is not None and getattr(req, "method", None):
        attrs["request"] = {"method": str(req.method), "url": str(getattr(req, "url", ""))}

    errs = getattr(exc, "errors", None)
    if callable(errs):                               # pydantic
        try:
            attrs["errors"] = _simple(errs())
        except Exception:
            pass
    elif isinstance(errs, (list, dict)):
        attrs["errors"] = _simple(errs)

    if attrs:
        out["attrs"] = {k: v for k, v in attrs.items() if v not in (None, "", [], {})}

    args = getattr(exc, "args", ())
    if args and not (len(args) == 1 and isinstance(args[0], str) and args[0] == out["message"]):
        out["args"] = [_simple(a) if not isinstance(a, BaseException) else class_path(type(a)) for a in args][:8]

    orig = getattr(exc, "orig", None)
    if isinstance(orig, BaseException) and depth < _DEPTH:
        out["orig"] = serialise(orig, depth + 1)

    if isinstance(exc, BaseExceptionGroup) and depth < _DEPTH:
        out["exceptions"] = [serialise(e, depth + 1) for e in exc.exceptions]

    if depth < _DEPTH:
        cause = exc.__cause__
        ctx = exc.__context__
        if cause is not None:
            out["cause"] = serialise(cause, depth + 1)
        elif ctx is not None and not exc.__suppress_context__:
            out["context"] = serialise(ctx, depth + 1)

    tb = exc.__traceback__
    last = None
    while tb is not None:
        last = tb.tb_frame.f_globals.get("__name__")
        tb = tb.tb_next
    if last:
        out["raised_in"] = last
    return out


def _text(exc: BaseException) -> str:
    try:
        return str(exc)[:_MAX_TEXT]
    except Exception:
        return repr(exc)[:_MAX_TEXT]
