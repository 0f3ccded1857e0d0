"""Bytes as they lie in a store: check sums, sealed facts, segments of packed rows. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any
from zlib import crc32

import msgspec
from msgspec import Struct

from .base import Facts, Row

SEGMENT_ROWS_MAX = 128
SEGMENT_BYTES_MAX = 256 * 1024

_encoder = msgspec.msgpack.Encoder()
_facts_decoder = msgspec.msgpack.Decoder(Facts)
_map_decoder = msgspec.msgpack.Decoder(dict[str, Any])
_FACT_NAMES = frozenset(Facts.__struct_fields__)


class Damage(Exception):
    """Stored bytes are not what was written. Never leaves the stores."""


class StoredRow(Struct, frozen=True, array_like=True, gc=False):
    """A row with the check sum it was written under."""

    seq: int
    counter: int
    version: int
    crc: int
    body: bytes

    @property
    def intact(self) -> bool:
        return self.crc == row_crc(self.seq, self.counter, self.version, self.body)

    def row(self) -> Row:
        return Row(self.seq, self.counter, self.version, self.body)


def row_crc(seq: int, counter: int, version: int, body: bytes) -> int:
    """Return the check sum of a row; its numbers count too, so a misplaced row is noticed."""
    return crc32(body, (seq * 2654435761 ^ counter << 7 ^ version) & 0xFFFFFFFF)


def stored(row: Row) -> StoredRow:
    """Return the row with its check sum."""
    crc = row_crc(row.seq, row.counter, row.version, row.body)
    return StoredRow(row.seq, row.counter, row.version, crc, row.body)


def seal(data: bytes) -> bytes:
    """Append a check sum."""
    return data + crc32(data).to_bytes(4, "little")


def unseal(data: bytes) -> bytes:
    """Return what was sealed.

    Raises:
        Damage: the check sum does not fit.
    """
    content = data[:-4]
    if len(data) < 4 or crc32(content) != int.from_bytes(data[-4:], "little"):
        raise Damage("check sum does not fit")
    return content


# ---------------------------------------------------------------- facts


def encode_facts(facts: Facts, extra: dict[str, Any] | None = None) -> bytes:
    """Encode and seal facts; ``extra`` are fields of a newer version, carried along."""
    encoded = _encoder.encode(facts)
    if extra:
        encoded = _encoder.encode({**extra, **_map_decoder.decode(encoded)})
    return seal(encoded)


def decode_facts(sealed: bytes) -> Facts:
    """Decode sealed facts.

    Raises:
        Damage: the bytes are not facts.
    """
    try:
        return _facts_decoder.decode(unseal(sealed))
    except msgspec.DecodeError as error:
        raise Damage("facts cannot be decoded") from error


def unknown_facts(sealed: bytes) -> dict[str, Any] | None:
    """Return the fields this version does not know, or None.

    Raises:
        Damage: the bytes are not facts.
    """
    try:
        fields = _map_decoder.decode(unseal(sealed))
    except msgspec.DecodeError as error:
        raise Damage("facts cannot be decoded") from error
    return {name: value for name, value in fields.items() if name not in _FACT_NAMES} or None


# ---------------------------------------------------------------- segments


class SegmentIndex(Struct, frozen=True, array_like=True, gc=False):
    """What a segment holds: per row its numbers, check sum and length, oldest first.

    ``before`` is the sequence number of the row before the segment (0: none), so that a lost
    segment is noticed.
    """

    before: int
    rows: list[tuple[int, int, int, int, int]]


class Segment(Struct, frozen=True, gc=False):
    """Packed rows: a sealed index, and the bodies one after another, **newest first**.

    The newest row comes first so that the last row of a parked session can be checked by reading
    the front of the body only.
    """

    first_seq: int
    index: bytes
    body: bytes


_index_decoder = msgspec.msgpack.Decoder(SegmentIndex)


def pack_rows(rows: Sequence[StoredRow], before: int) -> list[Segment]:
    """Pack rows, oldest first, into segments of bounded size."""
    segments: list[Segment] = []
    batch: list[StoredRow] = []
    size = 0
    for row in rows:
        full = len(batch) >= SEGMENT_ROWS_MAX or size + len(row.body) > SEGMENT_BYTES_MAX
        if batch and full:
            segments.append(_segment(batch, before))
            before, batch, size = batch[-1].seq, [], 0
        batch.append(row)
        size += len(row.body)
    if batch:
        segments.append(_segment(batch, before))
    return segments


def _segment(rows: Sequence[StoredRow], before: int) -> Segment:
    index = SegmentIndex(
        before, [(row.seq, row.counter, row.version, row.crc, len(row.body)) for row in rows]
    )
    body = b"".join(row.body for row in reversed(rows))
    return Segment(rows[0].seq, seal(_encoder.encode(index)), body)


def read_index(index: bytes) -> SegmentIndex:
    """Decode a segment's index.

    Raises:
        Damage: the bytes are not an index.
    """
    try:
        return _index_decoder.decode(unseal(index))
    except msgspec.DecodeError as error:
        raise Damage("segment index cannot be decoded") from error


def unpack_rows(index: SegmentIndex, body: bytes) -> Iterable[StoredRow]:
    """Return the rows of a segment, oldest first. Damaged bodies show in their check sums."""
    end = sum(entry[4] for entry in index.rows)
    for seq, counter, version, crc, length in index.rows:
        yield StoredRow(seq, counter, version, crc, body[end - length : end])
        end -= length
