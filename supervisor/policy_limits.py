"""The sections of the policy that say how much may happen at once. Data, checked when it is made."""

from msgspec import Struct


def _check_count(name: str, value: object, *, limitless: bool = True) -> None:
    """Refuse what is no whole number of 1 or more; constructors take anything.

    Raises:
        ValueError: it names the value; nothing would ever run within less than one place.
    """
    if value is None and limitless:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        least = 'a whole number of at least 1, or "none"' if limitless else "a whole number above 0"
        raise ValueError(f"{name}={value!r} must be {least}")


class AdmissionPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many sessions one process drives.

    Attributes:
        sessions_max: sessions that take their turns; those parked and their sub-sessions do not
            count. None: no limit.
        waiting_max: sessions that are stored and wait for a place, or are being stored. While
            there are as many, `Runtime.start` waits.
    """

    sessions_max: int | None = 100_000
    waiting_max: int = 10_000

    def __post_init__(self) -> None:
        _check_count("sessions_max", self.sessions_max)
        _check_count("waiting_max", self.waiting_max, limitless=False)


class TenancyPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many of these sessions may be one tenant's."""

    sessions_max: int | None = None

    def __post_init__(self) -> None:
        _check_count("sessions_max", self.sessions_max)


class ConcurrencyPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many calls to one upstream may be under way."""

    calls_max: int | None = None

    def __post_init__(self) -> None:
        _check_count("calls_max", self.calls_max)
