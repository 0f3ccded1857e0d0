"""What becomes of a session's effects when it ends other than completed. Pure.

Each effect that its tool does not mean to keep is undone, the latest first. With an effect in
doubt, or where the task says so, nothing is: half of the picture is no ground to act on. What has
completed is never undone by what failed after it.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from ...stores.records import OnFailure, UndoHow, UndoState, UndoStep, Unwinding
from ..handover.dossier import questions
from ..handover.file_changes import FILES_TOLD_MAX
from ..handover.options import options_for
from ..ledger import CallId, Effect
from ..outcome import (
    Completed,
    EffectEnd,
    EffectStanding,
    FileChange,
    HandedOver,
    Outcome,
    Stopped,
    UndoneVerdict,
)
from ..state import SessionState
from ..tooling.marks import Marks
from .unwound import Undo

ARGUMENTS_CHARS_MAX = 300
CONTENT_CHARS_MAX = 2_000
EFFECTS_TOLD_MAX = 100
"""Effects listed in an outcome, those that were to be undone first; the journal has all."""

NO_SNAPSHOT = "not rolled back: there is no snapshot of the files before the call"


class Freeze(Struct, frozen=True):
    """Undo nothing, for this reason; these steps would have been taken."""

    why: str
    steps: tuple[UndoStep, ...]


def plan(
    effects: Sequence[UndoStep | None], doubts: Sequence[str], on_failure: OnFailure
) -> Freeze | tuple[UndoStep, ...]:
    """Return what is undone, in order.

    Args:
        effects: in the order in which they took effect; None for one that is kept.
        doubts: calls whose effect is unknown, in words.
    """
    steps = tuple(step for step in reversed(effects) if step is not None)
    if not steps:
        return ()
    if doubts:
        return Freeze(f"not known whether it took effect: {', '.join(doubts)}", steps)
    if on_failure == "freeze":
        return Freeze("the task says so", steps)
    return steps


def plan_of(
    state: SessionState, marks: Callable[[str], Marks | None], *, thaw: bool = False
) -> Freeze | tuple[UndoStep, ...]:
    """Return the plan for a session as it stands.

    Args:
        marks: returns what a tool declares; None where it is not known here.
        thaw: a person says to undo what the task had frozen.
    """
    on_failure = state.opened.on_failure if state.opened is not None and not thaw else "undo"
    effects = [_step(call, effect, marks) for call, effect in _pending(state)]
    return plan(effects, doubts_of(state, marks), on_failure)


def doubts_of(state: SessionState, marks: Callable[[str], Marks | None]) -> list[str]:
    """Return the calls whose effect is unknown; a read has none."""
    found: list[str] = []
    for (n, index), entry in state.in_doubt.items():
        declared = marks(entry.tool)
        if declared is None or declared.effect == "write":
            found.append(f"{n}.{index} {entry.tool}")
    return found


def _pending(state: SessionState) -> list[tuple[CallId, Effect]]:
    """Effects nobody has decided on yet: not completed with, and undone once at most."""
    unwound = state.unwound
    return [
        (call, effect)
        for call, effect in state.effects.items()
        if call[0] >= unwound.settled_n and call not in unwound.steps
    ]


def _step(call: CallId, effect: Effect, marks: Callable[[str], Marks | None]) -> UndoStep | None:
    declared = marks(effect.tool)
    # A tool that is not known here may have meant to be undone: the step will say that it cannot.
    how: UndoHow = "compensate"
    if declared is not None:
        if declared.undo == "keep":
            return None
        how = declared.undo
    return UndoStep(*call, effect.tool, how)


def undo_key_of(session_id: str, call: CallId) -> str:
    """Return a compensation's own idempotency key, made of its call's identity alone."""
    named = f"{session_id}\n{call[0]}\n{call[1]}\nundo"
    return "uk-" + hashlib.sha256(named.encode()).hexdigest()[:32]


# ---------------------------------------------------------------- what is told of it

_STANDINGS: dict[UndoState | None, EffectStanding] = {
    None: "to be undone",
    "again": "to be undone",
    "compensated": "compensated",
    "rolled_back": "rolled back",
    "not_rolled_back": "not rolled back",
    "failed": "compensation failed",
    "in_doubt": "compensation in doubt",
    "abandoned": "abandoned",
}
UNDONE: frozenset[EffectStanding] = frozenset({"compensated", "rolled back"})


def ends_of(state: SessionState, inputs: Mapping[CallId, str]) -> list[EffectEnd]:
    """Return how each effect of a session stands, in the order in which they took effect.

    Args:
        inputs: the arguments of calls, where they are known, cleaned of secrets.
    """
    frozen: set[CallId] = set()
    if state.unwound.frozen is not None:
        frozen = {(step.n, step.index) for step in state.unwound.frozen.steps}
    return [
        _end(call, effect, state.unwound.steps.get(call), call in frozen, inputs.get(call, ""))
        for call, effect in state.effects.items()
    ]


def ends_unbegun(state: SessionState, marks: Callable[[str], Marks | None]) -> list[EffectEnd]:
    """Return how each effect stands where the session ends before its undoing can be stored.

    What was to be undone is still in effect then, and nobody meant to keep it.
    """
    found = plan_of(state, marks)
    standing: EffectStanding = "to be undone"
    if isinstance(found, Freeze):
        standing, found = "frozen", found.steps
    planned = {(step.n, step.index) for step in found}
    return [
        msgspec.structs.replace(each, standing=standing)
        if (each.n, each.index) in planned
        else each
        for each in ends_of(state, {})
    ]


def _end(
    call: CallId, effect: Effect, undo: Undo | None, is_frozen: bool, arguments: str
) -> EffectEnd:
    n, index = call
    # A person may have let it run with other arguments than the model's.
    arguments = (effect.arguments or arguments)[:ARGUMENTS_CHARS_MAX]
    if undo is None:
        standing: EffectStanding = "frozen" if is_frozen else "kept"
        return EffectEnd(n=n, index=index, tool=effect.tool, arguments=arguments, standing=standing)
    return EffectEnd(
        n=n,
        index=index,
        tool=effect.tool,
        arguments=arguments,
        standing=_STANDINGS[undo.state],
        detail=undo.content,
        attempts=undo.attempts,
        may_have_run=undo.may_have_run,
        by=undo.by,
    )


def verdict_on(ends: Sequence[EffectEnd]) -> UndoneVerdict:
    """Return how much of it is undone, in a word that never says more than is true."""
    if all(each.standing == "kept" for each in ends):
        return "nothing to undo"
    undone = sum(each.standing in UNDONE for each in ends)
    if undone == len(ends):
        return "all"
    return "some" if undone else "none"


def outcome_with(
    outcome: Outcome,
    state: SessionState,
    ends: Sequence[EffectEnd],
    files: Sequence[FileChange] = (),
) -> Outcome:
    """Return the outcome with what became of the session's effects.

    What an earlier, completed part of the session did is listed, and is no part of the verdict.

    Args:
        files: what the session changed in its files.
    """
    verdict = verdict_on([each for each in ends if each.n >= state.unwound.settled_n])
    match outcome:
        case Completed():
            return outcome
        case Stopped():
            return msgspec.structs.replace(outcome, undone=verdict)
        case HandedOver(reason, dossier):
            told = msgspec.structs.replace(
                dossier,
                effects=_told(ends),
                undone=verdict,
                frozen=state.unwound.frozen.why if state.unwound.frozen is not None else None,
                options=options_for(state, reason, step=dossier.failed_step, files=bool(files)),
                files=tuple(files[:FILES_TOLD_MAX]),
                files_more=max(0, len(files) - FILES_TOLD_MAX),
                questions=tuple(questions(state)),
            )
            return msgspec.structs.replace(outcome, dossier=told)


def _told(ends: Sequence[EffectEnd]) -> tuple[EffectEnd, ...]:
    if len(ends) <= EFFECTS_TOLD_MAX:
        return tuple(ends)
    by_weight = sorted(range(len(ends)), key=lambda i: (ends[i].standing == "kept", -i))
    return tuple(ends[i] for i in sorted(by_weight[:EFFECTS_TOLD_MAX]))


def said_of_unwinding(running: Unwinding, ends: Sequence[EffectEnd]) -> str:
    """Return what the model is told, should the session go on after that."""
    steps = {(step.n, step.index) for step in running.steps}
    lines = [f"- {line_of(each)}" for each in ends if (each.n, each.index) in steps]
    why = "Since the task was not completed, its effects were undone where that is possible:"
    if running.by == "rollback":
        why = "The session was taken back, so what was done after that was undone as well:"
    return "\n".join(
        [
            why,
            *lines,
            "What was undone is not in effect any more, and all else still is.",
            "Do again what is still needed, and nothing else.",
        ]
    )


def line_of(end: EffectEnd) -> str:
    """Return how an effect stands, in one line for people and models."""
    more = f": {end.detail}" if end.detail else ""
    if end.standing == "compensation failed" and end.may_have_run:
        more = f" (it may have taken effect all the same){more}"
    by = f", by a {end.by}" if end.by else ""
    return f"call {end.n}.{end.index} {end.tool}{end.arguments}: {end.standing}{by}{more}"
