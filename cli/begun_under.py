"""Which policy sessions are gone on with: the one that is named, or else the one they began under.

What a policy asks people about would run unasked if it were merely forgotten.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress

import anyio

from ..actors.inspection import entries_of
from ..stores.base import HeadQuery, PostQuery, Store, StoreError
from ..stores.records import Opened, SessionStatus
from .errors import NotDone
from .output import Output
from .owners import standing_of
from .stored import PAGE, all_heads, reading
from .terminal import one_line

_NAMED = 5
"""Policies that are named one by one."""


async def policy_for(
    out: Output, where: str, ids: Sequence[str], agents: Sequence[str], named: str | None
) -> str | None:
    """Return the file of the policy to go on under; None: the defaults, as when they began.

    Args:
        ids: whom it is for; none: all of these agents that are unfinished, or decided upon.
        named: what ``--policy`` says, which holds without a look.

    Raises:
        NotDone: they began under different ones, or the file is gone; nothing was claimed.
    """
    if named is not None:
        return named
    async with reading(where) as store:
        begun = await _begun_under(store, ids or await _unfinished(store, agents))
    if not begun or (file := _only(begun)) == "":
        return None
    if not await anyio.Path(file).exists():
        raise NotDone(
            f"{_who(begun, file)} began under the policy {file!r}, which is not there;"
            " name one with --policy FILE"
        )
    out.note(f"policy: {file}, as when it began; --policy FILE for another", "grey")
    return file


def _only(begun: dict[str, str]) -> str:
    files = sorted(set(begun.values()))
    if len(files) == 1:
        return files[0]
    words = [f"{_who(begun, each)} under {each or 'the defaults'}" for each in files[:_NAMED]]
    raise NotDone(
        f"the sessions began under different policies ({'; '.join(words)});"
        " give their ids, or --policy FILE for all of them"
    )


def _who(begun: dict[str, str], file: str) -> str:
    ids = [session_id for session_id, each in begun.items() if each == file]
    more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    return f"{one_line(ids[0])}{more}"


async def _begun_under(store: Store, ids: Iterable[str]) -> dict[str, str]:
    """Return each session's policy; one that cannot be read is told by who takes it up."""
    begun: dict[str, str] = {}
    for session_id in ids:
        with suppress(StoreError):
            entries = entries_of(await store.load(session_id))
            begun.update(
                (session_id, each.policy) for each in entries[:1] if isinstance(each, Opened)
            )
    return begun


async def _unfinished(store: Store, agents: Sequence[str]) -> list[str]:
    """Return the sessions that would be taken up: nobody drives them, or a person has decided."""
    known = frozenset(agents)
    posts = await store.posts(PostQuery(agents=known, limit=PAGE))
    found = dict.fromkeys(each.post.session_id for each in posts)
    running: frozenset[SessionStatus] = frozenset({"running"})
    heads = await all_heads(
        lambda after: store.heads(HeadQuery(status=running, after=after, limit=PAGE))
    )
    for head in heads:
        if head.facts.agent in known and standing_of(head).unfinished:
            found[head.session_id] = None
    return list(found)
