"""What a refusal for good closes: the call, and whatever else would reach the same aim. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from .tooling.tools import AnyTool


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


def closed_resource(
    tool: AnyTool, arguments: Mapping[str, object], closed: Mapping[str, object]
) -> str | None:
    """Return why a write must not run where some resources are closed; None: it may.

    A tool whose function cannot say what a call touches is held to touch what is closed.
    """
    if not closed or tool.marks.effect != "write":
        return None
    try:
        touched = [each for each in resources_of(tool, arguments) if each in closed]
    except CannotTell as error:
        return f"{error}, and something is closed"
    return f"a change of {touched[0]} was refused for good" if touched else None
