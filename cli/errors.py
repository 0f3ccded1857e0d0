"""Which exit status an error means, and how it is said.

A status of 2 is an answer to the words alone: they would be wrong whatever the sessions are, or a file, module or
store that they name cannot be used. A status of 1 is an answer of the sessions: as they stand, it did not
come about.
"""

from typing import Literal

from ..stores.base import RecordTooNew, StoreUnusable
from ..stores.workspace import ArchiveRefused, FilesUnusable
from ..supervisor.errors import UkemiError, UsageError

ExitStatus = Literal[0, 1, 2]

DONE: ExitStatus = 0
NOT_DONE: ExitStatus = 1
BAD_INPUT: ExitStatus = 2

_BAD_INPUT = (UsageError, StoreUnusable, RecordTooNew, FilesUnusable, ArchiveRefused)


class CannotRead(UsageError):
    """A file named on the command line is missing or cannot be used; nothing was created."""


class NotDone(UkemiError):
    """What was asked for is possible, and did not come about; the message says why."""


def status_of(error: UkemiError) -> ExitStatus:
    """Return 2 where the command was wrong or a file cannot be used, 1 for everything else."""
    return BAD_INPUT if isinstance(error, _BAD_INPUT) else NOT_DONE
