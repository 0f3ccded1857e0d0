"""The policy: how long, how often, how many. Data, checked when it is made or loaded.

One section for each class of failure, holding what its recovery needs; an agent or a tool may have
sections of its own, an upstream its own budget of retries and circuit breaker.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from .danger.paths import glob_pattern
from .danger.policy import DangerPolicy, danger_over
from .errors import ErrorClass
from .policy_choices import explain_choice
from .policy_limits import AdmissionPolicy, ConcurrencyPolicy, TenancyPolicy

Section = Mapping[str, Any]
"""Some keys of a section, where the others stay as they are."""


def _check_seconds(name: str, value: float) -> None:
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{name}={value} must be a number of seconds, zero or more")


def _check_share(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name}={value} must be from 0 to 1")


def _check_least(name: str, value: float | None, least: float) -> None:
    if value is not None and (not math.isfinite(value) or value < least):
        raise ValueError(f"{name}={value} must be at least {least:g}")


class RetryPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a passing failure is waited out. All times in seconds."""

    attempts_max: int | None = 4  # first call included; None: no limit
    delay_s_first: float = 1.0
    delay_s_max: float = 30.0
    jitter: float = 0.5  # share of each delay that is drawn by chance
    time_budget_s: float | None = 120.0  # checked before sleeping

    def __post_init__(self) -> None:
        _check_least("attempts_max", self.attempts_max, 1)
        for name in ("delay_s_first", "delay_s_max"):
            _check_seconds(name, getattr(self, name))
        _check_share("jitter", self.jitter)
        if self.time_budget_s is not None:
            _check_seconds("time_budget_s", self.time_budget_s)
        if self.delay_s_first > self.delay_s_max:
            raise ValueError(
                f"delay_s_first={self.delay_s_first} is above delay_s_max={self.delay_s_max}"
            )


class CorrectionPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often in a row the model may amend the arguments of one tool."""

    corrections_max: int | None = 3

    def __post_init__(self) -> None:
        if self.corrections_max is not None and self.corrections_max < 0:
            raise ValueError(f"corrections_max={self.corrections_max} must not be negative")


class ConclusionPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often in one trajectory the model is told of a refusal before a person is asked."""

    conclusions_max: int | None = 10

    def __post_init__(self) -> None:
        _check_least("conclusions_max", self.conclusions_max, 0)


class ReportPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a failure that goes to a person at once is also an alert: somebody has to mend it.

    One alert for each upstream (else tool or model) in ``alert_every_s`` seconds, however many
    sessions meet it.
    """

    alert: bool = True
    alert_every_s: float = 60.0

    def __post_init__(self) -> None:
        _check_seconds("alert_every_s", self.alert_every_s)


class OverflowPolicy(ReportPolicy, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a conversation that is larger than its model takes is made to fit.

    Attributes:
        prunes_max: prunes in a row without an answer of the model before a person is asked.
        keep_share: what a prune leaves, as a share of what is known to fit, else of what did not.
            The rest is room to go on.
        summary: who writes what stands for the messages left out: ``digest``, the runtime from its
            records, or ``model``, the session's own; where that fails, the runtime again.
    """

    alert: bool = False
    prunes_max: int = 2
    keep_share: float = 0.5
    summary: Literal["digest", "model"] = "digest"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_least("prunes_max", self.prunes_max, 0)
        if not 0.05 <= self.keep_share <= 0.95:
            raise ValueError(f"keep_share={self.keep_share} must be from 0.05 to 0.95")


class RetryBudgetPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many repeats one upstream gets from all sessions together.

    One is let through if, with it, those of the last ``window_s`` seconds are at most
    ``retries_min`` and ``share_max`` of the first calls. One that has succeeded is not counted any
    more, and while a breaker paces a recovery, its pace is the limit. ``share_max`` None: no limit.
    """

    share_max: float | None = 0.2
    retries_min: int = 100
    window_s: float = 10.0

    def __post_init__(self) -> None:
        _check_least("share_max", self.share_max, 0)
        _check_least("retries_min", self.retries_min, 1)
        _check_least("window_s", self.window_s, 0.1)


class BreakerPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When calls to an upstream are held back, and how they are let through again.

    It opens when, of the calls that ended in ``window_s`` seconds, ``failures_min`` and a share of
    ``failure_share`` failed in passing or timed out. After ``open_s`` seconds one call is tried.
    Once that succeeds, those held back are let through over twenty seconds, at ``recovery_per_s``
    or faster where they are many; None: at once. ``failures_min`` None: it never opens.
    """

    failures_min: int | None = 20
    failure_share: float = 0.5
    window_s: float = 30.0
    open_s: float = 10.0
    recovery_per_s: float | None = 20.0

    def __post_init__(self) -> None:
        _check_least("failures_min", self.failures_min, 1)
        _check_share("failure_share", self.failure_share)
        _check_least("window_s", self.window_s, 0.1)
        _check_least("open_s", self.open_s, 0.1)
        _check_least("recovery_per_s", self.recovery_per_s, 0.1)


class UpstreamPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all sessions together may ask of one upstream."""

    retry_budget: RetryBudgetPolicy = RetryBudgetPolicy()
    breaker: BreakerPolicy = BreakerPolicy()
    concurrency: ConcurrencyPolicy = ConcurrencyPolicy()


class PlanningPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When an agent is held to make no progress, and what follows before a person is asked.

    Attributes:
        repeats_max: equal rounds, results included, of a cycle of one to four steps. What succeeds
            each time may be waiting for something, so this is not low.
        failing_repeats_max: the same for a cycle in which a call fails each time.
        near_repeats_max: the same where arguments are nearly equal; see `find_loop`.
        idle_steps_max: steps in a row without a change of state, for an agent that can change it;
            none by default, since reading for long may be the task.
        restarts_max: how often one trajectory begins again, with a hint, before anything else.
        restart_from: ``loop``: before the loop or the idle steps; ``changed``: at the last checkpoint at
            which the state changed; ``step``: before the last step; ``task``: at the last message of the
            user; ``start``: at the first.
        restart_mode: ``context``: only the conversation goes back; ``full``: the session's files too,
            and what has a compensation is compensated.
        hint: what the model is told then, besides what the runtime knows.
    """

    repeats_max: int | None = 25
    failing_repeats_max: int | None = 3
    near_repeats_max: int | None = 30
    idle_steps_max: int | None = None
    restarts_max: int = 0
    restart_from: Literal["loop", "changed", "step", "task", "start"] = "loop"
    restart_mode: Literal["context", "full"] = "context"
    hint: str = ""

    def __post_init__(self) -> None:
        for name in ("repeats_max", "failing_repeats_max", "near_repeats_max"):
            value = getattr(self, name)
            if value is not None and value < 2:
                raise ValueError(f"{name}={value} must be at least 2: once is no repetition")
        if self.idle_steps_max is not None and self.idle_steps_max < 1:
            raise ValueError(f"idle_steps_max={self.idle_steps_max} must be at least 1")
        if self.restarts_max < 0:
            raise ValueError(f"restarts_max={self.restarts_max} must not be negative")


class WaitPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From what length on a wait is not waited in memory: the session is parked in the store."""

    park_after_s: float | None = 60.0  # None: never

    def __post_init__(self) -> None:
        if self.park_after_s is not None:
            _check_seconds("park_after_s", self.park_after_s)


class RestartPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often a session's own actor may die before the session is handed over."""

    intensity: int = 3
    period_s: float = 60.0
    delay_s_first: float = 0.1
    delay_s_max: float = 10.0
    pool_intensity: int | None = 1000  # restarts of all sessions together, per period
    pool_period_s: float = 10.0

    def __post_init__(self) -> None:
        if self.intensity < 0:
            raise ValueError(f"intensity={self.intensity} must not be negative")
        _check_least("pool_intensity", self.pool_intensity, 0)
        for name in ("period_s", "pool_period_s", "delay_s_first", "delay_s_max"):
            _check_seconds(name, getattr(self, name))


class BudgetPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the model is told to finish up: the share of a limit that has been used."""

    soft_share: float = 0.8

    def __post_init__(self) -> None:
        if not 0.0 < self.soft_share <= 1.0:
            raise ValueError(f"soft_share={self.soft_share} must be above 0 and at most 1")


class AuditPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an agent's answer is compared with what was executed.

    Attributes:
        enabled: whether it is.
        corrections_max: how often the model is told what differs before a person is asked.
        values: what a number or identifier is that comes from nowhere: a mismatch (``alarm``), an
            unverified claim (``flag``), or nothing (``off``).
        alert_every_s: one alert for each agent in that time, however many sessions meet it.
        judge_s_max: seconds an agent's judge has for its answer, where it has one.
    """

    enabled: bool = True
    corrections_max: int = 1
    values: Literal["alarm", "flag", "off"] = "alarm"
    alert_every_s: float = 60.0
    judge_s_max: float = 60.0

    def __post_init__(self) -> None:
        _check_least("corrections_max", self.corrections_max, 0)
        _check_seconds("alert_every_s", self.alert_every_s)
        _check_seconds("judge_s_max", self.judge_s_max)


class StagingPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a staged call may change in the working directory, and how large that may be.

    Attributes:
        tree_bytes_max: bytes of a working directory that is copied for one call.
        paths_max: paths that one call may change.
        bytes_max: bytes that these may hold afterwards.
        secrets: whether a change that brings in what looks like a credential is rejected.
        protected_paths: globs of what a staged call never changes; see `PathGlobs`.
        check_s_max: seconds that one check of the application's own may take.
    """

    tree_bytes_max: int = 512 * 1024 * 1024
    paths_max: int = 1000
    bytes_max: int = 16 * 1024 * 1024
    secrets: bool = True
    protected_paths: tuple[str, ...] = (
        "**/.env",
        "**/.env.*",
        "**/.ssh/**",
        "**/*.pem",
        "**/*.key",
    )
    check_s_max: float = 60.0

    def __post_init__(self) -> None:
        for name in ("tree_bytes_max", "paths_max", "bytes_max"):
            _check_least(name, getattr(self, name), 1)
        _check_seconds("check_s_max", self.check_s_max)
        for glob in self.protected_paths:
            try:
                glob_pattern(glob.removeprefix("!"))
            except ValueError as error:
                raise ValueError(f"protected_paths: {error}") from error


class StoragePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept when a session ends, and how long a passing fault of the store is waited out."""

    checkpoints_kept: int | None = 10
    retry_s_max: float = 10.0

    def __post_init__(self) -> None:
        if self.checkpoints_kept is not None and self.checkpoints_kept < 1:
            raise ValueError(f"checkpoints_kept={self.checkpoints_kept} must be at least 1")
        _check_seconds("retry_s_max", self.retry_s_max)


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
        *((each, {"agent": agent}) for each in _named("agent", agent, policy.agent.get(agent))),
        *((each, {"tool": tool}) for each in _named("tool", tool, policy.tool.get(tool))),
    ]
    changed: dict[str, Any] = {}
    for (where, section, keys), whose in layers:
        if section not in OWN_SECTIONS:
            known = ", ".join(OWN_SECTIONS)
            raise ValueError(f"{where} is no class with a section; there are: {known}")
        below = changed.get(section, getattr(policy, section))
        over = danger_over(where, below, keys, whose) if section == "danger" else keys
        changed[section] = _merged(where, below, over)
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
    own = _named("upstream", upstream, policy.upstream.get(upstream))
    return UpstreamPolicy(**_over(policy, UPSTREAM_SECTIONS, own))


def tenant_policy(policy: Policy, tenant: str) -> TenancyPolicy:
    """Return what holds for a tenant: its own values over the document's.

    Raises:
        ValueError: its sections are unknown or cannot be; the message names them.
    """
    own = _named("tenant", tenant, policy.tenant.get(tenant))
    found: TenancyPolicy = _over(policy, TENANT_SECTIONS, own)["tenancy"]
    return found


UPSTREAM_SECTIONS = UpstreamPolicy.__struct_fields__
"""Sections that an upstream may have of its own."""

TENANT_SECTIONS = ("tenancy",)
"""Sections that a tenant may have of its own."""


def _over(
    policy: Policy, known: tuple[str, ...], own: Sequence[tuple[str, str, Section]]
) -> dict[str, Any]:
    """Return these sections of the document, with the values of one name over them."""
    parts: dict[str, Any] = {name: getattr(policy, name) for name in known}
    for where, section, keys in own:
        if section not in parts:
            raise ValueError(f"{where} is no section; there are: {', '.join(parts)}")
        parts[section] = _merged(where, parts[section], keys)
    return parts


def _named(
    kind: str, name: str, sections: Mapping[str, Section] | None
) -> list[tuple[str, str, Section]]:
    """Return each section with what it is called in a document."""
    written = name if name.replace("_", "").replace("-", "").isalnum() else f'"{name}"'
    found = (sections or {}).items()
    return [(f"[{kind}.{written}.{section}]", section, keys) for section, keys in found]


def _merged(where: str, below: Struct, keys: Section) -> Struct:
    """Return a section with some of its values replaced, checked like a whole one.

    Raises:
        ValueError: an unknown key or an impossible value.
    """
    unknown = [key for key in keys if key not in below.__struct_fields__]
    if unknown:
        known = ", ".join(below.__struct_fields__)
        raise ValueError(f"{where} has no key {unknown[0]!r}; it has: {known}")
    whole = {name: getattr(below, name) for name in below.__struct_fields__}
    try:
        return msgspec.convert({**whole, **keys}, type(below))
    except msgspec.ValidationError as error:
        raise ValueError(f"{where} {_with_value(str(error), keys, type(below))}") from error


def _with_value(message: str, keys: Section, section: type[Struct]) -> str:
    """Put the value at fault beside its key, where msgspec names the key alone."""
    said, _, path = message.partition(" - at `$.")
    steps = path.rstrip("`").split(".")
    said = explain_choice(said, section, steps)
    found: Any = keys
    for step in steps:
        found = cast("Section", found).get(step) if isinstance(found, Mapping) else None
    return said if found is None else f"{'.'.join(steps)}={found!r}: {said}"


class Policies:
    """The policy in force, looked up by agent and tool; each answer is worked out once."""

    def __init__(self, policy: Policy) -> None:
        self._known: dict[tuple[str, str], Policy] = {}
        self._upstreams: dict[str, UpstreamPolicy] = {}
        self.current = policy

    def replace(self, policy: Policy) -> None:
        """Put another policy in force."""
        self.current = policy
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
