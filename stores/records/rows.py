"""Rows: the union of all entries, and its bytes."""

from collections.abc import Callable

import msgspec

from .calls import Allowed, Intended, Late, Probed, Resulted, Retried
from .conversation import Answered, FellBack, Noted, Opened, Progressed, Pruned, Restarted, Said
from .ends import Assessed, Audited, Booked, Ended, Parked, Woken
from .people import Decided, Judged, Requested
from .rollback import RolledBack, RollingBack
from .staging import StagedCheck, StagedResult
from .undoing import Frozen, Undoing, Undone, Unwinding

JournalEntry = (
    Opened
    | Said
    | Noted
    | Answered
    | Intended
    | Allowed
    | Probed
    | StagedResult
    | StagedCheck
    | Resulted
    | Late
    | Decided
    | Requested
    | Judged
    | Retried
    | Restarted
    | Pruned
    | FellBack
    | Progressed
    | Parked
    | Woken
    | Unwinding
    | Undoing
    | Undone
    | Frozen
    | RollingBack
    | RolledBack
    | Audited
    | Assessed
    | Ended
    | Booked
)

_encoder = msgspec.msgpack.Encoder()

_FIXED = [bytes((0x90 | count,)) for count in range(16)]

_decoder = msgspec.msgpack.Decoder(list[JournalEntry])


def encode_row(entries: list[JournalEntry]) -> bytes:
    """Encode what one commit adds to a journal.

    Raises:
        UnicodeEncodeError: a text holds a lone surrogate; clean it before.
        TypeError: a field is of no type that can be stored, such as a subclass of str.
        OverflowError: a number is beyond 64 bits.
    """
    return _encoder.encode(entries)


encode_entry: Callable[[JournalEntry], bytes] = _encoder.encode
"""Encodes one entry by itself, for `join_row`; raises as `encode_row` does."""


def join_row(encoded: list[bytes]) -> bytes:
    """Return the row of these entries: what `encode_row` makes of them all at once."""
    count = len(encoded)
    # MessagePack: fixarray, array 16, array 32. Nearly all rows are of the first kind.
    if count < 16:
        return b"".join((_FIXED[count], *encoded))
    if count < 65536:
        head = b"\xdc" + count.to_bytes(2, "big")
    else:
        head = b"\xdd" + count.to_bytes(4, "big")
    return b"".join((head, *encoded))


def decode_row(body: bytes) -> list[JournalEntry]:
    """Decode one row of the current version.

    Raises:
        msgspec.DecodeError: the bytes are not a row.
    """
    return _decoder.decode(body)
