"""Read google.rpc.Status out of gRPC's trailing metadata: waits, reasons and fields, no schema used.

Only the wire format is known here (varints and length-delimited fields), bounded by the input.
"""

import base64
import binascii
from collections.abc import Iterator
from typing import NamedTuple

_BYTES_MAX = 16_384


class Detail(NamedTuple):
    """One detail of a status: the last part of its type, and its encoded message."""

    kind: str
    value: bytes


def raw_bytes(value: str) -> bytes:
    """The bytes of a binary metadata value, given as base64 or as text."""
    text = value[: _BYTES_MAX * 2]
    try:
        return base64.b64decode(text, validate=True)[:_BYTES_MAX]
    except (binascii.Error, ValueError):
        return text.encode("latin-1", "replace")[:_BYTES_MAX]


def message_fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field; what cannot be read ends the message."""
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            found, at = _varint(raw, at)
            yield number, found
        elif kind == 2:
            length, at = _varint(raw, at)
            yield number, raw[at : at + length]
            at += length
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            return


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(raw) and shift < 70:
        number |= (raw[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if raw[at - 1] < 0x80:
            return number, at
    return number, max(at, len(raw))


def status_details(value: str) -> Iterator[Detail]:
    """The details of a google.rpc.Status in ``grpc-status-details-bin``."""
    for number, item in message_fields(raw_bytes(value)):
        if number != 3 or not isinstance(item, bytes):
            continue
        parts = dict(message_fields(item))
        name, body = parts.get(1, b""), parts.get(2, b"")
        if isinstance(name, bytes) and isinstance(body, bytes):
            yield Detail(name.decode("utf-8", "replace").rsplit(".", 1)[-1], body)


def retry_seconds(raw: bytes) -> float | None:
    """google.rpc.RetryInfo: field 1 is a duration of seconds (1) and nanos (2)."""
    span = dict(message_fields(raw)).get(1)
    if not isinstance(span, bytes):
        return None
    parts = dict(message_fields(span))
    seconds, nanos = parts.get(1, 0), parts.get(2, 0)
    if not isinstance(seconds, int) or not isinstance(nanos, int) or seconds > 1e12:
        return None
    return seconds + nanos / 1e9


def violated_fields(raw: bytes) -> Iterator[str]:
    """google.rpc.BadRequest: the field (1) of each violation (1)."""
    for number, item in message_fields(raw):
        if number == 1 and isinstance(item, bytes):
            name = dict(message_fields(item)).get(1)
            if isinstance(name, bytes):
                yield name.decode("utf-8", "replace")[:200]


def reason(raw: bytes) -> str:
    """google.rpc.ErrorInfo: the reason (1)."""
    found = dict(message_fields(raw)).get(1)
    return found.decode("utf-8", "replace")[:100] if isinstance(found, bytes) else ""
