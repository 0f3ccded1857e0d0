"""What numbers in a policy may be; each names the value it refuses."""

import math


def check_seconds(name: str, value: float) -> None:
    """Refuse what is no length of time.

    Raises:
        ValueError: it names the value.
    """
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{name}={value} must be a number of seconds, zero or more")


def check_share(name: str, value: float) -> None:
    """Refuse what is no share of a whole.

    Raises:
        ValueError: it names the value.
    """
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name}={value} must be from 0 to 1")


def check_least(name: str, value: float | None, least: float) -> None:
    """Refuse what is below a least value; None is no limit.

    Raises:
        ValueError: it names the value.
    """
    if value is not None and (not math.isfinite(value) or value < least):
        raise ValueError(f"{name}={value} must be at least {least:g}")


def check_count(name: str, value: object, *, limitless: bool = True) -> None:
    """Refuse what is no whole number of 1 or more; constructors take anything.

    Raises:
        ValueError: it names the value; nothing would ever run within less than one place.
    """
    if value is None and limitless:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        least = 'a whole number of at least 1, or "none"' if limitless else "a whole number above 0"
        raise ValueError(f"{name}={value!r} must be {least}")
