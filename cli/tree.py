"""A session's steps drawn as a tree. Pure."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ..actors.budget import LIMITS
from .answers import outcome_line, outcome_lines, status_colour, status_words
from .steps import (
    CallStep,
    DecisionStep,
    EndStep,
    ModelStep,
    NoteStep,
    PruneStep,
    Retry,
    RollbackStep,
    SessionTree,
    Step,
    UserStep,
)
from .terminal import (
    Colour,
    Terminal,
    amount,
    columns_of,
    duration,
    fit,
    one_line,
    plural,
    rounded,
    width_left,
)

STATE_MARKS: dict[str, tuple[str, str, Colour | None]] = {
    "succeeded": ("✓", "+", "green"),
    "failed": ("✗", "x", "red"),
    "in_doubt": ("?", "?", "yellow"),
    "denied": ("⊘", "!", "yellow"),
    "refused": ("⊘", "!", "yellow"),
    "running": ("…", ".", "blue"),
    "open": ("…", ".", "blue"),
}


TEXT_MIN = 8
"""Columns a text keeps in a tree that is deeper than the terminal is wide."""


class Line(Struct, frozen=True):
    """One line of a tree: what gives way when it is too long, what must stay, what hangs below."""

    text: str
    fixed: str = ""
    mark: str = ""
    colour: Colour | None = None
    below: "tuple[Line, ...]" = ()


def draw_session(tree: SessionTree, terminal: Terminal) -> str:
    """Return a session as text: a head, the tree of its steps, its budget, how it ended."""
    head = _head(tree, terminal)
    body = list(_draw(_below_session(tree, terminal), "", terminal))
    foot = [*_budget(tree, terminal), *_in_doubt(tree, terminal)]
    if tree.outcome is not None:
        foot += ["", *outcome_lines(tree.outcome, terminal)]
    return "\n".join([*head, *body, *foot])


def _head(tree: SessionTree, terminal: Terminal) -> list[str]:
    stands = _stands(tree)
    status = terminal.paint(status_words(stands), status_colour(stands))
    name = terminal.paint(tree.session_id, "bold")
    lines = [f"{name}  {tree.agent}  {status}  checkpoint {tree.checkpoint}"]
    if tree.damaged is not None:
        lines.append(terminal.paint(f"damaged: {one_line(tree.damaged)}", "red"))
    facts = [
        f"{word} {one_line(value)}"
        for word, value in (
            ("in", tree.working_directory),
            ("below", tree.parent),
            ("driven by", tree.driven_by),
        )
        if value
    ]
    if tree.unfinished and tree.parent is None:
        facts.append(f"nobody drives it: ukemi resume MODULE {one_line(tree.session_id)}")
    lines += [terminal.paint(fit(fact, terminal.width), "grey") for fact in facts]
    return lines


def _stands(tree: SessionTree) -> str:
    """Return the status as a person should read it: what nobody drives does not run."""
    return "unfinished" if tree.unfinished else tree.status


def _below_session(tree: SessionTree, terminal: Terminal) -> tuple[Line, ...]:
    lines = [_step(step, terminal) for step in tree.steps]
    return (*lines, *(_sub_session(sub, terminal) for sub in tree.sub_sessions))


def _sub_session(tree: SessionTree, terminal: Terminal) -> Line:
    stands = _stands(tree)
    fixed = f"{status_words(stands)}  checkpoint {tree.checkpoint}"
    text = f"session {tree.session_id}  {tree.agent}"
    colour = status_colour(stands)
    return Line(text, fixed, colour=colour, below=_below_session(tree, terminal))


def _step(step: Step, terminal: Terminal) -> Line:
    match step:
        case UserStep():
            return Line(f"user   {one_line(step.text)}", colour="bold")
        case NoteStep():
            said = rounded(step.text) if step.about == "budget" else step.text
            return Line(f"note   {one_line(said)}", colour="grey")
        case DecisionStep():
            colour: Colour = "red" if step.problem else "yellow"
            return Line(f"person {one_line(step.text)}", colour=colour)
        case PruneStep():
            return _prune(step)
        case RollbackStep():
            to = "" if step.to is None else f" to {step.to}"
            colour = "yellow" if step.state == "done" else "red"
            return Line(f"back   {step.mode}{to}: {one_line(step.text)}", colour=colour)
        case ModelStep():
            return _model(step, terminal)
        case EndStep():
            said = one_line(outcome_line(step.outcome))
            said += f"; nothing undone: {one_line(step.frozen)}" if step.frozen else ""
            return Line(f"end    {said}", colour=status_colour(step.status))


def _prune(step: PruneStep) -> Line:
    done = [f"summed up by the {step.by}"] if step.summary else []
    done += [f"{plural(step.shortened, 'result')} shown shorter"] if step.shortened else []
    said = f": {one_line(step.summary)}" if step.summary else ""
    return Line(f"prune  ({step.why}) {', '.join(done)}{said}", colour="yellow")


def _model(step: ModelStep, terminal: Terminal) -> Line:
    text = one_line(step.text) if step.answered else "no answer"
    if not text:
        text = f"calls {', '.join(call.tool for call in step.calls)}" if step.calls else "nothing"
    fixed = f"{amount(step.usage.tokens)} tokens" if step.usage.tokens else ""
    if step.finish in ("length", "refused"):
        fixed = f"{step.finish}  {fixed}".rstrip()
    retries = tuple(_retry(each) for each in step.retries)
    calls = tuple(_call(each, terminal) for each in step.calls)
    return Line(f"model  {text}", fixed, below=(*retries, *calls))


def _retry(retry: Retry) -> Line:
    if retry.directive == "retry":
        said = f"retry {retry.number} after {retry.error_class}, waited {duration(retry.wait_s)}"
    else:
        detail = f" ({retry.detail})" if retry.detail else ""
        followed = retry.directive.replace("_", " ")
        said = f"attempt {retry.number} failed, {retry.error_class}, then {followed}{detail}"
    if retry.retry_after is not None:
        said += f", asked to wait {duration(retry.retry_after)}"
    if retry.evidence:
        said += f" [{'; '.join(one_line(each) for each in retry.evidence)}]"
    message = one_line(retry.message)
    return Line(f"{said}: {message}" if message else said, colour="yellow")


def _call(call: CallStep, terminal: Terminal) -> Line:
    drawn, plain, colour = STATE_MARKS[call.settled or call.state]
    below = [_retry(each) for each in call.retries]
    if call.sub_session is not None:
        below.append(_sub_session(call.sub_session, terminal))
    said = one_line(call.content or call.problem or "")
    if said:
        arrow = terminal.pick("→", "->")
        below.append(Line(f"{arrow} {said}", colour=None if call.state == "succeeded" else colour))
    if call.late is not None:
        below.append(Line(f"late: {one_line(call.late)}", colour="yellow"))
    if call.approval is not None:
        below.append(Line(f"approval {one_line(call.approval)}", colour="yellow"))
    if call.staged is not None:
        below.append(Line(f"staged: {one_line(call.staged)}", colour="yellow"))
    if call.undone is not None:
        below.append(Line(f"undo: {one_line(call.undone)}", colour="yellow"))
    return Line(
        f"{call.tool} {one_line(call.arguments)}",
        _facts(call),
        mark=terminal.pick(drawn, plain),
        colour=colour,
        below=tuple(below),
    )


def _facts(call: CallStep) -> str:
    facts = [
        _words(call.state) + (f", then {_words(call.settled)}" if call.settled else ""),
        call.error_class if call.state == "failed" and call.error_class else "",
        f"{call.attempts} attempts" if call.attempts > 1 else "",
        duration(call.elapsed_s) if call.checkpoint is not None and call.elapsed_s else "",
        "still running" if call.still_running else "",
        "replayed" if call.replayed else "",
        f"#{call.checkpoint}" if call.checkpoint is not None else "",
    ]
    return "  ".join(fact for fact in facts if fact)


def _words(state: str) -> str:
    return state.replace("_", " ")


# ---------------------------------------------------------------- drawing


def _draw(lines: Sequence[Line], indent: str, terminal: Terminal) -> Iterator[str]:
    for at, line in enumerate(lines):
        last = at == len(lines) - 1
        branch = terminal.pick("└─ ", "`- ") if last else terminal.pick("├─ ", "|- ")
        yield _drawn(line, indent + branch, terminal)
        deeper = indent + ("   " if last else terminal.pick("│  ", "|  "))
        yield from _draw(line.below, deeper, terminal)


def _drawn(line: Line, branch: str, terminal: Terminal) -> str:
    mark = f"{line.mark} " if line.mark else ""
    room = width_left(terminal, branch, mark)
    fixed = fit(f"  {line.fixed}", max(room - TEXT_MIN, TEXT_MIN)) if line.fixed else ""
    text = fit(line.text, max(room - columns_of(fixed), TEXT_MIN))
    painted = terminal.paint(f"{mark}{text}", line.colour)
    return f"{terminal.paint(branch, 'grey')}{painted}{terminal.paint(fixed, 'grey')}"


# ---------------------------------------------------------------- below the tree


def _budget(tree: SessionTree, terminal: Terminal) -> list[str]:
    """Return what was consumed, beside its limits, in as few lines as the width allows."""
    parts: list[str] = []
    for name in LIMITS:
        used, cap = tree.spent.get(name, 0), tree.limits.get(name)
        if used or cap is not None:
            shown = name.replace("cost_usd", "cost $").replace("_", " ")
            of = f" of {amount(cap)}" if cap is not None else ""
            parts.append(f"{shown} {amount(used)}{of}")
    lines = [""]
    for part in parts:
        joined = f"{lines[-1]} · {part}" if lines[-1] else f"budget  {part}"
        if columns_of(joined) > terminal.width:
            lines.append(f"        {part}")
        else:
            lines[-1] = joined
    return lines if lines[0] else []


def _in_doubt(tree: SessionTree, terminal: Terminal) -> list[str]:
    return [
        terminal.paint(
            fit(
                f"in doubt  did {call.tool} (call {call.n}.{call.index}) take effect?"
                f" {one_line(call.arguments)}",
                terminal.width,
            ),
            "yellow",
        )
        for call in tree.in_doubt
    ]
