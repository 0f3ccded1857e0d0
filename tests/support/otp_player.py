"""Play a scenario on our supervisors, and write down what happens in OTP's terms.

The case's tree is a child of a bare outer supervisor, which plays the root's parent.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from itertools import groupby
from typing import Any, cast

import anyio
from anyio import CancelScope, Event
from anyio.lowlevel import checkpoint
from msgspec.structs import asdict
from otp_compare import Case, Json, Step, parent
from otp_words import (
    check_modules,
    child_fields,
    end_with,
    exit_of,
    flags,
    reason_of,
    strategy,
    worker_type,
)

from ukemi.supervisor import (
    AlreadyPresent,
    AlreadyStarted,
    ChildGivenUp,
    ChildInfo,
    ChildLimitReached,
    ChildNotFound,
    ChildRestarting,
    ChildRunning,
    ChildSpec,
    ChildTerminated,
    ChildType,
    Context,
    DynamicSpec,
    Exited,
    Ignored,
    IgnoreStart,
    InvalidSpec,
    Kernel,
    Killed,
    MaxIntensity,
    NotForDynamic,
    Progress,
    Ref,
    Report,
    RestartType,
    ShutdownFault,
    Spec,
    Started,
    StartError,
    StartFailed,
    StartFailing,
    Starting,
    Supervisor,
    SupervisorGone,
    SupervisorSpec,
    TreeNode,
    UkemiError,
    UnexpectedMessage,
)
from ukemi.supervisor.events import Call, Waiting

# Rounds of the loop within which everything that happens at once has happened.
_ROUNDS = 25
_HELD = "held!"


class Hold:
    """A start attempt stopped half way, or a supervisor that is kept busy."""

    def __init__(self, wake: Callable[[], None] | None = None) -> None:
        self.reached = Event()
        self.go = Event()
        self._wake = wake

    def release(self) -> None:
        self.go.set()
        if self._wake is not None:
            self._wake()

    def busy(self, _machine: object) -> Waiting[None]:
        """The script of a call that takes until it is released."""
        while not self.go.is_set():
            yield None


class Player:
    """One run of one case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.events: list[Json] = []
        self.reports: list[Json] = []
        self.event_at = 0.0
        self.attempts: Counter[str] = Counter()
        self.lives: Counter[str] = Counter()
        self.numbers: dict[tuple[str, int], int] = {}
        # Of instances of a template: what start_child said of this one.
        self.plans: dict[str, Json] = {}
        self.orders: dict[str, tuple[Event, list[Json]]] = {}
        self.holds: dict[str, Hold] = {}
        self.released = Event()
        # Of supervisors whose children have no ids: what is shown for a child, and its latest name.
        self.unnamed: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.latest: dict[str, str] = {}
        self.root: Supervisor
        self.kernel: Kernel

    async def play(self) -> list[Step]:
        outer = SupervisorSpec(id="outer")
        self.kernel = Kernel(
            outer, on_report=self.on_report, on_progress=self.on_progress, kill_grace_s=0.02
        )
        trace: list[Step] = []
        async with self.kernel:
            try:
                for number, step in enumerate(self.case["steps"]):
                    trace.append(await self.step(number, step))
            finally:
                # What ignores its cancellation would keep the loop from ending.
                self.released.set()
            if self.kernel.supervisor("root").alive:
                self.stop_root("shutdown")
                await self.settle()
        return trace

    async def step(self, number: int, step: Json) -> Step:
        self.events, self.reports = [], []
        began = self.event_at = self.kernel.now()
        record: Step = {"step": number, "do": step["do"]}
        if "meanwhile" in step:
            record["result"], record["meanwhile"] = await self.with_hold(step)
        elif step["do"] == "batch":
            record["result"], record["results"] = await self.batch(step)
        else:
            record["result"] = await self.do(step)
        await self.settle()
        record["events"], record["reports"] = list(self.events), self.summed(list(self.reports))
        record["ms"] = round((self.event_at - began) * 1000)
        record["tree"] = await self.look()
        return record

    # -- letting things happen --------------------------------------------------------------------

    async def rounds(self) -> None:
        for _ in range(_ROUNDS):
            await checkpoint()

    async def settle(self) -> None:
        """Wait until every supervisor has handled what it had to, and nothing new came of it."""
        while True:
            seen = len(self.events)
            await self.rounds()
            for path in self.living():
                try:
                    await self.kernel.supervisor(path).count_children()
                except SupervisorGone:
                    continue
            await self.rounds()
            if len(self.events) == seen:
                return

    def living(self) -> list[str]:
        found: list[str] = []

        def visit(node: Any, path: str) -> None:
            if self.kernel.supervisor(path).alive and node.state == "running":
                found.append(path)
                for child in node.children:
                    visit(child, f"{path}/{child.id}")

        for node in self.kernel.tree().children:
            visit(node, node.id)
        return found

    def sup(self, path: str) -> Supervisor:
        """Return a supervisor; as in the recordings there is none until it has started."""
        real = self.real(path)
        if self.state(real) == "starting":
            raise SupervisorGone(real)
        return self.kernel.supervisor(real)

    def state(self, path: str) -> str | None:
        node: TreeNode | None = self.kernel.tree()
        for part in path.split("/"):
            node = next((each for each in node.children if each.id == part), None) if node else None
        return node.state if node is not None else None

    async def batch(self, step: Json) -> tuple[Json, list[Json]]:
        """Keep the supervisor busy while the items happen."""
        machine = self.kernel._machine(self.real(step["sup"]))  # pyright: ignore[reportPrivateUsage]
        hold = Hold(machine.child_ready if machine is not None else None)
        if machine is not None:
            machine.post(Call(hold.busy, None))
        return "ok", await self.meanwhile(step["items"], hold)

    async def with_hold(self, step: Json) -> tuple[Json, list[Json]]:
        at = self.real(step.get("hold", step["child"]))
        hold = self.holds[at] = Hold()
        result = await self.do({k: v for k, v in step.items() if k != "meanwhile"})
        async with anyio.create_task_group() as group:
            # If no attempt is made after all, the items happen when all is quiet.
            group.start_soon(self.settle_and, group.cancel_scope.cancel)
            await hold.reached.wait()
            group.cancel_scope.cancel()
        self.holds.pop(at, None)
        return result, await self.meanwhile(step["meanwhile"], hold)

    async def settle_and(self, then: Callable[[], None]) -> None:
        await self.settle()
        then()

    async def meanwhile(self, items: list[Json], hold: Hold) -> list[Json]:
        """Do these in order while the supervisor is held up; then let it go on."""
        results: list[Json] = [None] * len(items)

        async def put(number: int, item: Json) -> None:
            results[number] = await self.do(item)

        async with anyio.create_task_group() as group:
            for number, item in enumerate(items):
                group.start_soon(put, number, item)
                await self.rounds()
            hold.release()
        return results

    # -- the bodies of the workers ------------------------------------------------------------------

    async def body(self, plan: Json, ctx: Context[Any]) -> None:
        path = ctx.ref.path
        plan = plan | self.plans.get(path, {})
        hold = self.holds.pop(path, None)
        outcome = self.next_outcome(path, plan)
        if hold is not None:
            hold.reached.set()
            await hold.go.wait()
        if self.started_badly(outcome):
            return
        done = Event()
        order: list[Json] = []
        self.orders[path] = done, order
        ctx.ready("some_info" if outcome == "ok_info" else None)
        if isinstance(outcome, dict):
            end_with(outcome["then_exit"])
            return
        await self.serve(ctx, plan, done)
        end_with(order[0])

    def next_outcome(self, path: str, plan: Json) -> Json:
        number = self.attempts[self.shown(path)]
        self.attempts[self.shown(path)] += 1
        outcomes = plan.get("init", [])
        return outcomes[number] if number < len(outcomes) else plan.get("init_rest", "ok")

    def started_badly(self, outcome: Json) -> bool:
        match outcome:
            case "ignore":
                raise IgnoreStart
            case {"error": why} | {"exit": why} | {"bad": why}:
                end_with(why)
                return True
            case {"raise": why}:
                raise RuntimeError(why)
            case _:
                return False

    async def serve(self, ctx: Context[Any], plan: Json, done: Event) -> None:
        try:
            await done.wait()
        except anyio.get_cancelled_exc_class():
            if not isinstance(ctx.stop_asked, Killed):
                await self.clean_up(plan.get("on_shutdown", "die"))
            raise

    async def clean_up(self, way: Json) -> None:
        with CancelScope(shield=True):
            match way:
                case {"clean_ms": ms}:
                    await anyio.sleep(ms / 1000)
                case {"exit": why, **rest}:
                    await anyio.sleep(cast(dict[str, Any], rest).get("after_ms", 0) / 1000)
                    if why == "normal":
                        raise _Return
                    end_with(why)
                case "ignore":
                    await self.released.wait()
                case _:
                    return

    # -- specifications -------------------------------------------------------------------------------

    def spec(self, spec: Json, sup: str, shown: str | None = None) -> Spec:
        """Make our specification of a child of this supervisor (by its real path)."""
        if "raw" in spec:
            return cast(Spec, spec["raw"])
        check_modules(spec)
        fields = child_fields(spec)
        if shown is not None:
            fields["id"] = self.fresh_name(sup, shown)
        if "sup" in spec:
            return self.family(fields, spec["sup"], f"{sup}/{fields['id']}", spec)
        start: Any = Worker(self.body, spec)
        if "no_start" in spec or "bad_start" in spec:
            start = spec.get("bad_start")
        return ChildSpec(**fields, start=start, wait_ready=True, type=worker_type(spec))

    def family(self, fields: dict[str, Any], sup: Json, path: str, plan: Json) -> Spec:
        """Make a supervisor; what is wrong with it shows when it starts, as in OTP."""

        def begin() -> None:
            self.started_badly(self.next_outcome(path, plan))

        def children() -> Iterable[Spec]:
            begin()
            kids = [self.spec(each, path) for each in sup.get("children", ())]
            hold = self.holds.pop(path, None)
            return kids if hold is None else [self.held(hold), *kids]

        try:
            if sup.get("strategy") in ("simple_one_for_one", "dynamic"):
                return self.pool(fields, sup, path, begin)
            return SupervisorSpec(**fields, **flags(sup), strategy=strategy(sup), children=children)
        except InvalidSpec as error:
            return SupervisorSpec(**fields, children=partial(_refuse, begin, error))

    def held(self, hold: Hold) -> Spec:
        """Make a child that holds its supervisor up while that starts; nothing remains of it."""

        async def wait(_ctx: Context[Any]) -> None:
            hold.reached.set()
            await hold.go.wait()
            raise IgnoreStart

        return ChildSpec(id=_HELD, start=wait, restart=RestartType.TEMPORARY, wait_ready=True)

    def pool(self, fields: dict[str, Any], sup: Json, path: str, begin: Callable[[], None]) -> Spec:
        self.unnamed[path] = sup["strategy"]
        template: Any = None
        if sup["strategy"] == "simple_one_for_one":
            if "template" not in sup:
                raise InvalidSpec("simple_one_for_one takes exactly one child specification")
            template = self.spec(sup["template"], path)

        def initial() -> Iterable[Any]:
            begin()
            return ()

        return DynamicSpec(
            **fields,
            **flags(sup),
            children_max=sup.get("max_children"),
            template=template,
            initial=initial,
        )

    def fresh_name(self, sup: str, shown: str) -> str:
        """Return an id of our own for a child of a supervisor that has no ids."""
        number = self.attempts[f"name of {sup}/{shown}"]
        self.attempts[f"name of {sup}/{shown}"] += 1
        id = shown if number == 0 else f"{shown}~{number}"
        self.names[f"{sup}/{id}"] = shown
        return id

    def shown(self, path: str) -> str:
        """Return a path as the case writes it."""
        parts = path.split("/")
        return "/".join(
            self.names.get("/".join(parts[: i + 1]), part) for i, part in enumerate(parts)
        )

    def real(self, path: str) -> str:
        """Return the path of the latest child that is shown like this."""
        real = ""
        for part in path.split("/"):
            at = f"{real}/{part}" if real else part
            real = f"{real}/{self.latest[at]}" if at in self.latest else at
        return real

    # -- what is written down ---------------------------------------------------------------------------

    def on_progress(self, progress: Progress) -> None:
        path = progress.path
        if path.split("/")[0] != "root" or _HELD in path:
            return
        shown = self.shown(path)
        event: Json = {"path": shown}
        match progress:
            case Starting():
                event |= {"ev": "starting"}
            case Started():
                self.lives[shown] += 1
                self.numbers[path, progress.incarnation] = self.lives[shown]
                event |= {"ev": "started", "n": self.lives[shown]}
            case StartFailing():
                event |= {"ev": "start_failed", "reason": reason_of(progress.reason)}
            case Ignored():
                event |= {"ev": "ignored"}
            case Exited():
                number = self.numbers[path, progress.incarnation]
                self.orders.pop(path, None)
                event |= {"ev": "exit", "n": number, "reason": reason_of(progress.reason)}
        self.events.append(event)
        self.event_at = self.kernel.now()

    def on_report(self, report: Report) -> None:
        if report.supervisor.split("/")[0] != "root":
            return
        child = self.name_in_report(report)
        said: Json = {"sup": self.shown(report.supervisor), "child": child}
        match report:
            case ChildTerminated():
                said |= {"report": "child_terminated", "reason": reason_of(report.reason)}
            case StartError():
                said |= {"report": "start_error", "reason": reason_of(report.reason)}
            case ShutdownFault():
                said |= {"report": "shutdown_error", "reason": reason_of(report.reason)}
            case MaxIntensity():
                said |= {"report": "max_intensity", "reason": "reached_max_restart_intensity"}
            case UnexpectedMessage():
                said = {"report": "unexpected_message", "sup": f"{said['sup']}/{child}"}
            case ChildGivenUp() | _:
                return
        self.reports.append(said)

    def name_in_report(self, report: Report) -> str:
        if report.supervisor not in self.unnamed:
            return report.child
        path = f"{report.supervisor}/{report.child}"
        return self.process(path, self.kernel.ref(path).incarnation)

    def summed(self, reports: list[Json]) -> list[Json]:
        """Sum up what simple_one_for_one tells at its end: one report per reason."""
        out: list[Json] = []
        for report in reports:
            kind = self.unnamed.get(self.real(report["sup"]))
            gone = not self.kernel.supervisor(self.real(report["sup"])).alive
            if not (kind == "simple_one_for_one" and gone and report["report"] == "shutdown_error"):
                out.append(report)
                continue
            alike = [each for each in out if each | {"child": 0} == report | {"child": 0}]
            if alike:
                alike[0]["child"]["dead"] += 1
            else:
                out.append(report | {"child": {"dead": 1}})
        return _sort_sums(out)

    # -- steps --------------------------------------------------------------------------------------------

    async def do(self, step: Json) -> Json:
        do: Callable[[Json], Awaitable[Json]] = getattr(self, f"do_{step['do']}")
        try:
            return await do(step)
        except SupervisorGone as gone:
            return {"exit": "noproc" if gone.reason is None else reason_of(gone.reason)}
        except UkemiError as error:
            return {"error": self.error(error, step)}

    def error(self, error: UkemiError, step: Json) -> Json:
        match error:
            case AlreadyStarted():
                return {"already_started": self.process(error.child, error.incarnation)}
            case AlreadyPresent():
                return "already_present"
            case ChildNotFound():
                return "not_found"
            case ChildRunning():
                return "running"
            case ChildRestarting():
                return "restarting"
            case ChildLimitReached():
                return "max_children"
            case NotForDynamic():
                return "simple_one_for_one"
            case StartFailed() if step["do"] == "start_child":
                reason = reason_of(error.reason)
                named = self.real(step["sup"]) not in self.unnamed
                return {"start_failed": reason, "child": step["spec"]["id"]} if named else reason
            case StartFailed():
                return reason_of(error.reason)
            case _:
                return str(error)

    def process(self, path: str, incarnation: int) -> str:
        """Return OTP's process as the traces write it: last part of the path, number of the life."""
        number = self.numbers[path, incarnation]
        return f"{self.shown(path).rsplit('/', 1)[-1]}#{number}"

    def started(self, ref: Ref[Any]) -> Json:
        if not ref.first:  # the start was ignored
            return {"ok": None}
        result: Json = {"ok": self.process(ref.path, ref.first)}
        return result | {"info": ref.info} if ref.info is not None else result

    async def do_start(self, step: Json) -> Json:
        tree = self.case["tree"]
        fields = child_fields({"id": "root", "restart": "temporary", "type": "supervisor"})
        spec = self.family(fields, tree, "root", tree)
        result = self.started(await self.kernel.supervisor().start_child(spec))
        return result if result != {"ok": None} else "ignore"

    async def do_stop(self, step: Json) -> Json:
        if not self.kernel.supervisor("root").alive:
            return "not_running"
        self.stop_root(step.get("reason", "shutdown"))
        await self.kernel.supervisor().wait_child("root")
        return "ok"

    def stop_root(self, reason: Json) -> None:
        machine = self.kernel._machine("root")  # pyright: ignore[reportPrivateUsage]
        assert machine is not None
        machine.stop(exit_of(reason))

    async def do_exit(self, step: Json) -> Json:
        path = self.real(step["child"])
        if path not in self.orders or not self.kernel.ref(path).alive:
            return "not_running"
        done, order = self.orders.pop(path)
        order.append(step["reason"])
        done.set()
        return "ok"

    async def do_kill(self, step: Json) -> Json:
        path = self.real(step["child"])
        if not self.kernel.ref(path).alive or self.state(path) == "starting":
            return "not_running"
        self.kernel.supervisor(parent(path)).kill_child(path.rsplit("/", 1)[-1])
        return "ok"

    async def do_signal(self, step: Json) -> Json:
        if self.kernel.supervisor(self.real(step["child"])).alive or step["reason"] == "normal":
            return "ok"
        return await self.do_exit(step)

    async def do_message(self, step: Json) -> Json:
        try:
            self.kernel.ref(self.real(step["child"])).tell("hello")
        except UkemiError:
            return "ok"
        return "ok"

    async def do_wait(self, step: Json) -> Json:
        await anyio.sleep(step["ms"] / 1000)
        return "ok"

    async def do_start_child(self, step: Json) -> Json:
        sup = self.real(step["sup"])
        kind = self.unnamed.get(sup)
        if kind is None:
            spec: Any = self.spec(step["spec"], sup)
            return self.started(await self.sup(step["sup"]).start_child(spec))
        if kind == "dynamic":
            shown = step["spec"]["id"]
            spec = self.spec(step["spec"], sup, shown)
            id = spec.id
        else:
            shown = step["name"]
            spec = id = self.fresh_name(sup, shown)
            self.plans[f"{sup}/{id}"] = step
        ref = await self.sup(step["sup"]).start_child(spec)
        result = self.started(ref)
        if result["ok"] is not None:
            self.latest[f"{sup}/{shown}"] = id
        return "ignore" if result["ok"] is None and kind == "dynamic" else result

    async def do_terminate_child(self, step: Json) -> Json:
        sup = self.real(step["sup"])
        kind = self.unnamed.get(sup)
        if kind is None:
            await self.sup(step["sup"]).terminate_child(step["child"])
            return "ok"
        if step.get("by") == "id":
            raise NotForDynamic("terminate_child by id", sup)
        id = self.latest.get(f"{sup}/{step['child']}", str(step["child"]))
        n = self.kernel.ref(f"{sup}/{id}").incarnation
        try:
            await self.sup(step["sup"]).terminate_child(id, n)
        except ChildNotFound:
            if kind == "dynamic":
                raise
        return "ok"

    async def do_restart_child(self, step: Json) -> Json:
        return self.started(await self.sup(step["sup"]).restart_child(step["child"]))

    async def do_delete_child(self, step: Json) -> Json:
        await self.sup(step["sup"]).delete_child(step["child"])
        return "ok"

    async def do_get_childspec(self, step: Json) -> Json:
        spec = await self.sup(step["sup"]).get_childspec(step["child"])
        match spec.shutdown_s:
            case None:
                shutdown: Json = "infinity"
            case int() | float():
                shutdown = round(spec.shutdown_s * 1000)
            case _:
                shutdown = "brutal_kill"
        found = {"id": spec.id, "restart": str(spec.restart), "shutdown": shutdown}
        return {"ok": found | {"significant": spec.significant, "type": type_of(spec)}}

    async def do_which_children(self, step: Json) -> Json:
        rows = await self.sup(step["sup"]).which_children()
        return self.rows(step["sup"], rows)

    def rows(self, sup: str, rows: list[ChildInfo]) -> Json:
        real = self.real(sup)
        return [self.row(real, info) for info in rows]

    def row(self, sup: str, info: ChildInfo) -> Json:
        path = f"{sup}/{info.id}"
        process: Json = None
        if info.activity.value == "running":
            process = self.process(path, info.incarnation)
        elif info.activity.value == "restarting":
            process = "restarting"
        return [None if sup in self.unnamed else info.id, process, str(info.type)]

    async def do_count_children(self, step: Json) -> Json:
        return await self.count(self.sup(step["sup"]))

    async def count(self, handle: Supervisor) -> Json:
        return asdict(await handle.count_children())

    async def look(self) -> Json:
        """Return every living supervisor with its children."""
        seen: Json = {}
        for path in self.living():
            handle = self.kernel.supervisor(path)
            rows = [self.row(path, info) for info in await handle.which_children()]
            seen[self.shown(path)] = {
                "children": rows,
                "count": await self.count(handle),
            }
        return seen


def _sort_sums(reports: list[Json]) -> list[Json]:
    """Put the sums that follow one another into the order of OTP's terms, here the alphabet's."""
    out: list[Json] = []
    for is_sum, group in groupby(reports, lambda each: isinstance(each["child"], dict)):
        run = list(group)
        out += sorted(run, key=lambda each: str(each["reason"])) if is_sum else run
    return out


class Worker:
    """The start function of a worker, with what the case says of it."""

    def __init__(self, body: Callable[[Json, Context[Any]], Awaitable[None]], plan: Json) -> None:
        self._body = body
        self.plan = plan

    async def __call__(self, ctx: Context[Any]) -> None:
        try:
            await self._body(self.plan, ctx)
        except _Return:
            return


def type_of(spec: Spec) -> str:
    return str(spec.type if isinstance(spec, ChildSpec) else ChildType.SUPERVISOR)


class _Return(Exception):
    """A worker ends normally from within its clean-up."""


def _refuse(begin: Callable[[], None], error: InvalidSpec) -> Iterable[Spec]:
    begin()
    raise error


async def play(case: Case) -> list[Step]:
    """Play a case and return its trace."""
    return await Player(case).play()
