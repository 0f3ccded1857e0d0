"""Secrets: known values, hidden wherever they come back."""

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

HIDDEN = "***"
LENGTH_MIN = 4
# The part of an encoded secret that does not depend on its neighbours must be this long to count.
_ENCODED_MIN = 8
_LINE_MIN = 12


class Mask:
    """Replaces a fixed set of secret values, in all the spellings that programs give them.

    Known spellings: as it is; URL-encoded (both ways to write a space, both cases of digits);
    JSON-escaped (with and without ASCII only, with ``\\/``); Python's repr; HTML-escaped; base64
    in both alphabets, also inside a longer encoded text such as ``user:password``; hexadecimal;
    and each longer line of a secret of several lines. Values shorter than ``LENGTH_MIN``
    characters are left alone: hiding every "1" or "no" would hide the text and not the secret.
    """

    def __init__(self, values: Iterable[str]) -> None:
        forms = {form for value in values for form in _spellings(value)}
        # The longest first, so that a secret inside another secret does not break it up.
        self._forms = sorted(forms, key=lambda form: (-len(form), form))

    def __repr__(self) -> str:
        return "<Mask>"

    def __call__(self, text: str) -> str:
        """Return the text with each secret replaced by ``***``."""
        if not self._forms:
            return text
        # Plain searches are a hundred times faster than one pattern of all spellings.
        present = [re.escape(form) for form in self._forms if form in text]
        return re.sub("|".join(present), HIDDEN, text) if present else text


def mask(text: str, values: Iterable[str]) -> str:
    """Replace secret values in a text; keep a `Mask` where the same values are used often."""
    return Mask(values)(text)


def _spellings(value: str) -> set[str]:
    parts = [value, *(line for line in value.splitlines() if len(line) >= _LINE_MIN)]
    return {form for part in parts if len(part) >= LENGTH_MIN for form in _forms(part)}


def _forms(value: str) -> set[str]:
    import html  # its table of names is large, and most programs give no secrets

    raw = value.encode("utf-8", "surrogatepass")
    quoted = [quote(raw), quote(raw, safe=""), quote_plus(raw), quote_plus(raw, safe="/")]
    escaped = [json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]]
    forms = {value, *quoted, *escaped, repr(value)[1:-1], html.escape(value), raw.hex()}
    forms |= {_lower_digits(form) for form in quoted}
    forms |= {form.replace("/", "\\/") for form in escaped}
    forms |= {raw.hex().upper(), html.escape(value, quote=False)}
    return {form for form in forms | _base64(raw) if len(form) >= LENGTH_MIN}


def _lower_digits(quoted: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), quoted)


def _base64(raw: bytes) -> set[str]:
    """Return what base64 makes of a value at each of the three places it can stand in."""
    found: set[str] = set()
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + raw).rstrip(b"=").decode()
        start = -(-offset * 8 // 6)
        # The last character also holds bits of what follows, unless the bytes come out even.
        end = len(encoded) - (1 if (offset + len(raw)) % 3 else 0)
        if end - start >= _ENCODED_MIN:
            core = encoded[start:end]
            found |= {core, core.replace("+", "-").replace("/", "_")}
    return found
