"""Stand-ins for services: what they count, and for whom."""

import pytest

from ukemi.actors.tooling.context import CallContext, calling
from ukemi.testing import EffectStub


def during(*, undo: bool = False, index: int = 0) -> calling:
    context = CallContext(session_id="s", agent="a", tool="order", call=(2, index), undo=undo)
    return calling(context)


def ordered(sku: str) -> str:
    return f"order of {sku}"


def test_each_call_takes_effect_and_is_answered() -> None:
    shop = EffectStub(ordered)
    assert shop.do(sku="a") == "order of a"
    assert shop.do(sku="a", key="k") == "order of a"
    assert shop.count == 2


def test_a_key_takes_effect_once() -> None:
    """The second call of a key gets the first one's answer; other arguments may name effects too."""
    shop = EffectStub(name="shop")
    assert [shop.do(sku="a", key="1"), shop.do(sku="a", key="1")] == ["shop-1", "shop-1"]
    assert shop.do(sku="a", key="2") == "shop-2"
    assert shop.count == 2
    named = EffectStub(once_per=("sku", "day"))
    for day in (1, 1, 2):
        named.do(sku="a", day=day)
    assert named.count == 2


def test_an_effect_is_taken_back_once() -> None:
    """One too many is counted against whoever asks; a cancellation is one that may be repeated."""
    shop = EffectStub(name="shop")
    answer = shop.do(sku="a")
    assert shop.cancel(answer)
    assert not shop.cancel(answer)
    assert (shop.count, shop.over) == (0, 0)
    shop.undo(answer)
    assert (shop.count, shop.over) == (-1, 1)
    shop.reset()
    assert (shop.count, shop.over, shop.effects) == (0, 0, [])


def test_a_compensation_takes_back_the_effect_of_its_own_call() -> None:
    shop = EffectStub(name="shop")
    for index in range(2):
        with during(index=index):
            shop.do(sku=str(index))
    with during(undo=True, index=0):
        shop.undo()
    assert [each.standing for each in shop.effects] == [False, True]
    assert [each.call for each in shop.effects] == [("s", 2, 0), ("s", 2, 1)]


@pytest.mark.anyio
async def test_looking_takes_no_effect() -> None:
    shop = EffectStub(name="shop")
    await shop(sku="a", units=2)
    assert (shop.find(sku="a"), shop.find(sku="b")) == ("shop-1", None)
    assert shop.tell(sku="a") == "shop-2"
    assert shop.count == 1
