"""Which exit status an error means, and how it is said."""

from typing import Literal

from ..stores.base import RecordTooNew, StoreUnusable
from ..supervisor.errors import UkemiError, UsageError

ExitStatus = Literal[0, 1, 2]

DONE: ExitStatus = 0
NOT_DONE: ExitStatus = 1
BAD_INPUT: ExitStatus = 2


class CannotRead(UsageError):
    """A file named on the command line is missing or cannot be used; nothing was created."""


class NotDone(UkemiError):
    """What was asked for is possible, and did not come about; the message says why."""


def status_of(error: UkemiError) -> ExitStatus:
    """Return 2 where the command was wrong or a file unreadable, 1 for everything else."""
    return BAD_INPUT if isinstance(error, UsageError | StoreUnusable | RecordTooNew) else NOT_DONE
