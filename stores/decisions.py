"""What people decide: the body of a post, and of the journal's entry about it.

A tagged union of plain data, as the entries are; new fields have defaults. A store keeps the bytes
and looks at none of it.
"""

from typing import Literal

import msgspec
from msgspec import Struct


class Resolve(Struct, frozen=True, omit_defaults=True, tag_field="decide", tag="resolve", gc=False):
    """An option of those a session has for a person, such as ``done`` for a call in doubt.

    ``call`` is number and index of the call it is about; None: the only one there is. ``result``
    is what the call gave, or a remark; ``args`` the text of a JSON object, other arguments for it.
    """

    option: str
    call: tuple[int, int] | None = None
    result: str | None = None
    args: str | None = None


class Decide(Struct, frozen=True, omit_defaults=True, tag_field="decide", tag="approval", gc=False):
    """The answer to a request for approval: may this call run?

    ``call`` and ``number`` name the request: the call, and how often it was asked about. ``args`` is
    the text of a JSON object, other arguments under which it may run; ``result`` is a remark.
    """

    option: Literal["approve", "deny"]
    call: tuple[int, int] | None = None
    number: int = 1
    result: str | None = None
    args: str | None = None


Decision = Resolve | Decide
"""Every kind of decision. All say in ``option`` what was decided, and about which ``call``."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Decision)


def encode_decision(decision: Decision) -> bytes:
    """Encode a decision for a post.

    Raises:
        UnicodeEncodeError: a text holds a lone surrogate; clean it before.
    """
    return _encoder.encode(decision)


def decode_decision(body: bytes) -> Decision:
    """Decode the body of a post.

    Raises:
        msgspec.DecodeError: it is no decision this version knows.
    """
    return _decoder.decode(body)
