"""Undoing: which effects are undone, each attempt, and what became of it."""

from typing import Any, Literal

from msgspec import Struct

from .words import Entry, TreeWindow

UndoHow = Literal["rollback", "compensate"]

UndoState = Literal[
    "again", "compensated", "rolled_back", "not_rolled_back", "failed", "in_doubt", "abandoned"
]
"""How an effect stands that was to be undone.

``again``: not yet, another attempt follows. ``in_doubt``: the compensation may or may not have run.
``abandoned``: a person leaves the effect as it is.
"""


class UndoStep(Struct, frozen=True, array_like=True, gc=False):
    """One effect to be undone: its call, the tool it is of, and how."""

    n: int
    index: int
    tool: str
    how: UndoHow


class Unwinding(Entry, frozen=True, tag="unwind"):
    """These effects are undone in this order, before anything else.

    ``outcome`` is how the session ends after that, as in `Ended`; None: it goes on, since a person
    has asked for this while it runs. ``by`` is ``person`` where somebody asked for it.
    """

    steps: tuple[UndoStep, ...]
    outcome: dict[str, Any] | None = None
    by: str = ""


class Undoing(Entry, frozen=True, tag="undo"):
    """The compensation of a call is about to run; durable before its body starts."""

    n: int
    index: int
    attempt: int = 1
    key: str | None = None


class Undone(Entry, frozen=True, tag="undone"):
    """What became of an effect that was to be undone, or of one attempt at it.

    ``again``: the attempt failed in passing, and another follows after ``wait_s`` seconds, not before
    ``due_at_ms`` on the wall clock. ``content`` is what the compensation returned, or its error.
    ``may_have_run``: it failed, and did not say that it had no effect. ``by`` is ``person`` where somebody looked.
    ``windows`` is what it did to the working directory.
    """

    n: int
    index: int
    state: UndoState
    content: str = ""
    attempts: int = 0
    error_class: str | None = None
    may_have_run: bool = False
    elapsed_s: float = 0.0
    wait_s: float = 0.0
    due_at_ms: int | None = None
    by: str = ""
    windows: tuple[TreeWindow, ...] = ()


class Frozen(Entry, frozen=True, tag="freeze"):
    """The session ends and nothing is undone, for this reason; these steps would have been taken."""

    why: str
    steps: tuple[UndoStep, ...]
