"""The policy: how long, how often, how many. Data, checked when it is made or loaded.

One section for each class of failure, holding what its recovery needs; an agent or a tool may have
sections of its own, an upstream its own budget of retries and circuit breaker.
"""

from typing import Any

from msgspec import Struct

from .danger.policy import DangerPolicy, danger_over
from .errors import ErrorClass
from .policy_failures import (
    ConclusionPolicy,
    CorrectionPolicy,
    OverflowPolicy,
    ReportPolicy,
    RetryPolicy,
)
from .policy_layers import Section, laid_over, merged, named
from .policy_limits import (
    AdmissionPolicy,
    BreakerPolicy,
    ConcurrencyPolicy,
    RetryBudgetPolicy,
    TenancyPolicy,
    UpstreamPolicy,
)
from .policy_sessions import (
    AuditPolicy,
    BudgetPolicy,
    PlanningPolicy,
    RestartPolicy,
    StagingPolicy,
    StoragePolicy,
    WaitPolicy,
)


class Policy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole policy document; every section and key has a default.

    ``agent`` and ``tool`` hold sections of classes by name, ``upstream`` and ``tenant`` theirs, each
    with the keys that differ: ``tool={"pay": {"transient": {"attempts_max": 2}}}``. A tool's own
    sections go over its agent's, those over the document's.

    Raises:
        ValueError: a section of these names cannot be, alone or on top of the ones below it.
    """

    transient: RetryPolicy = RetryPolicy()
    rate_limited: RetryPolicy = RetryPolicy()
    in_doubt_timeout: RetryPolicy = RetryPolicy()
    invalid_argument: CorrectionPolicy = CorrectionPolicy()
    business_rejected: ConclusionPolicy = ConclusionPolicy()
    content_refused: ConclusionPolicy = ConclusionPolicy(conclusions_max=1)
    permission_denied: ReportPolicy = ReportPolicy()
    context_overflow: OverflowPolicy = OverflowPolicy()
    bug: ReportPolicy = ReportPolicy()
    resource_exhausted: ReportPolicy = ReportPolicy()
    unknown: ReportPolicy = ReportPolicy()
    retry_budget: RetryBudgetPolicy = RetryBudgetPolicy()
    breaker: BreakerPolicy = BreakerPolicy()
    concurrency: ConcurrencyPolicy = ConcurrencyPolicy()
    admission: AdmissionPolicy = AdmissionPolicy()
    tenancy: TenancyPolicy = TenancyPolicy()
    planning: PlanningPolicy = PlanningPolicy()
    waits: WaitPolicy = WaitPolicy()
    restarts: RestartPolicy = RestartPolicy()
    budget: BudgetPolicy = BudgetPolicy()
    audit: AuditPolicy = AuditPolicy()
    storage: StoragePolicy = StoragePolicy()
    danger: DangerPolicy = DangerPolicy()
    staging: StagingPolicy = StagingPolicy()
    agent: dict[str, dict[str, Section]] = {}
    tool: dict[str, dict[str, Section]] = {}
    upstream: dict[str, dict[str, Section]] = {}
    tenant: dict[str, dict[str, Section]] = {}

    def __post_init__(self) -> None:
        for agent in self.agent:
            resolve(self, agent)
        for tool in self.tool:
            # On its own first, so that a fault of the tool's section is not put down to an agent.
            for agent in ("", *self.agent):
                resolve(self, agent, tool)
        for upstream in self.upstream:
            upstream_policy(self, upstream)
        for tenant in self.tenant:
            tenant_policy(self, tenant)


CLASS_SECTIONS = tuple(
    name for name in Policy.__struct_fields__ if name in {each.value for each in ErrorClass}
)
"""Sections of the classes of failure."""

OWN_SECTIONS = (*CLASS_SECTIONS, "danger", "staging")
"""Sections that an agent or a tool may have of its own."""


def resolve(policy: Policy, agent: str = "", tool: str = "") -> Policy:
    """Return the policy that holds for a tool of an agent: the most specific value of each key.

    Raises:
        ValueError: the sections do not go together; the message names them.
    """
    layers = [
        *((each, {"agent": agent}) for each in named("agent", agent, policy.agent.get(agent))),
        *((each, {"tool": tool}) for each in named("tool", tool, policy.tool.get(tool))),
    ]
    changed: dict[str, Any] = {}
    for (where, section, keys), whose in layers:
        if section not in OWN_SECTIONS:
            known = ", ".join(OWN_SECTIONS)
            raise ValueError(f"{where} is no class with a section; there are: {known}")
        below = changed.get(section, getattr(policy, section))
        over = danger_over(where, below, keys, whose) if section == "danger" else keys
        changed[section] = merged(where, below, over)
    if not changed:
        return policy
    # Not through the constructor, which would resolve again; `agent` and `tool` have been used.
    fields = {name: getattr(policy, name) for name in _PLAIN}
    return Policy(**{**fields, **changed}, upstream=policy.upstream, tenant=policy.tenant)


_PLAIN = tuple(
    each for each in Policy.__struct_fields__ if each not in ("agent", "tool", "upstream", "tenant")
)


def upstream_policy(policy: Policy, upstream: str) -> UpstreamPolicy:
    """Return what holds for an upstream: its own values over the document's.

    Raises:
        ValueError: its sections are unknown or cannot be; the message names them.
    """
    own = named("upstream", upstream, policy.upstream.get(upstream))
    return UpstreamPolicy(**laid_over(policy, UPSTREAM_SECTIONS, own))


def tenant_policy(policy: Policy, tenant: str) -> TenancyPolicy:
    """Return what holds for a tenant: its own values over the document's.

    Raises:
        ValueError: its sections are unknown or cannot be; the message names them.
    """
    own = named("tenant", tenant, policy.tenant.get(tenant))
    found: TenancyPolicy = laid_over(policy, TENANT_SECTIONS, own)["tenancy"]
    return found


UPSTREAM_SECTIONS = UpstreamPolicy.__struct_fields__
"""Sections that an upstream may have of its own."""

TENANT_SECTIONS = ("tenancy",)
"""Sections that a tenant may have of its own."""


class Policies:
    """The policy in force, looked up by agent and tool; each answer is worked out once."""

    def __init__(self, policy: Policy, file: str = "") -> None:
        self._known: dict[tuple[str, str], Policy] = {}
        self._upstreams: dict[str, UpstreamPolicy] = {}
        self.current = policy
        self.file = file
        """The file it was read from, its whole path; empty where it came from none."""

    def replace(self, policy: Policy, file: str = "") -> None:
        """Put another policy in force."""
        self.current, self.file = policy, file
        self._known.clear()
        self._upstreams.clear()

    def of(self, agent: str, tool: str = "") -> Policy:
        """Return what holds for a tool of an agent; without a tool, for its model."""
        policy = self.current
        if not policy.agent and not policy.tool:
            return policy
        # A model may call any name it likes: names without sections share an answer.
        key = (agent if agent in policy.agent else "", tool if tool in policy.tool else "")
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = resolve(policy, *key)
        return found

    def upstream(self, name: str) -> UpstreamPolicy:
        """Return what holds for an upstream."""
        key = name if name in self.current.upstream else ""
        found = self._upstreams.get(key)
        if found is None:
            found = self._upstreams[key] = upstream_policy(self.current, key)
        return found
