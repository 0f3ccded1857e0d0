"""Dynamic supervisors, restart tables and back-off; and the field cases of supervision."""

from itertools import product
from typing import Any, NamedTuple

import anyio
import pytest
from kernel_log import Log
from virtual_time import VIRTUAL_BACKENDS, virtual_backend

from ukemi.supervisor import (
    AlreadyStarted,
    ChildGivenUp,
    ChildLimitReached,
    ChildNotFound,
    ChildSpec,
    ChildTerminated,
    Context,
    Crashed,
    DynamicSpec,
    ErrorClass,
    Exited,
    ExitReason,
    InvalidSpec,
    Kernel,
    MaxIntensity,
    NotForDynamic,
    PermissionDenied,
    RestartRule,
    RestartScheduled,
    RestartType,
    Shutdown,
    ShutdownError,
    StartFailed,
    Strategy,
    SupervisorGone,
    SupervisorSpec,
    TransientError,
    TreeGaveUp,
)


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual_backend(request.param)


async def idle(ctx: Context[Any]) -> None:
    await anyio.sleep_forever()


class Dies:
    """A body that dies after so many seconds, so many times; afterwards it stays."""

    def __init__(self, after_s: float, error: Exception, times: float = float("inf")) -> None:
        self.after_s, self.error, self.times = after_s, error, times
        self.starts: list[float] = []

    async def __call__(self, ctx: Context[Any]) -> None:
        self.starts.append(ctx.now())
        ctx.ready()
        if len(self.starts) <= self.times:
            await anyio.sleep(self.after_s)
            raise self.error
        await anyio.sleep_forever()


def tree(*children: Any, **fields: Any) -> SupervisorSpec:
    return SupervisorSpec(id="root", children=children, **fields)


# -- restart table: error class x strategy -> what the supervisor did ---------------------------------


class CrashOf(Exception):
    """An error whose class the test chooses."""

    def __init__(self, error_class: ErrorClass) -> None:
        super().__init__(error_class)
        self.error_class = error_class


def classify(error: BaseException) -> ErrorClass:
    return error.error_class if isinstance(error, CrashOf) else ErrorClass.UNKNOWN


TABLE = {
    ErrorClass.TRANSIENT: RestartRule(restart=True, delay_s_first=2.0, delay_s_max=60.0),
    ErrorClass.RATE_LIMITED: RestartRule(restart=True, delay_s_first=30.0),
    ErrorClass.BUG: RestartRule(restart=True),
    ErrorClass.PERMISSION_DENIED: RestartRule(restart=False),
}
# Who has which life afterwards, if b is restarted.
RESTARTED = {
    Strategy.ONE_FOR_ONE: (1, 2, 1),
    Strategy.ONE_FOR_ALL: (2, 2, 2),
    Strategy.REST_FOR_ONE: (1, 2, 2),
}


class Did(NamedTuple):
    """What a table leads to."""

    action: str
    delay_s: float | None
    given_up: bool


def expected(error_class: ErrorClass) -> Did:
    rule = TABLE.get(error_class, RestartRule(restart=False))
    if not rule.restart:
        return Did("left_down", None, True)
    return Did("restart_later" if rule.delay_s_first else "restart", rule.delay_s_first, False)


@pytest.mark.parametrize(
    ("error_class", "strategy"),
    list(product(ErrorClass, Strategy)),
    ids=lambda value: str(value.value),
)
async def test_error_class_by_strategy(error_class: ErrorClass, strategy: Strategy) -> None:
    """Every class of error under every strategy: restarted with whom, after what wait, or not."""
    log = Log()
    body = Dies(1.0, CrashOf(error_class), times=1)
    children = (
        ChildSpec(id="a", start=idle),
        ChildSpec(id="b", start=body, restart=TABLE),
        ChildSpec(id="c", start=idle),
    )
    async with Kernel(
        tree(*children, strategy=strategy), classify=classify, on_report=log.on_report
    ) as kernel:
        await anyio.sleep(1.5)
        did = expected(error_class)
        assert log.of(ChildTerminated)[0].action == did.action
        assert bool(log.of(ChildGivenUp)) is did.given_up
        await anyio.sleep(100)
        lives = tuple(kernel.ref(name).incarnation for name in "abc")
        assert lives == ((1, 1, 1) if did.given_up else RESTARTED[strategy])
        assert kernel.ref("b").alive is not did.given_up
        if did.delay_s is not None:
            assert body.starts[1] - body.starts[0] == pytest.approx(1.0 + did.delay_s)


