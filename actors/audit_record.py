"""What a statement is compared with: the calls that ran, the tools there are, the files. Pure data.

Calls are found by what a claim says: by the verb in a tool's name or description, by its object,
by the text of a command.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Protocol, cast

from msgspec import Struct

from .claims import Claim
from .claims_words import ACTIONS, EXECUTORS, OPAQUE, SYNONYMS, Action

ARGUMENT_CHARS_MAX = 20_000
"""Characters of one call's arguments, and of one result, that claims are compared with."""


class Ran(Struct, frozen=True, kw_only=True):
    """One call of the ledger. ``state`` is how it ended; ``call`` its name, such as ``3.0``."""

    call: str
    tool: str
    arguments: str = "{}"
    state: str = "succeeded"
    content: str = ""
    replayed: bool = False

    @property
    def ok(self) -> bool:
        return self.state == "succeeded"

    def __str__(self) -> str:
        return f"call {self.call} {self.tool} {self.state.replace('_', ' ')}"


class ToolFacts(Struct, frozen=True, kw_only=True):
    """What is known of a tool."""

    name: str
    description: str = ""
    effect: str = "write"
    danger: str = ""


class FileFact(Struct, frozen=True):
    """A file now, and whether it changed while the session lived; None: nobody knows."""

    exists: bool
    changed: bool | None = None


class Files(Protocol):
    """Files as they are when a statement is checked."""

    def look(self, path: str) -> FileFact | None:
        """Return what is known of a file; None where its like cannot be looked at."""
        ...


class NoFiles:
    """Nothing is known of any file."""

    def look(self, path: str) -> FileFact | None:
        """Return None."""
        return None


class Record(Struct, frozen=True, kw_only=True):
    """What was executed and said.

    Attributes:
        ran: calls with results, in order.
        tools: what the agent could have called.
        files: of the working directory.
        said: what the user and the runtime said, and the instructions.
    """

    ran: Sequence[Ran] = ()
    tools: Sequence[ToolFacts] = ()
    files: Files = NoFiles()
    said: Sequence[str] = ()


# ---------------------------------------------------------------- words of tools

_FAMILIES = frozenset(
    [
        "git",
        "gh",
        "github",
        "gitlab",
        "crm",
        "db",
        "database",
        "fs",
        "file",
        "files",
        "http",
        "api",
        "aws",
        "gcp",
        "slack",
        "jira",
        "gmail",
        "outlook",
        "calendar",
        "notion",
        "linear",
        "k8s",
        "docker",
        "mcp",
        "tool",
        "agent",
        "do",
        "stripe",
        "shop",
        "warehouse",
        "erp",
        "hr",
    ]
)
_READING = frozenset(
    [
        "get",
        "list",
        "search",
        "read",
        "find",
        "fetch",
        "show",
        "check",
        "lookup",
        "describe",
        "query",
        "view",
        "inspect",
        "select",
        "count",
        "status",
        "browse",
        "look",
        "count",
        "stat",
        "head",
        "tail",
    ]
)
GENERIC = frozenset(
    [
        "get",
        "list",
        "read",
        "find",
        "fetch",
        "show",
        "check",
        "lookup",
        "the",
        "a",
        "an",
        "of",
        "for",
        "to",
        "from",
        "by",
        "all",
        "new",
        "my",
        "data",
        "info",
        "create",
        "update",
        "delete",
        "set",
        "add",
        "make",
        "do",
        "run",
        "send",
        "tool",
        "call",
        "api",
        "use",
        "file",
        "of",
    ]
)
_VERBS = frozenset(word for action in ACTIONS.values() for word in action.tools)


@lru_cache(maxsize=4096)
def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a tool's name, in lower case."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return tuple(word for word in re.split(r"[^a-z0-9]+", spaced.lower()) if word)


@lru_cache(maxsize=4096)
def verbs_of(name: str, description: str) -> frozenset[str]:
    """Return the words that say what a tool does: of its name, and of how its description begins."""
    words = [*name_words(name)]
    while len(words) > 1 and words[0] in _FAMILIES:
        words.pop(0)
    found: set[str] = set()
    if words and words[0] in _VERBS | _READING:
        found.add(words[0])
    elif words and words[-1] in _VERBS:
        found.add(words[-1])
    else:
        found.update(words)
    return frozenset(found | _described(description))


def _described(description: str) -> set[str]:
    first = re.split(r"[.;\n]", description.lower(), maxsplit=1)[0]
    heads = [*re.findall(r"^\W*([a-z-]+)", first), *re.findall(r"\b(?:and|or) ([a-z-]+)", first)]
    found: set[str] = set()
    for word in heads:
        for form in (word, word.removesuffix("s"), word.removesuffix("es")):
            if form in _VERBS or form in _READING:
                found.add(form)
    return found


@lru_cache(maxsize=4096)
def object_words(name: str, description: str) -> frozenset[str]:
    """Return the words that say what a tool is about, with those that mean the same."""
    words = {*name_words(name), *re.findall(r"[a-z]{3,}", description.lower())}
    words = {word for word in words if word not in GENERIC}
    return frozenset(words | {_singular(word) for word in words} | _same(words))


def _same(words: Iterable[str]) -> set[str]:
    plain = {_singular(word) for word in words}
    return {word for group in SYNONYMS if group & plain for word in group}


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def is_executor(tool: ToolFacts) -> bool:
    """Tell whether a tool does whatever its arguments say."""
    return tool.danger == "shell" or bool(EXECUTORS & {*name_words(tool.name)})


