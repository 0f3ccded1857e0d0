"""Who drives a session, as a person reads it. Pure but for a look at the owner's process."""

import os
import time
from collections.abc import Callable

from msgspec import Struct

from ..stores.base import Head
from ..stores.liveness import Machine, comparable, owner_is_dead, parse_owner, this_machine
from .terminal import duration, one_line


class Standing(Struct, frozen=True):
    """Whether a session has work left that nobody does, and who does it where somebody does."""

    unfinished: bool = False
    driven_by: str | None = None


def standing_of(
    head: Head, now_ms: int | None = None, dead: Callable[[str], bool] = owner_is_dead
) -> Standing:
    """Return where a session stands now: only a running one is driven, or waits to be."""
    if head.status != "running" or head.damaged is not None:
        return Standing()
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    if is_driven(head, now_ms, dead):
        return Standing(driven_by=owner_words(head.owner or "", this_machine(), os.getpid()))
    return Standing(unfinished=True)


def is_driven(head: Head, now_ms: int, dead: Callable[[str], bool]) -> bool:
    """Tell whether a session has an owner whose lease lasts and whose process may be there.

    An owner that has left in order keeps its name in the store, with a lease that has ended.
    """
    if head.owner is None or (head.lease_until_ms or 0) <= now_ms:
        return False
    return not dead(head.owner)


def owner_words(owner: str, here: Machine, pid: int) -> str:
    """Return an owner as a person knows it: ``this machine, process 1234``."""
    parsed = parse_owner(owner)
    if parsed is None:
        return one_line(owner)
    if not comparable(parsed, here):
        return f"machine {one_line(parsed.host)}, process {parsed.pid}"
    return "this process" if parsed.pid == pid else f"this machine, process {parsed.pid}"


def owned_words(head: Head, now_ms: int) -> str:
    """Say why a session that somebody drives is not taken, and when it could be.

    The lease is renewed for as long as its owner lives.
    """
    owner = owner_words(head.owner or "nobody", this_machine(), os.getpid())
    left = duration(max((head.lease_until_ms or 0) - now_ms, 0) / 1000)
    return f"session {head.session_id} is driven by {owner}; if that stops, it is free in {left}"