async def test_waits_double_and_start_again_after_a_long_life() -> None:
    """1, 2, 4, then at most delay_s_max; a life of delay_s_max seconds begins a new row."""
    log = Log()
    rule = RestartRule(restart=True, delay_s_first=1.0, delay_s_max=5.0)
    body = Dies(0.5, TransientError("busy"), times=5)
    spec = ChildSpec(id="a", start=body, restart={ErrorClass.TRANSIENT: rule})
    async with Kernel(tree(spec, intensity=None), on_report=log.on_report) as kernel:
        await anyio.sleep(60)
        assert [each.delay_s for each in log.of(RestartScheduled)] == [1.0, 2.0, 4.0, 5.0, 5.0]
        assert [each.attempt for each in log.of(RestartScheduled)] == [1, 2, 3, 4, 5]
        body.times = len(body.starts) + 1
        kernel.supervisor().kill_child("a", error_class=ErrorClass.TRANSIENT)
        await anyio.sleep(0.1)
        assert log.of(RestartScheduled)[-1].attempt == 1


async def test_while_it_waits_a_child_shows_as_restarting() -> None:
    """Messages are kept, and terminate_child ends the wait."""
    rule = RestartRule(restart=True, delay_s_first=10.0)
    got: list[str] = []

    async def body(ctx: Context[str]) -> None:
        while True:
            message = await ctx.receive()
            if message == "die":
                raise TransientError("busy")
            got.append(message)

    spec = ChildSpec(id="a", start=body, restart={ErrorClass.TRANSIENT: rule})
    async with Kernel(tree(spec, intensity=None)) as kernel:
        ref = kernel.ref("a")
        ref.tell("die")
        await anyio.sleep(1)
        assert kernel.tree().children[0].state == "restarting"
        ref.tell("kept")
        await anyio.sleep(10)
        assert got == ["kept"]
        ref.tell("die")
        await anyio.sleep(1)
        await kernel.supervisor().terminate_child("a")
        await anyio.sleep(100)
        assert (kernel.tree().children[0].state, ref.incarnation) == ("down", 2)


# -- dynamic supervisors --------------------------------------------------------------------------------


def pool(**fields: Any) -> DynamicSpec:
    return DynamicSpec(id="pool", **fields)


async def test_a_child_over_its_own_limit_is_given_up_and_the_pool_goes_on() -> None:
    """The limit is counted per child; the embedding program is told which and why."""
    log = Log()
    told: list[tuple[str, ExitReason]] = []

    def on_give_up(id: str, reason: ExitReason) -> None:
        told.append((id, reason))

    spec = pool(
        intensity=None,
        child_intensity=2,
        child_period_s=10.0,
        on_give_up=on_give_up,
    )
    async with Kernel(tree(spec), on_report=log.on_report) as kernel:
        sup = kernel.supervisor("pool")
        bad = Dies(1.0, ValueError("boom"))
        slow = Dies(11.0, ValueError("boom"), times=5)
        sup.start_child_soon(ChildSpec(id="bad", start=bad))
        sup.start_child_soon(ChildSpec(id="slow", start=slow))
        sup.start_child_soon(ChildSpec(id="good", start=idle))
        await anyio.sleep(60)
        assert len(bad.starts) == 3
        assert len(slow.starts) == 6
        assert [id for id, _ in told] == ["bad"]
        assert isinstance(told[0][1], Crashed)
        assert [(each.child, each.over_limit) for each in log.of(ChildGivenUp)] == [("bad", True)]
        assert {row.id for row in await sup.which_children()} == {"slow", "good"}
        assert kernel.ref("pool/good").incarnation == 1


async def test_a_mass_failure_escalates() -> None:
    """The limit of the whole pool: its parent decides, and the pool begins afresh."""
    log = Log()
    starts: list[int] = []

    def initial() -> list[ChildSpec]:
        starts.append(1)
        return [ChildSpec(id="first", start=idle)]

    spec = pool(intensity=3, period_s=5.0, child_intensity=100, initial=initial)
    async with Kernel(tree(spec), on_report=log.on_report) as kernel:
        sup = kernel.supervisor("pool")
        for number in range(4):
            body = Dies(1.0, ValueError("outage"))
            sup.start_child_soon(ChildSpec(id=f"s{number}", start=body))
        await anyio.sleep(1.5)
        assert [each.supervisor for each in log.of(MaxIntensity)] == ["pool"]
        reason = next(r.reason for r in log.of(ChildTerminated) if r.child == "pool")
        assert isinstance(reason, Shutdown)
        assert isinstance(reason.cause, Crashed)
        assert reason.cause.text == "outage"
        assert [row.id for row in await sup.which_children()] == ["first"]
        assert len(starts) == 2


