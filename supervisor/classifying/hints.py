"""Sentences of a text that guess: "in most cases", "possible causes include", "you might want to".

They name what is often the cause, in words that would say it is the case here. What is left without
them is read first. The same holds for a standard phrase that stands next to its number.
"""

from http import HTTPStatus

from ..patterns import lazy_pattern

_GUESS = lazy_pattern(
    r"in most cases|possible (?:causes?|reasons?|solutions?|fixes)|common(?:ly)? caus|you (?:might|may) want to"
    r"|(?:might|may|could) be (?:because|caused|due|that)|it could be (?:that|originally)"
    r"|(?:this|it|which) (?:may|might|could|can) (?:also )?(?:be|happen|occur|indicate|mean)\b"
    r"|for more (?:information|details|info)|if you (?:believe|think|see this error|need help)"
    r"|if the (?:problem|issue|error) persists|session info:",
)
# Whether something was done after all is no guess about the cause: such a sentence stays.
_DOUBT = lazy_pattern(
    r"\b(?:executed|processed|completed|succeeded|charged|paid|created|sent|applied|through|pending|committed|placed)\b"
)
# One of these is in every guess; to look for them first is faster.
_SIGNS = (
    "most cases",
    "possible ",
    "common",
    "might",
    "may ",
    "could ",
    "can ",
    "for more ",
    "if ",
    "session",
)
# A sentence ends at a line, or at a full stop before a space.
_SENTENCES = lazy_pattern(r"\n+|(?<=[.!?]) +")
_ENDS = (".", "!", "?", ")")
_PHRASES = {int(status): status.phrase.lower() for status in HTTPStatus if status >= 400}
# 401 and 407 mean what they say wherever they stand.
_ECHO = lazy_pattern(
    r"\b(?=[45]\d\d [a-z])(?:"
    + "|".join(
        f"{number} {phrase}" for number, phrase in _PHRASES.items() if number not in (401, 407)
    )
    + r")\b(?! for url)"
)


def without_guesses(lower: str) -> str:
    """A text in lower case without what it guesses, and without phrases that only repeat a status."""
    plain = _ECHO.sub(" ", lower)
    if not any(word in plain for word in _SIGNS) or _GUESS.search(plain) is None:
        return plain
    kept: list[str] = []
    guessing = False
    for each in _SENTENCES.split(plain):
        # A guess that is broken into lines ends where its sentence does.
        guessing = guessing or _GUESS.search(each) is not None
        if not guessing or _DOUBT.search(each) is not None:
            kept.append(each)
        guessing = guessing and each.rstrip()[-1:] not in _ENDS
    return "\n".join(kept)
