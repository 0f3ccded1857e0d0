"""The words of the commands about a session's files: rolling back, and what is kept of them."""

from typing import Any

from ..actors.rollback.rollback import MODES
from ..stores.workspace.collect import GRACE_S
from .parser import Add

FILES_HELP = "where contents of files are kept (PATH of the store, -files)"


def add_files(commands: Any, add: Add) -> None:
    """Add ``rollback``, ``gc``, ``export`` and ``import``."""
    _add_rollback(commands, add)
    _add_gc(commands, add)
    _add_export(commands, add)
    _add_import(commands, add)


def _add_rollback(commands: Any, add: Add) -> None:
    command = add(
        commands,
        "rollback",
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


def _add_gc(commands: Any, add: Add) -> None:
    command = add(
        commands,
        "gc",
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


def _add_export(commands: Any, add: Add) -> None:
    command = add(
        commands,
        "export",
        "write a checkpoint with its files into one file, for another store",
    )
    command.add_argument("id", metavar="ID", help="the session")
    command.add_argument("--checkpoint", metavar="N", type=int, help="which (the latest)")
    command.add_argument("--out", metavar="FILE", help="where to (ID-N.ukemi); must be new")
    command.add_argument("--files", metavar="PATH", help=FILES_HELP)


def _add_import(commands: Any, add: Add) -> None:
    command = add(
        commands,
        "import",
        "take an exported checkpoint in, as a session that rests there",
        "It goes on with: ukemi resume MODULE ID --say TEXT",
    )
    command.add_argument("file", metavar="FILE", help="as ukemi export wrote it")
    command.add_argument(
        "--into", metavar="DIR", help="put its files into this new or empty folder"
    )
    command.add_argument("--files", metavar="PATH", help=FILES_HELP)
