"""What seeds have found, by the smallest schedules that showed it."""

import pytest
from worlds.lives import live_world
from worlds.plan import Call, Deed, Kill, Plan, Rules, StoreFault, Turn, Twin, World

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
    "what may have taken effect was not undone and asked of nobody, since its tool was safe to retry": World(
        seed=1,
        sessions=(Plan("s0", (Turn((Call("safe_undoable", "s0t0c0", ("timeout_after",) * 4),)),)),),
    ),
    "a handle that had been fenced out never told how the session ended elsewhere": World(
        seed=60,
        sessions=(Plan("s0", (Turn((Call("keyed", "s0t0c0"),), faults=("hang",)), END)),),
        twins=(Twin(21.9, 20.0, 45.0),),
    ),
    "an end that could not be stored was not told to whoever asked later": World(
        seed=983,
        sessions=(Plan("s0", (ORDER, END)), Plan("s1", (END,), start_s=20.0)),
        faults=(StoreFault(3, "fail", 20),),
        rules=IMPATIENT,
    ),
    "a message that came while its session was being started took the session over from that": World(
        seed=3693,
        sessions=(
            Plan("s0", (), start_s=3.083),
            Plan("s1", (), start_s=5.909, answers=("edit",)),
            Plan("s2", (Turn((Call("beside_undoable", "s2t0c0"),)),), answers=("edit",)),
            Plan("s3", (), start_s=3.042),
        ),
        deeds=(Deed(5.911, "s1", "send"),),
        rules=Rules(lease_s=30.0),
    ),
}


@pytest.mark.parametrize("found", FOUND)
def test_it_stays_mended(found: str) -> None:
    lived = live_world(FOUND[found])
    assert not lived.violations
    went_wrong = ("store fail", "read fails", "timeout_after", "store refused", "user: send")
    assert any(each in line for line in lived.trace for each in went_wrong), "it no longer does"
