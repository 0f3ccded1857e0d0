"""The whole runtime under virtual time: worlds drawn from seeds break no promise.

``make simulate`` lives ten thousand of them. A seed that fails is replayed by the line it prints.
"""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from worlds.draw import draw
from worlds.lives import live_world
from worlds.loop import WorldLoop
from worlds.outside import Outside
from worlds.running import smallest
from worlds.show import decode, encode

SEEDS = 300
BATCH = 20

BATCHES = [
    pytest.param(first, marks=() if first == 0 else pytest.mark.slow)
    for first in range(0, SEEDS, BATCH)
]


@pytest.mark.parametrize("first", BATCHES)
def test_no_promise_is_broken(first: int) -> None:
    for seed in range(first, first + BATCH):
        if live_world(draw(seed)).violations:
            pytest.fail(smallest(seed), pytrace=False)


@pytest.mark.parametrize("seed", range(4))
def test_a_seed_gives_one_trace(seed: int) -> None:
    one, other = live_world(draw(seed)), live_world(draw(seed))
    assert len(one.trace) > 20
    assert one.trace == other.trace


def test_a_seed_gives_the_same_trace_in_another_process() -> None:
    code = "from worlds.draw import draw; from worlds.lives import live_world; print(live_world(draw({})).digest)"
    here = Path(__file__).resolve().parent.parent
    path = os.pathsep.join([str(here / "support"), *filter(None, [os.environ.get("PYTHONPATH")])])
    traces = {
        subprocess.run(
            [sys.executable, "-c", code.format(2)],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": hashing},
            cwd=here,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for hashing in ("0", "7")
    }
    assert len(traces) == 1 and len(traces.pop().strip()) == 64


def test_a_world_that_is_over_leaves_nothing_behind() -> None:
    """Thousands are lived by one process."""
    for seed in range(5):
        live_world(draw(seed))
    gc.collect()
    left = [each for each in gc.get_objects() if type(each) in (Outside, WorldLoop)]
    assert left == []


def test_a_world_is_plain_data() -> None:
    for seed in range(50):
        world = draw(seed)
        assert decode(encode(world)) == world
