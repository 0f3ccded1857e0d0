"""What must not leave: texts that show by their shape that they are secret, and names that say so. Pure."""

import re
from collections.abc import Iterator

from ..patterns import lazy_pattern

TEXT_MAX = 200_000
TOKENS = (
    r"\b(?:sk|pk|rk)[-_](?:[a-z]{2,8}[-_]){0,3}[A-Za-z0-9_-]{16,400}|\bgh[pousr]_[A-Za-z0-9]{20,400}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,400}|\bA(?:KI|SI)A[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,60}"
    r"|\beyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{5,1000}"
)
"""Keys that show what they are wherever they stand."""

_MORE_TOKENS = (
    r"\bglpat-[A-Za-z0-9_-]{20,}|\bgithub_pat_[A-Za-z0-9_]{30,}|\bhf_[A-Za-z0-9]{30,}|\bnpm_[A-Za-z0-9]{30,}"
    r"|\bpypi-[A-Za-z0-9_-]{40,}|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bdop_v1_[a-f0-9]{40,}"
    r"|\bshp(?:at|ss|ca)_[a-fA-F0-9]{32}|\bwhsec_[A-Za-z0-9+/=]{20,}|\bAGE-SECRET-KEY-1[A-Z0-9]{40,}"
)
_SHAPES = (
    ("a private key", lazy_pattern(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")),
    ("an access key", lazy_pattern(f"{TOKENS}|{_MORE_TOKENS}")),
    ("a password in an address", lazy_pattern(r"://[^\s/:@]{0,200}:[^\s/@*]{1,500}@")),
    (
        "a token in a header",
        lazy_pattern(
            r"\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)\s{1,3}[A-Za-z0-9._~+/=-]{6,}",
            re.IGNORECASE,
        ),
    ),
    (
        "a password or key by its name",
        lazy_pattern(
            r"(?<![a-z0-9])(?:[a-z0-9_-]{0,40}(?:api[_-]?key|access[_-]?key|secret|passw(?:or)?d|passphrase|private[_-]?key"
            r"|auth[_-]?token|access[_-]?token|client[_-]?secret))[\"']?\s{0,3}[=:]\s{0,3}[\"']?[^\s&\"',;)}\]$<{*]{6,}",
            re.IGNORECASE,
        ),
    ),
)
_DIGITS = lazy_pattern(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])")
# First digits and lengths that card networks give out; without this, one long number in ten fits.
_CARD = lazy_pattern(
    r"4\d{12}(?:\d{3})?(?:\d{3})?|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}"
    r"|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}|62\d{14,17}|35\d{14}"
)
_SECRET_NAME = lazy_pattern(
    r"(?:^|[_-])(?:api[_-]?key|key|keys|token|tokens|secret|secrets|passw(?:or)?d|passwd|pwd|passphrase|credentials?"
    r"|auth|private)(?:$|[_-])|apikey|secretkey|accesskey",
    re.IGNORECASE,
)


def sensitive_in(text: str) -> tuple[str, ...]:
    """Return in words what secrets a text shows by their shape; empty for most texts.

    Of a long text the first `TEXT_MAX` characters are looked at: models do not write longer ones.
    """
    return tuple(dict.fromkeys(_found(text[:TEXT_MAX])))


def _found(text: str) -> Iterator[str]:
    for words, pattern in _SHAPES:
        if pattern.search(text):
            yield words
    if any(is_card_number(found[0]) for found in _DIGITS.finditer(text)):
        yield "a card number"


def is_card_number(text: str) -> bool:
    """Tell whether digits, with blanks or dashes between, are a payment card's number (Luhn)."""
    digits = text.replace(" ", "").replace("-", "")
    if not (digits.isascii() and digits.isdigit() and _CARD.fullmatch(digits)):
        return False
    values = [int(digit) for digit in reversed(digits)]
    doubled = (each * 2 - 9 if each > 4 else each * 2 for each in values[1::2])
    return (sum(values[::2]) + sum(doubled)) % 10 == 0


def names_secret(name: str) -> bool:
    """Tell whether a variable or field is called like something secret."""
    return _SECRET_NAME.search(name) is not None
