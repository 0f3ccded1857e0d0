"""The words of the commands about approvals."""

from typing import Any

from .parser import Add

WAIT_S = 10.0
"""Seconds for which ``--wait`` waits where it does not say."""


def add_approvals(commands: Any, add: Add) -> None:
    """Add ``approvals``, ``approve`` and ``deny``."""
    listing = add(commands, "approvals", "list the calls that wait for a person's approval")
    listing.add_argument(
        "--limit", metavar="N", type=int, default=100, help="sessions at most (100)"
    )
    yes = add(commands, "approve", "let a call run; whoever drives the session runs it")
    yes.add_argument("request", metavar="REQUEST", help="as approvals names it")
    yes.add_argument("--args", metavar="JSON", help="run it with these arguments, an object")
    no = add(commands, "deny", "never let a call run; the model may only report that")
    no.add_argument("request", metavar="REQUEST", help="as approvals names it")
    for command, told in ((yes, "a remark, kept with the decision"), (no, "told to the model")):
        command.add_argument("--why", metavar="TEXT", help=told)
        command.add_argument("--by", metavar="NAME", help="who decides (the user of this process)")
        command.add_argument(
            "--wait",
            metavar="SECONDS",
            type=float,
            nargs="?",
            const=WAIT_S,
            help="wait until it is applied, at most so long (%(const)s)",
        )
