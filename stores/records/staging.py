"""Staged calls: what they would change, and whether that may be committed."""

from msgspec import Struct

from .words import Entry


class StagedPath(Struct, frozen=True, array_like=True, gc=False):
    """A path that a staged call changed: ``added``, ``changed``, ``removed``, ``mode`` or ``kind``.

    Bytes that are no text are escaped; ``size`` is what is there then, in bytes.
    """

    path: str
    kind: str
    size: int = 0


class StagedResult(Entry, frozen=True, tag="staged"):
    """A staged call has run in its staging area: what it would change, kept, and what it returned.

    From here on the body never runs again. ``base`` and ``tree`` are digests of kept trees, before and
    after it; empty where the tool has a ``commit`` function instead. ``paths`` are the first of what it
    changed, ``paths_more`` counts the rest. ``not_kept`` are paths it changed that are never carried
    over. The other fields are as in `Resulted`.
    """

    n: int
    index: int
    content: str
    base: str = ""
    tree: str = ""
    paths: tuple[StagedPath, ...] = ()
    paths_more: int = 0
    not_kept: tuple[str, ...] = ()
    attempts: int = 1
    elapsed_s: float = 0.0
    blob: str | None = None
    value_type: str | None = None
    digest: str = ""


class StagedCheck(Entry, frozen=True, tag="checked"):
    """What a staged call would change was looked at; ``problem`` says why it is not committed.

    Without one, the commit may begin once this is durable. ``by`` names the check that rejected it.
    """

    n: int
    index: int
    problem: str = ""
    by: str = ""
