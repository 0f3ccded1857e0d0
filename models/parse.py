"""A model from one word on the command line."""

import importlib
from typing import Any, cast

from ..actors.model import Model
from ..supervisor.errors import UsageError
from .anthropic_model import AnthropicModel
from .openai_model import OpenAIModel
from .scripted import ScriptedModel

_FORMS = "openai:NAME, anthropic:NAME or scripted:MODULE:ATTRIBUTE"


def parse_model(word: str) -> Model:
    """Return the model a word names: ``openai:NAME``, ``anthropic:NAME``, ``scripted:MODULE:ATTR``.

    The attribute is a model, a script, or a function of the request; see `ScriptedModel`.

    Raises:
        UsageError: no such form, module or attribute, or the provider's SDK is not installed.
    """
    kind, _, rest = word.partition(":")
    match kind:
        case "openai" if rest:
            return OpenAIModel(rest)
        case "anthropic" if rest:
            return AnthropicModel(rest)
        case "scripted" if rest:
            return _scripted(word, rest)
        case _:
            raise UsageError(f"{word!r} names no model; write {_FORMS}")


def _scripted(word: str, place: str) -> Model:
    module, _, attribute = place.rpartition(":")
    if not module or not attribute:
        raise UsageError(f"{word!r} names no script; write {_FORMS}")
    try:
        found: Any = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        # a module that is there, and lacks one of its own imports, is another fault
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise UsageError(f"{word!r}: there is no module {error.name!r}") from error
    except AttributeError as error:
        raise UsageError(f"{word!r}: {error}") from error
    return cast("Model", found) if hasattr(found, "complete") else ScriptedModel(found)
