"""Labelled statements with their ledgers, as they lie in tests/data/claims."""

import json
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ukemi.actors.audit.record import FileFact, Files, NoFiles, Ran, Record, ToolFacts

FOLDER = Path(__file__).parent.parent / "data/claims"
CHANGED: dict[str, bool | None] = {"changed": True, "unchanged": False, "unknown": None}
TOOLS: dict[str, dict[str, str]] = json.loads((FOLDER / "tools.json").read_text("utf-8"))


class ListedFiles:
    """Files as a statement's line lists them; what is not listed does not exist."""

    def __init__(self, listed: Mapping[str, str]) -> None:
        self._listed = {posixpath.basename(path): how for path, how in listed.items()}

    def look(self, path: str) -> FileFact | None:
        how = self._listed.get(posixpath.basename(path))
        return FileFact(False) if how is None else FileFact(True, CHANGED[how])


def statements(name: str) -> list[dict[str, Any]]:
    """Return the lines of a set."""
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


def record_of(line: Mapping[str, Any]) -> Record:
    """Return the record of one line: calls are tool, arguments, result and, unless ok, the state."""
    ran = [
        Ran(
            call=f"{2 * at + 2}.0",
            tool=tool,
            arguments=json.dumps(arguments, ensure_ascii=False),
            content=content,
            state=state[0] if state else "succeeded",
        )
        for at, (tool, arguments, content, *state) in enumerate(line["calls"])
    ]
    names = dict.fromkeys([*(each.tool for each in ran), *line.get("tools", ())])
    files: Files = ListedFiles(line["files"]) if "files" in line else NoFiles()
    return Record(
        ran=ran,
        tools=[ToolFacts(name=name, **TOOLS.get(name, {})) for name in names],
        files=files,
        said=[line.get("user", "")],
    )
