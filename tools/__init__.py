"""The tools that come with Ukemi: files of the working directory, and the shell.

Decides how a command and a file are handled safely; owns processes and open files for one call.
Never looks at sessions or stores: what a body may know is in `ukemi.actors.tooling.context`.

Files, each using only those before it: places, processes · files, shell · finish.
"""

from .files import delete_file, list_files, read_file, write_file
from .finish import finish
from .shell import ShellResult, shell, shell_tool

__all__ = [
    "ShellResult",
    "delete_file",
    "finish",
    "list_files",
    "read_file",
    "shell",
    "shell_tool",
    "write_file",
]
