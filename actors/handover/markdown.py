"""A handover as Markdown, for a person who has not seen the session before. Pure.

Texts come from models, tools and other sides: they are cleaned, and cannot end a block or begin one.
"""

from collections.abc import Iterable, Iterator, Sequence

from ...supervisor.patterns import lazy_pattern
from ..outcome import Dossier, HandedOver, Option
from ..text import clean, visible
from .dossier import headline

_SPECIAL = lazy_pattern(r"([\\`*_{}\[\]<>|#])")
_FENCE = lazy_pattern(r"`{3,}")


def markdown_of(
    session_id: str,
    agent: str,
    outcome: HandedOver,
    options: Sequence[Option] | None = None,
    *,
    task: str = "",
) -> str:
    """Return the dossier: what failed, with what, what was said, what was tried, what can be done.

    Args:
        options: what can be done now, where that is known better than from the dossier itself.
        task: what the session was asked to do, or the beginning of it.
    """
    lines = [f"# {_line(session_id)}: {outcome.reason.replace('_', ' ')}", ""]
    needs = _line(headline(outcome)).rstrip(".") or "see below"
    lines += [f"A session of agent {_line(agent)} needs a person: {needs}.", ""]
    if task:
        lines += [f"Its task: {_line(task)}", ""]
    chosen = outcome.dossier.options if options is None else options
    return _with_parts(lines, _parts(outcome.dossier, chosen))


def questions_markdown(
    session_id: str, agent: str, status: str, questions: Sequence[str], options: Sequence[Option]
) -> str:
    """Return what is open for a person about a session that was not handed over."""
    lines = [f"# {_line(session_id)}: open questions", ""]
    lines += [f"A session of agent {_line(agent)} is {_line(status)}, with questions left.", ""]
    parts = [("Questions", _list(questions)), ("What you can do", _options(options))]
    return _with_parts(lines, parts)


def _with_parts(lines: list[str], parts: Iterable[tuple[str, Sequence[str]]]) -> str:
    for title, part in parts:
        lines += [f"## {title}", "", *part, ""]
    return "\n".join(lines).rstrip() + "\n"


def _parts(dossier: Dossier, options: Sequence[Option]) -> Iterator[tuple[str, Sequence[str]]]:
    yield "What failed", [_line(dossier.failed_step)]
    yield "Its input", _block(dossier.input)
    yield "What the other side said", _block(dossier.upstream_error)
    yield "What was tried", _list(dossier.tried)
    yield "What you can do", _options(options)
    if dossier.questions:
        yield "Open questions", _list(dossier.questions)
    if dossier.findings:
        yield "Where the answer differs from what was done", _list(dossier.findings)
    if dossier.in_doubt:
        yield "In doubt", _list(_doubts(dossier))
    if dossier.effects:
        yield "Effects", [*_list(_effects(dossier)), "", f"Undone: {dossier.undone}."]
    if dossier.files:
        yield "Files", _list(_files(dossier))
    if dossier.frozen:
        yield "Nothing was undone", [_line(dossier.frozen)]
    if dossier.budget:
        yield "Budget", _list([f"{name}: {used}" for name, used in dossier.budget.items()])
    if dossier.unsaved:
        yield "Not stored", _block(dossier.unsaved)
    if dossier.file:
        yield "Written to", [_line(dossier.file)]


def _doubts(dossier: Dossier) -> Iterator[str]:
    for call in dossier.in_doubt:
        key = f", key {call.key}" if call.key else ""
        running = ", still running" if call.still_running else ""
        yield f"call {call.n}.{call.index}: {call.tool} {call.arguments}{key}{running}"


def _effects(dossier: Dossier) -> Iterator[str]:
    for effect in dossier.effects:
        detail = f": {effect.detail}" if effect.detail else ""
        call = f"call {effect.n}.{effect.index}: {effect.tool} {effect.arguments}".rstrip()
        yield f"{call}, {effect.standing}{detail}"


def _files(dossier: Dossier) -> Iterator[str]:
    for each in dossier.files:
        shared = ", where others wrote too" if each.shared else ""
        yield f"{each.path}: {each.change}{shared}"
    if dossier.files_more:
        yield f"and {dossier.files_more} more"


def _options(options: Sequence[Option]) -> list[str]:
    """Return each option in words, and its line to type below it."""
    lines: list[str] = []
    for each in options:
        name = f"{_line(each.name)}: " if each.name else ""
        lines += [f"- {name}{_line(each.what)}", ""]
        if each.command:
            lines += [*(f"  {line}" for line in _block(each.command)), ""]
    return lines[:-1]


def _list(items: Sequence[str] | Iterator[str]) -> list[str]:
    return [f"- {_line(item)}" for item in items]


def _line(text: str) -> str:
    """Return a text in one line, as itself: nothing in it is markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(visible(clean(text).text).split()))


def _block(text: str) -> list[str]:
    """Return a text as it is, in a fence that it cannot close."""
    body = visible(clean(text).text)
    longest = max((len(run) for run in _FENCE.findall(body)), default=2)
    fence = "`" * (longest + 1)
    return [fence, *body.splitlines(), fence]
