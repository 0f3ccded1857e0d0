"""What may be typed: the parser, and words turned into values. Pure."""

import argparse
import math
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, get_args

import msgspec

from ..actors.budget import LIMITS, Budget
from ..actors.naming import ON_FAILURE
from ..actors.resolving import OPTIONS
from ..actors.rollback.rollback import MODES
from ..stores.records import SessionStatus
from ..stores.workspace.collect import GRACE_S
from ..supervisor.errors import UsageError
from .approval_arguments import add_approvals
from .drill_arguments import add_drill
from .policy_arguments import add_classify, add_policy

DESCRIPTION = "Supervised LLM agent sessions: they fail safely, and go on where they stopped."
EPILOG = """Options stand behind the command, such as: ukemi sessions --store PATH

exit status: 0 done (run, resume: completed), 1 did not complete as the sessions stand, or id unknown,
2 wrong usage, or a file that cannot be used"""
NONE_WORDS = ("none", "None")
FILES_HELP = "where contents of files are kept (PATH of the store, -files)"
WAIT_S = 30.0
"""Seconds for which `resolve --wait` waits where it does not say."""

FRACTIONS = ("seconds", "active_seconds", "cost_usd")
"""Limits that are no counts."""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().rstrip()}")


def make_parser(version: str, default_store: str) -> Parser:
    """Return the parser of the whole command line."""
    parser = Parser(prog="ukemi", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--version", action="version", version=f"ukemi {version}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    common = _common(default_store)
    _add_demo(commands)
    _add_run(commands, common)
    _add_resume(commands, common)
    _add_resolve(commands, common)
    _add_handovers(commands, common)
    _add_rollback(commands, common)
    _add_gc(commands, common)
    _add_export(commands, common)
    _add_import(commands, common)
    _add_sessions(commands, common)
    _add_show(commands, common)
    _add_log(commands, common)

    def add(commands: Any, name: str, help: str) -> Parser:
        return _add(commands, name, common, help)

    def add_plain(commands: Any, name: str, help: str, epilog: str) -> Parser:
        return _add(commands, name, _json_only(), help, epilog)

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


def _add(commands: Any, name: str, common: Parser, help: str, epilog: str = "") -> Parser:
    command: Parser = commands.add_parser(
        name,
        parents=[common],
        help=help,
        description=help[0].upper() + help[1:] + ".",
        epilog=epilog or None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    return command


def _add_demo(commands: Any) -> None:
    command = _add(
        commands,
        "demo",
        _common(None),
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


def _add_run(commands: Any, common: Parser) -> None:
    command = _add(
        commands,
        "run",
        common,
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


def _add_resume(commands: Any, common: Parser) -> None:
    command = _add(
        commands,
        "resume",
        common,
        "go on with unfinished sessions that nobody drives",
        "With --say, a session that has ended or was handed over goes on with a message.",
    )
    command.add_argument("module", metavar="MODULE", help="where the sessions' agents are defined")
    command.add_argument("ids", metavar="ID", nargs="*", help="only these sessions")
    command.add_argument("--say", metavar="TEXT", help="a message to one session")
    _add_policy_and_model(command)
    _add_no_wait(command)


def _add_resolve(commands: Any, common: Parser) -> None:
    command = _add(
        commands,
        "resolve",
        common,
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


def _add_handovers(commands: Any, common: Parser) -> None:
    command = _add(
        commands,
        "handovers",
        common,
        "list what waits for a person; with an id, print its dossier (Markdown)",
    )
    command.add_argument("id", metavar="ID", nargs="?", help="only this one, whole")
    command.add_argument("--limit", metavar="N", type=int, default=100, help="at most (100)")


def _add_rollback(commands: Any, common: Parser) -> None:
    command = _add(
        commands,
        "rollback",
        common,
        "take a session back to a checkpoint: its files, its conversation, or both",
        "full: both. soft: files. context: the conversation. prune: sum up what it has up to there.\n"
        "Only what the session itself changed goes back; what others changed as well is left and named.\n"
        "After full and context it rests, and goes on with: ukemi resume MODULE ID --say TEXT",
    )
    command.add_argument("id", metavar="ID", help="the session")
    target = command.add_mutually_exclusive_group()
    target.add_argument("--to", metavar="N", type=int, help="the checkpoint; 0 is the beginning")
    target.add_argument("--undo", action="store_true", help="take the last rollback back")
    command.add_argument("--mode", choices=MODES, default="full", help="what goes back (full)")
    command.add_argument(
        "--dry-run", action="store_true", help="say what it would do, and change nothing"
    )
    command.add_argument(
        "--force", action="store_true", help="also where others changed a path of the session's"
    )
    command.add_argument(
        "--module",
        metavar="MODULE",
        help="where its agent is defined; needed to compensate, or where it goes on by itself",
    )
    command.add_argument("--by", metavar="NAME", help="who asks (the user of this process)")


def _add_gc(commands: Any, common: Parser) -> None:
    command = _add(
        commands,
        "gc",
        common,
        "free kept contents of files that no checkpoint needs any more",
        "Safe while sessions run: what was kept or used lately stays.",
    )
    command.add_argument("--dry-run", action="store_true", help="say what it would free")
    command.add_argument(
        "--grace",
        metavar="SECONDS",
        type=float,
        default=GRACE_S,
        help="what was used within so many seconds stays (%(default)s)",
    )
    command.add_argument("--files", metavar="PATH", help=FILES_HELP)


def _add_export(commands: Any, common: Parser) -> None:
    command = _add(
        commands,
        "export",
        common,
        "write a checkpoint with its files into one file, for another store",
    )
    command.add_argument("id", metavar="ID", help="the session")
    command.add_argument("--checkpoint", metavar="N", type=int, help="which (the latest)")
    command.add_argument("--out", metavar="FILE", help="where to (ID-N.ukemi); must be new")
    command.add_argument("--files", metavar="PATH", help=FILES_HELP)


def _add_import(commands: Any, common: Parser) -> None:
    command = _add(
        commands,
        "import",
        common,
        "take an exported checkpoint in, as a session that rests there",
        "It goes on with: ukemi resume MODULE ID --say TEXT",
    )
    command.add_argument("file", metavar="FILE", help="as ukemi export wrote it")
    command.add_argument(
        "--into", metavar="DIR", help="put its files into this new or empty folder"
    )
    command.add_argument("--files", metavar="PATH", help=FILES_HELP)


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


def _add_sessions(commands: Any, common: Parser) -> None:
    command = _add(commands, "sessions", common, "list sessions, the newest first")
    command.add_argument(
        "--status",
        action="append",
        default=[],
        choices=get_args(SessionStatus),
        help="only these; may be given again",
    )
    command.add_argument("--agent", metavar="NAME", help="only sessions of this agent")
    command.add_argument("--limit", metavar="N", type=int, default=100, help="at most (100)")


def _add_show(commands: Any, common: Parser) -> None:
    command = _add(
        commands, "show", common, "show a session as a tree of steps, with budget and checkpoints"
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


def _add_log(commands: Any, common: Parser) -> None:
    command = _add(commands, "log", common, "print a session's journal, one line an entry")
    command.add_argument("id", metavar="ID")


# ---------------------------------------------------------------- values


def spread_budgets(argv: Sequence[str]) -> list[str]:
    """Let one ``--budget`` take several limits: each limit gets an option of its own."""
    spread: list[str] = []
    expecting = "option"
    for word in argv:
        if expecting == "more" and word.partition("=")[0] in LIMITS and "=" in word:
            spread.append("--budget")
        elif expecting == "more":
            expecting = "option"
        if expecting == "value":
            expecting = "more"
        if word == "--budget":
            expecting = "value"
        spread.append(word)
    return spread


def call_named(word: str) -> tuple[int, int]:
    """Return the call that a word such as ``3.0`` names: its message and its place there.

    Raises:
        UsageError: the word is not two numbers with a dot between.
    """
    n, dot, index = word.partition(".")
    if not dot or not all(part.isascii() and part.isdigit() for part in (n, index)):
        raise UsageError(f"--call {word!r} names no call: write N.I, such as 3.0")
    return int(n), int(index)


def result_of(word: str) -> str:
    """Return the result that a word gives: the text of a JSON string, all else as it is written."""
    try:
        return msgspec.json.decode(word, type=str)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return word


def args_of(word: str) -> str:
    """Return the text of a JSON object of arguments.

    Raises:
        UsageError: it is none.
    """
    try:
        msgspec.json.decode(word, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise UsageError(f"--args {word!r} is no JSON object: {error}") from error
    return word


def budget_of(words: Iterable[str]) -> Budget | None:
    """Return the budget that limits such as ``steps=20`` make, or None where none is given.

    Raises:
        UsageError: an unknown limit, or a value that is no number from 0 up.
    """
    limits: dict[str, float | None] = {}
    for word in (part for given in words for part in given.split(",")):
        name, equals, value = word.strip().partition("=")
        if not equals:
            raise UsageError(f"budget {word!r} is no limit: write NAME=NUMBER, such as steps=20")
        if name not in LIMITS:
            raise UsageError(f"budget {name!r} is unknown; limits are: {', '.join(LIMITS)}")
        limits[name] = _number(name, value)
    return Budget(**limits) if limits else None  # type: ignore[arg-type]


def _number(name: str, value: str) -> float | None:
    if value in NONE_WORDS:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"budget {name}={value!r} must be a number, or none")
    if name in FRACTIONS or number != int(number):
        return number
    return int(number)
