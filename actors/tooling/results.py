"""What a tool returned, as the model and the store get it. Pure."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast, runtime_checkable

import msgspec
from msgspec import Struct

from ...supervisor.errors import ToolBug
from ..text import clean, decode, exact, head_of, is_hostile, marker, shorten, size, tail_of

CONTENT_BYTES_MAX = 32 * 1024
NOTE_BYTES_MAX = 384  # room for the names of all kinds of replacement at once
_TRIES = 6


class ResultLimits(Struct, frozen=True, kw_only=True):
    """How much of a result the model sees: bytes of UTF-8, and the share kept for its end."""

    content_bytes_max: int = CONTENT_BYTES_MAX
    tail: float = 0.25


class Rendered(Struct, frozen=True):
    """A result as text within its bound.

    ``blob`` is what to keep aside once, by its SHA-256 digest, where the content is not the whole
    truth: too long, or with characters replaced. ``value_type`` names the type of a structured
    result; ``changed`` what was replaced.
    """

    content: str
    blob: tuple[str, bytes] | None = None
    value_type: str | None = None
    changed: tuple[str, ...] = ()


@runtime_checkable
class Shown(Protocol):
    """A result that knows best how a model should see it."""

    def to_text(self) -> str: ...


DEFAULT_LIMITS = ResultLimits()


def render_result(
    value: object,
    limits: ResultLimits = DEFAULT_LIMITS,
    *,
    mask: Callable[[str], str] | None = None,
) -> Rendered:
    """Bring a tool's result into text, cleaned and bounded.

    Text stays as it is, bytes are decoded, None is empty, what has a ``to_text()`` is asked, and
    all else becomes JSON (dataclasses, Structs, TypedDicts, dates, Decimals, sets, enums, pydantic
    models), the keys of dicts and the members of sets in order. NaN and infinities become null.
    ``mask`` hides secrets before anything is cut, since a cut could leave half of one; where it
    hid something, ``blob`` holds the masked text too.

    Raises:
        ToolBug: no JSON can be made of it; the message names the type. The body did run.
    """
    value_type: str | None = None
    raw: str | bytes
    if type(value) is str:
        # What most tools return: short, and nothing in it to be replaced.
        text = value if mask is None else mask(value)
        if is_short(text, limits):
            return Rendered(text)
        raw = value
    elif isinstance(value, str):
        raw = exact(value)
    elif isinstance(value, bytes):
        raw = bytes(value)
    elif isinstance(value, bytearray | memoryview):
        raw = bytes(cast(bytearray, value))
    elif value is None:
        raw = ""
    else:
        value_type = type_name(value)
        raw = exact(value.to_text()) if isinstance(value, Shown) else _to_json(value)
    if mask is not None:
        raw = _masked(raw, mask)
    return _bounded(raw, limits, value_type)


def is_short(text: str, limits: ResultLimits = DEFAULT_LIMITS) -> bool:
    """Tell whether a text is shown as it is: certainly within its bound, and nothing to replace."""
    return len(text) * 4 <= limits.content_bytes_max and not is_hostile(text)


def _masked(raw: str | bytes, mask: Callable[[str], str]) -> str | bytes:
    text = raw if isinstance(raw, str) else decode(raw)[0]
    masked = mask(text)
    return raw if masked == text else masked


def type_name(value: object) -> str:
    """Return the name a value's type is known by: ``list``, ``shop.models.Order``."""
    cls = type(value)
    plain = cls.__module__ == "builtins"
    return cls.__qualname__ if plain else f"{cls.__module__}.{cls.__qualname__}"


def _bounded(raw: str | bytes, limits: ResultLimits, value_type: str | None) -> Rendered:
    if isinstance(raw, str) and is_short(raw, limits):
        return Rendered(raw, None, value_type)
    text, decoding = (raw, ()) if isinstance(raw, str) else decode(raw)
    if size(text) <= limits.content_bytes_max:
        cleaned = clean(text)
        changed = (*decoding, *cleaned.changed)
        content = cleaned.text + _note(changed)
        if size(content) <= limits.content_bytes_max:
            return Rendered(content, _blob(raw) if changed else None, value_type, changed)
    content, replaced = _excerpt(text, limits)
    changed = (*decoding, *replaced)
    return Rendered(content + _note(changed), _blob(raw), value_type, changed)


def _excerpt(text: str, limits: ResultLimits) -> tuple[str, tuple[str, ...]]:
    """Cut first and clean then: a huge text costs no more than the part that is shown."""
    room = max(limits.content_bytes_max - NOTE_BYTES_MAX, 0)
    budget, total = room, size(text)
    content = ""
    changed: tuple[str, ...] = ()
    for _ in range(_TRIES):
        last = tail_of(text, int(budget * limits.tail))
        head = head_of(text[: len(text) - len(last)], budget - size(last))
        missing = total - size(head) - size(last)
        first, end = clean(head), clean(last)
        content = f"{first.text}{marker(missing) if missing else ''}{end.text}"
        changed = tuple(dict.fromkeys((*first.changed, *end.changed)))
        if size(content) <= room:
            return content, changed
        # Visible replacements are longer than what they stand for.
        budget = max(budget * room // size(content) - len(marker(total)), 0)
    return shorten(content, room).text, changed


def _note(changed: tuple[str, ...]) -> str:
    return f"\n[replaced: {', '.join(changed)}]" if changed else ""


def _blob(raw: str | bytes) -> tuple[str, bytes]:
    full = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    return hashlib.sha256(full).hexdigest(), full


def _to_json(value: object) -> str:
    try:
        return _encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ToolBug(
            f"the tool returned {type_name(value)}, of which no JSON can be made: "
            f"{shorten(str(error), 200, unit='chars').text}; return text, or plain data",
            may_have_executed="yes",
        ) from error


def _encode(value: object) -> bytes:
    try:
        return _encoder.encode(value)
    except TypeError:
        # A set whose members do not compare has no stable order; anything else fails again.
        return _unordered.encode(value)
    except UnicodeEncodeError:
        # Half a character somewhere inside: msgspec refuses it, so it is made visible first.
        plain = msgspec.to_builtins(value, str_keys=True, enc_hook=_unknown_to_plain)
        return _encoder.encode(_cleaned_tree(plain))


def _cleaned_tree(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value).text
    if isinstance(value, Mapping):
        pairs = cast(Mapping[str, Any], value).items()
        return {clean(key).text: _cleaned_tree(one) for key, one in pairs}
    if isinstance(value, list | tuple):
        return [_cleaned_tree(one) for one in cast(list[Any], value)]
    return value


def _unknown_to_plain(value: Any) -> Any:
    """Encode what msgspec does not know but what says itself how: a pydantic model."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    raise TypeError(f"objects of type {type_name(value)} are unknown")


# The same value is the same text in every process: a set's own order changes with each.
_encoder = msgspec.json.Encoder(enc_hook=_unknown_to_plain, order="deterministic")
_unordered = msgspec.json.Encoder(enc_hook=_unknown_to_plain)
