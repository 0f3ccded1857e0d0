"""What a failure that is in a store led to, and what it would lead to under other policies."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ..actors.inspection import entries_of
from ..actors.simulating.seen import WEATHER
from ..actors.state import SessionState
from ..stores.records import Intended, JournalEntry, Resulted, Retried
from ..supervisor.decide import History
from ..supervisor.errors import ErrorClass, MayHaveExecuted, UsageError
from ..supervisor.failure import MODEL_TRAITS, Failure, Traits
from ..supervisor.policy import Policy, resolve
from .errors import DONE, ExitStatus, NotDone
from .explain import (
    Explanation,
    directive_words,
    explain,
    explanation_data,
    policy_data,
)
from .output import Output
from .stored import reading
from .terminal import Terminal, duration, one_line

NAMED_MAX = 20
DIGITS_MAX = 18
"""Of a message's number; no journal has as many."""

_CLASSES: dict[str, ErrorClass] = {str(each): each for each in ErrorClass}
_EXECUTED: dict[str, MayHaveExecuted] = {"no": "no", "maybe": "maybe", "yes": "yes"}


class StepGiven(Struct, frozen=True, kw_only=True):
    """Which step: ``N`` is a message of the model and its calls, ``N.I`` one of these."""

    store: str
    session_id: str
    step: str


class Met(Struct, frozen=True, kw_only=True):
    """A failed attempt as it is recorded, and what was known when it was decided on.

    ``marked``: the record has the tool's marks; else they are taken from what else it shows.
    ``then``, ``wait_s``, ``detail``: what followed.
    """

    n: int
    index: int
    tool: str
    failure: Failure
    traits: Traits
    history: History
    then: str
    wait_s: float = 0.0
    detail: str = ""
    marked: bool = True

    @property
    def step(self) -> str:
        return f"{self.n}" if self.index < 0 else f"{self.n}.{self.index}"


async def explain_recorded(
    out: Output, given: StepGiven, policies: Sequence[tuple[str, Policy]]
) -> ExitStatus:
    """Show evidence, class and directive of a recorded failure, and the directive of each policy.

    Raises:
        UsageError: the step has another form.
        NotDone: nothing failed there; names the steps at which something did.
    """
    n, index = step_of(given.step)
    async with reading(given.store) as store:
        stored = await store.load(given.session_id)
    agent = stored.head.facts.agent
    met = met_in(given.session_id, entries_of(stored))
    here = [each for each in met if each.n == n and index in (None, each.index)]
    if not here:
        raise NotDone(_nothing_failed(given, met))
    found = [(each, [_under(each, agent, *policy) for policy in policies]) for each in here]
    if out.as_json:
        failures = [_met_data(each, under) for each, under in found]
        out.data({"session_id": given.session_id, "agent": agent, "failures": failures})
    else:
        lines = [list(_met_lines(each, under, out.terminal)) for each, under in found]
        out.text("\n\n".join("\n".join(each) for each in lines))
    return DONE


def step_of(word: str) -> tuple[int, int | None]:
    """Return the message's number and, where it is named, the call's index.

    Raises:
        UsageError: it is neither N nor N.I.
    """
    number, point, index = word.partition(".")
    long = max(len(number), len(index)) > DIGITS_MAX
    if long or not (number.isdecimal() and (index.isdecimal() if point else not index)):
        raise UsageError(f"--step {word!r} must be N, or N.I for one call, as `ukemi log` names it")
    return int(number), int(index) if point else None


def _nothing_failed(given: StepGiven, met: Sequence[Met]) -> str:
    named = list(dict.fromkeys(each.step for each in met))
    at = ", ".join(named[:NAMED_MAX]) + (", ..." if len(named) > NAMED_MAX else "")
    where = f"failures are recorded at: {at}" if named else "no failure is recorded in it"
    return f"nothing failed at step {given.step} of session {given.session_id}; {where}"


# ---------------------------------------------------------------- reading a journal


def met_in(session_id: str, entries: Sequence[JournalEntry]) -> list[Met]:
    """Return every failed attempt of a journal, in order. Pure."""
    state = SessionState(session_id)
    keyed: dict[str, bool] = {}
    told: set[tuple[int, int]] = set()
    found: list[Met] = []
    for entry in entries:
        match entry:
            case Intended():
                keyed[entry.tool] = entry.key is not None
            case Retried():
                found.append(_of_retried(state, entry, keyed))
                told.add((entry.n, entry.index))
            case Resulted() if _untold(entry) and (entry.n, entry.index) not in told:
                found.append(_of_result(state, entry, keyed))
            case _:
                pass
        state.apply(entry)
    return found


def _untold(entry: Resulted) -> bool:
    """Tell whether a failure is only in the result: the body never ran, its arguments do not match."""
    return entry.error_class in _CLASSES and entry.state in ("failed", "refused")


