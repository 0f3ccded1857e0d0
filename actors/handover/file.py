"""A handover that the store does not take is written beside it: for people and for programs.

Each file is there whole or not at all, and survives a power cut once it is named.
"""

import json
import os
from pathlib import Path

from ..outcome import HandedOver, outcome_to_data
from .markdown import markdown_of


def place_of(store: Path, session_id: str) -> Path:
    """Return where the dossier of a session is written, as Markdown; the JSON has its own ending."""
    return store.with_name(f"{store.name}-handover-{session_id}.md")


def write_dossier(
    place: Path, session_id: str, agent: str, title: str, outcome: HandedOver
) -> None:
    """Write a handover as Markdown and as JSON. Blocks; run it in a thread.

    Raises:
        OSError: it could not be written; a file of an earlier handover is as it was.
    """
    data = {
        "session_id": session_id,
        "agent": agent,
        "title": title,
        **outcome_to_data(outcome),
    }
    text = markdown_of(session_id, agent, outcome, task=title)
    # As ASCII: a text that no encoding takes must not keep the rest from whoever needs it.
    _write(place.with_suffix(".json"), json.dumps(data, indent=2).encode())
    _write(place, text.encode("utf-8", "replace"))


def _write(place: Path, body: bytes) -> None:
    fresh = place.with_name(f"{place.name}.{os.getpid()}.tmp")
    try:
        with fresh.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(place)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
