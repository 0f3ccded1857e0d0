"""Regular expressions that are compiled when they are first used.

The tables of patterns are large, and a process meets few of them: one that no answer, error or shell
command comes near costs no more than its source.
"""

import re
from typing import cast

_METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub")


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return what behaves as ``re.compile(source, flags)``, and is compiled by its first use.

    A source that is no regular expression shows only then: for what users write there is ``re.compile``.
    ``flags`` are those given here.
    """
    return cast("re.Pattern[str]", _Later(source, flags))


class _Later:
    """Stands in for a pattern, and has the pattern's own methods from the first use of any of them."""

    __slots__ = ("flags", "pattern", *_METHODS)

    def __init__(self, source: str, flags: int) -> None:
        self.pattern = source
        self.flags = flags

    def __getattr__(self, name: str) -> object:
        """Compile it: a method was asked for whose slot is still empty."""
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self.flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)
