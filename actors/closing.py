"""What a refusal for good closes: the call, and whatever else would reach the same aim.

Nothing here waits. Where files are named, links to them are followed, so that a file is the same one
however it is spelled.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from ..supervisor.danger.danger import Action, files_changed
from .tooling.tools import AnyTool

FILE = "file:"
"""Begins a resource that is a path, from the session's working directory."""


class CannotTell(Exception):
    """A tool's ``resource`` function did not say what a call touches."""


def resources_of(tool: AnyTool, arguments: Mapping[str, object]) -> tuple[str, ...]:
    """Return what a call touches, by the tool's own words; () where it does not say.

    Raises:
        CannotTell: its function raised, or returned something that is no text.
    """
    return texts_of(tool, "resource", tool.marks.resource, arguments)


def texts_of(
    tool: AnyTool,
    mark: str,
    named: str | Callable[..., str | Sequence[str]] | None,
    arguments: Mapping[str, object],
) -> tuple[str, ...]:
    """Return the texts that a mark is, or that its function makes of a call's arguments.

    Raises:
        CannotTell: its function raised, or returned something that is no text.
    """
    if named is None:
        return ()
    if isinstance(named, str):
        return (named,)
    try:
        found: object = named(**arguments)
    except Exception as error:
        raise CannotTell(f"{mark} of {tool.name} failed: {type(error).__name__}") from error
    if isinstance(found, str):
        return (found,)
    several = cast("Sequence[object]", found) if isinstance(found, list | tuple) else ()
    texts = tuple(each for each in several if isinstance(each, str))
    if not texts or len(texts) != len(several):
        raise CannotTell(f"{mark} of {tool.name} is no text, but {type(found).__name__}")
    return texts


def closes_of(tool: AnyTool, arguments: Mapping[str, object], directory: str) -> tuple[str, ...]:
    """Return what is closed where a call is refused for good; see `resources_of`."""
    if tool.marks.effect != "write":
        return ()
    return tuple(same_file(each, directory) for each in resources_of(tool, arguments))


def same_file(name: str, directory: str) -> str:
    """Return a resource under the one name it has, however it was spelled: of a file, where it really is."""
    if not name.startswith(FILE):
        return name
    root = os.path.realpath(directory or ".")
    path = os.path.realpath(os.path.join(root, name.removeprefix(FILE)))
    inside = path == root or path.startswith(root.rstrip("/") + "/")
    return f"{FILE}{os.path.relpath(path, root) if inside else path}"


def closed_resource(
    tool: AnyTool, arguments: Mapping[str, object], closed: Mapping[str, object], directory: str
) -> str | None:
    """Return why a write must not run where some resources are closed; None: it may.

    A tool whose function cannot say what a call touches is held to touch what is closed. A shell's
    command touches the files that it is read to write or delete.
    """
    if not closed or tool.marks.effect != "write":
        return None
    try:
        named = resources_of(tool, arguments)
    except CannotTell as error:
        return f"{error}, and something is closed"
    if any(each.startswith(FILE) for each in closed):
        command = Action(
            tool=tool.name,
            danger=tool.marks.danger,
            arguments=arguments,
            working_directory=os.path.realpath(directory or "."),
        )
        files = (*named, *(f"{FILE}{each}" for each in files_changed(command)))
        named = tuple(same_file(each, directory) for each in files)
    touched = [each for each in named if each in closed]
    return f"a change of {touched[0]} was refused for good" if touched else None
