"""Why a user's module could not be imported, and where in the user's own code. Pure."""

import sysconfig
import traceback
from pathlib import Path

from ..supervisor.errors import UkemiError

_LIBRARY = Path(__file__).resolve().parent.parent
_ROOMS = ("actors", "cli", "models", "stores", "supervisor", "tools")
# Frames in here are nobody's fault, and no user can mend them.
_ELSEWHERE = tuple(
    {
        *(str(_LIBRARY / room) for room in _ROOMS),
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    }
)


def import_failed(name: str, error: BaseException) -> str:
    """Return what went wrong while a module was imported, with the user's file and line."""
    place = _place(error)
    where = f" ({place})" if place else ""
    return f"{name!r} could not be imported: {_said(error)}{where}"


def _said(error: BaseException) -> str:
    match error:
        case SystemExit():
            return (
                "it ends the process, with sys.exit or exit; "
                'put that below `if __name__ == "__main__":`'
            )
        case SyntaxError():
            return f"{type(error).__name__}: {error.msg}"
        case UkemiError():
            return str(error)
        case _:
            return f"{type(error).__name__}: {error}"


def _place(error: BaseException) -> str:
    """Return the innermost place in the user's code; code that cannot be read has no frame."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{error.filename}:{error.lineno}"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<")
    ]
    own = [frame for frame in frames if not _is_elsewhere(frame.filename)]
    chosen = (own or frames)[-1:]
    return "".join(f"{frame.filename}:{frame.lineno}" for frame in chosen)


def _is_elsewhere(file: str) -> bool:
    return any(Path(file).is_relative_to(folder) for folder in _ELSEWHERE)
