"""Text from outside made safe to store and bounded to show. Pure.

Two rules hold for everything here. What comes out always encodes as UTF-8. A cut never falls inside
what a reader takes for one character: a flag, a letter with its accents, an emoji with its
modifiers, a surrogate pair, a line end of two characters.
"""

import json
import re
import unicodedata
from typing import Literal

from msgspec import Struct

from ..supervisor.patterns import lazy_pattern

Unit = Literal["bytes", "chars"]

# Sequences longer than this are not characters anybody wrote; looking for their start would cost.
SEQUENCE_MAX = 256

# Control characters but tab, line feed and carriage return; line separators; lone surrogates.
_HOSTILE = lazy_pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_HOSTILE_ASCII = bytes([*range(9), 11, 12, *range(14, 32), 127])
_SHORT = 100  # up to here a look at each character is the quickest; nothing hostile is printable
_PAIR = lazy_pattern("[\ud800-\udbff][\udc00-\udfff]")
# Without width, or turning the order about: nothing of it is seen. Joiners count beside ASCII alone.
_UNSEEN = lazy_pattern(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]|(?<=[\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?=[\x00-\x7f])"
)
_HANGUL_FOLLOWERS = {
    "L": ("L", "V", "LV", "LVT"),
    "V": ("V", "T"),
    "LV": ("V", "T"),
    "T": ("T",),
    "LVT": ("T",),
    "": (),
}
_NAMES = {
    "\x00": "NUL",
    "\x1b": "escape",
    "\x85": "next line U+0085",
    "\u2028": "line separator U+2028",
    "\u2029": "paragraph separator U+2029",
}
# The longer mark first: UTF-32's begins with UTF-16's.
_BYTE_ORDER_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)


class Cleaned(Struct, frozen=True):
    """Text that encodes as UTF-8; ``changed`` names what had to be replaced, each kind once."""

    text: str
    changed: tuple[str, ...] = ()


class Shortened(Struct, frozen=True):
    """Text within its limit; ``missing`` is what was left out, in the limit's unit."""

    text: str
    missing: int = 0


def clean(value: str | bytes) -> Cleaned:
    r"""Replace what breaks stores, protocols and terminals, visibly, and name it.

    Control characters become their pictures (NUL is ``␀``, escape is ``␛``); line and paragraph
    separators, C1 controls and lone surrogates become their escapes (``\u2028``, ``\x85``,
    ``\ud83d``); two surrogates that make a pair become the character they mean. Bytes are read as
    UTF-8, or as what their byte order mark says; bytes that do not decode become ``\xff``.
    Tab, line feed and carriage return stay.
    """
    text, decoding = (exact(value), ()) if isinstance(value, str) else decode(value)
    if not is_hostile(text):
        return Cleaned(text, decoding)
    changed = [*decoding]
    if _PAIR.search(text):
        text = _PAIR.sub(_join, text)
        changed.append("surrogate pair")
    found = {_name(char): None for char in dict.fromkeys(_HOSTILE.findall(text))}
    return Cleaned(_HOSTILE.sub(_visible, text), (*changed, *found))


def visible(text: str) -> str:
    r"""Return a text with what cannot be seen, or changes the order of what can, as escapes (``\u202e``).

    For whoever decides by what is read. In JSON the escapes mean the very same characters. Joiners stay
    where letters and emoji of other scripts need them.
    """
    return text if text.isascii() else _UNSEEN.sub(_escape, text)


def exact(text: str) -> str:
    """Return a text as a plain str: a subclass is the same to a reader, and not to an encoder."""
    return text if type(text) is str else str.__str__(text)


def is_hostile(text: str) -> bool:
    """Tell whether `clean` would change this text; some nanoseconds a character at most."""
    if len(text) < _SHORT and text.isprintable():
        return False
    if text.isascii():
        # Deleting by table is ten times faster than a regular expression.
        raw = text.encode("ascii")
        return len(raw.translate(None, _HOSTILE_ASCII)) != len(raw)
    return _HOSTILE.search(text) is not None


def decode(value: bytes) -> tuple[str, tuple[str, ...]]:
    """Return bytes as text, and what had to be done to get there; never fails."""
    marks = (known for known in _BYTE_ORDER_MARKS if value.startswith(known[0]))
    mark, encoding = next(marks, (b"", "utf-8"))
    name = encoding.removesuffix("-sig").upper()
    changed = (f"byte order mark of {name}",) if mark else ()
    try:
        return value.decode(encoding), changed
    except UnicodeDecodeError:
        return value.decode(encoding, "backslashreplace"), (*changed, f"bytes that are not {name}")


def _join(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _name(char: str) -> str:
    if char in _NAMES:
        return _NAMES[char]
    return "lone surrogate" if "\ud800" <= char <= "\udfff" else "control character"


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)  # the block of control pictures mirrors the controls
    if code == 0x7F:
        return "␡"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def size(text: str, unit: Unit = "bytes") -> int:
    """Return the length in code points, or in bytes of UTF-8 (a lone surrogate counts three)."""
    if unit == "chars" or text.isascii():
        return len(text)
    return len(text.encode("utf-8", "surrogatepass"))


