"""What the documents show works: their code runs, their links lead somewhere, their tables are true."""

import ast
import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, cast, get_args

import msgspec
import pytest

from ukemi import ErrorClass, Failure, Policy, Traits
from ukemi.actors import Event
from ukemi.supervisor.danger.danger import Action, Verdict, judge
from ukemi.supervisor.danger.risks import CATEGORIES
from ukemi.supervisor.decide import History, decide
from ukemi.supervisor.policy_file import parse_policy

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
GUIDE = ROOT / "docs" / "guide.md"
PAGES = [
    README,
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]

FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


class Block(msgspec.Struct, frozen=True):
    """A fenced block: its language, what follows it, its text, and where it stands."""

    language: str
    info: str
    text: str
    line: int


def blocks(page: Path, language: str) -> list[Block]:
    text = page.read_text("utf-8")
    found = [
        Block(match[1], match[2].strip(), match[3], text.count("\n", 0, match.start()) + 1)
        for match in FENCE.finditer(text)
    ]
    return [block for block in found if block.language == language]


def compiled(page: Path, block: Block) -> Any:
    """Compile a block as ``python -m asyncio`` would; line numbers are those of the page."""
    source = "\n" * block.line + block.text
    return compile(
        source, page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_of_a_page_is_python(page: Path) -> None:
    """Every block compiles, those included that are only shown."""
    assert all(compiled(page, block) for block in blocks(page, "python"))


@pytest.mark.realtime
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_guide_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, anyio_backend: str
) -> None:
    """Each block holds what it asserts, in an empty folder, one after the other."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "guide"}
    run = [block for block in blocks(GUIDE, "python") if block.info != "norun"]
    for block in run:
        result = eval(compiled(GUIDE, block), names)
        if inspect.isawaitable(result):
            await cast("Coroutine[Any, Any, None]", result)
    assert len(run) > 10


@pytest.mark.realtime
def test_the_guide_runs_as_a_file(tmp_path: Path) -> None:
    """As it says at its top: all blocks in one ``async def main()``."""
    run = [block.text for block in blocks(GUIDE, "python") if block.info != "norun"]
    body = textwrap.indent("\n".join(run), "    ")
    file = tmp_path / "guide_as_a_file.py"
    file.write_text(
        f"import asyncio\n\n\nasync def main():\n{body}\n\nasyncio.run(main())\n", "utf-8"
    )
    done = subprocess.run(
        [sys.executable, str(file)],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_the_policy_of_the_guide_is_the_default() -> None:
    """The table shown is complete, and what one gets without a file."""
    (block,) = blocks(GUIDE, "toml")
    assert parse_policy(block.text) == Policy()
    given = msgspec.to_builtins(Policy())
    del given["rate_limited"], given["in_doubt_timeout"]  # named in the comment
    del given["danger"]  # in docs/approvals.md
    keys = {(name, key) for name, section in given.items() for key in section}
    shown, section = set[tuple[str, str]](), ""
    for line in block.text.splitlines():
        if match := re.match(r"\[(\w+)\]", line):
            section = match[1]
        elif match := re.match(r"(\w+) = ", line):
            shown.add((section, match[1]))
    assert shown == keys


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    """A link names a file of this project, and a heading that is there."""
    for target in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        if target.startswith(("https:", "http:")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(file), f"{page.name}: {target}"


def anchors(page: Path) -> set[str]:
    headings = HEADING.findall(FENCE.sub("", page.read_text("utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_shows_the_quickstart_and_nothing_else() -> None:
    """The first code of the README is the file that is run, and short enough to read at once."""
    first = blocks(README, "python")[0]
    assert first.text == (ROOT / "examples" / "quickstart.py").read_text("utf-8")
    assert first.text.count("\n") < 25


CLASS_ROW = re.compile(r"^\| `(\w+)` \|[^|]*\|[^|]*?\*\*(\w+)\*\*(?: \(`(\w+)`\))?", re.MULTILINE)


def test_the_readme_tells_every_recovery() -> None:
    """One row for each class of failure, with the directive a repeatable call gets first."""
    rows = CLASS_ROW.findall(README.read_text("utf-8"))
    assert [row[0] for row in rows] == list(dict.fromkeys(row[0] for row in rows))
    told = {row[0]: row[1:] for row in rows}
    assert told == {str(each): recovery(each) for each in ErrorClass}


def recovery(error_class: ErrorClass) -> tuple[str, str]:
    failure = Failure(error_class=error_class, may_have_executed="maybe")
    directive = decide(failure, Traits(safe_to_retry=True), History(), Policy(), roll=0.0)
    return type(directive).__name__, getattr(directive, "reason", "")


def test_the_readme_tells_every_promise() -> None:
    """Eleven rows; each names its tests, or says that it does not hold yet."""
    rows = re.findall(r"^\| (P\d+) \|(.*)\|(.*)\|(.*)\|$", README.read_text("utf-8"), re.MULTILINE)
    assert [row[0] for row in rows] == [f"P{number}" for number in range(1, 12)]
    for _, _, today, tests in rows:
        assert ("Not yet" in today) != ("](tests/" in tests)


EVENT_ROW = re.compile(r"^\| ((?:`\w+\.\w+`(?:, )?)+) \|", re.MULTILINE)


def test_the_guide_tells_every_event_once() -> None:
    rows = EVENT_ROW.findall(GUIDE.read_text("utf-8"))
    told = [name for row in rows for name in re.findall(r"`([\w.]+)`", row)]
    events = [each.__struct_config__.tag for each in get_args(Event)]
    assert sorted(told) == sorted(events)


def test_the_danger_section_shown_is_read_and_names_every_category() -> None:
    (block,) = blocks(ROOT / "docs" / "approvals.md", "toml")
    shown = parse_policy(block.text).danger
    assert shown.categories == Policy().danger.categories
    assert all(f"\n{name} = " in block.text for name in CATEGORIES)
    assert (shown.expires_s, shown.on_denied) == (86_400.0, "conclude")
    assert judge(Action(tool="place_order", danger="money", arguments={"units": 3}), shown) == (
        Verdict("allow", "money", "", '[[danger.rules]] tool = "place_order", units <= 10 -> allow')
    )
