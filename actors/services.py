"""What all sessions of one runtime share."""

from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from anyio import CancelScope
from msgspec import Struct

from ..stores.base import Store
from ..supervisor import Timers
from ..supervisor.classify import Classifier
from ..supervisor.clock import Clock
from ..supervisor.policy import Policies
from .alerts import Alerts
from .approvals.approvals import ApprovalRequest
from .budget import Budget
from .checkpoint import CheckpointActor
from .outcome import Outcome
from .ownership import Ownership
from .secrets import Mask
from .staging.checks import Check
from .steady import SteadyWall
from .tooling.threads import LateOutcome, Threads
from .upstreams import Upstreams
from .workspaces import Workspaces

OnApproval = Callable[[ApprovalRequest], Awaitable[object]]
"""Tells people of a request for approval."""

SubSessions = Callable[[str, str, str, str, Budget | None], Coroutine[Any, Any, Outcome]]
"""Starts or finds a sub-session and waits for its outcome: parent, id, agent, task, budget."""


class Services(Struct, kw_only=True):
    """Shared by reference; nothing in it belongs to one session."""

    clock: Clock
    now_ms: Callable[[], int]
    """Tells the clock's wall time."""
    scope: type[CancelScope]
    """The loop's own class of scopes: made from anyio's it is looked up, and initialised twice."""
    store: Store
    timers: Timers
    checkpoint: CheckpointActor
    ownership: Ownership
    classify: Classifier
    policies: Policies
    upstreams: Upstreams
    alerts: Alerts
    roll: Callable[[], float]
    threads: Threads
    mask: Mask
    subsession: SubSessions
    store_file: Path | None
    """The store's own file, beside which is written what it does not take."""
    late: Callable[[LateOutcome], None]
    steady: SteadyWall
    workspaces: Workspaces
    parked: Callable[[str, int | None], None]
    """Told session and due time of each that was parked here; None: it waits for a person."""
    give_up: Callable[[str, str], None]
    """Told session and body when a body does not end: the session goes on without it."""
    checks: tuple[Check, ...] = ()
    """What every staged change has to pass, whichever agent makes it."""
    on_approval: OnApproval | None = None
