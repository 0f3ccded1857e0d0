"""What is asked of a simulation besides its policies."""

from typing import Literal

Outages = Literal["replayed", "drawn"]
"""Whether outages come when they came, or at other times, as often and as long."""

SEEDS = 40
"""Worlds where nobody says how many: the fewest whose extremes hold 95 % of such worlds are 39."""
