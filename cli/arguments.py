"""What may be typed: the parser of the whole command line."""

import argparse
from typing import Any

from .approval_arguments import add_approvals
from .drill_arguments import add_drill
from .file_arguments import add_files
from .parser import Add, Parser, adding
from .policy_arguments import add_classify, add_policy
from .session_arguments import add_deciding, add_driving, add_looking

DESCRIPTION = "Supervised LLM agent sessions: they fail safely, and go on where they stopped."
EPILOG = """Options stand behind the command, such as: ukemi sessions --store PATH

exit status: 0 done (run, resume: completed), 1 did not complete as the sessions stand, or id unknown,
2 wrong usage, or a file that cannot be used"""


def make_parser(version: str, default_store: str) -> Parser:
    """Return the parser of the whole command line."""
    parser = Parser(prog="ukemi", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--version", action="version", version=f"ukemi {version}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    add, add_plain = adding(_common(default_store)), adding(_json_only())
    _add_demo(commands, adding(_common(None)))
    add_driving(commands, add)
    add_deciding(commands, add)
    add_files(commands, add)
    add_looking(commands, add)
    add_drill(commands, add_plain)
    add_approvals(commands, add)
    add_policy(commands, add)
    add_classify(commands, add)
    return parser


def _json_only() -> Parser:
    common = Parser(add_help=False)
    common.add_argument(
        "--json", action="store_true", dest="as_json", help="print one JSON object and nothing else"
    )
    return common


def _common(default_store: str | None) -> Parser:
    common = Parser(add_help=False)
    where = "UKEMI_STORE, else ukemi.db; now: %(default)s" if default_store else "a new one"
    common.add_argument(
        "--store", metavar="PATH", default=default_store, help=f"where sessions are kept ({where})"
    )
    common.add_argument(
        "--json",
        action="store_true",
        dest="as_json",
        help="print JSON and nothing else: a list is one array, a single thing one object",
    )
    return common


def _add_demo(commands: Any, add: Add) -> None:
    command = add(
        commands,
        "demo",
        "repair a project and order goods, killed in the middle and started again",
        "Needs no key and no network; with --model, the key of that provider.",
    )
    command.add_argument("--model", metavar="MODEL", help="openai:NAME or anthropic:NAME")
    command.add_argument("--keep", metavar="DIR", help="leave workspace and store in this folder")
    command.add_argument(
        "--record",
        metavar="FILE",
        help="only make a store of 150 sessions, many of which met failures, to try policies on",
    )
    command.add_argument("--policy", metavar="FILE", help="with --record: under this policy")
    command.add_argument("--worker", metavar="DIR", help=argparse.SUPPRESS)
