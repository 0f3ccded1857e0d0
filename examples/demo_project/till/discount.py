"""Discounts for quantity: 5 % from 10 pieces on, 12 % from 100 on."""


def percent_for(pieces: int) -> int:
    """Return the discount in percent for a number of pieces."""
    if pieces >= 10:
        return 5
    if pieces >= 100:
        return 12
    return 0


def price(unit_cents: int, pieces: int) -> int:
    """Return what a number of pieces costs, rounded to the nearest cent."""
    full = unit_cents * pieces
    return full - (full * percent_for(pieces) + 50) // 100
