"""The words of the commands that drive sessions, wait for them with a person, or look at them."""

from typing import Any, get_args

from ..actors.budget import LIMITS
from ..actors.naming import ON_FAILURE
from ..actors.resolving import OPTIONS
from ..stores.records import SessionStatus
from .parser import Add, Parser

WAIT_S = 30.0
"""Seconds for which `resolve --wait` waits where it does not say."""


def add_driving(commands: Any, add: Add) -> None:
    """Add ``run`` and ``resume``."""
    _add_run(commands, add)
    _add_resume(commands, add)


def add_deciding(commands: Any, add: Add) -> None:
    """Add ``resolve`` and ``handovers``."""
    _add_resolve(commands, add)
    _add_handovers(commands, add)


def add_looking(commands: Any, add: Add) -> None:
    """Add ``sessions``, ``show`` and ``log``."""
    _add_sessions(commands, add)
    _add_show(commands, add)
    log = add(commands, "log", "print a session's journal, one line an entry")
    log.add_argument("id", metavar="ID")


def _add_run(commands: Any, add: Add) -> None:
    command = add(
        commands,
        "run",
        "start a session and show it to its end; the answer is printed on standard output",
        f"Limits for --budget: {', '.join(LIMITS)}; NAME=none is no limit.",
    )
    command.add_argument(
        "agent", metavar="MODULE:AGENT", help="such as shop.agents:buyer, or shop/agents.py:buyer"
    )
    command.add_argument("task", metavar="TASK", help="the first message; - reads standard input")
    command.add_argument(
        "--budget",
        metavar="NAME=NUMBER",
        action="append",
        default=[],
        help="a limit, such as steps=20 seconds=60; may be given again",
    )
    _add_policy_and_model(command)
    command.add_argument("--cwd", metavar="DIR", help="where file and shell tools work")
    command.add_argument(
        "--on-failure",
        choices=ON_FAILURE,
        default="undo",
        help="undo what was done if it does not complete, or freeze it until a person has looked",
    )
    command.add_argument("--session-id", metavar="ID", help="the session's id; must be a new one")
    _add_no_wait(command)


def _add_resume(commands: Any, add: Add) -> None:
    command = add(
        commands,
        "resume",
        "go on with unfinished sessions that nobody drives",
        "With --say, a session that has ended or was handed over goes on with a message."
        " Without --policy, the policy is the one that the sessions began under.",
    )
    command.add_argument("module", metavar="MODULE", help="where the sessions' agents are defined")
    command.add_argument("ids", metavar="ID", nargs="*", default=[], help="only these sessions")
    command.add_argument("--say", metavar="TEXT", help="a message to one session")
    _add_policy_and_model(command)
    _add_no_wait(command)


def _add_policy_and_model(command: Parser) -> None:
    command.add_argument("--policy", metavar="FILE", help="the supervision policy (TOML)")
    command.add_argument(
        "--model",
        metavar="MODEL",
        help="run the agents on this one: openai:NAME, anthropic:NAME or scripted:MODULE:ATTR",
    )


def _add_no_wait(command: Parser) -> None:
    command.add_argument(
        "--no-wait",
        action="store_true",
        help="return, with status 1, once all that is unfinished is parked: it waits for a person"
        " or a time",
    )


def _add_resolve(commands: Any, add: Add) -> None:
    command = add(
        commands,
        "resolve",
        "give a person's decision on a session; whoever drives it applies it",
        "Of a call in doubt, retry: it did not take effect, run it. done: it took effect.\n"
        "not_done: it did not, and may be called again. abandon: leave it, and let nobody try again.\n"
        "Of a compensation, compensate: run it. compensated: it is undone. abandon: leave the effect.\n"
        "Of a session that was handed over, retry: it tries the failed step again. go_on: it goes on with\n"
        "a message, the result. cancel: it is given up.",
    )
    command.add_argument("id", metavar="ID", help="the session")
    command.add_argument("option", metavar="OPTION", help=" | ".join(OPTIONS))
    command.add_argument("--call", metavar="N.I", help="which call; needed where several wait")
    given = command.add_mutually_exclusive_group()
    given.add_argument("--result", metavar="JSON", help="what the call gave, or a remark; or text")
    given.add_argument("--args", metavar="JSON", help="other arguments for retry, as an object")
    command.add_argument("--by", metavar="NAME", help="who decides (the user of this process)")
    command.add_argument(
        "--wait",
        metavar="SECONDS",
        type=float,
        nargs="?",
        const=WAIT_S,
        help="wait until it is applied, at most so long (%(const)s)",
    )


def _add_handovers(commands: Any, add: Add) -> None:
    command = add(
        commands,
        "handovers",
        "list what waits for a person; with an id, print its dossier (Markdown)",
    )
    command.add_argument("id", metavar="ID", nargs="?", help="only this one, whole")
    command.add_argument("--limit", metavar="N", type=int, default=100, help="at most (100)")


def _add_sessions(commands: Any, add: Add) -> None:
    command = add(commands, "sessions", "list sessions, the newest first")
    command.add_argument(
        "--status",
        action="append",
        default=[],
        choices=get_args(SessionStatus),
        help="only these; may be given again",
    )
    command.add_argument("--agent", metavar="NAME", help="only sessions of this agent")
    command.add_argument("--limit", metavar="N", type=int, default=100, help="at most (100)")


def _add_show(commands: Any, add: Add) -> None:
    command = add(
        commands, "show", "show a session as a tree of steps, with budget and checkpoints"
    )
    command.add_argument("id", metavar="ID")
    command.add_argument(
        "--checkpoint", metavar="N", type=int, help="as it was when this checkpoint was stored"
    )
    part = command.add_mutually_exclusive_group()
    part.add_argument(
        "--dossier", action="store_true", help="what a person needs to decide, as handovers ID"
    )
    part.add_argument(
        "--effects", action="store_true", help="what it wrote outside, and how each of it stands"
    )
    part.add_argument(
        "--staged",
        action="store_true",
        help="what its staged calls would change, and what was decided",
    )
