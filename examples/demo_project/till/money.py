"""Amounts of money as whole cents."""


def parse(text: str) -> int:
    """Return the cents in a price such as ``12``, ``12.5`` or ``12.34``."""
    euros, _, cents = text.strip().partition(".")
    return int(euros) * 100 + int(cents or 0)


def show(cents: int) -> str:
    """Return cents as a price with two decimals."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"
