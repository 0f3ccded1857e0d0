"""Chance by name: the same draw for the same thing, however many others there are.

Two policies that are played on one seed meet the same world, and each call its own luck in it: what
differs between them is then the policies' doing.
"""

_MASK = (1 << 64) - 1


def mixed(key: int, value: int) -> int:
    """Return a key made of a key and one more number; 64 bits, well mixed (splitmix64)."""
    x = (key ^ (value * 0x9E3779B97F4A7C15)) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def drawn(key: int, value: int) -> float:
    """Return the number from 0 up to 1 that belongs to a key and one more number."""
    return (mixed(key, value) >> 11) / 9007199254740992.0


def key_of(text: str, key: int = 0) -> int:
    """Return a key made of a text; the same in every process."""
    for at in range(0, len(text), 8):
        key = mixed(key, int.from_bytes(text[at : at + 8].encode(), "big") & _MASK)
    return mixed(key, len(text))
