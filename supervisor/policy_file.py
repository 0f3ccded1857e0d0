"""A policy as a document: read from TOML, with errors that name file, key and value; and printed."""

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from .danger.policy import DangerRule
from .errors import UsageError
from .patterns import lazy_pattern
from .policy import OWN_SECTIONS, TENANT_SECTIONS, UPSTREAM_SECTIONS, Policy
from .policy_choices import explain_choice

_LINE_MAX = 6
"""Members of a list that stand on one line."""
_ITEMS = {"danger.rules": DangerRule(then="ask", tool="*")}
_NESTED = {
    "agent": OWN_SECTIONS,
    "tool": OWN_SECTIONS,
    "upstream": UPSTREAM_SECTIONS,
    "tenant": TENANT_SECTIONS,
}


def load_policy(policy: "Policy | str | Path | None") -> Policy:
    """Return a policy given as such, as the path of a TOML file, or as None for the defaults.

    Raises:
        UsageError: the file cannot be read or is no policy; names the file and the key.
    """
    if policy is None:
        return Policy()
    if isinstance(policy, Policy):
        return policy
    try:
        text = Path(policy).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"policy {str(policy)!r} cannot be read: {error}") from error
    return parse_policy(text, str(policy))


def policy_file(policy: "Policy | str | Path | None") -> str:
    """Return the whole path of the file that a policy is given by; empty where it is given by none."""
    return "" if policy is None or isinstance(policy, Policy) else os.path.abspath(policy)


def parse_policy(text: str, source: str = "policy") -> Policy:
    """Read a policy from TOML; a limit written ``"none"`` is no limit.

    Raises:
        UsageError: not TOML, an unknown key, or an impossible value; names source, key and value.
    """
    try:
        document = tomllib.loads(text)
        _check_names(document)
        return msgspec.convert(_without_none(document), Policy)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source} is no TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise UsageError(f"{source}: {_explained(str(error), _given(text))}") from error
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from error


def changed(policy: Policy, key: str, value: object) -> Policy:
    """Return a policy with another value of one key, written as in a document: ``transient.attempts_max``,
    ``tool.pay.transient.attempts_max``, ``upstream."gpt-4.1".breaker.open_s``.

    Raises:
        UsageError: there is no such key, or the value is impossible; names both.
    """
    document: dict[str, Any] = msgspec.to_builtins(policy)
    refused = UsageError(f"{key!r} is no key: write SECTION.KEY, such as transient.attempts_max")
    try:
        *sections, last = _steps(tomllib.loads(f"{key} = 0"))
    except tomllib.TOMLDecodeError as error:
        raise refused from error
    inner = document
    for section in sections:
        found: object = inner.setdefault(section, {})
        if not isinstance(found, dict):
            raise UsageError(f"{key!r} is no key: {section!r} is a value, no section")
        inner = cast("dict[str, Any]", found)
    if not sections:
        raise refused
    inner[last] = value
    _check_names(document)
    try:
        return msgspec.convert(document, Policy)
    except msgspec.ValidationError as error:
        raise UsageError(_explained(str(error), document)) from error
    except ValueError as error:
        raise UsageError(str(error)) from error


def _steps(table: dict[str, Any]) -> list[str]:
    """Return the names that lead to the one value of a table."""
    steps: list[str] = []
    inner: Any = table
    while isinstance(inner, dict):
        ((name, inner),) = cast("dict[str, Any]", inner).items()
        steps.append(name)
    return steps


def _given(text: str) -> dict[str, Any]:
    return tomllib.loads(text)


def _without_none(value: Any) -> Any:
    """Replace the string ``"none"`` by None, everywhere."""
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {key: _without_none(inner) for key, inner in table.items()}
    return None if value == "none" else value


def _check_names(document: Mapping[str, Any]) -> None:
    """Refuse sections and keys that do not exist, and say which were meant.

    Raises:
        UsageError: names the first of them.
    """
    for name, section in document.items():
        if name not in Policy.__struct_fields__:
            raise UsageError(_unknown("there is no section", f"[{name}]", name, _sections()))
        if not isinstance(section, dict):
            raise UsageError(f"{name} = {_written(section)} must be a section, written [{name}]")
        if name in _NESTED:
            _check_nested(name, cast("dict[str, Any]", section))
            continue
        _check_keys(f"[{name}]", cast("dict[str, Any]", section), getattr(Policy(), name))


def _check_keys(where: str, section: Mapping[str, Any], known: Any) -> None:
    """Refuse keys that a section does not have, also in the tables inside of it."""
    keys = cast("tuple[str, ...]", known.__struct_fields__)
    for key, value in section.items():
        if key not in keys:
            raise UsageError(_unknown(f"{where} has no key", repr(key), key, keys))
        inner = f"{where[1:-1]}.{key}"
        if isinstance(value, dict) and isinstance(getattr(known, key), Struct):
            _check_keys(f"[{inner}]", cast("dict[str, Any]", value), getattr(known, key))
        elif isinstance(value, list) and inner in _ITEMS:
            for number, each in enumerate(cast("Sequence[Any]", value), 1):
                if isinstance(each, dict):
                    item = cast("dict[str, Any]", each)
                    _check_keys(f"[[{inner}]] number {number}", item, _ITEMS[inner])


