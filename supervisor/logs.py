"""Log through structlog where the program has configured it, else through `logging`.

structlog prints to standard output until it is configured, which a library must not do. Whoever has
configured it has loaded it, so it is never loaded here.
"""

import logging
import sys
from typing import Any, Literal

Level = Literal["debug", "info", "warning", "error", "critical"]


_ours = logging.getLogger("ukemi")
_ours.addHandler(logging.NullHandler())  # nothing on standard error either, until it is asked for


def structured() -> Any | None:
    """Return structlog where it is configured, else None."""
    structlog = sys.modules.get("structlog")
    return structlog if structlog is not None and structlog.is_configured() else None


def log(name: str, level: Level, event: str, **fields: object) -> None:
    """Log an event with what belongs to it.

    Args:
        name: the logger's, such as ``ukemi``.
        fields: what structlog gets as it is; `logging` gets ``key=value``. ``exc_info`` may be among them.
    """
    if (structlog := structured()) is not None:
        getattr(structlog.get_logger(name), level)(event, **fields)
        return
    number, plain = logging.getLevelNamesMapping()[level.upper()], logging.getLogger(name)
    if plain.isEnabledFor(number):
        raised: Any = fields.pop("exc_info", None)
        said = " ".join(f"{key}={value!r}" for key, value in fields.items())
        plain.log(number, "%s %s", event, said, exc_info=raised)
