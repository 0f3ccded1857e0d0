"""A world is lived: process after process on the same store, until nobody has anything more to do."""

import hashlib
import sys
from collections.abc import Generator
from contextlib import contextmanager
from random import Random
from typing import cast

import anyio
from msgspec import Struct

from ukemi import (
    Agent,
    ApprovalRequest,
    Policy,
    RequestClosed,
    RetryPolicy,
    Runtime,
    StoreError,
    UkemiError,
)
from ukemi.actors import keeper
from ukemi.actors.events import CheckpointStored
from ukemi.actors.tooling import threads
from ukemi.stores import liveness
from ukemi.supervisor import StartFailed
from ukemi.supervisor.danger.policy import DangerPolicy
from ukemi.supervisor.policy import (
    BreakerPolicy,
    PlanningPolicy,
    RestartPolicy,
    StoragePolicy,
    WaitPolicy,
)

from .checks import at_the_end
from .loop import Stuck, WorldLoop, live
from .model import PlannedModel
from .outside import Outside
from .people import Person
from .plan import Deed, Kill, Rules, World
from .storage import Kept, WorldStore
from .threads import Workers
from .tools import Toolmaker

LIVES_MORE = 3
"""Lives after the last kill: whoever was told that an end could not be stored starts the process anew."""

EPOCH_MS = 1_700_000_000_000


class Lived(Struct, frozen=True):
    """How a world went. ``digest`` is that of its whole trace."""

    world: World
    violations: tuple[str, ...]
    trace: tuple[str, ...]
    outcomes: dict[str, str]

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()


class _Clock:
    """Both clocks of one life: the loop's, and a wall clock that people set."""

    def __init__(self, outside: Outside, loop: WorldLoop) -> None:
        self._outside = outside
        self.now = loop.time

    def wall_ms(self) -> int:
        outside = self._outside
        return EPOCH_MS + int((outside.now() + outside.wall_offset_s) * 1000)


class _Ids:
    """Names that no other life gives."""

    def __init__(self, life: int) -> None:
        self._life = life
        self._given = 0

    def new(self, kind: str) -> str:
        self._given += 1
        return f"{kind}-{self._life}-{self._given}"


def policy_of(rules: Rules) -> Policy:
    """Return the policy of a world."""
    retry = RetryPolicy(attempts_max=rules.attempts_max)
    return Policy(
        transient=retry,
        rate_limited=retry,
        in_doubt_timeout=retry,
        planning=PlanningPolicy(repeats_max=6, restarts_max=rules.restarts_max),
        waits=WaitPolicy(park_after_s=rules.park_after_s),
        storage=StoragePolicy(retry_s_max=rules.retry_s_max),
        breaker=BreakerPolicy(failures_min=rules.breaker_min),
        restarts=RestartPolicy(),
        danger=DangerPolicy(expires_s=rules.expires_s, on_denied=rules.on_denied),
    )


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
        (liveness.owner_id, lambda: f"life-{outside.life}"),
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
    return outside.world.rules.knows_dead and owner != f"life-{outside.life}"


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
        await _run(outside, store, people, loop, life)
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


async def _run(
    outside: Outside, store: Kept, people: list[Person], loop: WorldLoop, life: int
) -> None:
    """Be the process: enter a runtime, and leave it once everybody is content."""
    world = outside.world
    plans = {each.id: each for each in world.sessions}
    model = PlannedModel(outside, life, plans)
    answers = _Answers(outside, people)
    here = Runtime(
        WorldStore(store, outside, world.faults, life),
        agents=[Agent("agent", model=model, tools=Toolmaker(outside, life).tools())],
        policy=policy_of(world.rules),
        clock=_Clock(outside, loop),
        ids=_Ids(life),
        random_source=Random(f"waits {outside.seed} {life}"),
        lease_s=world.rules.lease_s,
        secrets={"token": outside.secret},
        on_approval=answers.told,
    )
    try:
        await here.__aenter__()
    except (StoreError, StartFailed) as error:
        # Nothing is promised while the store fails; whoever runs the process starts it again.
        outside.note(f"cannot start: {error}")
        await anyio.sleep(30.0)
        return await _run(outside, store, people, loop, life)
    try:
        await _all_looked_after(outside, here, people, answers)
    finally:
        await here.__aexit__(None, None, None)
    return None


