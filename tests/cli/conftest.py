"""Commands run in this process: what was printed, what was said aside, and the exit status."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from ukemi.cli import app


class Ran(Struct, frozen=True):
    """One command that has ended."""

    status: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """What was printed, as the one JSON value it must be."""
        assert self.out.count("\n") == 1, self.out
        return json.loads(self.out)


Ukemi = Callable[..., Ran]


@pytest.fixture
def ukemi(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Ukemi:
    """Run a command in an empty folder, whose ``ukemi.db`` is the store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UKEMI_STORE", raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(*words: str) -> Ran:
        status = app.run(words)
        printed = capsys.readouterr()
        return Ran(status, printed.out, printed.err)

    return run
