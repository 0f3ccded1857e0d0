"""What stands for nothing, once for all sessions."""

NO_NAMES: frozenset[str] = frozenset()
"""Most sessions never hold another in its place, and an empty set of their own takes 216 bytes."""
