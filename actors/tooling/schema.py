"""The parameters of a function as a JSON Schema, and arguments checked against them."""

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from ...supervisor.errors import InvalidArgument, UsageError
from ..text import shorten
from .arguments import BYTES_MAX, is_array, is_object, is_plain, parse_object
from .docstring import Described

PROBLEMS_MAX = 10
PROBLEM_CHARS_MAX = 300
CHOICES_MAX = 20

_HARD_KINDS = {
    inspect.Parameter.VAR_POSITIONAL: "*{}: a model names each argument; take a list instead",
    inspect.Parameter.VAR_KEYWORD: "**{}: a model needs to know the names; take a dict instead",
    inspect.Parameter.POSITIONAL_ONLY: "positional-only {}: arguments come by name; drop the /",
}


def signature_of(name: str, function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return a function's parameters, their annotations resolved.

    Raises:
        UsageError: the signature cannot be read, an annotation is missing or cannot be resolved,
            or a parameter is of a kind that no model can fill.
    """
    try:
        parameters = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError) as error:
        raise UsageError(f"tool {name!r}: its signature cannot be read: {error}") from error
    for parameter in parameters.values():
        if parameter.kind in _HARD_KINDS:
            what = _HARD_KINDS[parameter.kind].format(parameter.name)
            raise UsageError(f"tool {name!r} has {what}")
        if parameter.annotation is inspect.Parameter.empty:
            raise UsageError(_unannotated(name, parameter.name))
    hints = _hints(name, function)
    return {key: one.replace(annotation=hints[key]) for key, one in parameters.items()}


def _unannotated(name: str, parameter: str) -> str:
    if parameter in ("self", "cls"):
        return (
            f"tool {name!r}: {parameter!r} belongs to a method; make a tool of the bound one, "
            f"such as tool(service.{name})"
        )
    return (
        f"tool {name!r}: parameter {parameter!r} has no type annotation, and the model's schema "
        f"is made from it; write {parameter}: str, or whatever it takes"
    )


def _hints(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    target = inspect.unwrap(function)
    if not (inspect.isfunction(target) or inspect.ismethod(target)):
        target = type(target).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        raise UsageError(
            f"tool {name!r}: an annotation cannot be resolved: {error}; "
            "define its type at the top of a module, outside of functions"
        ) from error


class Parameters:
    """What the model may send to one tool, and how it is read.

    Immutable once made. ``schema`` is a JSON Schema object that allows nothing unnamed.
    """

    def __init__(
        self, name: str, parameters: Mapping[str, inspect.Parameter], described: Described
    ) -> None:
        types = {key: one.annotation for key, one in parameters.items()}
        self._required = tuple(
            key for key, one in parameters.items() if one.default is inspect.Parameter.empty
        )
        self._has_optional = len(self._required) < len(types)
        self._fields = {key: _field_decoder(name, key, of) for key, of in types.items()}
        self._struct = msgspec.defstruct(
            "Arguments",
            [(key, of) if key in self._required else (key, of, UNSET) for key, of in types.items()],
            forbid_unknown_fields=True,
            kw_only=True,
        )
        self._decoder = msgspec.json.Decoder(self._struct)
        self.schema = self._make_schema(parameters, described)

    def check(self, arguments: str) -> dict[str, object]:
        """Return the arguments as the function takes them; those not sent are left out.

        Raises:
            InvalidArgument: ``fields`` names each argument that is wrong, missing or unknown.
        """
        if len(arguments) > BYTES_MAX:
            parse_object(arguments)  # refuses it
        try:
            found = self._decoder.decode(arguments)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            parse_object(arguments)  # where the text itself is at fault, it says so better
            raise self._diagnose(arguments, error) from None
        read: dict[str, object] = msgspec.structs.asdict(found)
        if self._has_optional:
            read = {key: value for key, value in read.items() if value is not UNSET}
        if not is_plain(arguments, len(read)):
            parse_object(arguments)  # what msgspec lets pass, such as a key sent twice
        return read

    def _diagnose(self, arguments: str, first: Exception) -> InvalidArgument:
        """Look at each argument by itself: msgspec stops at the first that is wrong."""
        try:
            sent = msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
        except msgspec.DecodeError as error:
            return InvalidArgument(f"arguments refused: not valid JSON: {_short(str(error))}")
        problems = {key: f"{key}: missing" for key in self._required if key not in sent}
        for key, raw in sent.items():
            problem = self._problem(key, raw)
            if problem is not None:
                problems[problem[0]] = problem[1]
        if not problems:
            return InvalidArgument(f"arguments refused: {_short(str(first))}")
        shown = list(problems.values())[:PROBLEMS_MAX]
        more = len(problems) - len(shown)
        text = "; ".join(shown) + (f"; and {more} more" if more else "")
        return InvalidArgument(f"arguments refused: {text}", fields=tuple(problems))

    def _problem(self, key: str, raw: msgspec.Raw) -> tuple[str, str] | None:
        if key not in self._fields:
            known = ", ".join(self._fields) or "none"
            name = _short(key, 80)
            return name, f"{name}: unknown argument; this tool takes: {known}"
        try:
            self._fields[key].decode(raw)
        except msgspec.ValidationError as error:
            message, _, path = str(error).partition(" - at `$")
            where = _short(key + path.removesuffix("`"), 120)
            return where, f"{where}: {self._explain(key, message)}"
        return None

    def _explain(self, key: str, message: str) -> str:
        if message.startswith("Invalid enum value"):
            choices = _choices(self.schema["properties"][key], self.schema.get("$defs", {}))
            if choices:
                return f"{_short(message, 80)}; expected {choices}"
        return _short(message)

    def _make_schema(
        self, parameters: Mapping[str, inspect.Parameter], described: Described
    ) -> dict[str, Any]:
        (top,), definitions = msgspec.json.schema_components(
            [self._struct], schema_hook=_any_object, ref_template="#/$defs/{name}"
        )
        found = top if "properties" in top else definitions.pop(self._struct.__name__)
        properties = {key: _untitled(value) for key, value in found["properties"].items()}
        for key, one in properties.items():
            if key in described.parameters and "description" not in one:
                properties[key] = one = {**one, "description": described.parameters[key]}
            default = self._default(key, parameters[key].default)
            if default is not UNSET:
                properties[key] = {**one, "default": default}
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if self._required:
            schema["required"] = list(self._required)
        schema["additionalProperties"] = False
        if definitions:
            schema["$defs"] = {key: _untitled(value) for key, value in definitions.items()}
        return schema

    def _default(self, key: str, default: object) -> Any:
        """Return a default the model can be told, or UNSET: a sentinel says nothing to it."""
        if default is inspect.Parameter.empty:
            return UNSET
        try:
            encoded = msgspec.json.encode(default)
            self._fields[key].decode(encoded)
        except (TypeError, ValueError, OverflowError):
            return UNSET
        return msgspec.json.decode(encoded)


def _field_decoder(name: str, key: str, of: Any) -> msgspec.json.Decoder[Any]:
    try:
        msgspec.json.schema(of, schema_hook=_any_object)
        return msgspec.json.Decoder(of)
    except (TypeError, ValueError, NameError) as error:
        reason = str(error).rpartition("\n")[2]
        raise UsageError(
            f"tool {name!r}: parameter {key!r} has a type that cannot be read from JSON: {of}: "
            f"{reason}; use str, int, float, bool, list, dict, Literal, an Enum, a dataclass, "
            "a TypedDict or a msgspec.Struct"
        ) from error


def _any_object(of: type) -> dict[str, Any]:
    if of is object:
        return {"title": ""}  # msgspec takes an empty schema for none; titles are dropped later
    raise NotImplementedError


# Where a schema holds schemas; a property may be called "title" too, so names are told apart.
_IN_MAPS = ("properties", "$defs", "patternProperties")
_IN_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")


def _untitled(schema: Any) -> Any:
    """Return a schema without the titles that msgspec makes of class names."""
    if not is_object(schema):
        return schema
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _IN_MAPS:
            found[key] = {name: _untitled(one) for name, one in value.items()}
        elif key in _IN_LISTS:
            found[key] = [_untitled(one) for one in value]
        elif key in ("items", "additionalProperties"):
            found[key] = _untitled(value)
        elif key != "title":
            found[key] = value
    return found


def _choices(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Return the values a schema allows, if it says so in one place only."""
    found = _enums(schema, definitions, 8)
    if len(found) != 1:
        return ""
    shown = ", ".join(repr(value) for value in found[0][:CHOICES_MAX])
    return f"one of {shown}" + (", ..." if len(found[0]) > CHOICES_MAX else "")


def _enums(schema: Any, definitions: Mapping[str, Any], depth: int) -> list[list[Any]]:
    if is_array(schema):
        return [one for part in schema for one in _enums(part, definitions, depth)]
    if not is_object(schema) or depth == 0:
        return []
    if "enum" in schema:
        return [schema["enum"]]
    reference = str(schema.get("$ref", "")).rpartition("/")[2]
    inside = [definitions.get(reference), *schema.values()]
    return [one for part in inside for one in _enums(part, definitions, depth - 1)]


def _short(text: str, limit: int = PROBLEM_CHARS_MAX) -> str:
    return shorten(text, limit, unit="chars").text
