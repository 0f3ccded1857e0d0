"""What a runtime is made of: its parts, put together, entered and left.

::

    runtime (rest_for_one)
    ├── checkpoint   the only writer of the store
    ├── budget       the book of accounts
    ├── timers       the lease, and sessions whose owner is gone
    └── sessions     dynamic; restarts are counted for each session by itself
"""

from types import TracebackType

import anyio
from msgspec import Struct

from ..stores.base import Leave
from ..supervisor import (
    ChildSpec,
    Context,
    DynamicSpec,
    Kernel,
    Report,
    Strategy,
    SupervisorSpec,
)
from ..supervisor.clock import SystemClock
from ..supervisor.errors import UsageError
from ..supervisor.logs import log
from ..supervisor.policy import Policy
from .alerts import Alerts
from .budget import Budget
from .checkpoint import MAILBOX_MAX
from .foundation import Foundation, Given, error_class
from .guarding.guard import Guards
from .handle import SessionHandle
from .health import BOXES, Health, LagMeter
from .inbox import Inbox
from .keeper import Keeper, Wake
from .late import record_late
from .outcome import Outcome
from .pool import Pool
from .rollback.rollbacks import Rollbacks
from .services import Services
from .session import Session
from .sessions import Sessions
from .starting import Starting
from .steady import SteadyWall
from .teller import Teller
from .tooling.threads import LateOutcome, Threads
from .upstreams import Upstreams

TELL_S_MAX = 5.0
"""Seconds that leaving waits for alerts to be told; what is not is told by the next runtime."""

LEAVE_S_MAX = 5.0
"""Seconds that letting go of the store and the models may take."""


class Parts(Struct, kw_only=True):
    """What there is while a runtime is entered, and after."""

    kernel: Kernel
    services: Services
    lag: LagMeter
    sessions: Sessions
    inbox: Inbox
    rollbacks: Rollbacks
    keeper: Keeper
    guards: Guards
    starting: Starting


