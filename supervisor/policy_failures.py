"""The sections of the policy for classes of failure. Data, checked when it is made."""

from typing import Literal

from msgspec import Struct

from .policy_checks import check_least, check_seconds, check_share


class RetryPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a passing failure is waited out. All times in seconds."""

    attempts_max: int | None = 4  # first call included; None: no limit
    delay_s_first: float = 1.0
    delay_s_max: float = 30.0
    jitter: float = 0.5  # share of each delay that is drawn by chance
    time_budget_s: float | None = 120.0  # checked before sleeping

    def __post_init__(self) -> None:
        check_least("attempts_max", self.attempts_max, 1)
        for name in ("delay_s_first", "delay_s_max"):
            check_seconds(name, getattr(self, name))
        check_share("jitter", self.jitter)
        if self.time_budget_s is not None:
            check_seconds("time_budget_s", self.time_budget_s)
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
        check_least("conclusions_max", self.conclusions_max, 0)


class ReportPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a failure that goes to a person at once is also an alert: somebody has to mend it.

    One alert for each upstream (else tool or model) in ``alert_every_s`` seconds, however many
    sessions meet it.
    """

    alert: bool = True
    alert_every_s: float = 60.0

    def __post_init__(self) -> None:
        check_seconds("alert_every_s", self.alert_every_s)


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
        check_least("prunes_max", self.prunes_max, 0)
        if not 0.05 <= self.keep_share <= 0.95:
            raise ValueError(f"keep_share={self.keep_share} must be from 0.05 to 0.95")