async def _all_looked_after(
    outside: Outside, here: Runtime, people: list[Person], answers: "_Answers"
) -> None:
    async with anyio.create_task_group() as beside:
        beside.start_soon(answers.give, here)
        for person in people:
            beside.start_soon(_watch, outside, here, person)
        for jump in outside.world.jumps:
            beside.start_soon(_jump, outside, jump.at_s, jump.by_s)
        async with anyio.create_task_group() as group:
            for deed in outside.world.deeds:
                for person in people:
                    if person.plan.id == deed.session:
                        group.start_soon(_do, outside, here, person, deed)
            for person in people:
                group.start_soon(person.look_after, here)
        async with anyio.create_task_group() as group:
            for person in people:  # a late deed has sent it on
                group.start_soon(person.look_after, here)
        beside.cancel_scope.cancel()


async def _jump(outside: Outside, at_s: float, by_s: float) -> None:
    if outside.now() > at_s:
        return
    await anyio.sleep(at_s - outside.now())
    outside.wall_offset_s += by_s
    outside.note(f"wall clock {by_s:+g} s")


async def _do(outside: Outside, here: Runtime, person: Person, deed: Deed) -> None:
    """Do what a user does at this time, if the session is there and the time has not passed."""
    if outside.now() > deed.at_s:
        return
    await anyio.sleep(deed.at_s - outside.now())
    if deed.session not in outside.committed:
        return
    handle = here.session(deed.session)
    outside.note(f"user: {deed.what} {deed.session}")
    try:
        match deed.what:
            case "send":
                await person.send(handle)
            case "cancel":
                outcome = await handle.cancel()
                outside.note(f"{deed.session} cancelled: {type(outcome).__name__}")
            case "back":
                await person.back(handle)
    except UkemiError as error:
        outside.note(f"{deed.what} {deed.session}: {type(error).__name__}: {error}")


async def _watch(outside: Outside, here: Runtime, person: Person) -> None:
    """Read a session's events: what they say is stored must be."""
    session = person.plan.id
    while True:
        while session not in outside.committed:  # noqa: ASYNC110 - nobody tells
            await anyio.sleep(1.0)
        try:
            async for event in here.session(session).events():
                if isinstance(event, CheckpointStored):
                    outside.note(f"{session} checkpoint {event.counter}")
                    if outside.committed[session].counter < event.counter:
                        outside.broken(f"{session}: checkpoint {event.counter} is not in the store")
        except UkemiError:
            pass
        await anyio.sleep(2.0)


class _Answers:
    """Answers requests for approval, each as its session's plan says, once."""

    def __init__(self, outside: Outside, people: list[Person]) -> None:
        self._outside = outside
        self._plans = {each.plan.id: each.plan for each in people}
        self._given: set[str] = set()

    async def told(self, request: ApprovalRequest) -> None:
        """Be told; the answer is given later."""
        self._outside.note(f"asked {request.request}")

    async def give(self, here: Runtime) -> None:
        """Look what is asked, every few seconds."""
        while True:
            await anyio.sleep(3.0)
            try:
                for request in await here.approvals():
                    if request.request not in self._given:
                        await self._answer(here, request)
            except StoreError:
                continue

    async def _answer(self, here: Runtime, request: ApprovalRequest) -> None:
        outside, plan = self._outside, self._plans[request.session_id]
        number = outside.entries[plan.id, "asked"]
        outside.entries[plan.id, "asked"] += 1
        answer = plan.answers[min(number, len(plan.answers) - 1)]
        self._given.add(request.request)
        if answer == "ignore":
            return
        outside.note(f"answer {request.request} {answer}")
        try:
            await here.decide(request, "deny" if answer == "deny" else "approve")
        except (RequestClosed, UkemiError) as error:
            outside.note(f"decide: {type(error).__name__}")
            return
        if not outside.committed[plan.id].posts:
            outside.broken(f"{request.request}: the answer was acknowledged and is not stored")
