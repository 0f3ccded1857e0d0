"""The garbage collector of the process, looked after: what is touched, put back, and bounded."""

import asyncio
import gc
import json
import subprocess
import sys
import threading
import weakref
from collections.abc import Generator
from pathlib import Path
from typing import Any

import anyio
import pytest

from ukemi import Runtime
from ukemi.supervisor import (
    ChildSpec,
    CollectorCare,
    Context,
    DynamicSpec,
    Kernel,
    UsageError,
)
from ukemi.supervisor import kernel as kernels
from ukemi.supervisor.collector import (
    ALL,
    ALL_EVERY_S,
    ALL_STEP_BYTES,
    KEPT_MIN,
    LESS_OFTEN,
    LOOK_EVERY_S,
    NEW,
    NEW_MIN,
    NEW_ONLY,
    SHARE_MAX,
    STEP_BYTES,
    Collector,
    Left,
    Memory,
    due,
)

FOUND = (700, 10, 10)
MIB = 1024 * 1024


@pytest.fixture(autouse=True)
def interpreter(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """The collector as an interpreter starts with it; afterwards, as it was.

    Nobody else looks after it: other tests of this process may have given up kernels in the middle.
    """
    gc.collect()  # else what they left would be let go in the middle of a test
    before, enabled = gc.get_threshold(), gc.isenabled()
    monkeypatch.setattr(kernels, "COLLECTOR", Collector())
    gc.enable()
    gc.set_threshold(*FOUND)
    yield
    gc.set_threshold(*before)
    (gc.enable if enabled else gc.disable)()


async def idle(ctx: Context[Any]) -> None:
    await anyio.sleep_forever()


def kernel(care: CollectorCare = "tuned") -> Kernel:
    spec = DynamicSpec(id="root", template=ChildSpec(id="t", start=idle))
    return Kernel(spec, collector=care)


# ---------------------------------------------------------------- what is touched, and put back


async def test_a_runtime_tunes_it_while_it_is_entered() -> None:
    async with Runtime("memory:"):
        assert gc.get_threshold() == NEW_ONLY
    assert gc.get_threshold() == FOUND


@pytest.mark.parametrize("care", ["tuned", "untouched"])
async def test_the_last_one_out_puts_back_what_was_found(care: CollectorCare) -> None:
    async with kernel():
        async with kernel(care):
            assert gc.get_threshold() == NEW_ONLY
        assert gc.get_threshold() == NEW_ONLY
    assert gc.get_threshold() == FOUND


async def test_an_untouched_one_is() -> None:
    async with Runtime("memory:", collector="untouched"), kernel("untouched"):
        assert gc.get_threshold() == FOUND


async def test_a_kernel_that_does_not_start_puts_it_back() -> None:
    async def fails(ctx: Context[Any]) -> None:
        raise ValueError

    spec = DynamicSpec(
        id="root",
        template=ChildSpec(id="t", start=idle),
        initial=lambda: [ChildSpec(id="no", start=fails, wait_ready=True)],
    )
    with pytest.raises(Exception, match="no"):
        async with Kernel(spec, collector="tuned"):
            raise AssertionError
    assert gc.get_threshold() == FOUND


def test_a_loop_of_another_thread_counts_too() -> None:
    inside, leave = threading.Event(), threading.Event()

    async def other() -> None:
        async with kernel():
            inside.set()
            await anyio.to_thread.run_sync(leave.wait)

    async def first() -> None:
        async with kernel():
            thread.start()
            await anyio.to_thread.run_sync(inside.wait)

    thread = threading.Thread(target=anyio.run, args=(other,))
    anyio.run(first)
    assert gc.get_threshold() == NEW_ONLY
    leave.set()
    thread.join()
    assert gc.get_threshold() == FOUND


def test_a_loop_that_is_closed_in_the_middle_counts_no_more() -> None:
    """Its tasks are kept, so that nothing of it is freed and nobody ever leaves."""
    loop = asyncio.new_event_loop()

    async def stay() -> None:
        async with kernel():
            loop.stop()
            await anyio.sleep_forever()

    kept = loop.create_task(stay())
    loop.run_forever()
    assert gc.get_threshold() == NEW_ONLY
    kept._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.close()
    gc.collect(NEW)
    assert gc.get_threshold() == FOUND
    assert not kept.done()


async def test_what_the_program_has_set_is_left_alone() -> None:
    gc.set_threshold(9_000, 20, 10)
    async with kernel():
        assert gc.get_threshold() == (9_000, 20, 10)
    assert gc.get_threshold() == (9_000, 20, 10)


async def test_a_collector_the_program_has_disabled_is_left_alone() -> None:
    gc.disable()
    async with kernel():
        assert gc.get_threshold() == FOUND
        assert not gc.isenabled()


async def test_what_the_program_sets_meanwhile_stays() -> None:
    async with kernel():
        gc.set_threshold(9_000, 20, 10)
    assert gc.get_threshold() == (9_000, 20, 10)


def test_other_words_for_it_are_refused() -> None:
    wrong: Any = "off"
    with pytest.raises(UsageError, match="collector='off'"):
        Runtime("memory:", collector=wrong)
    with pytest.raises(UsageError, match="collector='off'"):
        kernel(wrong)


# ---------------------------------------------------------------- what is due

BASE = 50 * MIB
LEFT = Left(BASE, 1.0, BASE, 60.0)


@pytest.mark.parametrize(
    ("held", "now", "new", "looked", "what"),
    [
        pytest.param(BASE + STEP_BYTES, 0, 9_999, True, None, id="grown by a step"),
        pytest.param(BASE + STEP_BYTES + 1, 0, 0, False, NEW, id="grown by more"),
        pytest.param(BASE, 1, NEW_MIN, True, NEW, id="many are new, for a second"),
        pytest.param(BASE, 1, NEW_MIN - 1, True, None, id="few are new"),
        pytest.param(BASE + ALL_STEP_BYTES + 1, 0, 0, True, ALL, id="a small process has doubled"),
        pytest.param(BASE // 2, 60, 0, True, ALL, id="time"),
        pytest.param(BASE // 2, 600, 0, False, None, id="nothing has happened since"),
    ],
)
def test_what_is_due(held: int, now: float, new: int, *, looked: bool, what: int | None) -> None:
    assert due(held, now, LEFT, new=new, looked=looked) == what


def test_a_large_process_is_gone_through_when_it_has_doubled() -> None:
    large = 5 * ALL_STEP_BYTES
    left = Left(2 * large, 1.0, large, 60.0)
    assert due(2 * large, 0, left, new=0, looked=True) is None
    assert due(2 * large + 1, 0, left, new=0, looked=True) == ALL


class Bench:
    """A collector with a memory and a clock of its own, and what it collected."""

    def __init__(self) -> None:
        self.held, self.time, self.took = BASE, 0.0, 0.0
        self.collected: list[int] = []
        self.collector = Collector(lambda: self, lambda: self.time)

    def read(self) -> int:
        return self.held

    def close(self) -> None:
        self.held = -1

    def watch(self, phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            self.collected.append(info["generation"])
            self.time += self.took


@pytest.fixture
def bench() -> Generator[Bench]:
    found = Bench()
    user = found.collector.enter()
    gc.callbacks.append(found.watch)
    yield found
    gc.callbacks.remove(found.watch)
    found.collector.leave(user)


def test_passes_over_everything_take_a_bounded_share_of_the_time(bench: Bench) -> None:
    bench.took = 2.0
    for _ in range(1_000):
        bench.time += 1.0
        gc.collect(0)
        bench.time -= bench.took
        bench.collector.look()
    passes = bench.collected.count(ALL)
    assert passes * bench.took <= bench.time * SHARE_MAX + bench.took
    assert passes > 1


def test_growth_is_met_at_most_every_few_milliseconds(bench: Bench) -> None:
    bench.collector.look()
    bench.held += STEP_BYTES + 1
    bench.collector.look()
    assert not bench.collected
    bench.time += LOOK_EVERY_S
    bench.collector.look()
    assert bench.collected == [NEW]
    bench.time += LOOK_EVERY_S
    bench.collector.look()
    assert bench.collected == [NEW]


def test_what_is_collected_may_leave_it() -> None:
    """As the tasks of a loop do that was given up; the lock is held by the same thread then."""
    found = Bench()
    user = found.collector.enter()
    left: list[int] = []

    def leave(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and not left:
            left.append(info["generation"])
            found.collector.leave(user)

    found.held += STEP_BYTES + 1
    found.time += LOOK_EVERY_S
    gc.callbacks.append(leave)
    found.collector.look()
    gc.callbacks.remove(leave)
    assert left == [NEW]
    assert found.held == -1  # closed, and not read again


@pytest.mark.parametrize("taken", ["thresholds", "switch"])
def test_a_program_that_takes_it_over_is_not_collected_for(bench: Bench, taken: str) -> None:
    if taken == "switch":
        gc.disable()
    else:
        gc.set_threshold(9_000, 10, 10)
    bench.held += 10 * ALL_STEP_BYTES
    bench.time += ALL_EVERY_S
    bench.collector.look()
    assert not bench.collected


@pytest.fixture
def thawed() -> Generator[None]:
    """Nothing is frozen, as in a program; what the tests' own set-up has frozen is so again afterwards."""
    gc.unfreeze()
    yield
    gc.collect()
    gc.freeze()


def made(count: int) -> list[list[Any]]:
    gc.collect()
    return [[] for _ in range(count)]


def is_old(thing: object) -> bool:
    return any(each is thing for each in gc.get_objects(generation=ALL))


@pytest.mark.usefixtures("thawed")
def test_what_is_known_to_live_is_not_looked_at(bench: Bench) -> None:
    there = made(KEPT_MIN + 1)
    bench.collected.clear()
    bench.collector.keep()
    assert is_old(there[-1])
    assert not bench.collected
    assert not gc.get_freeze_count()


class Knot:
    """What only the collector can free."""

    def __init__(self) -> None:
        self.myself = self


@pytest.mark.usefixtures("thawed")
def test_garbage_among_it_is_found_by_the_next_look_at_everything(bench: Bench) -> None:
    there = made(KEPT_MIN + 1)
    knot = Knot()
    gone = weakref.ref(knot)
    del knot
    bench.collector.keep()
    gc.collect(NEW)
    assert gone() is not None
    bench.time += ALL_EVERY_S
    bench.collector.look()
    assert gone() is None
    assert there


@pytest.mark.usefixtures("thawed")
@pytest.mark.parametrize("why", ["few", "frozen", "taken over"])
def test_nothing_is_kept_unseen(bench: Bench, why: str) -> None:
    there = made(KEPT_MIN // 2 if why == "few" else KEPT_MIN + 1)
    if why == "frozen":
        gc.freeze()
        there = made(KEPT_MIN + 1)
    elif why == "taken over":
        gc.set_threshold(90_000, 10, 10)
    frozen = gc.get_freeze_count()
    bench.collector.keep()
    assert gc.get_freeze_count() == frozen
    assert not is_old(there[-1])
    gc.unfreeze()


def test_where_memory_cannot_be_read_the_interpreter_keeps_its_rule() -> None:
    def no_memory() -> Memory:
        raise FileNotFoundError

    collector = Collector(no_memory)
    user = collector.enter()
    assert gc.get_threshold() == LESS_OFTEN
    collector.look()
    collector.leave(user)
    assert gc.get_threshold() == FOUND


# ---------------------------------------------------------------- garbage cannot pile up


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_a_tool_that_makes_a_megabyte_of_cycles_each_step_does_not_fill_the_memory(
    anyio_backend_name: str,
) -> None:
    steps = 400
    program = Path(__file__).with_name("piling_up.py")
    done = subprocess.run(
        [sys.executable, "-P", program, anyio_backend_name, str(steps)],
        capture_output=True,
        check=True,
        text=True,
        timeout=120,
    )
    told = json.loads(done.stdout)
    assert told["tied"] == steps
    assert told["grew"] < steps * MIB / 4
    assert told["left"] < steps / 4
