"""Credentials that nobody has named: found by where they stand, and hidden. Pure.

What a runtime was given as a secret is hidden by value (`Mask`). An upstream's error also repeats
what a client library put into the request: a key in an address, a token in a header. Names, hosts,
paths and everything else stay readable.
"""

import re

from ..supervisor.danger.sensitive import TOKENS
from ..supervisor.patterns import lazy_pattern

HIDDEN = "***"

_NAME = (
    r"(?:[a-z0-9_.-]{0,40}(?:api[_-]?key|apikey|access[_-]?key|private[_-]?key|secret|token|passw(?:or)?d"
    r"|passphrase|signature|credential|session[_-]?id|auth)[a-z0-9_-]{0,20}|key|pwd|sig)"
)
_RULES = (
    # user:password@host
    (lazy_pattern(r"(?<=://)([^\s/:@]{1,200}):[^\s/@]{1,500}(?=@)"), rf"\1:{HIDDEN}"),
    # Authorization: Bearer xyz, and the scheme alone
    (
        lazy_pattern(
            r"((?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?)(?!bearer|basic)[^\s\"',;}]{4,4000}",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
    (
        lazy_pattern(
            r"\b(bearer|basic)\s{1,3}(?=[a-z._~+/-]{0,200}[\d=])[a-z0-9._~+/=-]{6,4000}",
            re.IGNORECASE,
        ),
        rf"\1 {HIDDEN}",
    ),
    # ?key=xyz, token: xyz, "api_key": "xyz"
    (
        lazy_pattern(
            rf"(?<![a-z0-9])({_NAME})([\"']?\s{{0,3}}=\s{{0,3}}[\"']?)[^\s&\"',;)}}\]]{{4,4000}}",
            re.IGNORECASE,
        ),
        rf"\1\2{HIDDEN}",
    ),
    (
        lazy_pattern(
            rf"([\"'])({_NAME})(\1\s{{0,3}}:\s{{0,3}})([\"'])[^\"']{{4,4000}}\4", re.IGNORECASE
        ),
        rf"\1\2\3\4{HIDDEN}\4",
    ),
    (
        lazy_pattern(
            r"(?<![a-z0-9])((?:x-)?(?:api[_-]?key|auth[_-]?token|access[_-]?token)\s{0,3}:\s{0,3})[^\s\"',;]{6,4000}",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
    (lazy_pattern(TOKENS), HIDDEN),
)
# Each rule needs one of these somewhere; most texts have none and are not searched at all.
_SIGNS = lazy_pattern(
    r"://[^\s/]*@|authoriz|bearer|basic|key|secret|token|pass|pwd|sig|credential|session|auth|sk[-_]|pk[-_]|rk[-_]"
    r"|gh[pousr]_|xox|AKIA|ASIA|AIza|eyJ",
    re.IGNORECASE,
)


def scrub(text: str) -> str:
    """Return the text with whatever looks like a credential replaced by ``***``."""
    if not _SIGNS.search(text):
        return text
    for pattern, shown in _RULES:
        text = pattern.sub(shown, text)
    return text
