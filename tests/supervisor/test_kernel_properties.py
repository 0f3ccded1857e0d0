"""Random trees and random scripts under virtual time hold the invariants; same seed, same trace."""

import importlib
from collections import Counter
from random import Random
from typing import Any

import anyio
import pytest
from kernel_log import Log
from virtual_time import VIRTUAL_BACKENDS, run_virtual

from ukemi.supervisor import (
    ChildSpec,
    ChildTerminated,
    Context,
    DynamicSpec,
    Exited,
    IgnoreStart,
    Kernel,
    MaxIntensity,
    RestartType,
    ShutdownError,
    Spec,
    Started,
    StartError,
    Starting,
    Strategy,
    SupervisorSpec,
    TreeGaveUp,
    UkemiError,
)

SEEDS = range(60)
PERIOD_S = 20.0


class World:
    """One random tree, played by one random script."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.log = Log()
        self.plan: dict[str, Random] = {}
        self.seed = seed
        self.made = 0
        # What the bodies themselves see: who is inside of its function at this moment.
        self.inside: Counter[str] = Counter()
        self.most_inside = 0

    # -- the tree ---------------------------------------------------------------------------------

    def tree(self) -> SupervisorSpec:
        children = tuple(self.child(2) for _ in range(self.random.randint(1, 4)))
        return SupervisorSpec(id="root", children=children, intensity=None)

    def child(self, depth: int) -> Spec:
        self.made += 1
        if depth and self.random.random() < 0.4:
            return self.family(f"s{self.made}", depth - 1)
        return self.worker(f"w{self.made}")

    def family(self, id: str, depth: int) -> Spec:
        restart = self.random.choice([RestartType.PERMANENT, RestartType.TRANSIENT])
        if self.random.random() < 0.3:
            return DynamicSpec(
                id=id, restart=restart, intensity=self.random.randint(1, 4), period_s=PERIOD_S
            )
        return SupervisorSpec(
            id=id,
            children=tuple(self.child(depth) for _ in range(self.random.randint(0, 4))),
            strategy=self.random.choice(list(Strategy)),
            intensity=self.random.randint(1, 4),
            period_s=PERIOD_S,
            restart=restart,
        )

    def worker(self, id: str) -> ChildSpec:
        return ChildSpec(
            id=id,
            start=self.body,
            restart=self.random.choice(list(RestartType)),
            wait_ready=self.random.random() < 0.7,
            shutdown_s=self.random.choice([0.5, 5.0, None]),
        )

    async def body(self, ctx: Context[str]) -> None:
        path = ctx.ref.path
        chance = self.plan.setdefault(path, Random(f"{self.seed} {path}"))
        self.inside[path] += 1
        self.most_inside = max(self.most_inside, self.inside[path])
        try:
            if ctx.incarnation > 1:
                await self.start_of_a_later_life(chance)
            ctx.ready()
            await self.serve(ctx)
        finally:
            try:
                with ctx.cleanup(0.4):
                    await anyio.sleep(chance.choice([0.0, 0.0, 0.1, 0.3]))
            finally:
                self.inside[path] -= 1

    async def start_of_a_later_life(self, chance: Random) -> None:
        roll = chance.random()
        if roll < 0.1:
            raise IgnoreStart
        if roll < 0.3:
            raise RuntimeError("no luck")
        await anyio.sleep(chance.choice([0.0, 0.2]))

    async def serve(self, ctx: Context[str]) -> None:
        match await ctx.receive():
            case "crash":
                raise ValueError("told to")
            case "stop":
                raise ShutdownError
            case _:
                return

    # -- the script ---------------------------------------------------------------------------------

    async def play(self) -> list[Any]:
        try:
            async with Kernel(
                self.tree(),
                on_report=self.log.on_report,
                on_progress=self.log.on_progress,
                kill_grace_s=0.5,  # longer than the longest clean-up: nobody is given up
            ) as kernel:
                for _ in range(40):
                    await self.act(kernel)
                    await anyio.sleep(self.random.choice([0.0, 0.05, 1.0, 4.0]))
                await anyio.sleep(30)
                self.check_while_alive(kernel)
        except TreeGaveUp:  # the root has no limit
            pytest.fail("the root gave up")
        return [*self.log.progress, *self.log.reports]

    async def act(self, kernel: Kernel) -> None:
        nodes = list(self.nodes(kernel.tree(), ""))
        if not nodes:
            return
        path, type = self.random.choice(nodes)
        above, _, id = path.rpartition("/")
        try:
            await self.do(kernel, path, type, above, id)
        except UkemiError:
            return  # refused: not running, no such child, ...

    async def do(self, kernel: Kernel, path: str, type: str, above: str, id: str) -> None:
        sup = kernel.supervisor(above)
        match self.random.randrange(8):
            case 0 | 1 | 2 if type == "worker":
                kernel.ref(path).tell(self.random.choice(["crash", "crash", "stop", "return"]))
            case 3:
                sup.kill_child(id, "by the script")
            case 4:
                await sup.terminate_child(id)
            case 5:
                await sup.restart_child(id)
            case 6:
                await sup.delete_child(id)
            case _ if type == "supervisor":
                self.made += 1
                await kernel.supervisor(path).start_child(self.worker(f"w{self.made}"))
            case _:
                return

    def nodes(self, node: Any, path: str) -> Any:
        for child in node.children:
            below = f"{path}/{child.id}" if path else child.id
            yield below, str(child.type)
            yield from self.nodes(child, below)

    # -- what must hold -------------------------------------------------------------------------------

    def check_while_alive(self, kernel: Kernel) -> None:
        """At rest nobody waits for a restart, and who shows as running is inside of its body."""
        for path, type in self.nodes(kernel.tree(), ""):
            ref = kernel.ref(path)
            if type == "worker":
                assert self.inside[path] == int(ref.alive), path

    def check(self) -> None:
        assert self.most_inside <= 1, "two lives of one child at the same time"
        assert not +self.inside, "somebody is left behind"
        self.check_lives()
        self.check_nesting()
        self.check_intensity()

    def check_lives(self) -> None:
        """No life is lost or doubled: each start is followed by its own end."""
        open_lives: dict[str, int] = {}
        for told in self.log.progress:
            if isinstance(told, Started):
                assert told.path not in open_lives, f"{told.path} started twice"
                open_lives[told.path] = told.incarnation
            elif isinstance(told, Exited):
                assert open_lives.pop(told.path) == told.incarnation
        assert not open_lives

    def check_nesting(self) -> None:
        """A supervisor is up after its children, and ends after them unless it was killed."""
        killed = {report.child for report in self.log.of(ChildTerminated)}
        alive: set[str] = set()
        for told in self.log.progress:
            if isinstance(told, Started):
                alive.add(told.path)
            elif isinstance(told, Exited):
                alive.discard(told.path)
                if type(told.reason).__name__ == "Killed" or told.path.split("/")[-1] in killed:
                    continue
                below = [path for path in alive if path.startswith(f"{told.path}/")]
                assert not below, f"{below} outlive {told.path!r}"
            elif isinstance(told, Starting):
                assert told.path not in alive

    def check_intensity(self) -> None:
        """Who gave up had reported more restarts than it may have."""
        for report in self.log.of(MaxIntensity):
            deaths = [
                each
                for each in self.log.reports
                if isinstance(each, ChildTerminated | StartError)
                and each.supervisor == report.supervisor
            ]
            assert len(deaths) > report.intensity


def seeded_trio(seed: int) -> None:
    """Take the chance out of trio's scheduler, which shuffles on purpose."""
    run: Any = importlib.import_module("trio._core._run")
    run._ALLOW_DETERMINISTIC_SCHEDULING = True
    run._r.seed(seed)


@pytest.mark.parametrize("backend", VIRTUAL_BACKENDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_invariants_hold(seed: int, backend: str) -> None:
    """No child lost or doubled, order kept, intensity kept, nothing left behind."""
    world = World(seed)
    run_virtual(world.play, backend=backend)
    world.check()


@pytest.mark.parametrize("backend", VIRTUAL_BACKENDS)
@pytest.mark.parametrize("seed", [0, 17, 43])
def test_same_seed_same_trace(seed: int, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure can be replayed."""
    run: Any = importlib.import_module("trio._core._run")
    monkeypatch.setattr(run, "_ALLOW_DETERMINISTIC_SCHEDULING", False)
    traces: list[list[Any]] = []
    for _ in range(2):
        seeded_trio(seed)
        traces.append(run_virtual(World(seed).play, backend=backend))
    assert traces[0] == traces[1]
    assert len(traces[0]) > 20
