"""The example of supervision without agents runs as it stands."""

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plain_actors.py"


@pytest.mark.realtime
def test_the_example_asserts_its_own_result(capsys: pytest.CaptureFixture[str]) -> None:
    """No agents in it, no key, no network."""
    assert "agent" not in EXAMPLE.read_text().split('"""', 2)[2]
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert capsys.readouterr().out == "4 crashes, 1 branch restarted, no count lost\n"
