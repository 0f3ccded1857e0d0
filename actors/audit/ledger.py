"""The calls of a record, found by what a claim says. Pure.

By the verb in a tool's name or description, by its object, by the text of a command.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from ...supervisor.patterns import lazy_pattern
from .claims_made import Claim
from .claims_words import ACTIONS, OPAQUE, SQL_WRITE, SYNONYMS, Action
from .masked import as_they_ended
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


_ASKS = lazy_pattern(
    r"(?:what|who|when|where|why|how|is|are|was|were|does|do|did|has|have|which|can|check|show|list|find|tell|look|explain|"
    r"summari[sz]e|describe|report)\b",
    re.IGNORECASE,
)
_COMMON = frozenset(
    [
        "with",
        "that",
        "this",
        "from",
        "have",
        "been",
        "will",
        "your",
        "into",
        "were",
        "they",
        "them",
        "then",
        "please",
    ]
)


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
        names = dict.fromkeys(each.tool for each in record.ran)
        self.tools: Mapping[str, ToolFacts] = {
            **{name: ToolFacts(name=name) for name in names},
            **{each.name: each for each in record.tools},
        }
        self.ran = as_they_ended(record.ran, self.executors)
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
        return self.asked_by_verb(claim) or self._ordered(claim)

    def asked_by_verb(self, claim: Claim) -> bool:
        """Tell whether the user said a verb that stands for what a claim says was done."""
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

    def _ordered(self, claim: Claim) -> bool:
        """Tell whether a claim has two words of what the user, last, ordered."""
        last = self.record.said[-1].strip() if self.record.said else ""
        if not last or last.endswith(("?", "\uff1f")) or _ASKS.match(last):
            return False
        shared = {*re.findall(r"[a-z]{4,}", claim.text.lower())} & {
            *re.findall(r"[a-z]{4,}", last.lower())
        }
        return len(shared - _COMMON) > 1

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
            except (ValueError, RecursionError):
                found = (call.arguments[:ARGUMENT_CHARS_MAX],)
            self._values[call.call] = found
        return found

    def named(self, call: Ran) -> list[tuple[str, str]]:
        """The arguments of a call that are short texts, by name."""
        try:
            arguments = json.loads(call.arguments[:ARGUMENT_CHARS_MAX])
        except (ValueError, RecursionError):
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

    @cached_property
    def heard(self) -> str:
        """All that calls and people have said, in lower case."""
        told = [self.text(each) for each in self.ran]
        return "\n".join([*told, *(each.lower() for each in self.record.said)])

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
        exact = [name for name in (*surely, *perhaps) if _by_verb(claim.verb, self.tools[name])]
        return (exact, []) if exact else (surely, perhaps)

    def writers(self, claim: Claim) -> list[str]:
        """The tools that surely do what a claim says, and change something."""
        return [each for each in self.doing(claim)[0] if self.tools[each].effect != "read"]

    def commands_for(self, claim: Claim) -> list[Ran]:
        """Return the commands that look like what a claim says."""
        known = [ACTIONS[each] for each in claim.actions if each in ACTIONS]
        patterns = [each.command for each in known]
        changes = not any(each.looks for each in known)
        changes = changes and not all(each.name in ("test", "run", "build") for each in known)
        return [
            call
            for call in self.executed
            if (
                not (changes and only_looks(self.command(call)))
                and any(pattern and pattern.search(self.command(call)) for pattern in patterns)
            )
            or ("sql" in name_words(call.tool) and SQL_WRITE.search(self.command(call)))
        ]

    def mentioned(self, claim: Claim, *, failed: bool = False) -> bool:
        """Tell whether a result tells of the deed itself, so that a claim may report it; if wanted,
        that of a call that failed as well."""
        words = {claim.verb, *(word for name in claim.actions for word in _told(name))}
        words.discard("")
        pattern = lazy_pattern(
            "|".join(
                rf"\b{re.escape(word)}\b" if word.isascii() else re.escape(word) for word in words
            )
        )
        return any(
            (each.ok or failed) and pattern.search(each.content[:ARGUMENT_CHARS_MAX].lower())
            for each in self.ran
        )


_LOOKS = lazy_pattern(
    r"^(?:sudo\s+|time\s+|env\s+(?:\w+=\S+\s+)*|\w+=\S+\s+|ssh\s+(?:-\S+\s+)*\S+\s+['\"]?)*"
    r"(?:(?:ls|cat|bat|head|tail|less|grep|egrep|rg|ag|wc|df|du|ps|top|free|uptime|stat|file|which|whoami|pwd|date|"
    r"id|env|printenv|diff|cmp|sort|uniq|cut|tr|jq|yq|tree|ping|dig|nslookup|lsof|ss|netstat|uname|hostname|echo|md5sum|sha256sum)\b"
    r"|git\s+(?:-\S+\s+\S+\s+)?(?:status|log|diff|show|blame|rev-parse|ls-files|remote\s+-v|describe|branch\s*(?:-[avr]+)?\s*$)"
    r"|kubectl\s+(?:-\S+\s+\S+\s+)*(?:get|describe|logs|top|explain|version)\b|helm\s+(?:list|ls|status|history|get)\b"
    r"|docker\s+(?:compose\s+)?(?:ps|logs|images|inspect|stats|version)\b|systemctl\s+(?:status|is-active|list-\S+|show)\b"
    r"|journalctl\b(?!.*--vacuum)|find\b(?!.*-(?:delete|exec|ok))|(?:aws|gcloud|az)\b.*\b(?:list|describe\S*|get\S*|show|ls)\b"
    r"|(?:npm|pip|pip3)\s+(?:ls|list|show|outdated|freeze|view)\b)",
    re.IGNORECASE,
)
_WRITES = lazy_pattern(r"(?<![0-9&])>{1,2}(?!\s*(?:/dev/null|&))|\btee\b|\bxargs\b")
_PARTS = lazy_pattern(r"&&|\|\||[;|\n]")


def only_looks(command: str) -> bool:
    """Tell whether every part of a command surely only reads."""
    if _WRITES.search(command):
        return False
    parts = [part.strip() for part in _PARTS.split(command) if part.strip()]
    return bool(parts) and all(_LOOKS.match(part) or part.startswith("cd ") for part in parts)


_GENERAL = lazy_pattern(
    r"(?:creat|updat|add|set|chang|writ|wrote|sent|send|mad|mak|put|sav|run|ran|do|don|appl|edit|modif|fix|stor|record|post|"
    r"generat|upload|delet|remov|clos|resolv|start|stop|call|execut|deploy|releas|book|reserv|order|pay|paid|cancel|schedul|"
    r"notif|inform|messag|mail|email|check|test|replac|submit|insert|grant|assign|confirm|complet|mark|handl)"
)


def _by_verb(verb: str, tool: ToolFacts) -> bool:
    """Tell whether a tool is named by the very verb of a claim, where that verb is no general one."""
    stem = verb.removesuffix("ed").removesuffix("d").rstrip("e")
    if len(stem) < 4 or not verb.isascii() or _GENERAL.match(stem):
        return False
    return any(word.startswith(stem) for word in name_words(tool.name))


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
