"""What a run has broken of the promises. Pure.

Each check looks at one run, beside the clean one, which says how many effects each call is to have.
What the drill itself did in this run (its fault) excuses what follows from it, and nothing else.
"""

from collections.abc import Callable, Iterable, Iterator

from .cells import effects_of
from .promises import PROMISES, Broken, Case, ToolPromises
from .record import BodyRun, Call, Seen, Standing


def judge(case: Case) -> list[Broken]:
    """Return what a run has broken, each once, in the order of the promises."""
    found = {each for check in _CHECKS for each in check(case)}
    if case.seen.stuck:
        # What does not end keeps the runtime from ending: that is no fault of its own.
        found = {each for each in found if each.promise != "runtime"}
    lied = {each.tool for each in found if each.promise == "probe"}
    # What a lie of the probe leads to is no mistake of its own.
    found = {each for each in found if each.promise != "once" or each.tool not in lied}
    order = list(PROMISES)
    return sorted(found, key=lambda each: (order.index(each.promise), each))


# ---------------------------------------------------------------- effects


def _once(case: Case) -> Iterator[Broken]:
    for call, runs in _by_call(case.seen, "call").items():
        tool = runs[0].tool
        marks, expected = case.of(tool), _expected_of(case, call, tool)
        took = effects_of(case.seen, call)
        if took > expected > 0 or (took > 1 and not expected):
            times = f"{took} times" if expected <= 1 else f"{took} times instead of {expected}"
            yield Broken("once", tool, f"{_declared(marks)}, and it took effect {times}")
        # What is counted is judged by its count.
        if expected or not marks.write or marks.repeatable or marks.probes:
            continue
        done = [run for run in runs if run.how == "returned"]
        if len(done) > 1:
            times = f"its body ran {len(done)} times"
            yield Broken("once", tool, f"it is not safe to repeat, and {times}")


def _declared(marks: ToolPromises) -> str:
    if not marks.write:
        return "it is declared a read"
    if marks.repeatable:
        return "it says that it may be repeated (safe_to_retry, or a key)"
    return "a probe or nothing allows another run" if marks.probes else "nothing allows another run"


def _kept(case: Case) -> Iterator[Broken]:
    for standing in case.seen.standings:
        expected = _expected_of(case, standing.call, standing.tool)
        if (
            standing.state != "succeeded"
            or standing.undo in ("compensated", "in_doubt")
            or not expected
        ):
            continue
        took = effects_of(case.seen, standing.call)
        if took < expected and not _undone_by_itself(case, standing):
            how = "nothing happened" if took == 0 else f"{took} of {expected} effects happened"
            yield Broken("kept", standing.tool, f"the call is reported as done, and {how}")
    for line in case.seen.lost:
        yield Broken("kept", "", line)


def _undone_by_itself(case: Case, standing: Standing) -> bool:
    return any(each.call == standing.call and each.by == "undo" for each in case.seen.changes)


def _expected_of(case: Case, call: Call, tool: str) -> int:
    asked = next((each.arguments for each in case.seen.standings if each.call == call), None)
    return case.expected.of(call, tool, asked)


def _honest(case: Case) -> Iterator[Broken]:
    ended = case.seen.ended
    if ended is None or ended.outcome != "completed":
        return
    standings = case.seen.standings
    for at, standing in enumerate(standings):
        marks = case.of(standing.tool)
        if not marks.write or standing.state in ("succeeded", "compensated"):
            continue
        # Made good: the same tool did succeed afterwards, as after a correction.
        later = any(
            each.tool == standing.tool
            and each.state == "succeeded"
            and each.call.session == standing.call.session
            for each in standings[at + 1 :]
        )
        if not later:
            state = standing.state.replace("_", " ")
            yield Broken(
                "honest", standing.tool, f"the session is completed, and this call is {state}"
            )


# ---------------------------------------------------------------- undoing


def _undone(case: Case) -> Iterator[Broken]:
    for standing in case.seen.standings:
        planned = case.planned_for(standing.call) and case.fault.startswith("undo_")
        if standing.undo == "compensated":
            left = _net(case.seen, standing.call)
            if left > 0 and _expected_of(case, standing.call, standing.tool):
                yield Broken(
                    "undone",
                    standing.tool,
                    "the compensation says that it is undone, and the effect stands",
                )
        elif standing.undo in ("failed", "in_doubt") and not planned:
            said = f": {standing.undo_content}" if standing.undo_content else ""
            how = "fails" if standing.undo == "failed" else "does not come to an end"
            yield Broken("undone", standing.tool, f"the compensation {how}{said}")
        elif _left_standing(case, standing):
            yield Broken("undone", standing.tool, "it has a compensation, and that was not run")
    for call in {each.call for each in case.seen.changes if each.change == -2}:
        yield Broken("undone", _tool_of(case, call), "the compensation undoes more than was done")


def _left_standing(case: Case, standing: Standing) -> bool:
    ended = case.seen.ended
    if ended is None or ended.outcome != "handed_over" or ended.frozen or ended.doubts:
        return False
    return (
        case.of(standing.tool).compensates
        and standing.state == "succeeded"
        and not standing.undo
        # What the store no longer takes cannot be undone either.
        and not (case.cell is not None and case.cell.step.kind == "store")
        and ended.reason not in ("restarts",)
    )


def _net(seen: Seen, call: Call) -> int:
    return sum(max(each.change, -1) for each in seen.changes if each.call == call)


