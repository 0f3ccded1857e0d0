"""Agents named on the command line: ``MODULE:AGENT``, a module by name or by file."""

import copy
import importlib
import importlib.util
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import cast

from ..actors.agent import Agent
from ..actors.guarding.guard import result_type_of
from ..actors.tooling.tools import AnyTool, Tool
from ..models import parse_model
from ..supervisor.errors import UsageError
from .import_failure import import_failed


def load_module(name: str) -> ModuleType:
    """Import a module by dotted name, or by the path of its ``.py`` file.

    The working directory, or the file's own folder, is put on the import path.

    Raises:
        UsageError: there is no such module, or importing it raised.
    """
    if name.endswith(".py") or os.sep in name:
        return _load_file(name)
    if not name or not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(f"{name!r} is no module: write a dotted name, or the path of a .py file")
    _put_on_path(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            inside = "" if error.name == name else f", so no {name!r}"
            raise UsageError(f"there is no module {error.name!r}{inside}") from error
        raise UsageError(import_failed(name, error)) from error
    except (Exception, SystemExit) as error:  # user's code: whatever it does is the answer
        raise UsageError(import_failed(name, error)) from error


def _load_file(name: str) -> ModuleType:
    path = Path(name).resolve()
    if not path.is_file():
        raise UsageError(f"there is no file {name!r}")
    _put_on_path(path.parent)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{name!r} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # user's code: whatever it does is the answer
        del sys.modules[path.stem]
        raise UsageError(import_failed(name, error)) from error
    return module


def _put_on_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def load_agent(word: str, model: str | None = None) -> tuple[str, list[Agent]]:
    """Return the name of the agent that ``MODULE:AGENT`` means, and all agents of its module.

    AGENT is the variable that holds it, or the agent's own name. With a model given, all of them
    run on that one.

    Raises:
        UsageError: no such module or agent, or the model cannot be had.
    """
    module_name, _, wanted = word.rpartition(":")
    if not module_name or not wanted:
        raise UsageError(f"{word!r} names no agent: write MODULE:AGENT, such as shop.agents:buyer")
    module = load_module(module_name)
    agents = agents_of(module)
    held = getattr(module, wanted, None)
    if isinstance(held, Agent):
        chosen = held.name
    elif wanted in (agent.name for agent in agents):
        chosen = wanted
    else:
        known = ", ".join(agent.name for agent in agents) or "none"
        raise UsageError(f"{module_name!r} has no agent {wanted!r}; it has: {known}")
    return chosen, with_model(agents, model)


def load_agents(module_name: str, model: str | None = None) -> list[Agent]:
    """Return all agents of a module.

    Raises:
        UsageError: no such module, no agent in it, or the model cannot be had.
    """
    agents = agents_of(load_module(module_name))
    if not agents:
        raise UsageError(f"{module_name!r} has no agents: define some at its top level")
    return with_model(agents, model)


def load_resumable(module_name: str, model: str | None = None) -> tuple[list[Agent], list[AnyTool]]:
    """Return all agents of a module, and its tools, of which guarded calls may be unfinished.

    Raises:
        UsageError: no such module, neither in it, or the model cannot be had.
    """
    module = load_module(module_name)
    agents, tools = agents_of(module), guardable_of(module)
    if not agents and not tools:
        raise UsageError(f"{module_name!r} has no agents: define some at its top level")
    return with_model(agents, model), tools


def guardable_of(module: ModuleType) -> list[AnyTool]:
    """Return the tools at a module's top level that a guarded call may be of.

    Left out are those whose names mean several, whose results cannot be read back, and those that
    need secrets, which a command line does not have.
    """
    values = cast("Iterable[object]", vars(module).values())
    tools = [cast(AnyTool, each) for each in values if isinstance(each, Tool)]
    held = {id(each): each for each in tools}
    names = Counter(each.name for each in held.values())
    return [each for each in held.values() if names[each.name] == 1 and _is_guardable(each)]


def _is_guardable(tool: AnyTool) -> bool:
    try:
        result_type_of(tool)
    except UsageError:
        return False
    return not any(tool.needs(each) for each in tool.marks.secrets)


def agents_of(module: ModuleType) -> list[Agent]:
    """Return the agents at a module's top level, those in lists and dictionaries there too."""
    found: dict[int, Agent] = {}
    for value in vars(module).values():
        for agent in _agents_in(value):
            found[id(agent)] = agent
    return list(found.values())


def _agents_in(value: object) -> Iterable[Agent]:
    if isinstance(value, Agent):
        return [value]
    if isinstance(value, dict):
        value = list(cast("dict[object, object]", value).values())
    if isinstance(value, list | tuple):
        return [each for each in cast("Sequence[object]", value) if isinstance(each, Agent)]
    return []


def with_model(agents: Sequence[Agent], word: str | None) -> list[Agent]:
    """Return agents that run on the model a word names; None leaves them as they are.

    Raises:
        UsageError: the word names no model, or its SDK or key is missing.
    """
    if word is None:
        return list(agents)
    kind, _, place = word.partition(":")
    if kind == "scripted" and place.rpartition(":")[0]:
        load_module(place.rpartition(":")[0])  # what is wrong with it is told as of any module
    model = parse_model(word)
    changed = [copy.copy(agent) for agent in agents]
    for agent in changed:
        agent.model = model
    return changed
