"""What stands for nothing is shared by all sessions, so nothing may get into it."""

from collections.abc import Callable
from typing import Any

import pytest

from ukemi.actors.nothing import NO_DICT, NO_LIST, own

WRITES: dict[str, Callable[[], object]] = {
    "a key": lambda: NO_DICT.__setitem__("a", 1),
    "a default": lambda: NO_DICT.setdefault("a", 1),
    "an update": lambda: NO_DICT.update(a=1),
    "a union": lambda: NO_DICT.__ior__({"a": 1}),
    "an element": lambda: NO_LIST.append(1),
    "elements": lambda: NO_LIST.extend([1]),
    "an element in front": lambda: NO_LIST.insert(0, 1),
    "a sum": lambda: NO_LIST.__iadd__([1]),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=list(WRITES))
def test_nothing_takes_nothing(write: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match="shared by all"):
        write()
    assert not NO_DICT and not NO_LIST


def test_who_writes_gets_one_of_his_own_and_keeps_it() -> None:
    mine: dict[str, Any] = own(NO_DICT)
    mine["a"] = 1
    assert own(mine) is mine
    assert own(NO_DICT) == {}


def test_nothing_is_read_like_any_other() -> None:
    assert NO_DICT.get("a") is NO_DICT.pop("a", None) is None
    NO_DICT.clear()
    NO_LIST.clear()
    assert [*NO_DICT, *NO_LIST] == []
