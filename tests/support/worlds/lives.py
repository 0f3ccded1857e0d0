"""A world is lived: process after process on the same store, until nobody has anything more to do."""

import hashlib
import sys
from collections.abc import Generator
from contextlib import contextmanager
from random import Random
from typing import cast

from msgspec import Struct

from ukemi.actors import keeper
from ukemi.actors.tooling import threads
from ukemi.stores import liveness

from .checks import at_the_end
from .loop import Stuck, WorldLoop, live
from .outside import Outside
from .people import Person
from .plan import Kill, World
from .process import Process
from .storage import Kept
from .threads import Workers

LIVES_MORE = 3
"""Lives after the last kill: whoever was told that an end could not be stored starts the process anew."""


class Lived(Struct, frozen=True):
    """How a world went. ``digest`` is that of its whole trace."""

    world: World
    violations: tuple[str, ...]
    trace: tuple[str, ...]
    outcomes: dict[str, str]

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()


def live_world(world: World) -> Lived:
    """Live a world to its end, and check it."""
    outside = Outside(world)
    store = Kept(outside)
    people = [Person(outside, plan) for plan in world.sessions]
    with _in_this_world(outside):
        for kill in (*world.kills, *[None] * LIVES_MORE):
            ended = _one_life(outside, store, people, kill)
            if outside.violations or (ended and not any(each.unsaved for each in people)):
                break
    if not outside.violations:
        at_the_end(outside, people)
    outcomes = {
        each.plan.id: " ".join(
            filter(None, (type(each.outcome).__name__, getattr(each.outcome, "reason", "")))
        )
        for each in people
    }
    return Lived(world, tuple(outside.violations), tuple(outside.trace), outcomes)


@contextmanager
def _in_this_world(outside: Outside) -> Generator[None]:
    """Give owners names of this world, let it be known which of them are dead, and do without threads."""
    stand_ins: list[tuple[object, object]] = [
        (liveness.owner_id, lambda: outside.owner),
        (liveness.owner_is_dead, lambda owner: _is_dead(outside, owner)),  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        (getattr(threads, "_Workers"), Workers),  # noqa: B009
    ]
    changed = [
        (module, name, value, stand_in)
        for module in [each for name, each in sys.modules.items() if name.startswith("ukemi.")]
        for name, value in vars(module).items()
        for real, stand_in in stand_ins
        if value is real
    ]
    changed.append((keeper, "ASK_S", keeper.ASK_S, outside.world.rules.ask_s))
    for module, name, _, stand_in in changed:
        setattr(module, name, stand_in)
    try:
        yield
    finally:
        for module, name, value, _ in changed:
            setattr(module, name, value)


def _is_dead(outside: Outside, owner: str) -> bool:
    return outside.world.rules.knows_dead and not outside.lives_on(owner)


def _one_life(outside: Outside, store: Kept, people: list[Person], kill: Kill | None) -> bool:
    """Live one life of the process; False where it was killed."""
    number = outside.life + 1
    began = 1000.0 * number
    dice = Random(f"order {outside.seed} {number}")
    kill_at = kill.at if kill is not None and kill.point == "round" else 0
    loop = WorldLoop(dice, began, kill_at)
    life = outside.born(loop, began, kill)
    ended = False

    async def main() -> bool:
        await Process(outside, store, people, loop, life).run()
        return True

    try:
        done, left = live(loop, main)
        ended = done is True
        if left:
            outside.broken(f"tasks are left behind: {left}")
    except Stuck as error:
        outside.broken(f"life {life} does not end: {error}")
    except Exception as error:  # noqa: BLE001 - whatever comes out of a runtime unasked
        outside.broken(f"life {life} ends with {describe(error)}")
    outside.note("-- over" if ended else "-- dead")
    outside.died(20.0 if kill is None else kill.down_s)
    return ended


def describe(error: BaseException) -> str:
    """Return an exception in one line, a group by its members."""
    if isinstance(error, BaseExceptionGroup):
        members = cast("BaseExceptionGroup[BaseException]", error).exceptions
        return " & ".join(describe(each) for each in members)
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    at = "" if where is None else f" at {where.tb_frame.f_code.co_qualname}:{where.tb_lineno}"
    return f"{type(error).__name__}: {error}{at}"
