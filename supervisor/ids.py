"""Names for new things, made in one place so that tests can make them predictable."""

import secrets
from typing import Protocol


class Ids(Protocol):
    """Source of fresh identifiers."""

    def new(self, kind: str) -> str:
        """Return a fresh id for a thing of this kind, such as ``session``."""
        ...


class RandomIds:
    """Short random names: a letter for the kind and 50 bits, readable aloud."""

    # Crockford's base 32 without the letters that look like digits.
    _alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

    def new(self, kind: str) -> str:
        return f"{kind[0]}-" + "".join(secrets.choice(self._alphabet) for _ in range(10))


class CountingIds:
    """``session-1``, ``session-2``, ... for tests and reproducible demos."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def new(self, kind: str) -> str:
        number = self._last.get(kind, 0) + 1
        self._last[kind] = number
        return f"{kind}-{number}"
