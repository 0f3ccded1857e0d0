"""Labelled calls, and what the judgement makes of them."""

import json
from pathlib import Path
from typing import Any

from ukemi.supervisor.danger.danger import Action, Verdict, judge
from ukemi.supervisor.danger.policy import DangerPolicy

DATA = Path(__file__).resolve().parent.parent / "data" / "danger"
CWD = "/srv/project"


def records(name: str) -> list[dict[str, Any]]:
    """The records of a labelled set."""
    lines = (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def shell(command: str, cwd: str = CWD, policy: DangerPolicy | None = None, **more: Any) -> Verdict:
    """The verdict on a shell command."""
    action = Action(
        tool="shell",
        danger="shell",
        arguments={"command": command, "timeout_s": 120.0},
        working_directory=cwd,
        **more,
    )
    return judge(action, policy or DangerPolicy())
