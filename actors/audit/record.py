"""What a statement is compared with: the calls that ran, the tools there are, the files. Pure data.

Calls are found by what a claim says: by the verb in a tool's name or description, by its object,
by the text of a command.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol

from msgspec import Struct

from .claims_words import ACTIONS, EXECUTORS, SYNONYMS, words


class Ran(Struct, frozen=True, kw_only=True):
    """One call of the ledger. ``state`` is how it ended; ``call`` its name, such as ``3.0``.

    ``earlier``: it belongs to a turn that had ended, by an answer or a handover, before the user
    spoke again. What failed there has been told; a new answer need not tell it once more.
    """

    call: str
    tool: str
    arguments: str = "{}"
    state: str = "succeeded"
    content: str = ""
    replayed: bool = False
    earlier: bool = False

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

_FAMILIES = words(
    """
    git gh github gitlab crm db database fs file files http api aws gcp slack jira gmail outlook
    calendar notion linear k8s docker mcp tool agent do stripe shop warehouse erp hr
    """
)
_READING = words(
    """
    get list search read find fetch show check lookup describe query view inspect select count
    status browse look count stat head tail
    """
)
GENERIC = words(
    """
    get list read find fetch show check lookup the a an of for to from by all new my data info
    create update delete set add make do run send tool call api use file of
    """
)
STEM_MIN = 4
"""Shorter stems are those of too many words: there the whole word has to be the same."""
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
    return frozenset(words | {singular(word) for word in words} | same_words(words))


def same_words(words: Iterable[str]) -> set[str]:
    plain = {singular(word) for word in words}
    return {word for group in SYNONYMS if group & plain for word in group}


def singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def is_executor(tool: ToolFacts) -> bool:
    """Tell whether a tool does whatever its arguments say."""
    return tool.danger == "shell" or bool(EXECUTORS & {*name_words(tool.name)})


def does(tool: ToolFacts, action: str) -> bool:
    """Tell whether a tool's verbs stand for an action."""
    verbs = verbs_of(tool.name, tool.description)
    if action.startswith("="):
        stem = action[1:].rstrip("e")
        named = name_words(tool.name)
        if len(stem) < STEM_MIN:
            return len(stem) > 2 and bool({stem, f"{stem}e"} & {*named})
        return any(word.startswith(stem) for word in named)
    known = ACTIONS[action]
    if action == "test":
        return any(word.startswith("test") or word == "pytest" for word in name_words(tool.name))
    if known.looks:
        return tool.effect == "read" or bool(verbs & _READING)
    if tool.effect == "read" or verbs <= _READING:
        return False
    return bool(verbs & known.tools)
