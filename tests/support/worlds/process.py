"""One process of a world: a runtime that is entered, looked after, and left once everybody is content.

A second one may come beside it on the same store, while the first is cut off from that: its sessions
are taken over, and what it still does then must not count.
"""

from random import Random

import anyio

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
from ukemi.actors.events import CheckpointStored
from ukemi.supervisor import StartFailed
from ukemi.supervisor.danger.policy import DangerPolicy
from ukemi.supervisor.policy_limits import BreakerPolicy
from ukemi.supervisor.policy_sessions import (
    PlanningPolicy,
    RestartPolicy,
    StoragePolicy,
    WaitPolicy,
)

from .loop import WorldLoop
from .model import PlannedModel
from .outside import Outside
from .people import Person
from .plan import Deed, Rules, Twin
from .storage import Kept, WorldStore
from .tools import Toolmaker

EPOCH_MS = 1_700_000_000_000


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


class Process:
    """A process of this life.

    Args:
        number: of the process, over the whole world.
    """

    def __init__(
        self, outside: Outside, kept: Kept, people: list[Person], loop: WorldLoop, number: int
    ) -> None:
        self._outside = outside
        self._kept = kept
        self._people = people
        self._loop = loop
        self._number = number
        self._answers = _Answers(outside, people)
        self._store = WorldStore(kept, outside, outside.world.faults, number)

    def _runtime(self) -> Runtime:
        outside, number, rules = self._outside, self._number, self._outside.world.rules
        plans = {each.id: each for each in outside.world.sessions}
        model = PlannedModel(outside, number, plans)
        return Runtime(
            self._store,
            agents=[Agent("agent", model=model, tools=Toolmaker(outside, number).tools())],
            policy=policy_of(rules),
            clock=_Clock(outside, self._loop),
            ids=_Ids(number),
            random_source=Random(f"waits {outside.seed} {number}"),
            lease_s=rules.lease_s,
            secrets={"token": outside.secret},
            on_approval=self._answers.told,
        )

    async def run(self) -> None:
        """Be the process that people look at."""
        here = self._runtime()
        while True:
            try:
                await here.__aenter__()
                break
            except (StoreError, StartFailed) as error:
                # Nothing is promised while the store fails; whoever runs the process tries again.
                self._outside.note(f"cannot start: {error}")
                await anyio.sleep(30.0)
                here = self._runtime()
        try:
            await self._looked_after(here)
            # Nobody leaves while the store does not answer: what closing does then is limited in time.
            await anyio.sleep(max(0.0, self._store.cut_off_until - self._outside.now()))
        finally:
            await self._leave(here)

    async def _leave(self, here: Runtime) -> None:
        if not self._loop.dead:  # the dead leave nothing
            await here.__aexit__(None, None, None)

    async def _looked_after(self, here: Runtime) -> None:
        outside, people = self._outside, self._people
        async with anyio.create_task_group() as beside:
            beside.start_soon(self._answers.give, here)
            for person in people:
                beside.start_soon(_watch, outside, here, person)
            for jump in outside.world.jumps:
                beside.start_soon(_jump, outside, jump.at_s, jump.by_s)
            async with anyio.create_task_group() as group:
                for deed in outside.world.deeds:
                    for person in people:
                        if person.plan.id == deed.session:
                            group.start_soon(_do, outside, here, person, deed)
                for twin in outside.world.twins:
                    group.start_soon(self._beside, twin)
                for person in people:
                    group.start_soon(person.look_after, here)
            async with anyio.create_task_group() as group:
                for person in people:  # a late deed has sent it on
                    group.start_soon(person.look_after, here)
            beside.cancel_scope.cancel()

    async def _beside(self, twin: Twin) -> None:
        """Have a second process come while this one is cut off from the store."""
        outside = self._outside
        if outside.now() > twin.at_s:
            return
        await anyio.sleep(twin.at_s - outside.now())
        until = outside.now() + twin.cut_off_s
        self._store.cut_off_until = max(self._store.cut_off_until, until)
        number = outside.joined()
        outside.note(
            f"process {number} comes beside, {self._number} is cut off {twin.cut_off_s:g} s"
        )
        other = Process(outside, self._kept, self._people, self._loop, number)
        there = other._runtime()
        try:
            await there.__aenter__()
        except (StoreError, StartFailed) as error:
            outside.note(f"process {number} cannot start: {error}")
        else:
            try:
                await anyio.sleep(twin.stays_s)
            finally:
                await other._leave(there)
        outside.note(f"process {number} is gone")
        outside.gone(number)


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
