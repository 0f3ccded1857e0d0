"""Plans of faults, and the store that fails by one."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from virtual_time import VIRTUAL_BACKENDS, virtual_backend

from ukemi import ErrorClass, StoreFailed, UsageError, classify
from ukemi.stores import MemoryStore
from ukemi.stores.base import Renew
from ukemi.testing import Fault, FaultPlan, FaultyStore, error_of


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual_backend(request.param)


class Killed(Exception):
    """What the test takes for a death."""


async def kill() -> None:
    raise Killed


async def tried(plan: FaultPlan, done: list[int]) -> str:
    async def body() -> str:
        done.append(plan.counts["tool"])
        return "ok"

    try:
        with anyio.fail_after(60):
            return await plan.around("tool", body)
    except Exception as error:  # noqa: BLE001 - any that is planned
        return type(error).__name__


PLANS: list[tuple[str, Fault, list[str], list[int]]] = [
    ("an error before it", Fault(at=2, do="error"), ["ok", "TransientError", "ok"], [1, 3]),
    ("a lost answer", Fault(at=2, do="lost"), ["ok", "ConnectionResetError", "ok"], [1, 2, 3]),
    ("late, in time", Fault(at=2, do="late", delay_s=30), ["ok", "ok", "ok"], [1, 2, 3]),
    ("too late", Fault(at=2, do="late", delay_s=90), ["ok", "TimeoutError", "ok"], [1, 2, 3]),
    ("a hang", Fault(at=2, do="hang"), ["ok", "TimeoutError", "ok"], [1, 3]),
    ("killed before it", Fault(at=2, do="kill_before"), ["ok", "Killed", "ok"], [1, 3]),
    ("killed after it", Fault(at=2, do="kill_after"), ["ok", "Killed", "ok"], [1, 2, 3]),
    ("twice", Fault(at=1, do="error", times=2), ["TransientError", "TransientError", "ok"], [3]),
    ("for good", Fault(at=2, do="error", times=None), ["ok", *["TransientError"] * 2], [1]),
    ("of another kind", Fault(at=1, do="error", kind="model"), ["ok", "ok", "ok"], [1, 2, 3]),
]


@pytest.mark.anyio
@pytest.mark.parametrize("what, fault, said, ran", PLANS, ids=[each[0] for each in PLANS])
async def test_the_call_of_this_number_is_hit(
    what: str, fault: Fault, said: list[str], ran: list[int]
) -> None:
    plan, done = FaultPlan([fault], kill=kill), list[int]()
    assert [await tried(plan, done) for _ in range(3)] == said
    assert done == ran
    assert plan.counts["tool"] == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda: Fault(at=0, do="error"),
        lambda: Fault(at=1, do="error", times=0),
        lambda: Fault(at=1, do="late", delay_s=-1.0),
        lambda: Fault(at=1, do="late", delay_s=float("nan")),
    ],
)
def test_an_impossible_fault_is_refused(make: Callable[[], Fault]) -> None:
    with pytest.raises(UsageError):
        make()


@pytest.mark.parametrize("error_class", ErrorClass)
def test_an_error_of_each_class_is_taken_for_what_it_is(error_class: ErrorClass) -> None:
    """Also the one that nobody recognises."""
    assert classify(error_of(error_class)).error_class is error_class


@pytest.mark.anyio
async def test_a_store_fails_by_plan() -> None:
    """Whatever is planned is a passing fault of the store; a commit of nothing is not counted."""
    plan = FaultPlan([Fault(at=2, do="error", kind="store", error_class=ErrorClass.BUG)])
    store = FaultyStore(MemoryStore(), plan)
    await store.open()
    write = Renew(owner="me", lease_until_ms=1)
    await store.commit([write])
    assert await store.commit([]) == []
    with pytest.raises(StoreFailed):
        await store.commit([write])
    await store.commit([write])
    assert plan.counts["store"] == 3