def shorten(text: str, limit: int, *, unit: Unit = "bytes", tail: float = 0.0) -> Shortened:
    """Cut text down to ``limit``, its marker included.

    The marker says how much is missing, in the limit's unit, and stands where the text was cut:
    at the end, or before the last part, for which ``tail`` reserves that share of the room.
    A limit too small for the marker gives the beginning alone; ``missing`` still tells.
    """
    total = size(text, unit)
    if total <= limit:
        return Shortened(text)
    room = limit - len(marker(total, unit))
    if room < 0:
        head = head_of(text, max(limit, 0), unit)
        return Shortened(head, total - size(head, unit))
    last = tail_of(text, int(room * min(max(tail, 0.0), 1.0)), unit)
    head = head_of(text, room - size(last, unit), unit)
    missing = total - size(head, unit) - size(last, unit)
    return Shortened(f"{head}{marker(missing, unit)}{last}", missing)


def marker(missing: int, unit: Unit = "bytes") -> str:
    """Return what stands where text was left out; longer for larger numbers only."""
    return f"\n[... {missing} {unit} missing ...]\n"


def head_of(text: str, room: int, unit: Unit = "bytes") -> str:
    """Return the longest beginning that fits and ends between two characters."""
    end = min(room, len(text))
    if unit == "bytes" and not text[:end].isascii():
        end = _fitting(text[:end], room)
    return text[: _border_before(text, end)]


def tail_of(text: str, room: int, unit: Unit = "bytes") -> str:
    """Return the longest end that fits and begins between two characters."""
    start = max(len(text) - max(room, 0), 0)
    if unit == "bytes" and not text[start:].isascii():
        start += _overflowing(text[start:], room)
    return text[_border_after(text, start) :]


def _fitting(text: str, room: int) -> int:
    """Return how many code points from the start fit into so many bytes."""
    raw = text.encode("utf-8", "surrogatepass")
    end = min(room, len(raw))
    while 0 < end < len(raw) and raw[end] & 0xC0 == 0x80:
        end -= 1
    return len(raw[:end].decode("utf-8", "surrogatepass"))


def _overflowing(text: str, room: int) -> int:
    """Return how many code points at the start must go so that the rest fits."""
    raw = text.encode("utf-8", "surrogatepass")
    start = max(len(raw) - room, 0)
    while start < len(raw) and raw[start] & 0xC0 == 0x80:
        start += 1
    return len(text) - len(raw[start:].decode("utf-8", "surrogatepass"))


def _border_before(text: str, index: int) -> int:
    for candidate in range(index, max(index - SEQUENCE_MAX, 0), -1):
        if is_border(text, candidate):
            return candidate
    return index if index > SEQUENCE_MAX else 0


def _border_after(text: str, index: int) -> int:
    for candidate in range(index, min(index + SEQUENCE_MAX, len(text))):
        if is_border(text, candidate):
            return candidate
    return index if len(text) - index > SEQUENCE_MAX else len(text)


def is_border(text: str, index: int) -> bool:
    """Tell whether a reader sees two characters, not one, around this position.

    A subset of Unicode's text segmentation (UAX 29): combining marks, joiners, variation
    selectors, emoji modifiers and tags, flags, conjoining Hangul, conjuncts after a virama,
    surrogate pairs, CR LF.
    """
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before < "\u0300" and after < "\u0300":
        return not (before == "\r" and after == "\n")
    if _is_flag_half(before) and _is_flag_half(after):
        return _flag_halves_before(text, index) % 2 == 0
    return not (_extends(after) or _pulls(before, after))


def _extends(char: str) -> bool:
    """Tell whether a character belongs to the one before it."""
    return (
        unicodedata.category(char) in ("Mn", "Mc", "Me")
        or char in "\u200c\u200d"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _pulls(before: str, after: str) -> bool:
    """Tell whether a character holds on to the one behind it."""
    if before == "\u200d":
        return True
    if "\ud800" <= before <= "\udbff":
        return "\udc00" <= after <= "\udfff"
    if unicodedata.combining(before) == 9:  # a virama
        return unicodedata.category(after) == "Lo"
    return _hangul(after) in _HANGUL_FOLLOWERS[_hangul(before)]


def _hangul(char: str) -> str:
    """Return which part of a Hangul block this is: leading, vowel, trailing, a block, none."""
    if "\u1100" <= char <= "\u11ff":
        return "L" if char < "\u1160" else "V" if char < "\u11a8" else "T"
    if "\uac00" <= char <= "\ud7a3":
        return "LVT" if (ord(char) - 0xAC00) % 28 else "LV"
    return ""


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_halves_before(text: str, index: int) -> int:
    start = index
    while start > 0 and _is_flag_half(text[start - 1]):
        start -= 1
    return index - start
