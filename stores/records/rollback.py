"""Rolling back to a checkpoint: that it begins, and how it ended."""

from typing import Any, Literal

from msgspec import Struct

from .words import Entry, TreeWindow

RollbackMode = Literal["full", "soft", "context", "prune"]
"""What goes back: files and conversation, files, conversation; or the conversation is summed up."""

PathEnding = Literal[
    "restored", "deleted", "as wanted", "conflict", "not covered", "failed", "not tried"
]
"""What became of a path of a rollback. ``conflict``: others changed it too, so it was left alone."""


class PathEnd(Struct, frozen=True, omit_defaults=True, gc=False):
    """What became of one path of a rollback, and why. Bytes that are no text are escaped."""

    path: str
    did: PathEnding
    detail: str = ""


class RollingBack(Entry, frozen=True, tag="back"):
    """The session is rolled back, before anything else: ``n`` names it.

    ``to`` is the checkpoint; None where a prune may take all but the newest. ``force``: also where
    others changed a path. ``undoes`` is the rollback that this one takes back, 0: none. ``by`` is who
    asked; ``policy`` where nobody did, and ``why`` then says what for.
    """

    n: int
    mode: RollbackMode
    to: int | None
    at_ms: int
    force: bool = False
    undoes: int = 0
    by: str = ""
    why: str = ""


class RolledBack(Entry, frozen=True, tag="backed"):
    """How a rollback ended. With ``done``, the conversation goes back with this entry.

    ``failed``: nothing is changed, for the reason in ``error``. ``stuck``: some paths are changed, could
    not be put back, and a person has to look. ``counter`` is where the conversation stands, ``note``
    what the model is told under the number ``note_n``. ``restore_id`` names the files' part, ``windows``
    is what it did. ``undone`` are the calls whose files are back. ``outcome`` is how the session rests
    after this; None: as it was.
    """

    n: int
    state: Literal["done", "failed", "stuck"]
    counter: int = 0
    note: str = ""
    note_n: int = 0
    error: str = ""
    paths: tuple[PathEnd, ...] = ()
    paths_more: int = 0
    restore_id: str = ""
    windows: tuple[TreeWindow, ...] = ()
    undone: tuple[tuple[int, int], ...] = ()
    kept: tuple[str, ...] = ()
    messages_dropped: int = 0
    outcome: dict[str, Any] | None = None