def _of_retried(state: SessionState, entry: Retried, keyed: dict[str, bool]) -> Met:
    tool = "" if entry.index < 0 else _tool(state, entry.n, entry.index)
    # One that a newer version knows is explained as what it is here: unknown.
    error_class = _CLASSES.get(entry.error_class, ErrorClass.UNKNOWN)
    executed = _EXECUTED.get(entry.executed)
    if executed is None:
        passes = error_class in WEATHER and error_class is not ErrorClass.IN_DOUBT_TIMEOUT
        executed = "no" if passes else "maybe"
    return Met(
        n=entry.n,
        index=entry.index,
        tool=tool,
        failure=Failure(
            error_class=error_class,
            message=entry.message,
            retry_after=entry.retry_after,
            fields=entry.fields,
            may_have_executed=executed,
            evidence=entry.evidence,
        ),
        traits=_traits(entry, tool, keyed),
        history=_history(state, tool, entry.n, error_class, entry.number, entry.elapsed_s),
        then=entry.directive,
        wait_s=entry.wait_s,
        detail=entry.detail,
        marked=entry.marks is not None or entry.index < 0,
    )


def _of_result(state: SessionState, entry: Resulted, keyed: dict[str, bool]) -> Met:
    tool = _tool(state, entry.n, entry.index)
    error_class = ErrorClass(entry.error_class or "unknown")
    return Met(
        n=entry.n,
        index=entry.index,
        tool=tool,
        failure=Failure(error_class=error_class, message=entry.content, may_have_executed="no"),
        traits=_guessed(tool, keyed),
        history=_history(state, tool, entry.n, error_class, entry.attempts, entry.elapsed_s),
        then="hand_over" if entry.trouble is not None else "result",
        marked=False,
    )


def _history(
    state: SessionState, tool: str, n: int, error_class: ErrorClass, attempts: int, elapsed_s: float
) -> History:
    return History(
        attempts=attempts,
        elapsed_s=elapsed_s,
        corrections=state.corrections_before(tool, n) if tool else 0,
        conclusions=state.conclusions.get(error_class, 0),
        prunes=state.prunes,
    )


def _traits(entry: Retried, tool: str, keyed: dict[str, bool]) -> Traits:
    if entry.index < 0:
        return MODEL_TRAITS
    if entry.marks is None:
        return _guessed(tool, keyed)
    return Traits(safe_to_retry="safe" in entry.marks, accepts_key="key" in entry.marks)


def _guessed(tool: str, keyed: dict[str, bool]) -> Traits:
    """Return the marks that older records show: a write has an intent, and a key in it if it takes one."""
    return Traits(safe_to_retry=tool not in keyed, accepts_key=keyed.get(tool, False))


def _tool(state: SessionState, n: int, index: int) -> str:
    asked = state.conversation.asked(n, index)
    return "" if asked is None else asked.name


# ---------------------------------------------------------------- showing it


def _under(met: Met, agent: str, name: str, policy: Policy) -> tuple[str, Explanation]:
    resolved = resolve(policy, agent, met.tool)
    found = explain(met.failure, met.traits, met.history, resolved, agent=agent, tool=met.tool)
    return name, found


def _met_data(met: Met, under: Sequence[tuple[str, Explanation]]) -> dict[str, Any]:
    (_, first), *_ = under
    data = explanation_data(first)
    own = ("directive", "waits", "then", "numbers")
    return {
        "step": met.step,
        **{name: value for name, value in data.items() if name not in own},
        "marks_recorded": met.marked,
        "history": msgspec.structs.asdict(met.history),
        "recorded": {"do": met.then, "wait_s": met.wait_s, "detail": met.detail},
        "policies": [policy_data(name, found) for name, found in under],
    }


def _met_lines(
    met: Met, under: Sequence[tuple[str, Explanation]], terminal: Terminal
) -> Iterator[str]:
    for label, text in _parts(met, under):
        yield f"{terminal.paint(f'{label:<12}', 'grey')}{one_line(text)}"


def _parts(met: Met, under: Sequence[tuple[str, Explanation]]) -> Iterator[tuple[str, str]]:
    failure, history = met.failure, met.history
    what = "the model" if met.index < 0 else met.tool
    yield (
        "step",
        f"{met.step} {what}, attempt {history.attempts}, {duration(history.elapsed_s)} after the first began",
    )
    if failure.message:
        yield "message", failure.message
    yield "evidence", "; ".join(failure.evidence) or "not recorded"
    yield "class", failure.error_class.value
    yield "executed", failure.may_have_executed
    if failure.retry_after is not None:
        yield "asks for", f"a wait of {duration(failure.retry_after)}"
    kind = "may be repeated" if met.traits.repeatable else "must not run twice"
    yield "call", kind if met.marked else f"{kind}, by what else is recorded"
    before = [
        f"{count} {name}"
        for name, count in (("corrections", history.corrections), ("refusals", history.conclusions))
        if count
    ]
    if before:
        yield "before", ", ".join(before)
    yield "recorded", _recorded_words(met)
    for name, found in under:
        yield name, _under_words(found)


def _recorded_words(met: Met) -> str:
    words = met.then.replace("_", " ")
    if met.then == "retry":
        return f"{words} after {duration(met.wait_s)}"
    return f"{words}: {met.detail}" if met.detail else words


def _under_words(found: Explanation) -> str:
    """Return the directive, the waits that would follow and what they end in, in one line."""
    words = directive_words(found.directive)
    if not found.waits:
        return words
    first = found.waits[0]
    words += f" after {duration(first.wait_s_min)} to {duration(first.wait_s_max)}"
    more = len(found.waits) - 1
    again = f"; {more} more if that fails, too" if more else ""
    return f"{words}{again}; then {directive_words(found.then)}"
