"""A lazy pattern is the pattern, but for when it is compiled."""

import re
from collections.abc import Callable

import pytest

from ukemi.supervisor.patterns import lazy_pattern

SOURCE, TEXT = r"(\d+)-(?P<unit>[A-Z])", "12-a 7-b"

USES: dict[str, Callable[[re.Pattern[str]], object]] = {
    "search": lambda found: str(found.search(TEXT, 3)),
    "match": lambda found: str(found.match(TEXT)),
    "fullmatch": lambda found: found.fullmatch(TEXT),
    "findall": lambda found: found.findall(TEXT),
    "finditer": lambda found: [each.span() for each in found.finditer(TEXT)],
    "split": lambda found: found.split(TEXT),
    "sub": lambda found: found.sub(r"\2", TEXT),
    "pattern": lambda found: found.pattern,
}


@pytest.mark.parametrize("use", USES)
def test_it_does_what_the_compiled_one_does(use: str) -> None:
    """At the first use and after it, whichever that is."""
    lazy = lazy_pattern(SOURCE, re.IGNORECASE)
    expected = USES[use](re.compile(SOURCE, re.IGNORECASE))
    assert USES[use](lazy) == expected
    assert USES[use](lazy) == expected


def test_it_is_compiled_by_its_first_use_and_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    compile_now = re.compile

    def noted(source: str, flags: int = 0) -> re.Pattern[str]:
        made.append(source)
        return compile_now(source, flags)

    monkeypatch.setattr(re, "compile", noted)
    lazy = lazy_pattern(SOURCE, re.IGNORECASE)
    assert (lazy.pattern, lazy.flags, made) == (SOURCE, re.IGNORECASE, [])
    assert lazy.search(TEXT) and lazy.match(TEXT) and lazy.search(TEXT)
    assert made == [SOURCE]


def test_what_a_pattern_has_not_is_no_attribute_of_it() -> None:
    assert not hasattr(lazy_pattern(SOURCE), "serach")
