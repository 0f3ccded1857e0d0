"""docs/tuning.md: every command runs as it stands, and prints about what the page shows: the runtime and the simulator draw as they like."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "tuning.md"
FENCE = re.compile(r"^```(\w+) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


NUMBER = re.compile(r"\d+(?:\.\d+)?")


def shape(line: str) -> tuple[str, list[float]]:
    """Return a line without what only the width of a table decides, its numbers apart."""
    words = " ".join(line.split())
    return NUMBER.sub("#", words), [float(each) for each in NUMBER.findall(words)]


def is_shown(line: str, printed: str) -> bool:
    """Tell whether something like this was printed: the same words, and about the same numbers."""
    words, numbers = shape(line)
    for each in printed.splitlines():
        found, others = shape(each)
        if found.startswith(words):
            near = pytest.approx(numbers, rel=0.25, abs=2.0)
            if others[: len(numbers)] == near:
                return True
    return False


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
                for line in filter(str.strip, text.splitlines()):
                    assert is_shown(line, printed), (line, printed)
                    shown += 1
    assert (ran, shown) >= (8, 20)
    assert (tmp_path / "sweep.html").stat().st_size > 5000
