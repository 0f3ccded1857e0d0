"""The policy: how long, how often, how many. Data, checked when it is made or loaded."""

import math
import tomllib
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from .errors import UsageError


def _check_seconds(name: str, value: float) -> None:
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{name}={value} must be a number of seconds, zero or more")


class RetryPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a passing failure is waited out. All times in seconds."""

    attempts_max: int | None = 4  # first call included; None: no limit
    delay_s_first: float = 1.0
    delay_s_max: float = 30.0
    time_budget_s: float | None = 120.0  # checked before sleeping

    def __post_init__(self) -> None:
        if self.attempts_max is not None and self.attempts_max < 1:
            raise ValueError(f"attempts_max={self.attempts_max} must be at least 1")
        for name in ("delay_s_first", "delay_s_max"):
            _check_seconds(name, getattr(self, name))
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
        for name in ("period_s", "pool_period_s", "delay_s_first", "delay_s_max"):
            _check_seconds(name, getattr(self, name))


class BudgetPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the model is told to finish up: the share of a limit that has been used."""

    soft_share: float = 0.8

    def __post_init__(self) -> None:
        if not 0.0 < self.soft_share <= 1.0:
            raise ValueError(f"soft_share={self.soft_share} must be above 0 and at most 1")


class StoragePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept when a session ends, and how long a passing fault of the store is waited out."""

    checkpoints_kept: int | None = 10
    retry_s_max: float = 10.0

    def __post_init__(self) -> None:
        if self.checkpoints_kept is not None and self.checkpoints_kept < 1:
            raise ValueError(f"checkpoints_kept={self.checkpoints_kept} must be at least 1")
        _check_seconds("retry_s_max", self.retry_s_max)


class Policy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole policy document; every section and key has a default."""

    transient: RetryPolicy = RetryPolicy()
    rate_limited: RetryPolicy = RetryPolicy()
    in_doubt_timeout: RetryPolicy = RetryPolicy()
    invalid_argument: CorrectionPolicy = CorrectionPolicy()
    restarts: RestartPolicy = RestartPolicy()
    budget: BudgetPolicy = BudgetPolicy()
    storage: StoragePolicy = StoragePolicy()


def parse_policy(text: str, source: str = "policy") -> Policy:
    """Read a policy from TOML; a limit written ``"none"`` is no limit.

    Raises:
        UsageError: not TOML, an unknown key, or an impossible value; names source and key.
    """
    try:
        return msgspec.convert(_without_none(tomllib.loads(text)), Policy)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, ValueError) as error:
        raise UsageError(f"{source}: {error}") from error


def load_policy(policy: "Policy | str | Path | None") -> Policy:
    """Return a policy given as such, as the path of a TOML file, or as None for the defaults.

    Raises:
        UsageError: the file cannot be read or is no policy; names the file and the key.
    """
    if policy is None:
        return Policy()
    if isinstance(policy, Policy):
        return policy
    try:
        text = Path(policy).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"policy {str(policy)!r} cannot be read: {error}") from error
    return parse_policy(text, str(policy))


def _without_none(value: Any) -> Any:
    """Replace the string ``"none"`` by None, everywhere."""
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {key: _without_none(inner) for key, inner in table.items()}
    return None if value == "none" else value
