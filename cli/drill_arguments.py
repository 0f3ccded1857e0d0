"""What may be typed after ``ukemi drill``."""

from collections.abc import Sequence
from typing import Any

from .parser import Add

EPILOG = """\
A clean run gives the steps: 1, 2, ... are calls of tools, m1, m2, ... requests to the model, s1, s2, ...
writes to the store. A cell is a step and a fault, such as 3:kill_after.
What a tool writes outside of the copied workspace needs a stub, as does its compensation:
  --stub order=fakes:shop          an ukemi.testing.EffectStub, which counts what takes effect
  --stub order=own                 the function itself: it talks to an EffectStub in its client's place
  --stub order.compensate=own      likewise its compensation; likewise .probe
  --stub '*=own'                   likewise all of them
  --stub order=fakes:function      a function, or an answer, tells less: what is not counted is not checked
  --stub order=ok:'"4711"'
Exit status: 0 every promise was checked and held, 1 one was broken or could not be checked (see --untested),
2 wrong usage; then nothing was run."""


def add_drill(commands: Any, add: Add) -> None:
    """Add ``drill``."""
    command = add(
        commands,
        "drill",
        "run an agent under every fault at every step, and say which promises were broken",
        EPILOG,
    )
    command.add_argument(
        "agent", metavar="MODULE:AGENT", help="such as shop.agents:buyer, or shop/agents.py:buyer"
    )
    command.add_argument("task", metavar="TASK", help="the first message")
    command.add_argument(
        "--model",
        metavar="MODEL",
        help="in place of the agents' own: scripted:FILE.json, scripted:MODULE:NAME or MODULE:NAME; any "
        "other model is asked in the clean run only",
    )
    for name, metavar, help in (
        ("--stub", "NAME=STUB", "what runs in place of a tool; may be given again"),
        (
            "--cell",
            "STEP:FAULT",
            "only this cell, with all that happened in it; may be given again",
        ),
        ("--secret", "NAME=VALUE", "a secret that the tools are given (a made-up one)"),
        ("--env", "NAME", "an environment variable to plant a secret in"),
        ("--only", "FAULT,...", "only these faults; may be given again"),
    ):
        command.add_argument(name, metavar=metavar, action="append", default=[], help=help)
    command.add_argument(
        "--untested",
        metavar="fail|allow|TOOL,...",
        default="fail",
        help="what may stay unchecked without an exit status of 1: nothing (fail, the default), anything "
        "(allow), or all that is listed of these tools",
    )
    command.add_argument(
        "--cwd", metavar="DIR", help="the folder that each run has a copy of (none)"
    )
    command.add_argument("--policy", metavar="FILE", help="the supervision policy (TOML)")
    command.add_argument(
        "--budget",
        metavar="NAME=NUMBER",
        action="append",
        default=[],
        help="a limit of the session, such as steps=20 seconds=60",
    )
    command.add_argument(
        "--seed", metavar="N", type=int, default=0, help="of chance; the same gives the same (0)"
    )
    command.add_argument("--jobs", metavar="N", type=int, help="runs at a time (one for each core)")


_PICKS = ("--cell", "--only")


def without_picks(words: Sequence[str]) -> list[str]:
    """Return a typed command without what picks cells, as a command of its own."""
    kept: list[str] = ["ukemi"]
    skipping = False
    for word in words:
        if skipping:
            skipping = False
        elif word in _PICKS:
            skipping = True
        elif not word.startswith(tuple(f"{each}=" for each in _PICKS)) and word != "--json":
            kept.append(word)
    return kept
