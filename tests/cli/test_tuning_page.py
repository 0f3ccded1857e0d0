"""docs/tuning.md: every command runs as it stands, and prints what the page shows."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "tuning.md"
FENCE = re.compile(r"^```(\w+) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def squeezed(text: str) -> list[str]:
    """Return lines without what only the width of a table decides."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


@pytest.mark.slow
def test_the_page_does_what_it_shows(ukemi: Callable[..., Any], tmp_path: Path) -> None:
    printed = ""
    shown = ran = 0
    for language, name, text in FENCE.findall(PAGE.read_text("utf-8")):
        match language:
            case "toml":
                (tmp_path / name).write_text(text, "utf-8")
            case "sh":
                printed = ""
                for line in text.splitlines():
                    program, *words = shlex.split(line)
                    assert program == "ukemi"
                    done = ukemi(*words)
                    assert done.status == 0, (line, done.err)
                    printed += done.out
                    ran += 1
            case _:
                lines = squeezed(printed)
                for line in squeezed(text):
                    assert any(each.startswith(line) for each in lines), (line, printed)
                    shown += 1
    assert (ran, shown) >= (8, 20)
    assert (tmp_path / "sweep.html").stat().st_size > 5000