def does(tool: ToolFacts, action: str) -> bool:
    """Tell whether a tool's verbs stand for an action."""
    verbs = verbs_of(tool.name, tool.description)
    if action.startswith("="):
        stem = action[1:].rstrip("e")
        return len(stem) > 3 and any(word.startswith(stem) for word in name_words(tool.name))
    known = ACTIONS[action]
    if action == "test":
        return any(word.startswith("test") or word == "pytest" for word in name_words(tool.name))
    if known.looks:
        return tool.effect == "read" or bool(verbs & _READING)
    if tool.effect == "read" or verbs <= _READING:
        return False
    return bool(verbs & known.tools)


# ---------------------------------------------------------------- words of calls


def scalars(value: Any, depth: int = 0) -> list[str]:
    """Return the plain values of a structure as text."""
    if isinstance(value, dict):
        held = [*cast("dict[str, Any]", value).values()]
    elif isinstance(value, list):
        held = cast("list[Any]", value)
    else:
        return [] if value is None or isinstance(value, bool) else [str(value)]
    return [text for each in held[:200] for text in scalars(each, depth + 1)] if depth < 8 else []


class Ledger:
    """The calls of a record, with what is asked of them again and again worked out once."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.ran = record.ran
        self.tools: Mapping[str, ToolFacts] = {
            **{each.tool: ToolFacts(name=each.tool) for each in record.ran},
            **{each.name: each for each in record.tools},
        }
        self._texts: dict[str, str] = {}
        self._values: dict[str, tuple[str, ...]] = {}

    @cached_property
    def executors(self) -> frozenset[str]:
        return frozenset(name for name, each in self.tools.items() if is_executor(each))

    @cached_property
    def executed(self) -> list[Ran]:
        """Calls of tools that do whatever their arguments say."""
        return [each for each in self.ran if each.tool in self.executors]

    @cached_property
    def writes(self) -> list[Ran]:
        """Calls that may have changed something."""
        return [each for each in self.ran if self.tools[each.tool].effect != "read"]

    @cached_property
    def wrote(self) -> bool:
        """Whether any write succeeded."""
        return any(each.ok for each in self.writes)

    @cached_property
    def wrote_otherwise(self) -> bool:
        """Whether a write succeeded that was no command."""
        return any(each.ok and each.tool not in self.executors for each in self.writes)

    @cached_property
    def opaque(self) -> list[Ran]:
        """Commands that succeeded and ran a program, so that nobody can tell what they did."""
        return [each for each in self.executed if each.ok and OPAQUE.search(self.command(each))]

    def values(self, call: Ran) -> tuple[str, ...]:
        """The plain values of a call's arguments."""
        found = self._values.get(call.call)
        if found is None:
            try:
                found = tuple(scalars(json.loads(call.arguments[: ARGUMENT_CHARS_MAX * 10])))
            except ValueError:
                found = (call.arguments[:ARGUMENT_CHARS_MAX],)
            self._values[call.call] = found
        return found

    def command(self, call: Ran) -> str:
        """A call's arguments as one text, in their own case."""
        return "\n".join(self.values(call))[:ARGUMENT_CHARS_MAX]

    def text(self, call: Ran) -> str:
        """A call's arguments and result as one text, in lower case."""
        found = self._texts.get(call.call)
        if found is None:
            found = f"{self.command(call)}\n{call.content[:ARGUMENT_CHARS_MAX]}".lower()
            self._texts[call.call] = found
        return found

    # ------------------------------------------------------------ what a claim is about

    def doing(self, claim: Claim) -> tuple[list[str], list[str]]:
        """Return the tools that do what a claim says, for certain and perhaps.

        Where the verb does not say what it was done to, a tool does it for certain if it is about
        what the claim names.
        """
        surely: list[str] = []
        perhaps: list[str] = []
        about = claim_words(claim.text)
        for name, tool in self.tools.items():
            if name in self.executors:
                continue
            actions = [each for each in claim.actions if does(tool, each)]
            if not actions:
                continue
            specific = any(_specific(each) for each in actions)
            named = bool(about & object_words(tool.name, tool.description))
            (surely if specific or named or len(name_words(name)) == 1 else perhaps).append(name)
        return surely, perhaps

    def commands_for(self, claim: Claim) -> list[Ran]:
        """Return the commands that look like what a claim says."""
        patterns = [ACTIONS[each].command for each in claim.actions if each in ACTIONS]
        return [
            call
            for call in self.executed
            if any(pattern and pattern.search(self.command(call)) for pattern in patterns)
        ]

    def mentioned(self, claim: Claim) -> bool:
        """Tell whether a result tells of the deed itself, so that a claim may report it."""
        words = {claim.verb, *(word for name in claim.actions for word in _told(name))}
        words.discard("")
        pattern = re.compile(
            "|".join(
                rf"\b{re.escape(word)}\b" if word.isascii() else re.escape(word) for word in words
            )
        )
        return any(
            each.ok and pattern.search(each.content[:ARGUMENT_CHARS_MAX].lower())
            for each in self.ran
        )


def _specific(action: str) -> bool:
    return action.startswith("=") or ACTIONS[action].specific or action in ("test", "run")


def _told(name: str) -> tuple[str, ...]:
    action: Action | None = ACTIONS.get(name)
    return () if action is None else (*action.past, *action.chinese)


def claim_words(text: str) -> set[str]:
    """Return the words of a claim that may name an object, with those that mean the same."""
    words = set(re.findall(r"[a-z]{3,}", text.lower()))
    han = {word for group in SYNONYMS for word in group if not word.isascii() and word in text}
    words |= han
    return words | {_singular(word) for word in words} | _same(words)
