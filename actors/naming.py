"""What callers name: session ids and statuses, checked before anything is done with them. Pure."""

import os
import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import get_args

from ..stores.records import OnFailure, SessionStatus
from ..supervisor.errors import UsageError

_SUB_SESSION = re.compile(r"\.\d+\.\d+\Z")
_ID = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9._-]{1,200}\Z")
STATUSES: tuple[SessionStatus, ...] = get_args(SessionStatus)
ON_FAILURE: tuple[OnFailure, ...] = get_args(OnFailure)


def check_id(session_id: str, what: str = "session_id") -> str:
    """Return a session id that every store and supervisor takes; ``what`` its giver calls it.

    Raises:
        UsageError: it is empty, too long, or has characters other than letters, digits and ``._-``.
    """
    if not isinstance(session_id, str) or not _ID.match(session_id):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"{what}={session_id!r} must be 1 to 200 letters, digits, dots, _ or -")
    return session_id


def check_own_id(session_id: str, what: str = "session_id") -> str:
    """Return a session id that a caller may give: none that a sub-session could have.

    Raises:
        UsageError: as `check_id`, or it ends like the name of a sub-session.
    """
    if _SUB_SESSION.search(check_id(session_id, what)):
        raise UsageError(
            f"{what}={session_id!r} ends like a sub-session's name (.NUMBER.NUMBER), "
            "which are the runtime's to give; choose another ending"
        )
    return session_id


def check_folder(folder: str | Path | None) -> str:
    """Return the folder in which a session's file tools work; None: the process's own.

    Raises:
        UsageError: there is no such folder.
    """
    if folder is None:
        return sys.intern(os.getcwd())  # one string for all who do not say
    if not Path(folder).is_dir():
        raise UsageError(f"working_directory={str(folder)!r} is no folder; create it first")
    return str(folder)


def check_secrets(secrets: Mapping[str, str] | None) -> dict[str, str]:
    """Return the secrets by name.

    Raises:
        UsageError: a value is no text; the value itself is not shown.
    """
    found = dict(secrets or {})
    for name, value in found.items():
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(value).__name__
            raise UsageError(f"secret {name!r} is of type {kind}; secrets are texts")
    return found


def check_on_failure(on_failure: OnFailure) -> OnFailure:
    """Return what becomes of a session's effects if it fails.

    Raises:
        UsageError: there is no such way.
    """
    if on_failure not in ON_FAILURE:
        known = ", ".join(ON_FAILURE)
        raise UsageError(f"on_failure={on_failure!r} is unknown; use one of {known}")
    return on_failure


def check_statuses(
    status: SessionStatus | Collection[SessionStatus],
) -> frozenset[SessionStatus]:
    """Return the statuses to look for, given as one or several.

    Raises:
        UsageError: there is no such status.
    """
    wanted = frozenset[str]((status,) if isinstance(status, str) else status)
    unknown = sorted(wanted.difference(STATUSES))
    if unknown:
        raise UsageError(f"status={unknown[0]!r} is unknown; use one of {', '.join(STATUSES)}")
    return frozenset(each for each in STATUSES if each in wanted)
