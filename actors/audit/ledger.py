"""The calls of a record, found by what a claim says. Pure.

By the verb in a tool's name or description, by its object, by the text of a command.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from .claims_made import Claim
from .claims_words import ACTIONS, OPAQUE, SQL_WRITE, SYNONYMS, Action
from .record import (
    Ran,
    Record,
    ToolFacts,
    does,
    is_executor,
    name_words,
    object_words,
    same_words,
    singular,
)

ARGUMENT_CHARS_MAX = 20_000
"""Characters of one call's arguments, and of one result, that claims are compared with."""


def scalars(value: Any, depth: int = 0) -> list[str]:
    """Return the plain values of a structure as text."""
    held: Sequence[Any]
    if isinstance(value, dict):
        held = [*cast("dict[str, Any]", value).values()]
    elif isinstance(value, list):
        held = cast("Sequence[Any]", value)
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

    def reads(self, call: Ran) -> bool:
        """Whether a call only looks."""
        return self.tools[call.tool].effect == "read"

    @cached_property
    def wrote(self) -> bool:
        """Whether any write succeeded."""
        return any(each.ok for each in self.writes)

    @cached_property
    def can_write(self) -> bool:
        """Whether any tool changes anything."""
        return any(each.effect != "read" for each in self.tools.values())

    def asked_for(self, claim: Claim) -> bool:
        """Tell whether the user asked for what a claim says was done."""
        said = "\n".join(self.record.said).lower()
        known = [ACTIONS[each] for each in claim.actions if each in ACTIONS]
        words = {word for action in known for word in (*action.tools, *action.chinese)}
        if claim.verb.isascii():
            words.add(claim.verb.removesuffix("ed").removesuffix("d"))
        return any(
            re.search(rf"\b{re.escape(word)}", said) if word.isascii() else word in said
            for word in words
            if len(word) > 2 or not word.isascii()
        )

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

    def named(self, call: Ran) -> list[tuple[str, str]]:
        """The arguments of a call that are short texts, by name."""
        try:
            arguments = json.loads(call.arguments[:ARGUMENT_CHARS_MAX])
        except ValueError:
            return []
        if not isinstance(arguments, dict):
            return []
        items = cast("dict[str, Any]", arguments).items()
        return [(key, value) for key, value in items if isinstance(value, str)]

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
            or ("sql" in name_words(call.tool) and SQL_WRITE.search(self.command(call)))
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
    return words | {singular(word) for word in words} | same_words(words)
