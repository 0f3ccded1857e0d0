"""What words of ``ukemi drill`` name: agents, models, scripts and stubs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import msgspec

from ..actors.agent import Agent
from ..actors.model import Model
from ..models import ScriptedModel, call, parse_model
from ..stores.records import ToolCall
from ..supervisor.errors import ErrorClass, UsageError
from ..testing import OWN, Ok, Stub, error_of
from .errors import CannotRead
from .loading import agents_of, load_module


class Modules:
    """Modules named on the command line, each loaded once, so that an agent and a stub share theirs."""

    def __init__(self) -> None:
        self._loaded: dict[str, ModuleType] = {}

    def load(self, name: str) -> ModuleType:
        """Return a module.

        Raises:
            UsageError: there is none of this name, or importing it raised.
        """
        key = str(Path(name).resolve()) if name.endswith(".py") else name
        if key not in self._loaded:
            self._loaded[key] = load_module(name)
        return self._loaded[key]

    def named(self, word: str, what: str) -> Any:
        """Return what ``MODULE:NAME`` names; the name may have dots.

        Raises:
            UsageError: it names nothing.
        """
        module_name, _, name = word.rpartition(":")
        if not module_name or not name:
            raise UsageError(f"{what} {word!r}: write MODULE:NAME, such as fakes:shop")
        found: Any = self.load(module_name)
        for part in name.split("."):
            if not hasattr(found, part):
                raise UsageError(f"{what} {word!r}: {module_name!r} has no {name!r}")
            found = getattr(found, part)
        return found

    def agents(self, word: str) -> tuple[Agent, list[Agent]]:
        """Return the agent that ``MODULE:AGENT`` means, and all agents of its module.

        Raises:
            UsageError: no such module, or no such agent in it.
        """
        module_name, _, wanted = word.rpartition(":")
        if not module_name or not wanted:
            raise UsageError(
                f"{word!r} names no agent: write MODULE:AGENT, such as shop.agents:buyer"
            )
        module = self.load(module_name)
        every = agents_of(module)
        held = getattr(module, wanted, None)
        if isinstance(held, Agent):
            return held, every
        for agent in every:
            if agent.name == wanted:
                return agent, every
        known = ", ".join(agent.name for agent in every) or "none"
        raise UsageError(f"{module_name!r} has no agent {wanted!r}; it has: {known}")

    def model(self, word: str) -> Model:
        """Return the model that a word names.

        Raises:
            UsageError: it names none.
        """
        kind, _, rest = word.partition(":")
        if kind == "scripted" and rest.endswith(".json"):
            return ScriptedModel(read_script(rest))
        if kind in ("openai", "anthropic"):
            return parse_model(word)
        found = self.named(rest if kind == "scripted" else word, "--model")
        return cast("Model", found) if hasattr(found, "complete") else ScriptedModel(found)

    def stubs(self, words: Iterable[str]) -> dict[str, Stub]:
        """Return the stubs that words such as ``order=fakes:shop`` name.

        Raises:
            UsageError: a word names none, or a tool has two.
        """
        found: dict[str, Stub] = {}
        for word in words:
            name, equals, given = word.partition("=")
            if not equals or not name or not given:
                raise UsageError(
                    f"--stub {word!r}: write NAME=MODULE:FUNCTION, NAME=ok:JSON or NAME=own"
                )
            if name in found:
                raise UsageError(f"--stub {word!r}: {name} has a stub already")
            found[name] = self._stub(word, given)
        return found

    def _stub(self, word: str, given: str) -> Stub:
        if given == "own":
            return OWN
        if given == "ok" or given.startswith("ok:"):
            return Ok(_json_or_text(given.partition(":")[2]))
        stub = self.named(given, "--stub")
        if not callable(stub):
            raise UsageError(f"--stub {word!r}: {given} is {stub!r}, which cannot be called")
        return cast("Stub", stub)


def _json_or_text(text: str) -> object:
    if not text:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text


def read_script(path: str) -> list[Any]:
    """Return the script in a JSON file: a list of texts, calls and errors.

    A text is an answer; ``{"call": NAME, "args": {...}}`` a call, a list of them calls side by side;
    ``{"error": CLASS}`` an error of this class.

    Raises:
        CannotRead: there is no such file, or it is no JSON.
        UsageError: a line of it is none of these.
    """
    try:
        said: object = msgspec.json.decode(Path(path).read_bytes())
    except OSError as error:
        raise CannotRead(f"the script {path!r} cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise CannotRead(f"the script {path!r} is no JSON: {error}") from error
    if not isinstance(said, list):
        raise UsageError(f"the script {path!r} must be a list of what the model says")
    return [_reply(path, at, each) for at, each in enumerate(cast("list[object]", said), 1)]


def _reply(path: str, at: int, said: object) -> Any:
    match said:
        case str():
            return said
        case list():
            return [_call(path, at, each) for each in cast("list[object]", said)]
        case {"error": str(name)} if name in set(ErrorClass):
            return error_of(ErrorClass(name), "as the script says")
        case _:
            return _call(path, at, said)


def _call(path: str, at: int, said: object) -> ToolCall:
    match said:
        case {"call": str(name)}:
            # Of JSON, so its keys are texts.
            args = cast("dict[str, object]", said).get("args", {})
            if isinstance(args, dict):
                return call(name, **cast("dict[str, Any]", args))
        case _:
            pass
    raise UsageError(
        f"line {at} of the script {path!r} is {said!r}: write a text, "
        '{"call": NAME, "args": {...}}, a list of these, or {"error": CLASS}'
    )


def pairs_of(option: str, words: Iterable[str]) -> Mapping[str, str]:
    """Return what words such as ``NAME=VALUE`` say.

    Raises:
        UsageError: a word is no such pair.
    """
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {word!r}: write NAME=VALUE")
        found[name] = value
    return found
