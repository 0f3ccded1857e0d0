"""Record versions: how rows written by an older version are read by this one.

A conversion takes the entries of one row from version k to k+1 as plain data. It is pure, so a
conversion that is interrupted or fails leaves nothing behind: the stored bytes stay as they are
until a ``Rewrite`` stores the new form.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ..supervisor.errors import UsageError
from .base import ConversionFailed, RecordTooNew, Row
from .records import RECORD_VERSION

PlainEntries = list[dict[str, Any]]
"""A row's entries as plain data: maps with the entry's tag under ``t``."""

Conversion = Callable[[PlainEntries], PlainEntries]

_plain_decoder = msgspec.msgpack.Decoder(list[dict[str, Any]])
_encoder = msgspec.msgpack.Encoder()


class Conversions:
    """The registered steps from each older record version to the next.

    Args:
        version: the version that is written now.
        steps: step ``k`` converts version k to k+1; every k below ``version`` is needed.

    Raises:
        UsageError: a step is missing or leads beyond ``version``.
    """

    def __init__(
        self, version: int = RECORD_VERSION, steps: Mapping[int, Conversion] | None = None
    ) -> None:
        self.version = version
        self._steps = dict(steps or {})
        needed = set(range(1, version))
        if set(self._steps) != needed:
            raise UsageError(
                f"record version {version} needs conversions from {sorted(needed)},"
                f" got {sorted(self._steps)}"
            )

    def upgrade(self, session_id: str, row: Row) -> Row:
        """Return the row in the current version; one of this version is returned as it is.

        Raises:
            RecordTooNew: the row was written by a newer version.
            ConversionFailed: a step raised; the stored row is as it was.
        """
        if row.version == self.version:
            return row
        if row.version > self.version:
            raise RecordTooNew(
                f"session {session_id}, row {row.seq}: written by a newer version"
                f" (record version {row.version}, this one reads up to {self.version})"
            )
        return Row(row.seq, row.counter, self.version, self._convert(session_id, row))

    def _convert(self, session_id: str, row: Row) -> bytes:
        version = row.version
        try:
            entries = _plain_decoder.decode(row.body)
            while version < self.version:
                entries = self._steps[version](entries)
                version += 1
            return _encoder.encode(entries)
        # A conversion is registered code; whatever it raises is told with its place.
        except Exception as error:
            raise ConversionFailed(
                f"session {session_id}, row {row.seq}: converting record version {version} failed"
                f" ({type(error).__name__}); the stored row is unchanged"
            ) from error


CURRENT = Conversions()
"""The product's own conversions."""
