"""Removing contents that nothing refers to any more.

What is needed: the trees sessions refer to, trees and contents used lately (a running snapshot's among
them, for whoever relies on a content renews it first), and those of kept restores. What is
lost or damaged below a tree that is needed stops the collection: nothing may be removed by half knowledge.
"""

import sqlite3
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from ...supervisor.errors import UsageError
from .entries import File, Folder, TreeDamaged
from .objects import FRESH_S, ContentLost, Objects
from .restores import Journal

GRACE_S = 86_400
GRACE_S_MIN = 4 * FRESH_S
"""Less could take what a snapshot under way counts on: an age is renewed only when it is `FRESH_S` old."""


class Collected(Struct, frozen=True):
    """What a collection removed, or would remove.

    Attributes:
        contents, bytes: how many, and what they take in the file.
        kept: how many contents stay.
        lost: trees that sessions refer to and that are not stored.
        damaged: why nothing was removed; empty if nothing stood against it.
    """

    contents: int
    bytes: int
    kept: int
    lost: tuple[str, ...] = ()
    damaged: str = ""


def collect(
    objects: Objects, roots: Iterable[str], *, grace_s: float = GRACE_S, dry_run: bool = False
) -> Collected:
    """Remove the contents that no tree needs and nobody has used for a while.

    Needs memory for the digests of all that is kept, some 100 bytes each. Snapshots wait only while
    rows are deleted, not while trees are read.

    Args:
        roots: the trees sessions refer to, as hexadecimal digests.
        grace_s: how long what is stored stays though nothing refers to it; at least `GRACE_S_MIN`.
        dry_run: say what would be removed.

    Raises:
        UsageError: the grace is too short.
    """
    if grace_s < GRACE_S_MIN:
        raise UsageError(
            f"grace_s={grace_s} must be at least {GRACE_S_MIN}: a snapshot under way relies on it"
        )
    wanted = {bytes.fromhex(root) for root in roots}
    limit = int(objects.clock() - grace_s)
    _forget_old_restores(objects, limit, dry_run)
    wanted |= {bytes.fromhex(root) for root in Journal(objects).roots()}
    needed = set[bytes]()
    lost: list[str] = []
    try:
        lost = _mark_all(objects, wanted | _young_roots(objects, limit), needed)
        return _sweep(objects, wanted, needed, limit, lost, dry_run)
    except (ContentLost, TreeDamaged) as error:
        return Collected(0, 0, _count(objects), tuple(lost), str(error))


def _forget_old_restores(objects: Objects, limit: int, dry_run: bool) -> None:
    """Restores that ended long ago cannot be undone any more; open ones stay."""
    if not dry_run:
        with objects.writing() as connection:
            ended = "DELETE FROM restore WHERE state IN ('done', 'undone') AND at < ?"
            connection.execute(ended, (limit,))


def _young_roots(objects: Objects, limit: int) -> set[bytes]:
    with objects.reading() as connection:
        rows = connection.execute("SELECT digest FROM root WHERE used_at >= ?", (limit,))
        return {digest for (digest,) in rows}


def _mark_all(objects: Objects, roots: Iterable[bytes], needed: set[bytes]) -> list[str]:
    """Mark all that trees need; return the trees that are not there at all."""
    lost: list[str] = []
    for root in sorted(roots):
        if objects.known(root):
            _mark(objects, root, needed)
        else:
            lost.append(root.hex())
    return lost


def _mark(objects: Objects, root: bytes, needed: set[bytes]) -> None:
    waiting = [root]
    while waiting:
        tree = waiting.pop()
        if tree in needed:
            continue
        needed.add(tree)
        for entry in objects.tree(tree).values():
            if isinstance(entry, Folder):
                waiting.append(entry.tree)
            elif isinstance(entry, File):
                needed.add(entry.digest)


def _sweep(
    objects: Objects,
    wanted: set[bytes],
    needed: set[bytes],
    limit: int,
    lost: list[str],
    dry_run: bool,
) -> Collected:
    """Delete what is neither needed nor young, in one transaction with a last look at new trees."""
    with objects.writing() as connection:
        _mark_all(objects, _young_roots(objects, limit) - needed, needed)
        rows = connection.execute(
            "SELECT digest, id, length(body) FROM object JOIN content USING (id) WHERE used_at < ?",
            (limit,),
        )
        doomed = [row for row in rows if row[0] not in needed]
        total = connection.execute("SELECT count(*) FROM object").fetchone()[0]
        if not dry_run:
            _delete(connection, doomed, wanted, limit)
    if not dry_run:
        objects.forget_trees()
        with objects.reading() as connection:
            # As a script, because a single execute() frees one page.
            connection.executescript("PRAGMA incremental_vacuum")
    size = sum(length for _, _, length in doomed)
    return Collected(len(doomed), size, total - len(doomed), tuple(lost))


def _delete(
    connection: sqlite3.Connection, doomed: list[Any], wanted: set[bytes], limit: int
) -> None:
    connection.executemany("DELETE FROM content WHERE id = ?", [(row[1],) for row in doomed])
    connection.executemany("DELETE FROM object WHERE digest = ?", [(row[0],) for row in doomed])
    old = connection.execute("SELECT digest FROM root WHERE used_at < ?", (limit,)).fetchall()
    dropped = [row for row in old if row[0] not in wanted]
    connection.executemany("DELETE FROM root WHERE digest = ?", dropped)


def _count(objects: Objects) -> int:
    with objects.reading() as connection:
        found: int = connection.execute("SELECT count(*) FROM object").fetchone()[0]
    return found
