"""Whether a call would be allowed: its verdict, category, the rule that decides and the risk."""

import json
import os
from collections.abc import Iterator
from typing import Any, cast

import msgspec
from msgspec import Struct

from ..actors.tooling.tools import AnyTool
from ..supervisor.danger.danger import Action, Verdict, judge
from ..supervisor.errors import UsageError
from ..supervisor.policy import resolve
from ..supervisor.policy_file import load_policy
from ..tools import delete_file, list_files, read_file, shell, write_file
from .errors import DONE, ExitStatus
from .output import Output
from .policy import load_tool
from .terminal import Terminal, one_line

SHIPPED: dict[str, AnyTool] = {
    each.name: each for each in (delete_file, list_files, read_file, shell, write_file)
}
"""Ukemi's own tools, which need no module to be named."""


class DangerGiven(Struct, frozen=True, kw_only=True):
    """A call as it is named on the command line."""

    arguments: str
    tool: str = ""
    agent: str = ""
    danger: str | None = None
    effect: str | None = None
    cwd: str | None = None


async def explain_danger(out: Output, given: DangerGiven, policy_file: str | None) -> ExitStatus:
    """Show what the policy says of a call: allow, ask or deny, and why."""
    action = action_of(given)
    policy = resolve(load_policy(policy_file), given.agent, action.tool)
    verdict = judge(action, policy.danger)
    if out.as_json:
        out.data(verdict_data(action, verdict))
    else:
        out.text("\n".join(verdict_lines(action, verdict, out.terminal)))
    return DONE


def action_of(given: DangerGiven) -> Action:
    """Return the call: with the marks of a shipped tool or of MODULE:TOOL, or as told.

    Raises:
        UsageError: the arguments are no JSON object, or there is no such tool.
    """
    try:
        arguments: object = json.loads(given.arguments)
    except ValueError as error:
        raise UsageError(f"--args is no JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise UsageError("--args must be one JSON object")
    found = load_tool(given.tool) if ":" in given.tool else SHIPPED.get(given.tool)
    marks = found.marks if found else None
    effect = given.effect or (marks.effect if marks else "write")
    return Action(
        tool=found.name if found else given.tool,
        danger=given.danger or (marks.danger if marks else None),
        effect="read" if effect == "read" else "write",
        arguments=cast("dict[str, Any]", arguments),
        working_directory=os.path.abspath(given.cwd or "."),
        agent=given.agent,
        upstream=marks.upstream if marks else None,
    )


def verdict_data(action: Action, verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain data."""
    data: dict[str, Any] = msgspec.to_builtins(verdict)
    return {
        "tool": action.tool or None,
        "agent": action.agent or None,
        "danger": action.danger,
        **data,
    }


def verdict_lines(action: Action, verdict: Verdict, terminal: Terminal) -> Iterator[str]:
    """Yield a verdict as lines for a person."""
    parts = {
        "tool": action.tool or "a tool",
        "danger": action.danger or "none declared",
        "verdict": verdict.decision,
        "category": verdict.category or "none",
        "rule": verdict.rule or "nothing is at risk",
        "risk": verdict.risk or "none seen",
    }
    for label, text in parts.items():
        yield f"{terminal.paint(f'{label:<12}', 'grey')}{one_line(text)}"