async def test_the_pool_has_a_limit_of_children() -> None:
    """Refused beyond it; a child that ended makes room."""
    async with Kernel(tree(pool(children_max=2))) as kernel:
        sup = kernel.supervisor("pool")
        sup.start_child_soon(ChildSpec(id="a", start=idle))
        await sup.start_child(ChildSpec(id="b", start=idle))
        with pytest.raises(ChildLimitReached, match="2 children"):
            sup.start_child_soon(ChildSpec(id="c", start=idle))
        with pytest.raises(AlreadyStarted):
            sup.start_child_soon(ChildSpec(id="a", start=idle))
        await sup.terminate_child("a")
        sup.start_child_soon(ChildSpec(id="c", start=idle))
        with pytest.raises(ChildNotFound):
            await sup.terminate_child("a")
        with pytest.raises(NotForDynamic):
            await sup.restart_child("b")
        with pytest.raises(InvalidSpec, match="no template"):
            await sup.start_child("d")
        with pytest.raises(NotForDynamic):
            kernel.supervisor().start_child_soon(ChildSpec(id="x", start=idle))
        with pytest.raises(SupervisorGone):
            kernel.supervisor("nowhere").start_child_soon(ChildSpec(id="x", start=idle))


async def test_a_start_that_fails_is_told_to_the_caller() -> None:
    """Nothing is kept of it; without a waiting caller ``on_give_up`` hears of it."""
    told: list[str] = []

    async def body(ctx: Context[Any]) -> None:
        raise PermissionDenied("no key")

    def on_give_up(id: str, reason: ExitReason) -> None:
        told.append(id)

    spec = ChildSpec(id="a", start=body, wait_ready=True)
    async with Kernel(tree(pool(on_give_up=on_give_up))) as kernel:
        sup = kernel.supervisor("pool")
        with pytest.raises(StartFailed, match="PermissionDenied: no key"):
            await sup.start_child(spec)
        assert not told
        sup.start_child_soon(spec)
        await anyio.sleep(1)
        assert told == ["a"]
        assert not await sup.which_children()


async def test_one_that_stops_slowly_does_not_hold_up_the_pool() -> None:
    """``stop_child_soon`` waits in the background; ``wait_child`` for the end."""
    log = Log()

    async def slow(ctx: Context[Any]) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with ctx.cleanup(10.0):
                await anyio.sleep(4.0)

    async with Kernel(tree(pool()), on_report=log.on_report) as kernel:
        sup = kernel.supervisor("pool")
        sup.start_child_soon(ChildSpec(id="slow", start=slow))
        await anyio.sleep(1)
        began = kernel.now()
        sup.stop_child_soon("slow")
        await sup.start_child(ChildSpec(id="other", start=idle))
        assert kernel.now() == began
        assert await sup.wait_child("slow") == Shutdown()
        assert kernel.now() - began == pytest.approx(4.0)
        assert await sup.wait_child("slow") is None
        assert not log.reports


async def test_all_are_stopped_at_the_same_time() -> None:
    """Each has its own limit; the whole takes as long as the longest."""

    def spec(seconds: float) -> ChildSpec:
        async def body(ctx: Context[Any]) -> None:
            try:
                await anyio.sleep_forever()
            finally:
                with ctx.cleanup(100.0):
                    await anyio.sleep(seconds)

        return ChildSpec(id=f"s{seconds:g}", start=body, shutdown_s=5.0)

    async with Kernel(tree(pool())) as kernel:
        for seconds in range(1, 5):
            kernel.supervisor("pool").start_child_soon(spec(float(seconds)))
        await anyio.sleep(1)
        began = kernel.now()
        await kernel.supervisor().terminate_child("pool")
        assert kernel.now() - began == pytest.approx(4.0)


async def test_the_root_that_gives_up_ends_the_block() -> None:
    """The failure is carried all the way up."""
    spec = ChildSpec(id="a", start=Dies(1.0, ValueError("boom")))
    with pytest.raises(TreeGaveUp) as caught:
        async with Kernel(tree(SupervisorSpec(id="inner", children=(spec,)), intensity=1)):
            await anyio.sleep(1_000)
    reason = caught.value.reason
    assert isinstance(reason, Shutdown)
    assert reason.child == "inner"
    assert "'inner/a' crashed with ValueError: boom" in str(caught.value)


# -- field cases ----------------------------------------------------------------------------------------


async def test_sv_01_a_dies_soon_after_each_start() -> None:
    """SV-01 a: a child that starts well and dies is given up at the fourth crash, once."""
    log = Log()
    body = Dies(0.05, ValueError("boom"))
    inner = SupervisorSpec(
        id="inner",
        intensity=3,
        period_s=5.0,
        restart=RestartType.TEMPORARY,
        children=(ChildSpec(id="a", start=body, wait_ready=True),),
    )
    async with Kernel(tree(inner), on_report=log.on_report) as kernel:
        await anyio.sleep(60)
        assert len(body.starts) == 4
        assert [each.supervisor for each in log.of(MaxIntensity)] == ["inner"]
        assert [each.child for each in log.of(ChildTerminated)] == ["a"] * 4
        assert not kernel.supervisor("inner").alive