class Core:
    """The parts of one runtime.

    Raises:
        UsageError: something given cannot work; the message names it.
    """

    def __init__(self, given: Given) -> None:
        self.base = Foundation(given)
        self.threads = Threads(on_late=self._late)
        self._parts: Parts | None = None
        self._left = False

    # ------------------------------------------------------------ what is there now

    @property
    def entered(self) -> Parts:
        """The parts of a runtime that was entered, whether or not it was left.

        Raises:
            UsageError: it was not.
        """
        if self._parts is None:
            raise UsageError("the runtime is not running; use it inside `async with Runtime(...)`")
        return self._parts

    @property
    def running(self) -> Parts:
        """The parts of a runtime that runs.

        Raises:
            UsageError: it was not entered, or was left.
        """
        parts = self.entered
        if self._left:
            raise UsageError("the runtime was left; make a new one to go on with its sessions")
        return parts

    def handle(self, session_id: str, session: Session | None) -> SessionHandle:
        """Return the handle on a session."""
        parts = self.running
        return SessionHandle(
            session_id,
            parts.sessions,
            self.base.store,
            self.base.clock,
            parts.inbox,
            parts.rollbacks,
            session,
        )

    def health(self) -> Health:
        """Return how the runtime is doing."""
        parts = self.entered
        upstreams = parts.services.upstreams.health()
        return Health(
            at_ms=self.base.clock.wall_ms(),
            loop=parts.lag.health(),
            sessions=parts.sessions.health(),
            waiting=parts.sessions.pool.places.admission.waiting(),
            mailboxes={each: parts.kernel.waiting(each) for each in BOXES},
            store=self.base.store.health(),
            upstreams=upstreams,
            breakers_open=tuple(
                name for name, each in sorted(upstreams.items()) if each.breaker == "open"
            ),
            threads=len(self.threads.running()),
        )

    def replace_policy(self, policy: Policy, file: str) -> None:
        """Put another policy in force; what it has places for goes on."""
        self.base.policies.replace(policy, file)
        if self._parts is not None and not self._left:
            self._parts.sessions.pool.places.policy_changed()
            self._parts.services.upstreams.policy_changed()

    # ------------------------------------------------------------ entering

    async def enter(self) -> None:
        """Open the store, start the tree, and take over what nobody owns.

        Raises:
            UsageError: it was entered before.
            StoreUnusable: the store cannot be opened.
        """
        if self._parts is not None:
            raise UsageError("a Runtime is entered once; make a new one")
        if isinstance(self.base.clock, SystemClock):
            self.base.clock.bind()
        parts = self._parts = self._put_together()
        for function in self.base.guarded:
            parts.guards.known(function)
        await self.base.store.open()
        try:
            await self._sum_up()
            await parts.kernel.__aenter__()
            parts.lag.begin()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.base.store.close()
            raise
        try:
            if self.base.adopts:
                await parts.keeper.adopt()
                await parts.keeper.take_decisions()
        except BaseException as error:
            await self.leave(type(error), error, error.__traceback__)
            raise

    def _put_together(self) -> Parts:
        if self.base.on_alert is not None:
            self.base.alerts.teller = Teller(
                self.base.on_alert,
                self.base.store,
                self.base.checkpoint,
                self.base.clock,
                self.base.ownership.owner,
                self.base.mask,
            )
        kernel = Kernel(
            self._tree(),
            clock=self.base.clock,
            classify=error_class,
            clean=self.base.mask,
            on_report=_log_report,
            collector=self.base.collector,
        )
        services = self._services(kernel)
        pool = Pool(services, self.base.book, kernel.supervisor("sessions"))
        sessions = Sessions(services, self.base.book, self.base.agents, pool)
        inbox = Inbox(services, sessions)
        keeper = Keeper(
            self.base.store,
            self.base.clock,
            self.base.ownership,
            sessions,
            inbox,
            self.base.alerts.alert,
            services.steady,
            adopts=self.base.adopts,
            tells=self.base.on_approval is not None,
        )
        return Parts(
            kernel=kernel,
            services=services,
            lag=LagMeter(kernel.timers, kernel.now),
            sessions=sessions,
            inbox=inbox,
            rollbacks=Rollbacks(services, sessions),
            keeper=keeper,
            guards=Guards(
                services,
                sessions,
                inbox,
                keeper,
                self.base.agents,
                self.base.secrets,
                lambda name: self.handle(name, sessions.active.get(name)),
            ),
            starting=Starting(self.base.store, self.base.clock, sessions, self.handle),
        )

    def _services(self, kernel: Kernel) -> Services:
        return Services(
            clock=self.base.clock,
            now_ms=self.base.clock.wall_ms,
            scope=type(anyio.CancelScope()),
            store=self.base.store,
            timers=kernel.timers,
            checkpoint=self.base.checkpoint,
            ownership=self.base.ownership,
            classify=self.base.classifier,
            policies=self.base.policies,
            upstreams=Upstreams(self.base.clock, self.base.policies, self._tenant_of),
            alerts=Alerts(self.base.clock, self.base.alerts.keep, self.base.alerts.notify),
            store_file=self.base.file,
            roll=self.base.random.random,
            threads=self.threads,
            mask=self.base.mask,
            subsession=self._subsession,
            late=self._late,
            steady=SteadyWall(self.base.clock),
            workspaces=self.base.workspaces,
            parked=self._parked,
            give_up=self._give_up_body,
            checks=self.base.checks,
            on_approval=self.base.on_approval,
        )

    def _tree(self) -> SupervisorSpec:
        restarts = self.base.policies.current.restarts
        teller = self.base.alerts.teller
        return SupervisorSpec(
            id="runtime",
            strategy=Strategy.REST_FOR_ONE,
            intensity=5,
            period_s=10.0,
            children=(
                ChildSpec(
                    id="checkpoint",
                    start=self.base.checkpoint.run,
                    wait_ready=True,
                    mailbox_max=MAILBOX_MAX,
                ),
                ChildSpec(id="budget", start=self.base.budget.run),
                ChildSpec(id="timers", start=self._run_keeper, wait_ready=True),
                DynamicSpec(
                    id="sessions",
                    intensity=restarts.pool_intensity,
                    period_s=restarts.pool_period_s,
                    child_intensity=restarts.intensity,
                    child_period_s=restarts.period_s,
                    initial=lambda: self.entered.sessions.pool.specs(),
                    on_give_up=lambda child, why: self.entered.sessions.pool.gave_up(child, why),
                ),
                # The last: nobody is restarted for its sake.
                *([] if teller is None else [ChildSpec(id="alerts", start=teller.run)]),
            ),
        )

    async def _sum_up(self) -> None:
        """Count what sessions of groups and tenants with a budget have consumed so far."""
        store, book = self.base.store, self.base.book
        for kind, name in book.shares:
            of_group = kind == "group"
            spent = await (store.spent(group=name) if of_group else store.spent(tenant=name))
            book.sum_up(kind, name, spent)

    # ------------------------------------------------------------ leaving

    async def leave(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the tree and let go of everything; what is unfinished goes on elsewhere."""
        parts = self.running
        parts.sessions.pool.closing = True
        try:
            if self.base.alerts.teller is not None and exc is None:
                # What was just raised: who leaves at once would leave it to another to tell.
                await self.base.alerts.teller.rest(TELL_S_MAX)
        finally:
            try:
                await parts.kernel.__aexit__(exc_type, exc, traceback)
            finally:
                await self._let_go(parts)

    async def _let_go(self, parts: Parts) -> None:
        with anyio.move_on_after(LEAVE_S_MAX, shield=True):
            await self._leave_store()
            await self._close_models()
        parts.sessions.pool.close()
        self._left = True
        for thread in self.threads.running():
            self.base.alerts.alert(f"a thread of tool {thread.tool} still runs and was left behind")

    async def _leave_store(self) -> None:
        """Let others take over at once what is unfinished here."""
        try:
            await self.base.store.commit([Leave(owner=self.base.ownership.owner)])
        except Exception as error:  # noqa: BLE001 - a store that fails must not keep anybody inside
            self.base.alerts.alert(f"unfinished sessions wait for the end of the lease: {error}")
        await self.base.store.close()
        await self.base.workspaces.close()

    async def _close_models(self) -> None:
        """Close the connections of models; one that is used again opens new ones."""
        models = {id(each.model): each.model for each in self.base.agents.values()}
        for model in models.values():
            close = getattr(model, "aclose", None)
            if close is not None:
                await close()

    # ------------------------------------------------------------ what the parts tell each other

    async def _run_keeper(self, ctx: Context[Wake]) -> None:
        await self.entered.keeper.run(ctx)

    async def _subsession(
        self, parent: str, session_id: str, agent: str, task: str, budget: Budget | None
    ) -> Outcome:
        return await self.running.starting.subsession(parent, session_id, agent, task, budget)

    def _tenant_of(self, session_id: str) -> str:
        return self.running.sessions.pool.places.tenant_of(session_id)

    def _parked(self, session_id: str, due_at_ms: int | None) -> None:
        if self._parts is not None:
            self._parts.keeper.expect(session_id, due_at_ms)

    def _give_up_body(self, session_id: str, what: str) -> None:
        self.base.alerts.alert(f"session {session_id}: {what} does not end and was left behind")
        self.running.sessions.pool.give_up_body(session_id, what)

    def _late(self, outcome: LateOutcome) -> None:
        """A body whose call was cut off has ended after all."""
        if self._parts is not None:
            record_late(self._parts.sessions, outcome, self.base.ids.new("late"))


def _log_report(report: Report) -> None:
    """Log what a supervisor reports."""
    log("ukemi", "warning", "supervisor.report", report=repr(report))
