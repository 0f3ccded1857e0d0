"""What seeds have found, by the smallest schedules that showed it."""

import pytest
from worlds.lives import live_world
from worlds.plan import Call, Kill, Plan, Rules, StoreFault, Turn, World

ORDER = Turn((Call("keyed", "s0t0c0"),))
END = Turn(says="I am through.")
IMPATIENT = Rules(retry_s_max=0.5)

FOUND = {
    "a store that failed while a session was taken over kept it from ever being taken": World(
        seed=308,
        sessions=(Plan("s0", (ORDER, END)),),
        kills=(Kill("effect", 1),),
        faults=(StoreFault(8, "read"),),
        rules=IMPATIENT,
    ),
    "an end that could not be stored was not told to whoever asked later": World(
        seed=983,
        sessions=(Plan("s0", (ORDER, END)), Plan("s1", (END,), start_s=20.0)),
        faults=(StoreFault(3, "fail", 20),),
        rules=IMPATIENT,
    ),
}


@pytest.mark.parametrize("found", FOUND)
def test_it_stays_mended(found: str) -> None:
    lived = live_world(FOUND[found])
    assert not lived.violations
    assert any("fail" in line for line in lived.trace), "the schedule no longer gets there"
