"""The record of a session, as its statement is compared with it: from its messages, or its journal.

The messages are enough where they hold every call and nothing became known later. Where the
conversation was taken back, or a doubt was settled afterwards, the journal tells how it really was.
"""

import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ...stores.records import (
    Allowed,
    Answered,
    Ended,
    JournalEntry,
    Judged,
    Late,
    Noted,
    Restarted,
    Resulted,
    RolledBack,
    RollingBack,
    Said,
    ToolCall,
    Undone,
)
from ..handover.wording import not_started
from ..model import AssistantMessage, Message, NoteMessage, ToolMessage, UserMessage
from ..tooling.toolbox import Toolbox
from ..undo.unwound import LEDGER_STATES
from .record import FileFact, Ran, ToolFacts

NOT_STARTED = not_started("")
"""Begins the result of a call whose body never ran."""

WALK_MAX = 3_000
"""Names looked at where a file that a statement names is not where it says."""

CLOCK_SLACK_MS = 2_000
"""How much older than the session a file may look that changed in it: clocks are coarse."""


def ran_of_messages(messages: Iterable[Message]) -> list[Ran]:
    """Return the calls of a conversation with their results, in order."""
    found: list[Ran] = []
    waiting: list[ToolCall] = []
    answered = False
    for message in messages:
        if isinstance(message, ToolMessage):
            if waiting:
                found.append(_told(str(len(found) + 1), waiting.pop(0), message))
        elif isinstance(message, AssistantMessage):
            waiting = [*message.calls]
            answered = not waiting
        elif isinstance(message, UserMessage) and answered:
            found = [msgspec.structs.replace(each, earlier=True) for each in found]
            answered = False
    return found


def _told(name: str, call: ToolCall, result: ToolMessage) -> Ran:
    state = "succeeded"
    if result.is_error:
        state = "refused" if result.content.startswith(NOT_STARTED) else "failed"
    return Ran(
        call=name, tool=call.name, arguments=call.arguments, state=state, content=result.content
    )


def ran_of_journal(entries: Iterable[JournalEntry]) -> list[Ran]:
    """Return the calls of a journal as they really ended, in the order of their results."""
    asked: dict[tuple[int, int], ToolCall] = {}
    ran: dict[tuple[int, int], Ran] = {}
    replaced: dict[int, dict[tuple[int, int], Ran]] = {}
    undoes = 0
    over = False
    for entry in entries:
        match entry:
            case RollingBack():
                undoes = entry.undoes
            case RolledBack(state="done"):
                ran |= replaced.get(undoes, {})
                replaced[entry.n] = {at: ran[at] for at in entry.undone if at in ran}
                ran |= {at: _taken_back(each) for at, each in replaced[entry.n].items()}
            case Ended():
                over = True
            case Said() if over:
                over = False
                ran = {at: msgspec.structs.replace(each, earlier=True) for at, each in ran.items()}
            case Answered():
                asked.update({(entry.n, i): call for i, call in enumerate(entry.calls)})
            case Judged(arguments=str() as edited) if (entry.n, entry.index) in asked:
                # A person lets it run with other arguments: those are what was executed.
                at = (entry.n, entry.index)
                asked[at] = msgspec.structs.replace(asked[at], arguments=edited)
            case Resulted() if (entry.n, entry.index) in asked:
                ran[entry.n, entry.index] = _ran(asked[entry.n, entry.index], entry)
            case Late() | Allowed() | Undone() if (entry.n, entry.index) in ran:
                at = (entry.n, entry.index)
                ran[at] = _amended(ran[at], entry)
            case _:
                pass
    return [*ran.values()]


def _ran(call: ToolCall, entry: Resulted) -> Ran:
    return Ran(
        call=f"{entry.n}.{entry.index}",
        tool=call.name,
        arguments=call.arguments,
        state=entry.state,
        content=entry.content,
        replayed=entry.replayed,
    )


def _amended(ran: Ran, entry: Late | Allowed | Undone) -> Ran:
    match entry:
        case Late():
            content = entry.content if entry.state == "succeeded" else ran.content
            return msgspec.structs.replace(ran, state=entry.state, content=content)
        case Allowed():
            return msgspec.structs.replace(ran, arguments=entry.arguments or ran.arguments)
        case Undone():
            return msgspec.structs.replace(ran, state=LEDGER_STATES.get(entry.state, ran.state))


def _taken_back(ran: Ran) -> Ran:
    """Return a call whose files a rollback has put back; one that did not succeed stays as it was."""
    return msgspec.structs.replace(ran, state="rolled_back") if ran.ok else ran


def said_in_messages(messages: Iterable[Message]) -> list[str]:
    """Return what the user and the runtime said."""
    return [each.text for each in messages if isinstance(each, UserMessage | NoteMessage)]


def said_in_journal(entries: Iterable[JournalEntry]) -> list[str]:
    """Return what the user and the runtime said, the hints of trajectories begun again included."""
    return [
        each.hint if isinstance(each, Restarted) else each.text
        for each in entries
        if isinstance(each, Said | Noted | Restarted)
    ]


def tool_facts(toolbox: Toolbox) -> list[ToolFacts]:
    """Return what the audit knows of an agent's tools."""
    return [
        ToolFacts(
            name=tool.name,
            description=tool.description,
            effect=tool.marks.effect,
            danger=tool.marks.danger or "",
        )
        for tool in toolbox
    ]


def has_workspace(toolbox: Toolbox) -> bool:
    """Tell whether an agent works on files here: a tool's effect is undone by rolling files back."""
    return any(tool.marks.undo == "rollback" for tool in toolbox)


# ---------------------------------------------------------------- files


class KnownFiles:
    """Files as they were found when a statement was to be checked."""

    def __init__(self, facts: Mapping[str, FileFact | None]) -> None:
        self._facts = facts

    def look(self, path: str) -> FileFact | None:
        """Return what was found; None where nobody looked."""
        return self._facts.get(path)


def look_at(root: str, paths: Sequence[str], since_ms: int) -> KnownFiles:
    """Look at files of a working directory; blocking.

    A file that is not where it is said to be is looked for by its last name, in a bounded number
    of folders; what is not found so in a larger tree is not known.
    """
    facts: dict[str, FileFact | None] = {}
    found: dict[str, str] | None = None
    for path in paths:
        fact = _fact(_inside(root, path), since_ms)
        if fact is not None and not fact.exists:
            if found is None:
                found = _by_last_name(root)
            other = found.get(posixpath.basename(path.rstrip("/")))
            if other is not None:
                fact = _fact(other, since_ms)
            elif len(found) >= WALK_MAX:
                fact = None
        facts[path] = fact
    return KnownFiles(facts)


def _inside(root: str, path: str) -> str:
    return os.path.normpath(os.path.join(root, os.path.expanduser(path)))


def _fact(path: str, since_ms: int) -> FileFact | None:
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return FileFact(False)
    except (OSError, ValueError):
        return None
    changed_ms = max(status.st_mtime, status.st_ctime) * 1000
    return FileFact(True, changed_ms >= since_ms - CLOCK_SLACK_MS)


def _by_last_name(root: str) -> dict[str, str]:
    """Return files below a folder by their last name; at most `WALK_MAX` of them."""
    found: dict[str, str] = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [each for each in folders if each not in (".git", "node_modules", ".venv")]
        for name in (*files, *folders):
            found.setdefault(name, os.path.join(folder, name))
            if len(found) >= WALK_MAX:
                return found
    return found
