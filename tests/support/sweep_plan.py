"""What the sessions of a kill sweep do: a fixed script, known to the child and to whoever checks.

Each session takes ten steps, each step calls one to three tools of every kind, one after another
or side by side. Sessions begin at different steps, so that at any instant all kinds are under way.
"""

from collections.abc import Iterator

SESSIONS = tuple(f"s-{number:02}" for number in range(20))
STEPS = 10

SHAPES: tuple[tuple[str, ...], ...] = (
    ("look",),
    ("put",),
    ("book", "wire"),
    ("mail",),
    ("look", "look"),
    ("put", "book", "mail"),
    ("look", "look_blocking"),
    ("fan_put", "fan_book", "fan_mail"),
    ("wire_blocking", "mail_blocking"),
    ("mail", "look_long", "book_blocking"),
)
"""Tools of a step. ``fan_*`` and reads run side by side, ``*_blocking`` in threads. ``wire`` has a probe."""

READS = frozenset({"look", "look_blocking", "look_long"})
SAFE = frozenset({"put", "fan_put"})
KEYED = frozenset({"book", "fan_book", "book_blocking"})
PROBED = frozenset({"wire", "wire_blocking"})
UNMARKED = frozenset({"mail", "fan_mail", "mail_blocking"})

EFFECTS = len(SESSIONS) * sum(map(len, SHAPES))
"""Of a run that nobody kills: each session has every shape once."""

LONG_CHARS = 50_000
"""Length of what ``look_long`` returns: too long for a journal, kept by reference."""


def shape(session_id: str, step: int) -> tuple[str, ...]:
    """Return the tools that a session calls in a step."""
    return SHAPES[(SESSIONS.index(session_id) + step) % len(SHAPES)]


def tag(session_id: str, step: int, index: int) -> str:
    """Name a call from outside: by the script, not by any number the runtime gives."""
    return f"{session_id}/{step}/{index}"


def calls() -> Iterator[tuple[str, str]]:
    """Yield the tag and the tool of every call the script makes."""
    for session_id in SESSIONS:
        for step in range(STEPS):
            for index, tool in enumerate(shape(session_id, step)):
                yield tag(session_id, step, index), tool
