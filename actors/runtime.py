"""The runtime: the tree of actors over one store, inside the caller's event loop.

::

    runtime (rest_for_one)
    ├── checkpoint   the only writer of the store
    ├── budget       the book of accounts
    ├── timers       the lease, and sessions whose owner is gone
    └── sessions     dynamic; restarts are counted for each session by itself
"""

import random
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, Unpack, overload

import anyio
import structlog

from ..stores.base import (
    Facts,
    Head,
    HeadQuery,
    Leave,
    SessionUnknown,
    Store,
    StoreFailed,
)
from ..stores.decisions import Decide
from ..stores.liveness import owner_id
from ..stores.open import open_store
from ..stores.records import OnFailure, SessionStatus
from ..stores.sqlite import SqliteStore
from ..supervisor import (
    ChildSpec,
    DynamicSpec,
    Kernel,
    Report,
    Strategy,
    SupervisorSpec,
    TreeNode,
)
from ..supervisor.classify import Classifier, classify
from ..supervisor.classifying.user import UserRules, read_rules
from ..supervisor.clock import Clock, SystemClock
from ..supervisor.errors import ErrorClass, ToolBug, UsageError
from ..supervisor.ids import Ids, RandomIds
from ..supervisor.policy import Policies, Policy
from ..supervisor.policy_file import load_policy
from .accounts import Book, BudgetActor
from .agent import GUARD, Agent, InstalledAgent, check_fallbacks
from .alerts import Alerts
from .approvals.approvals import ApprovalRequest, listed, request_named
from .budget import Budget
from .bus import log_event
from .checkpoint import MAILBOX_MAX, CheckpointActor
from .decisions import as_json
from .events import AlertRaised
from .guarding.guard import Guarded, Guards, ScopeOptions, guard_agent, scope_of
from .handle import SessionHandle
from .inbox import Inbox
from .keeper import Keeper
from .late import record_late
from .naming import (
    check_folder,
    check_id,
    check_on_failure,
    check_own_id,
    check_secrets,
    check_statuses,
)
from .outcome import Outcome
from .ownership import LEASE_S, Ownership, check_lease
from .pool import Pool
from .rollback.rollbacks import Rollbacks
from .secrets import Mask
from .services import OnApproval, Services
from .session import Session
from .sessions import Sessions, each_head
from .staging.checks import Check, check_checks
from .steady import SteadyWall
from .teller import OnAlert, Teller
from .text import exact
from .tooling.threads import LateOutcome, RunningThread, Threads
from .upstreams import Upstreams
from .workspaces import Snapshots, Workspaces, settings_of

R = TypeVar("R")

_log = structlog.get_logger("ukemi")

TELL_S_MAX = 5.0
"""Seconds that leaving waits for alerts to be told; what is not is told by the next runtime."""


