"""What a runtime has before it is entered: what it was given, checked, and what needs no tree."""

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..stores.base import Store, StoreFailed
from ..stores.liveness import owner_id
from ..stores.open import open_store
from ..stores.sqlite import SqliteStore
from ..supervisor.classify import Classifier, classify, read_rules
from ..supervisor.clock import Clock, SystemClock
from ..supervisor.collector import CollectorCare, check_care
from ..supervisor.errors import ErrorClass
from ..supervisor.ids import Ids, RandomIds
from ..supervisor.policy import Policies, Policy
from ..supervisor.policy_file import load_policy, policy_file
from .accounts import Book, BudgetActor
from .agent import Agent
from .alert_log import AlertLog
from .budget import Budget
from .checkpoint import CheckpointActor
from .installing import check_staged, install
from .naming import check_secrets
from .ownership import Ownership, check_lease
from .secrets import Mask
from .services import OnApproval
from .staging.checks import Check, check_checks
from .teller import OnAlert
from .warming import warm
from .workspaces import Snapshots, Workspaces, settings_of


class Given(Struct, kw_only=True):
    """What a `Runtime` was given; see there."""

    store: str | Path | Store
    agents: Sequence[Agent]
    policy: Policy | str | Path | None
    rules: str | Path | None
    clock: Clock | None
    ids: Ids | None
    secrets: Mapping[str, str] | None
    groups: Mapping[str, Budget] | None
    tenants: Mapping[str, Budget] | None
    durability: Any
    lease_s: float
    adopt: bool
    on_approval: OnApproval | None
    on_alert: OnAlert | None
    random_source: random.Random | None
    guarded: Sequence[Callable[..., Any]]
    snapshots: bool | Snapshots | None
    checks: Sequence[Check]
    collector: CollectorCare


class Foundation:
    """What one runtime stands on.

    Raises:
        UsageError: something given cannot work; the message names it.
    """

    def __init__(self, given: Given) -> None:
        self.store = open_store(given.store, given.durability)
        self.file = self.store.path if isinstance(self.store, SqliteStore) else None
        settings = settings_of(given.snapshots, self.file)
        self.workspaces = Workspaces(settings, self.file, given.durability)
        self.policy_source = given.policy
        self.policies = Policies(load_policy(given.policy), policy_file(given.policy))
        rules = read_rules(given.rules) if given.rules is not None else None
        self.clock = clock = given.clock or SystemClock()
        self.classifier = Classifier(rules, lambda: clock.wall_ms() / 1000)
        warm()  # now: no session runs yet that would wait for it
        self.ids = given.ids or RandomIds()
        self.secrets = check_secrets(given.secrets)
        self.mask = Mask(self.secrets.values())
        self.agents = install(given.agents, self.secrets)
        self.guarded = tuple(given.guarded)
        self.checks = check_checks("Runtime", given.checks)
        check_staged(given.agents, kept=self.workspaces.on)
        check_care(given.collector)
        self.collector: CollectorCare = given.collector
        self.adopts = given.adopt
        self.on_approval = given.on_approval
        self.on_alert = given.on_alert
        self.random = given.random_source or random.Random()
        self.alerts = AlertLog(self.clock)
        self.checkpoint = CheckpointActor(
            self.store,
            self.clock,
            retry_s_max=lambda: self.policies.current.storage.retry_s_max,
            on_fault=self.alerts.alert,
        )
        lease_s = check_lease(given.lease_s)
        self.ownership = Ownership(owner_id(), self.clock, self.checkpoint, lease_s)
        self.book = Book(given.groups or {}, given.tenants or {})
        self.budget = BudgetActor(self.book, self.alerts.alert)


def error_class(error: BaseException) -> ErrorClass:
    """Classify the death of an actor: a store that fails is a passing fault."""
    if isinstance(error, StoreFailed):
        return ErrorClass.TRANSIENT
    return classify(error).error_class
