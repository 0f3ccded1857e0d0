"""The runtime as applications use it: over one store, inside the caller's event loop.

What it is made of is in core.py; here is what can be asked of it.
"""

import random
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, Unpack, overload

from ..stores.base import Head, HeadQuery, Store
from ..stores.decisions import Decide
from ..stores.records import OnFailure, SessionStatus
from ..supervisor import TreeNode
from ..supervisor.clock import Clock
from ..supervisor.collector import CollectorCare
from ..supervisor.errors import UsageError
from ..supervisor.ids import Ids
from ..supervisor.policy import Policy
from ..supervisor.policy_file import load_policy, policy_file
from .agent import Agent
from .approvals.approvals import ApprovalRequest, listed, request_named
from .budget import Budget
from .core import Core
from .decisions import as_json
from .foundation import Given
from .guarding.guard import Guarded, ScopeOptions, scope_of
from .handle import SessionHandle
from .health import Health
from .naming import check_folder, check_on_failure, check_own_id, check_statuses
from .ownership import LEASE_S
from .services import OnApproval
from .staging.checks import Check
from .teller import OnAlert
from .tooling.threads import RunningThread
from .workspaces import Snapshots

R = TypeVar("R")


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
        collector: ``tuned`` looks after the process's garbage collector while entered: thousands of
            sessions that wait are not gone through again and again. It touches nothing where the program
            has set thresholds or disabled it, and puts back what it found. ``untouched`` leaves it alone.

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
        collector: CollectorCare = "tuned",
    ) -> None:
        self._core = Core(
            Given(
                store=store,
                agents=agents,
                policy=policy,
                rules=rules,
                clock=clock,
                ids=ids,
                secrets=secrets,
                groups=groups,
                tenants=tenants,
                durability=durability,
                lease_s=lease_s,
                adopt=adopt,
                on_approval=on_approval,
                on_alert=on_alert,
                random_source=random_source,
                guarded=guarded,
                snapshots=snapshots,
                checks=checks,
                collector=collector,
            )
        )

    async def __aenter__(self) -> Self:
        await self._core.enter()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._core.leave(exc_type, exc, traceback)

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
        core = self._core
        parts = core.running
        name = core.base.ids.new("session") if session_id is None else check_own_id(session_id)
        if parent is not None and parent not in parts.sessions.active:
            raise UsageError(f"parent {parent!r} is no active session of this runtime")
        if group is not None or tenant is not None:
            core.base.book.check_known(group=group, tenant=tenant)
        folder = check_folder(working_directory)
        return await parts.starting.start(
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

    def session(self, session_id: str) -> SessionHandle:
        """Return a handle on a session of the store, active or not; nothing is looked up yet."""
        return self._core.handle(session_id, self._core.running.sessions.active.get(session_id))

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
        return await self._core.base.store.heads(
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
        head = await self._core.base.store.head(session_id)
        if head.status != "running":
            session = await self._core.running.inbox.take(session_id)
            if session is not None:
                return self._core.handle(session_id, session)
            if head.status != "parked":
                raise UsageError(
                    f"session {session_id} is {head.status}; send it a message to go on with it"
                )
        return self._core.handle(
            session_id, await self._core.running.sessions.resume(session_id, by="resume")
        )

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
            for head in await self._core.base.store.heads(query)
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
        name = request.request if isinstance(request, ApprovalRequest) else request
        session_id, call, number = request_named(name)
        text = None if args is None else as_json(args)
        await self._core.running.inbox.decide(
            session_id, Decide(verdict, call, number, why, text), by
        )

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
        core = self._core
        guards = core.running.guards
        named = scope_of(options)
        core.base.book.check_known(group=named.group, tenant=named.tenant)
        return Guarded(guards, guards.known(function), named)

    def reload_policy(self, policy: Policy | str | Path | None = None) -> Policy:
        """Read the policy again, or take another; sessions use it from their next decision on.

        Raises:
            UsageError: it is no policy; the old one stays.
        """
        source = self._core.base.policy_source if policy is None else policy
        loaded = load_policy(source)
        self._core.base.policy_source = source
        self._core.replace_policy(loaded, policy_file(source))
        return loaded

    def tree(self) -> TreeNode:
        """Return the live tree of actors as plain data."""
        return self._core.entered.kernel.tree()

    def health(self) -> Health:
        """Return how the runtime is doing, in numbers; it asks no store and costs microseconds."""
        return self._core.health()

    @property
    def alerts(self) -> tuple[str, ...]:
        """What somebody should look at, in order; the newest 100."""
        return tuple(self._core.base.alerts.newest)

    def threads_running(self) -> Sequence[RunningThread]:
        """Return the threads of sync tools that run now, those that outlived their call included."""
        return self._core.threads.running()