def _check_nested(kind: str, named: Mapping[str, Any]) -> None:
    """``[agent.NAME.CLASS]`` and its like have a name and a section of the right kind."""
    for name, sections in named.items():
        if not isinstance(sections, dict):
            own = "CLASS" if _NESTED[kind] is OWN_SECTIONS else _NESTED[kind][0]
            raise UsageError(f"[{kind}] {name} = {_written(sections)}: write [{kind}.{name}.{own}]")
        for section, keys in cast("dict[str, Any]", sections).items():
            where = f"[{kind}.{_key(name)}.{section}]"
            if section not in _NESTED[kind]:
                raise UsageError(_unknown("there is no section", where, section, _NESTED[kind]))
            if not isinstance(keys, dict):
                raise UsageError(f"{where[1:-1]} = {_written(keys)} must be a section")


def _sections() -> tuple[str, ...]:
    return Policy.__struct_fields__


def _unknown(what: str, shown: str, name: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(name, known, n=1)
    meant = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(known)}"
    return f"{what} {shown}; {meant}"


def _explained(message: str, document: Mapping[str, Any]) -> str:
    """Say a validation error in the words of the document: section, key, value."""
    said, _, path = message.partition(" - at `$.")
    said = said.replace(" | null", ', or "none"').replace("got `null`", 'got "none"')
    if not path:
        return said
    steps = _STEP.findall(path.rstrip("`"))
    said = explain_choice(said, Policy, steps)
    found: Any = document
    for step in steps:
        found = _step(found, step)
    names = [step for step in steps if not step.startswith("[")]
    number = next((int(step[1:-1]) + 1 for step in steps if step[1:-1].isdecimal()), None)
    if number is not None:
        before = steps[: steps.index(f"[{number - 1}]")]
        where, names = f"[[{'.'.join(before)}]] number {number}", names[len(before) :]
        return f"{where} {names[-1]} = {_written(found)}: {said}" if names else f"{where}: {said}"
    *sections, last = names
    if not sections:
        return f"[{last}] {said}"
    return f"[{'.'.join(sections)}] {last} = {_written(found)}: {said}"


_STEP = lazy_pattern(r"\[[^\]]*\]|[^.\[\]]+")


def _step(value: Any, step: str) -> Any:
    """Return what a step of a path leads to; None where the document has nothing there."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).get(step)
    if isinstance(value, list) and step[1:-1].isdecimal():
        return cast("Sequence[Any]", value)[int(step[1:-1])]
    return None


# ---------------------------------------------------------------- printing


def format_policy(policy: Policy) -> str:
    """Return a policy as a TOML document that loads to an equal one; every key is there."""
    return "\n".join(_lines(policy))


def _lines(policy: Policy) -> Iterator[str]:
    data = cast("dict[str, Any]", msgspec.to_builtins(policy))
    for name, section in data.items():
        if name not in _NESTED:
            yield from _section(f"[{name}]", section)
    for kind in _NESTED:
        for name, sections in data[kind].items():
            for section, keys in sections.items():
                yield from _section(f"[{kind}.{_key(name)}.{section}]", keys)


def _section(title: str, keys: Mapping[str, Any]) -> Iterator[str]:
    """Yield a section; tables in it follow as sections of their own."""
    tables = [key for key, value in keys.items() if isinstance(value, dict)]
    lists = [key for key, value in keys.items() if _is_tables(value)]
    yield title
    for key, value in keys.items():
        if key not in tables and key not in lists:
            yield f"{key} = {_written(value)}"
    yield ""
    for key in tables:
        yield from _section(f"[{title[1:-1]}.{key}]", keys[key])
    for key in lists:
        for each in cast("list[dict[str, Any]]", keys[key]):
            yield f"[[{title[1:-1]}.{key}]]"
            yield from (f"{name} = {_written(inner)}" for name, inner in each.items())
            yield ""


def _is_tables(value: Any) -> bool:
    if not isinstance(value, (list, tuple)):
        return False
    return any(isinstance(each, dict) for each in cast("list[Any]", value))


def _written(value: Any) -> str:
    """Return a value as TOML writes it; None as ``"none"``."""
    if value is None:
        return '"none"'
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        inner = ", ".join(f"{_key(key)} = {_written(each)}" for key, each in table.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, (list, tuple)):
        members = [_written(each) for each in cast("list[Any]", value)]
        if len(members) > _LINE_MAX:
            return "[\n" + "".join(f"  {each},\n" for each in members) + "]"
        return f"[{', '.join(members)}]"
    # Strings, integers and booleans are written alike in both.
    return json.dumps(value, ensure_ascii=False, default=str)


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else json.dumps(name, ensure_ascii=False)