# ---------------------------------------------------------------- probes


def _probes(case: Case) -> Iterator[Broken]:
    results = {run.call: run.result for run in case.seen.runs if run.kind == "call" and run.result}
    for run in case.seen.runs:
        if run.kind != "probe" or run.planned:
            continue
        counted = _expected_of(case, run.call, run.tool) > 0
        match run.how:
            case "raised":
                yield Broken("probe", run.tool, f"the probe fails: {run.said}")
            case "cancelled" | "running":
                yield Broken("probe", run.tool, "the probe gives no answer in its time")
            case "returned" if run.answer == "unclear":
                yield Broken(
                    "probe",
                    run.tool,
                    f"the probe returns {run.said}, which says neither yes nor no",
                )
            case "returned" if counted and run.answer == "not_done" and run.effects_then > 0:
                yield Broken("probe", run.tool, "the probe says that it did not happen, and it did")
            case "returned" if counted and run.answer == "done" and run.effects_then <= 0:
                yield Broken("probe", run.tool, "the probe says that it happened, and it did not")
            case "returned" if run.answer == "done" and results.get(run.call, run.said) != run.said:
                told = f"the probe answers {run.said}, and the call itself had returned {results[run.call]}"
                yield Broken("probe", run.tool, told)
            case _:
                pass


# ---------------------------------------------------------------- waits


def _bounded(case: Case) -> Iterator[Broken]:
    error = case.seen.error
    if error.startswith(("the session had no end", "the run took more")):
        yield Broken("bounded", "" if case.cell is None else case.cell.step.tool, error)
    for run in case.seen.runs:
        marks = case.of(run.tool)
        if run.kind != "call" or marks.shipped or marks.timeout_s is not None:
            continue
        hung = run.planned and case.fault == "hang" and run.asleep
        if (
            run.how in ("cancelled", "running")
            and (hung or not run.planned)
            and not _cut_short(case, run)
        ):
            how = "when no answer comes" if hung else "though nothing was wrong"
            yield Broken(
                "bounded",
                run.tool,
                f"no timeout_s: {how}, only the end of the session ends the call",
            )
    for run in case.seen.runs:
        never = run.kind == "undo" and run.how in ("cancelled", "running") and not run.planned
        if never and not _cut_short(case, run):
            yield Broken("bounded", run.tool, "the compensation does not end by itself")


def _cut_short(case: Case, run: BodyRun) -> bool:
    """Whether the session ended around this body for another reason, such as a kill."""
    return case.seen.lives > 1 or (run.elapsed_s < 1.0 and run.how == "cancelled")


def _cancellable(case: Case) -> Iterator[Broken]:
    for run in case.seen.runs:
        if run.swallowed:
            what = (
                "compensation " if run.kind == "undo" else "probe " if run.kind == "probe" else ""
            )
            yield Broken(
                "cancellable",
                run.tool,
                f"the {what or 'body '}answers its cancellation: {run.swallowed}",
            )
    for what in case.seen.stuck:
        tool = what.rpartition(" ")[2]
        yield Broken("cancellable", tool, "the body does not end when it is cancelled")


# ---------------------------------------------------------------- what leaves, and the rest


def _secrets(case: Case) -> Iterator[Broken]:
    outside: dict[str, list[str]] = {}
    for leak in case.seen.leaks:
        if leak.raw:
            where, _, what = leak.where.rpartition(": ")
            tool = where.rpartition(" ")[2]
            yield Broken(
                "secret", tool, f"{leak.secret} is in {what.replace('its', f'the {_part(where)}')}"
            )
        else:
            outside.setdefault(leak.secret, []).append(leak.where)
    for secret, places in outside.items():
        yield Broken("secret", "", f"{secret} has left the tools: it is in {places[0]}")


def _part(where: str) -> str:
    return f"{where.split(' of ')[0]}'s" if " of " in where else "tool's"


def _reads(case: Case) -> Iterator[Broken]:
    for each in case.seen.changes:
        if each.by == "probe":
            yield Broken("read only", each.tool, "its probe takes effect itself")
        elif each.by == "call" and not case.of(each.tool).write:
            yield Broken("read only", each.tool, 'it is declared effect="read", and takes effect')


def _runtime(case: Case) -> Iterator[Broken]:
    error = case.seen.error
    if error and not error.startswith(("the session had no end", "the run took more")):
        yield Broken("runtime", "", error)
    if case.seen.restarts and not (case.cell is not None and case.cell.step.kind == "store"):
        yield Broken("runtime", "", f"the session's own actor died: {case.seen.restarts[0]}")
    elif not error and case.seen.ended is None:
        yield Broken("runtime", "", "the session has no outcome")


_CHECKS: tuple[Callable[[Case], Iterable[Broken]], ...] = (
    _once,
    _kept,
    _honest,
    _undone,
    _probes,
    _bounded,
    _cancellable,
    _secrets,
    _reads,
    _runtime,
)


def _tool_of(case: Case, call: Call) -> str:
    for run in case.seen.runs:
        if run.call == call:
            return run.tool
    return next((each.tool for each in case.seen.changes if each.call == call), "")


def _by_call(seen: Seen, kind: str) -> dict[Call, list[BodyRun]]:
    found: dict[Call, list[BodyRun]] = {}
    for run in seen.runs:
        if run.kind == kind:
            found.setdefault(run.call, []).append(run)
    return found
