"""Secrets: known values, hidden wherever they come back."""

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

from ..supervisor.patterns import lazy_pattern

HIDDEN = "***"
LENGTH_MIN = 4
# The part of an encoded secret that does not depend on its neighbours must be this long to count.
_ENCODED_MIN = 8
_LINE_MIN = 12
# So much of a secret, and three quarters of a short one, gives it away where a text was cut inside of it.
_PART_MIN, _PART_LEAST = 8, 5
# Where we left out the middle of a text, or its end; see `text.marker` and `wording.clipped`.
_CUT = lazy_pattern(
    r"(\s?\[\.\.\. \d+ (?:bytes missing|chars missing|characters left out) \.\.\.\]\s?)"
)


class Mask:
    """Replaces a fixed set of secret values, in all the spellings that programs give them.

    Known spellings: as it is; URL-encoded (both ways to write a space, both cases of digits);
    JSON-escaped (with and without ASCII only, with ``\\/``); Python's repr; HTML-escaped; base64
    in both alphabets, also inside a longer encoded text such as ``user:password``; hexadecimal;
    and each longer line of a secret of several lines. Values shorter than ``LENGTH_MIN``
    characters are left alone: hiding every "1" or "no" would hide the text and not the secret.

    Texts come here that somebody has cut short, perhaps in the middle of a secret. So the greater part of
    one is hidden too where a text begins or ends with it, or something was left out beside it.
    """

    def __init__(self, values: Iterable[str]) -> None:
        forms = {form for value in values for form in _spellings(value)}
        # The longest first, so that a secret inside another secret does not break it up.
        self._forms = sorted(forms, key=lambda form: (-len(form), form))
        self._parts = [(form, least) for form in self._forms if (least := _least(form)) < len(form)]
        self._heads = {form[:least] for form, least in self._parts}
        self._tails = {form[-least:] for form, least in self._parts}

    def __repr__(self) -> str:
        return "<Mask>"

    def __call__(self, text: str) -> str:
        """Return the text with each secret replaced by ``***``."""
        if not self._forms:
            return text
        # Plain searches are a hundred times faster than one pattern of all spellings.
        present = [re.escape(form) for form in self._forms if form in text]
        if present:
            text = re.sub("|".join(present), HIDDEN, text)
        if "[... " not in text:
            return self._cut_off(text)
        return "".join(
            each if at % 2 else self._cut_off(each) for at, each in enumerate(_CUT.split(text))
        )

    def _cut_off(self, text: str) -> str:
        """Hide what is left of a secret at the two ends of a text."""
        most = len(self._forms[0])
        first, last = text[:most], text[-most:]
        start = self._begins(first) if any(each in first for each in self._tails) else 0
        end = self._ends(last) if any(each in last for each in self._heads) else 0
        if not start and not end:
            return text
        hidden = f"{HIDDEN}{text[start:]}" if start else text
        return f"{hidden[:-end]}{HIDDEN}" if end else hidden

    def _begins(self, text: str) -> int:
        """Return how many characters at the beginning are the end of a secret."""
        return max(
            (
                at + least
                for form, least in self._parts
                if (at := text.find(form[-least:])) >= 0 and form.endswith(text[: at + least])
            ),
            default=0,
        )

    def _ends(self, text: str) -> int:
        """Return how many characters at the end are the beginning of a secret."""
        return max(
            (
                len(text) - at
                for form, least in self._parts
                if (at := text.rfind(form[:least])) >= 0 and form.startswith(text[at:])
            ),
            default=0,
        )


def mask(text: str, values: Iterable[str]) -> str:
    """Replace secret values in a text; keep a `Mask` where the same values are used often."""
    return Mask(values)(text)


def _least(form: str) -> int:
    """Return how much of a spelling counts as a part of it."""
    return max(_PART_LEAST, min(_PART_MIN, len(form) * 3 // 4))


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
