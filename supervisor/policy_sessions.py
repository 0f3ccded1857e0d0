"""The sections of the policy about the life of a session. Data, checked when it is made."""

from typing import Literal

from msgspec import Struct

from .danger.paths import glob_pattern
from .policy_checks import check_least, check_seconds


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
            check_seconds("park_after_s", self.park_after_s)


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
        check_least("pool_intensity", self.pool_intensity, 0)
        for name in ("period_s", "pool_period_s", "delay_s_first", "delay_s_max"):
            check_seconds(name, getattr(self, name))


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
        check_least("corrections_max", self.corrections_max, 0)
        check_seconds("alert_every_s", self.alert_every_s)
        check_seconds("judge_s_max", self.judge_s_max)


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
            check_least(name, getattr(self, name), 1)
        check_seconds("check_s_max", self.check_s_max)
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
        check_seconds("retry_s_max", self.retry_s_max)
