"""What a store may raise, and what it refuses a single write with."""

from ..supervisor.errors import UkemiError


class StoreError(UkemiError):
    """Root of what a store may raise."""


class StoreUnusable(StoreError):
    """The store cannot be opened, or not be used any more; its file is untouched."""


class StoreFailed(StoreError):
    """A passing fault of the store (locked, I/O); nothing of the commit was stored."""


class SessionExists(StoreError):
    """A session of this id exists already."""


class SessionUnknown(StoreError):
    """No session of this id is in the store."""


class SessionOwned(StoreError):
    """Another living owner holds the session; reading it works, driving it does not."""


class Fenced(StoreError):
    """The session has been taken over: this owner's epoch is stale and must do nothing more."""


class Conflict(StoreError):
    """The write was made from an older state than the stored one; load again and redo it."""


class AlreadyDecided(StoreError):
    """A question was decided before, by whom and when; that decision stands, this one is void.

    Args:
        about: which question.
        by: who decided; empty where that was not said.
        at_ms: when, in epoch milliseconds.
        body: the decision that stands, as it is stored.
    """

    def __init__(
        self, message: str, *, about: str = "", by: str = "", at_ms: int = 0, body: bytes = b""
    ) -> None:
        super().__init__(message)
        self.about = about
        self.by = by
        self.at_ms = at_ms
        self.body = body


class SessionDamaged(StoreError):
    """A stored row cannot be read. The message names session and checkpoint; nothing is changed."""


class CheckpointUnknown(StoreError):
    """The counter asked for does not exist or is no longer kept."""


class RecordTooNew(StoreError):
    """The record was written by a newer version; it is left untouched."""


class BlobUnknown(StoreError):
    """No blob of this digest is kept."""


class BadRecord(StoreError):
    """A write that this store can never accept; it fails alone."""


class ConversionFailed(StoreError):
    """A conversion from an older record version raised; the stored bytes are as they were."""