async def test_sv_01_b_dies_now_and_then() -> None:
    """SV-01 b: one crash every six seconds is never too many for three in five."""
    body = Dies(6.0, ValueError("boom"))
    spec = ChildSpec(id="b", start=body, wait_ready=True)
    async with Kernel(tree(spec, intensity=3, period_s=5.0)) as kernel:
        await anyio.sleep(6 * 500 + 1)
        assert len(body.starts) == 501
        assert kernel.ref("b").alive


async def test_sv_01_c_a_configuration_error_is_not_restarted() -> None:
    """SV-01 c: address in use, bad configuration: one alert, no attempt after it."""
    log = Log()
    attempts: list[int] = []

    async def body(ctx: Context[Any]) -> None:
        attempts.append(1)
        if len(attempts) > 1:
            raise PermissionDenied("address in use")
        ctx.ready()
        await anyio.sleep(1)
        raise TransientError("lost the connection")

    table = {ErrorClass.TRANSIENT: RestartRule(restart=True)}
    children = (
        ChildSpec(id="c", start=body, restart=table, wait_ready=True),
        ChildSpec(id="d", start=idle),
    )
    spec = tree(*children, intensity=3, strategy=Strategy.REST_FOR_ONE)
    async with Kernel(spec, on_report=log.on_report) as kernel:
        await anyio.sleep(60)
        assert len(attempts) == 2
        assert [each.child for each in log.of(ChildGivenUp)] == ["c"]
        assert kernel.ref("d").alive


@pytest.mark.parametrize("way", ["task group", "timeout", "shutdown"])
async def test_ca_01_cancellation_is_an_order(way: str) -> None:
    """CA-01: the work ends at once, was tried once, and the caller sees the cancellation."""
    log = Log()
    body = Dies(10.0, ValueError("not reached"))
    ended: list[float] = []

    async def caller() -> None:
        try:
            async with Kernel(
                tree(ChildSpec(id="a", start=body), intensity=5),
                on_report=log.on_report,
                on_progress=log.on_progress,
            ) as kernel:
                if way == "shutdown":
                    await anyio.sleep(1)
                    return
                await kernel.supervisor().wait_child("a")
        finally:
            ended.append(anyio.current_time())

    began = anyio.current_time()
    with anyio.move_on_after(1.0 if way == "timeout" else None) as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(caller)
            if way == "task group":
                await anyio.sleep(1)
                group.cancel_scope.cancel()
    assert ended[0] - began == pytest.approx(1.0, abs=0.1)
    assert len(body.starts) == 1
    assert not log.reports
    assert scope.cancelled_caught is (way == "timeout")


async def test_ca_03_a_cancelled_child_leaves_no_task_behind() -> None:
    """CA-03: within the grace time all that a child had begun has ended, and nothing new begins."""
    running: set[str] = set()
    log = Log()

    async def part(name: str, seconds: float) -> None:
        running.add(name)
        try:
            await anyio.sleep(seconds)
        finally:
            running.discard(name)

    async def session(ctx: Context[Any]) -> None:
        while True:
            async with anyio.create_task_group() as group:
                for number in (1, 2, 3):
                    group.start_soon(part, f"t{number}", float(number))

    spec = ChildSpec(id="s", start=session, restart=RestartType.TRANSIENT)
    async with Kernel(tree(pool()), on_progress=log.on_progress) as kernel:
        sup = kernel.supervisor("pool")
        sup.start_child_soon(spec)
        await anyio.sleep(1.5)
        assert running == {"t2", "t3"}
        sup.stop_child_soon("s")
        assert await sup.wait_child("s") == Shutdown()
        assert not running
        await anyio.sleep(5)
        assert log.starts("pool/s") == 1


async def test_a_stop_on_purpose_is_a_normal_end() -> None:
    """``ShutdownError`` with its reason: no restart of a transient child, no report."""
    log = Log()

    async def body(ctx: Context[Any]) -> None:
        raise ShutdownError("nothing left to do")

    spec = ChildSpec(id="a", start=body, restart=RestartType.TRANSIENT)
    async with Kernel(tree(spec), on_report=log.on_report, on_progress=log.on_progress) as kernel:
        await anyio.sleep(1)
        assert not kernel.ref("a").alive
        assert not log.reports
        ends = [each.reason for each in log.progress if isinstance(each, Exited)]
        assert ends == [Shutdown("nothing left to do")]
