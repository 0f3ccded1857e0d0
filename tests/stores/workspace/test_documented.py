"""What the page about snapshots shows works."""

import re
import runpy
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs/workspace.md"


def test_the_page_s_example_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        (tmp_path / "example.py").write_text(block)
        runpy.run_path(str(tmp_path / "example.py"))