class Runtime:
    """Runs sessions of the given agents over a store. Use it as ``async with``.

    Entering adopts the unfinished sessions of the store that have no living owner. It installs no
    signal handlers, configures no logging, and runs inside the caller's event loop.

    Args:
        store: a path, a ``sqlite:`` or ``memory:`` URL, or a `Store`.
        agents: the agents whose sessions may run here, sub-sessions included.
        policy: a `Policy`, the path of a TOML file, or None for the defaults.
        rules: the path of a TOML file with your own rules of classifying errors, or None.
        clock: where times come from.
        ids: where names of new sessions come from.
        secrets: values for the parameters that tools name in their ``secrets`` mark.
        groups: budgets shared by all sessions of a group, by name; `Budget.only` has no defaults.
        tenants: budgets shared by all sessions of a tenant, by name.
        durability: ``full`` survives power loss; ``normal`` survives the death of the process.
        lease_s: seconds after which other processes may take over what this one stopped renewing.
        adopt: False leaves the unfinished sessions of the store alone.
        on_approval: an async function that tells people of a request, by chat, mail or a web page; it
            is given an `ApprovalRequest`, at least once each, and again later where it raises or
            takes longer than 10 s. It need not wait for the answer.
        on_alert: an async function that is told of each alert (`ukemi.actors.AlertRaised`), and of each
            session that needs a person, at least once: it is in the store before, and told again where the function raises or takes longer
            than 30 s, or the process dies. No session waits for it.
        random_source: spreads the waits between retries.
        guarded: functions that `guard` is used for, where their unfinished calls shall be gone on
            with on entering, and not only once somebody calls again.
        snapshots: whether working directories are kept before and after what may write there, so that
            sessions can be rolled back; only those that ``start`` was given. None: where the store is
            a file, beside it. ``Snapshots(...)`` says what is left out, and where else they are kept.
        checks: what each staged change has to pass besides the shipped checks and those of its agent;
            see `Agent`.

    Raises:
        UsageError: something given here cannot work; the message names it.
        StoreUnusable: on entering: the store cannot be opened; it is untouched.
    """

    def __init__(
        self,
        store: str | Path | Store,
        *,
        agents: Sequence[Agent] = (),
        policy: Policy | str | Path | None = None,
        rules: str | Path | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        secrets: Mapping[str, str] | None = None,
        groups: Mapping[str, Budget] | None = None,
        tenants: Mapping[str, Budget] | None = None,
        durability: Any = "full",
        lease_s: float = LEASE_S,
        adopt: bool = True,
        on_approval: OnApproval | None = None,
        on_alert: OnAlert | None = None,
        random_source: random.Random | None = None,
        guarded: Sequence[Callable[..., Any]] = (),
        snapshots: bool | Snapshots | None = None,
        checks: Sequence[Check] = (),
    ) -> None:
        self._store = open_store(store, durability)
        self._file = self._store.path if isinstance(self._store, SqliteStore) else None
        self._workspaces = Workspaces(settings_of(snapshots, self._file), self._file, durability)
        self._policy_source = policy
        self._policies = Policies(load_policy(policy))
        self._classifier = Classifier(read_rules(rules) if rules is not None else UserRules())
        self._clock = clock or SystemClock()
        self._ids = ids or RandomIds()
        self._secrets = check_secrets(secrets)
        self._agents = install(agents, self._secrets)
        self._guarded = tuple(guarded)
        self._checks = check_checks("Runtime", checks)
        check_staged(agents, kept=self._workspaces.on)
        self._adopts = adopt
        self._on_approval = on_approval
        self._alerts: list[str] = []
        self._random = random_source or random.Random()
        self._checkpoint = CheckpointActor(
            self._store,
            self._clock,
            retry_s_max=lambda: self._policies.current.storage.retry_s_max,
            on_fault=self._alert,
        )
        lease_s = check_lease(lease_s)
        self._ownership = Ownership(owner_id(), self._clock, self._checkpoint, lease_s)
        self._budget = BudgetActor(Book(groups or {}, tenants or {}), self._alert)
        self._threads = Threads(on_late=self._late)
        self._on_alert = on_alert
        self._teller: Teller | None = None
        self._left = False
        self._kernel: Kernel | None = None
        self._open_sessions: Sessions | None = None
        self._inbox: Inbox | None = None
        self._rollbacks: Rollbacks | None = None
        self._keeper: Keeper | None = None
        self._guards: Guards | None = None

    # ------------------------------------------------------------ the block

    async def __aenter__(self) -> Self:
        if self._kernel is not None:
            raise UsageError("a Runtime is entered once; make a new one")
        if isinstance(self._clock, SystemClock):
            self._clock.bind()
        if self._on_alert is not None:
            self._teller = self._make_teller(self._on_alert)
        kernel = self._kernel = Kernel(
            self._tree(),
            clock=self._clock,
            classify=error_class,
            clean=Mask(self._secrets.values()),
            on_report=self._reported,
        )
        services = self._services(kernel)
        self._open_sessions = Sessions(
            services,
            self._budget.book,
            self._agents,
            Pool(services, self._budget.book, lambda: kernel.supervisor("sessions")),
        )
        self._inbox = Inbox(services, self._open_sessions)
        self._rollbacks = Rollbacks(services, self._open_sessions)
        self._keeper = Keeper(
            self._store,
            self._clock,
            self._ownership,
            self._open_sessions,
            self._inbox,
            self._alert,
            services.steady,
            adopts=self._adopts,
            tells=self._on_approval is not None,
        )
        self._guards = Guards(
            services,
            self._open_sessions,
            self._inbox,
            self._keeper,
            self._agents,
            self._secrets,
            self.session,
        )
        for function in self._guarded:
            self._guards.known(function)
        await self._store.open()
        try:
            await self._sum_up()
            await kernel.__aenter__()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._store.close()
            raise
        try:
            if self._adopts:
                await self._keeper.adopt()
                await self._keeper.take_decisions()
        except BaseException as error:
            await self.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._sessions_here.pool.closing = True
        try:
            await self._tell_the_rest(exc)
        finally:
            await self._leave_all(exc_type, exc, traceback)

    async def _tell_the_rest(self, exc: BaseException | None) -> None:
        """Have alerts told that were just raised: who leaves at once would leave them to another."""
        if self._teller is not None and exc is None:
            await self._teller.rest(TELL_S_MAX)

    async def _leave_all(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self._kernel_here.__aexit__(exc_type, exc, traceback)
        finally:
            with anyio.move_on_after(5, shield=True):
                await self._leave()
                await self._close_models()
            self._sessions_here.pool.close()
            self._left = True
            for thread in self._threads.running():
                self._alert(f"a thread of tool {thread.tool} still runs and was left behind")

    async def _close_models(self) -> None:
        """Close the connections of models; one that is used again opens new ones."""
        models = {id(each.model): each.model for each in self._agents.values()}
        for model in models.values():
            close = getattr(model, "aclose", None)
            if close is not None:
                await close()

    async def _leave(self) -> None:
        """Let others take over at once what is unfinished here."""
        try:
            await self._store.commit([Leave(owner=self._ownership.owner)])
        except Exception as error:  # noqa: BLE001 - a store that fails must not keep anybody inside
            self._alert(f"unfinished sessions wait for the end of the lease: {error}")
        await self._store.close()
        await self._workspaces.close()

    def _tree(self) -> SupervisorSpec:
        restarts = self._policies.current.restarts
        teller = self._teller
        return SupervisorSpec(
            id="runtime",
            strategy=Strategy.REST_FOR_ONE,
            intensity=5,
            period_s=10.0,
            children=(
                ChildSpec(
                    id="checkpoint",
                    start=self._checkpoint.run,
                    wait_ready=True,
                    mailbox_max=MAILBOX_MAX,
                ),
                ChildSpec(id="budget", start=self._budget.run),
                ChildSpec(id="timers", start=self._run_keeper, wait_ready=True),
                DynamicSpec(
                    id="sessions",
                    intensity=restarts.pool_intensity,
                    period_s=restarts.pool_period_s,
                    child_intensity=restarts.intensity,
                    child_period_s=restarts.period_s,
                    initial=lambda: self._sessions_here.pool.specs(),
                    on_give_up=lambda child, why: self._sessions_here.pool.gave_up(child, why),
                ),
                # The last: nobody is restarted for its sake.
                *([] if teller is None else [ChildSpec(id="alerts", start=teller.run)]),
            ),
        )

    def _make_teller(self, hook: OnAlert) -> Teller:
        mask = Mask(self._secrets.values())
        owner = self._ownership.owner
        return Teller(hook, self._store, self._checkpoint, self._clock, owner, mask)

    async def _run_keeper(self, ctx: Any) -> None:
        assert self._keeper is not None  # made before the tree starts
        await self._keeper.run(ctx)

    def _services(self, kernel: Kernel) -> Services:
        return Services(
            clock=self._clock,
            store=self._store,
            timers=kernel.timers,
            checkpoint=self._checkpoint,
            ownership=self._ownership,
            classify=self._classifier,
            policies=self._policies,
            upstreams=Upstreams(self._clock, self._policies),
            alerts=Alerts(self._clock, self._keep_alert, self._notify),
            store_file=self._file,
            roll=self._random.random,
            threads=self._threads,
            mask=Mask(self._secrets.values()),
            subsession=self._subsession,
            late=self._late,
            steady=SteadyWall(self._clock),
            workspaces=self._workspaces,
            parked=self._parked,
            give_up=self._give_up_body,
            checks=self._checks,
            on_approval=self._on_approval,
        )

    async def _sum_up(self) -> None:
        """Count what sessions of groups and tenants with a budget have consumed so far."""
        if self._budget.book.shares:
            async for head in each_head(self._store, HeadQuery(limit=1000)):
                self._budget.book.sum_up(head.facts)

    # ------------------------------------------------------------ sessions

    async def start(
        self,
        agent: str,
        task: str,
        *,
        budget: Budget | None = None,
        session_id: str | None = None,
        parent: str | None = None,
        group: str | None = None,
        tenant: str | None = None,
        working_directory: str | Path | None = None,
        on_failure: OnFailure = "undo",
    ) -> SessionHandle:
        """Start a session; it is durable when this returns.

        Args:
            agent: name of one of the runtime's agents.
            task: the user's first message.
            budget: the session's own limits; None: the defaults of `Budget`.
            session_id: its name in the store; None: a fresh one.
            parent: an active session within whose limits it lives and with which it is cancelled.
            group, tenant: whose budget it shares.
            working_directory: where its file and shell tools work; None: the process's own, which
                is not kept.
            on_failure: what becomes of its effects if it ends other than completed: ``undo`` what
                its tools do not keep, or ``freeze`` it all until a person has looked.

        Raises:
            UsageError: no such agent, an empty task, a parent that is not active, a bad id, or no
                such way to fail.
            SessionExists: the id is taken.
            StoreFailed: the store failed for longer than it is waited for.
        """
        sessions = self._sessions_here
        name = self._ids.new("session") if session_id is None else check_own_id(session_id)
        if parent is not None and parent not in sessions.active:
            raise UsageError(f"parent {parent!r} is no active session of this runtime")
        self._budget.book.check_known(group=group, tenant=tenant)
        folder = check_folder(working_directory)
        return await self._start(
            name,
            agent,
            task,
            budget,
            folder,
            parent,
            group,
            tenant,
            on_failure=check_on_failure(on_failure),
            snapshots=working_directory is not None,
        )

    async def _start(
        self,
        name: str,
        agent: str,
        task: str,
        budget: Budget | None,
        folder: str,
        parent: str | None = None,
        group: str | None = None,
        tenant: str | None = None,
        *,
        on_failure: OnFailure = "undo",
        snapshots: bool = False,
    ) -> SessionHandle:
        now_ms = self._clock.wall_ms()
        facts = Facts(
            agent=agent,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
            parent=parent,
            group=group if group is None else exact(group),
            tenant=tenant if tenant is None else exact(tenant),
            working_directory=folder,
        )
        session = await self._sessions_here.start(
            name, agent, task, budget or Budget(), facts, on_failure, snapshots=snapshots
        )
        return self._handle(name, session)

    def session(self, session_id: str) -> SessionHandle:
        """Return a handle on a session of the store, active or not; nothing is looked up yet."""
        return self._handle(session_id, self._sessions_here.active.get(session_id))

    async def sessions(
        self,
        *,
        status: SessionStatus | Collection[SessionStatus] | None = None,
        agent: str | None = None,
        parent: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[Head]:
        """List sessions of the store, newest first; None means any.

        Args:
            status: one, or several.
            after: the last id of the page before.

        Raises:
            UsageError: there is no such status.
        """
        wanted = None if status is None else check_statuses(status)
        return await self._store.heads(
            HeadQuery(status=wanted, agent=agent, parent=parent, after=after, limit=limit)
        )

    async def resume(self, session_id: str) -> SessionHandle:
        """Go on with an unfinished session that nobody drives, or one that a decision waits for.

        One that is parked goes on with its wait, and is woken here when it is due; only a message
        or a decision ends a wait early.

        Raises:
            SessionOwned: a living owner drives it.
            SessionUnknown: the store has no such session.
            UsageError: its agent is unknown here, or it has ended.
        """
        head = await self._store.head(session_id)
        if head.status != "running":
            session = await self._inbox_here.take(session_id)
            if session is not None:
                return self._handle(session_id, session)
            if head.status != "parked":
                raise UsageError(
                    f"session {session_id} is {head.status}; send it a message to go on with it"
                )
        return self._handle(session_id, await self._sessions_here.resume(session_id, by="resume"))

    async def approvals(
        self, *, agent: str | None = None, after: str | None = None, limit: int = 100
    ) -> list[ApprovalRequest]:
        """List what people are asked, of all sessions of the store, the newest session first.

        It costs what it finds, however many sessions there are.

        Args:
            after: the session of the last request of the page before.
            limit: sessions of which all requests are returned.
        """
        query = HeadQuery(asking="any", agent=agent, after=after, limit=limit)
        return [
            listed(head.session_id, head.facts.agent, head.facts.title, each)
            for head in await self._store.heads(query)
            for each in head.facts.requests
        ]

    async def decide(
        self,
        request: str | ApprovalRequest,
        verdict: Literal["approve", "deny"],
        *,
        args: Mapping[str, Any] | None = None,
        why: str | None = None,
        by: str = "",
    ) -> None:
        """Answer a request for approval; durable when this returns, whoever drives the session.

        A request is decided once, and the same decision again is no error. An approval is for this
        call and these arguments, and is used once.

        Args:
            request: the request, its name, or the id of a session that has only one open.
            verdict: ``approve``: the call is run; ``deny``: it never is.
            args: other arguments to run it with; they must fit the tool, and no rule may deny them.
            why: a remark; a denial's is told to the model.
            by: who decides; kept with the decision.

        Raises:
            AlreadyDecided: it was decided otherwise before; the message says by whom and when.
            RequestClosed: there is no such request, it has expired, or the session has gone on
                without it.
            UsageError: several requests are open and none is named, or the arguments cannot be used.
            SessionUnknown: the store has no such session.
        """
        if verdict not in ("approve", "deny"):
            raise UsageError(f"verdict {verdict!r} is unknown; use approve or deny")
        self._sessions_here  # noqa: B018 - refuses where the runtime does not run
        name = request.request if isinstance(request, ApprovalRequest) else request
        session_id, call, number = request_named(name)
        text = None if args is None else as_json(args)
        await self._inbox_here.decide(session_id, Decide(verdict, call, number, why, text), by)

    @overload
    def guard(
        self, function: Callable[..., Awaitable[R]], **options: Unpack[ScopeOptions]
    ) -> Guarded[R]: ...

    @overload
    def guard(self, function: Callable[..., R], **options: Unpack[ScopeOptions]) -> Guarded[R]: ...

    def guard(self, function: Callable[..., Any], **options: Unpack[ScopeOptions]) -> Guarded[Any]:
        """Return a function that runs under the ledger, outside any agent's session.

        Called with equal arguments in the same scope it runs once: the recorded result is returned,
        also after a crash. What was cut off goes the way of a session's call: key, probe, person.

        Args:
            function: a tool, or any function that can be one; without marks it counts as a write
                that is not safe to repeat.
            scope: what the call belongs to, such as an order's number; the id of a session.
            call_id: tells calls with equal arguments apart that are meant to be two.
            budget: the scope's own limits, from its first call on; None: no limits.
            group, tenant: whose budget it shares, from its first call on.

        Raises:
            UsageError: it can be no tool, another tool has its name, or a bad scope.
        """
        guards = self._guards
        if guards is None or self._left:
            raise UsageError("the runtime is not running; use it inside `async with Runtime(...)`")
        named = scope_of(options)
        self._budget.book.check_known(group=named.group, tenant=named.tenant)
        return Guarded(guards, guards.known(function), named)

    def reload_policy(self, policy: Policy | str | Path | None = None) -> Policy:
        """Read the policy again, or take another; sessions use it from their next decision on.

        Raises:
            UsageError: it is no policy; the old one stays.
        """
        source = self._policy_source if policy is None else policy
        loaded = load_policy(source)
        self._policies.replace(loaded)
        self._policy_source = source
        return loaded

    def tree(self) -> TreeNode:
        """Return the live tree of actors as plain data."""
        return self._kernel_here.tree()

    @property
    def alerts(self) -> tuple[str, ...]:
        """What somebody should look at, in order; the newest 100."""
        return tuple(self._alerts)

    def threads_running(self) -> Sequence[RunningThread]:
        """Return the threads of sync tools that run now, those that outlived their call included."""
        return self._threads.running()

    # ------------------------------------------------------------ inside

    @property
    def _kernel_here(self) -> Kernel:
        if self._kernel is None:
            raise UsageError("the runtime is not running; use it inside `async with Runtime(...)`")
        return self._kernel

    @property
    def _sessions_here(self) -> Sessions:
        if self._open_sessions is None:
            raise UsageError("the runtime is not running; use it inside `async with Runtime(...)`")
        if self._left:
            raise UsageError("the runtime was left; make a new one to go on with its sessions")
        return self._open_sessions

    @property
    def _inbox_here(self) -> Inbox:
        assert self._inbox is not None  # made with the sessions
        return self._inbox

    @property
    def _rollbacks_here(self) -> Rollbacks:
        assert self._rollbacks is not None  # made with the sessions
        return self._rollbacks

    def _handle(self, session_id: str, session: Session | None) -> SessionHandle:
        sessions = self._sessions_here
        return SessionHandle(
            session_id,
            sessions,
            self._store,
            self._clock,
            self._inbox_here,
            self._rollbacks_here,
            session,
        )

    async def _subsession(
        self, parent: str, session_id: str, agent: str, task: str, budget: Budget | None
    ) -> Outcome:
        """Start a sub-session or find the one this call has started before; wait for its end."""
        sessions = self._sessions_here
        try:
            handle = await self._find_subsession(parent, session_id, agent)
            if handle is None:
                folder = sessions.active[parent].facts.working_directory
                name = check_id(session_id)
                handle = await self._start(name, agent, task, budget, folder, parent)
            return await handle.outcome()
        except anyio.get_cancelled_exc_class():
            sessions.pool.cancel_soon(session_id)
            raise
        except UsageError as error:
            # The model did not choose any of this: it is not the model's to correct.
            raise ToolBug(f"the sub-session could not be run: {error}") from error

    async def _find_subsession(
        self, parent: str, session_id: str, agent: str
    ) -> SessionHandle | None:
        try:
            head = await self._store.head(session_id)
        except SessionUnknown:
            return None
        if head.facts.parent != parent or head.facts.agent != agent:
            raise UsageError(
                f"session {session_id} is no sub-session of {parent} with agent {agent}; "
                "give sessions of your own other names"
            )
        if session_id in self._sessions_here.active:
            return self.session(session_id)
        return (
            await self.resume(session_id) if head.status == "running" else self.session(session_id)
        )

    def _parked(self, session_id: str, due_at_ms: int | None) -> None:
        if self._keeper is not None:
            self._keeper.expect(session_id, due_at_ms)

    def _give_up_body(self, session_id: str, what: str) -> None:
        self._alert(f"session {session_id}: {what} does not end and was left behind")
        self._sessions_here.pool.give_up_body(session_id, what)

    def _late(self, outcome: LateOutcome) -> None:
        """A body whose call was cut off has ended after all."""
        if self._open_sessions is not None:
            record_late(self._open_sessions, outcome, self._ids.new("late"))

    def _reported(self, report: Report) -> None:
        _log_report(report)

    def _keep_alert(self, text: str, session_id: str = "") -> None:
        self._alerts.append(text)
        del self._alerts[:-100]
        if self._teller is not None:
            self._teller.tell(text, session_id)

    def _notify(self, text: str, session_id: str) -> None:
        if self._teller is not None:
            self._teller.tell(text, session_id, again=True)

    def _alert(self, text: str) -> None:
        self._keep_alert(text)
        log_event(AlertRaised(session_id="", at_ms=self._clock.wall_ms(), text=text))


@overload
def guard(
    function: Callable[..., Awaitable[R]], *, runtime: Runtime, **options: Unpack[ScopeOptions]
) -> Guarded[R]: ...


@overload
def guard(
    function: Callable[..., R], *, runtime: Runtime, **options: Unpack[ScopeOptions]
) -> Guarded[R]: ...


def guard(
    function: Callable[..., Any], *, runtime: Runtime, **options: Unpack[ScopeOptions]
) -> Guarded[Any]:
    """Return a function that runs under the ledger of a runtime; see `Runtime.guard`."""
    return runtime.guard(function, **options)


def _log_report(report: Report) -> None:
    """Log what a supervisor reports."""
    if structlog.is_configured():
        _log.warning("supervisor.report", report=repr(report))


def error_class(error: BaseException) -> ErrorClass:
    """Classify the death of an actor: a store that fails is a passing fault."""
    if isinstance(error, StoreFailed):
        return ErrorClass.TRANSIENT
    return classify(error).error_class


def check_staged(agents: Sequence[Agent], *, kept: bool) -> None:
    """Refuse tools that stage files where no files are kept.

    Raises:
        UsageError: their calls could only fail.
    """
    if kept:
        return
    for agent in agents:
        for each in agent.tools:
            if each.marks.staged is True:
                raise UsageError(
                    f"agent {agent.name!r}: tool {each.name!r} is staged, and no files are kept here: give "
                    "the runtime a store in a file, or snapshots=Snapshots(path=...)"
                )


def install(agents: Sequence[Agent], secrets: Mapping[str, str]) -> dict[str, InstalledAgent]:
    """Return the agents by name.

    Raises:
        UsageError: two share a name, one is no Agent, or a fallback leads nowhere.
    """
    installed: dict[str, InstalledAgent] = {}
    if isinstance(agents, Agent):
        raise UsageError(f"agents={agents!r} is one agent; give a list: agents=[...]")
    for agent in agents:
        if not isinstance(agent, Agent):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"agents= holds {agent!r}, which is no Agent")
        if agent.name == GUARD:
            raise UsageError(f"the name {GUARD!r} is that of guarded calls; give the agent another")
        if agent.name in installed:
            raise UsageError(f"two agents are called {agent.name!r}; give one another name")
        installed[agent.name] = InstalledAgent(agent, secrets)
    check_fallbacks(installed)
    installed[GUARD] = guard_agent((), secrets)
    return installed
