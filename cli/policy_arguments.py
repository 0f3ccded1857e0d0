"""What may be typed after policy and classify."""

import argparse
from typing import Any, get_args

from ..actors.simulating.asked import SEEDS, Outages
from ..supervisor.failure import Stage
from .parser import Add


def add_policy(commands: Any, add: Add) -> None:
    """Add ``policy show``, ``policy check``, ``policy explain`` and ``policy simulate``."""
    policy = commands.add_parser("policy", help="show, check or try out a supervision policy")
    inner = policy.add_subparsers(dest="policy_command", metavar="COMMAND", required=True)
    show = add(inner, "show", "print a policy as a document, every key with its value")
    show.add_argument("--policy", metavar="FILE", help="this one instead of the defaults")
    _add_names(show)
    check = add(inner, "check", "say whether a file is a policy: section, key and value at fault")
    check.add_argument("file", metavar="FILE")
    explain = add(
        inner,
        "explain",
        "show what an error leads to (evidence, class, directive, waits), with --session what one that is"
        " in the store did, or with --args whether a call would be allowed",
    )
    _add_recorded(explain)
    _add_error(explain)
    _add_call(explain)
    _add_danger(explain)
    explain.add_argument(
        "--policy",
        metavar="FILE",
        action="append",
        default=[],
        help="this policy instead of the defaults; again: each of them",
    )
    explain.add_argument("--rules", metavar="FILE", help="your own rules of classifying (TOML)")
    _add_simulate(inner, add)


def add_classify(commands: Any, add: Add) -> None:
    """Add ``classify``."""
    command = add(
        commands,
        "classify",
        "classify errors: JSON lines on standard input, a JSON line each on standard output",
    )
    command.add_argument("--rules", metavar="FILE", help="your own rules of classifying (TOML)")


def _add_recorded(command: argparse.ArgumentParser) -> None:
    command.add_argument("--session", metavar="ID", help="a failure of this session of the store")
    command.add_argument(
        "--step", metavar="N", help="where: N is a message and its calls, N.I one call (ukemi log)"
    )


def _add_simulate(inner: Any, add: Add) -> None:
    simulate = add(
        inner,
        "simulate",
        "play the recorded sessions under other policies, in virtual time, and compare what comes of it",
    )
    simulate.add_argument(
        "--policy",
        metavar="FILE",
        action="append",
        default=[],
        help="a policy to try (the defaults); again: compared with the first",
    )
    simulate.add_argument(
        "--sweep",
        metavar="KEY=VALUES",
        help="try a key over values, such as transient.attempts_max=1..7",
    )
    simulate.add_argument(
        "--seeds", metavar="N", type=int, default=SEEDS, help=f"how many worlds are drawn ({SEEDS})"
    )
    simulate.add_argument("--seed", metavar="N", type=int, default=1, help="of the first (1)")
    simulate.add_argument(
        "--outages",
        choices=get_args(Outages),
        default="replayed",
        help="when they were, or drawn: at other times, as often and as long (replayed)",
    )
    simulate.add_argument("--agent", metavar="NAME", help="only sessions of this agent")
    simulate.add_argument("--limit", metavar="N", type=int, help="only the newest N sessions (all)")
    simulate.add_argument("--html", metavar="FILE", help="write a page with drawings")


def _add_names(command: argparse.ArgumentParser) -> None:
    command.add_argument("--agent", metavar="NAME", default="", help="as it holds for this agent")
    command.add_argument("--tool", metavar="NAME", default="", help="as it holds for this tool")


def _add_error(command: argparse.ArgumentParser) -> None:
    command.add_argument("--error", metavar="JSON", help="an error in one of the stored forms")
    command.add_argument("--status", metavar="N", type=int, help="an HTTP answer of this status")
    command.add_argument(
        "--header", metavar="NAME: VALUE", action="append", default=[], help="a header of it"
    )
    command.add_argument("--body", metavar="TEXT", default="", help="its body")
    command.add_argument("--exception", metavar="TYPE", help="an exception of this type")
    command.add_argument("--message", metavar="TEXT", default="", help="its message")
    command.add_argument("--text", metavar="TEXT", help="what a program printed")
    command.add_argument(
        "--stage", choices=get_args(Stage), default="call", help="when it happened (call)"
    )


def _add_call(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--tool", metavar="NAME", default="", help="a tool's name, or MODULE:TOOL with its marks"
    )
    command.add_argument("--agent", metavar="NAME", default="", help="the agent that calls it")
    command.add_argument("--effect", choices=("read", "write"), help="what the tool does (write)")
    command.add_argument("--safe-to-retry", action="store_true", help="it may run twice")
    command.add_argument("--accepts-key", action="store_true", help="it takes an idempotency key")
    command.add_argument("--model", action="store_true", help="it was a request to the model")
    command.add_argument("--attempt", metavar="N", type=int, default=1, help="attempts made (1)")
    command.add_argument(
        "--elapsed", metavar="S", type=float, default=0.0, help="seconds since the first (0)"
    )
    command.add_argument(
        "--corrections", metavar="N", type=int, default=0, help="corrections in a row so far (0)"
    )


def _add_danger(command: argparse.ArgumentParser) -> None:
    command.add_argument("--args", metavar="JSON", help="the arguments of a call, as an object")
    command.add_argument("--danger", metavar="WORD", help="what the tool declares about itself")
    command.add_argument("--cwd", metavar="DIR", help="the session's working directory (this one)")
