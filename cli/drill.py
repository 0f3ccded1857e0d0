"""``ukemi drill``: an agent under every fault at every step, and what that breaks."""

import shlex
import time
from collections.abc import Sequence

from msgspec import Struct

from ..actors.budget import Budget
from ..supervisor.errors import UsageError
from ..testing import DrillReport, drill
from ..testing.drilling.untested import Allowed, names_of, not_allowed
from .drill_named import Modules, pairs_of
from .drill_words import report_lines
from .errors import DONE, NOT_DONE, ExitStatus
from .output import Output

NOTE_EVERY_S = 5.0


class DrillRequest(Struct, frozen=True, kw_only=True):
    """What was typed; ``again`` is the command without what picks cells."""

    agent: str
    task: str
    model: str | None
    stubs: Sequence[str]
    cells: Sequence[str]
    only: Sequence[str]
    secrets: Sequence[str]
    env: Sequence[str]
    cwd: str | None
    policy: str | None
    budget: Budget | None
    seed: int
    jobs: int | None
    untested: str
    again: Sequence[str]


def run_drill(out: Output, request: DrillRequest) -> ExitStatus:
    """Drill an agent and print what was found; it makes event loops of its own, so it is called outside
    of any.

    Raises:
        UsageError: what was typed cannot be; nothing was run.
    """
    if request.jobs is not None and request.jobs < 1:
        raise UsageError(f"--jobs {request.jobs} must be 1 or more")
    allowed = _allowed(request.untested)
    report = _drilled(out, request)
    if out.as_json:
        out.data({**report.to_data(), "command": shlex.join(request.again)})
    else:
        for line in report_lines(
            report, out.terminal, again=request.again, told=bool(request.cells)
        ):
            out.text(line)
    left = not_allowed(report.untested, allowed)
    if left and not report.broken and not out.as_json:
        out.note(
            f"exit status 1, for what could not be checked: {names_of(left)}; give an EffectStub, or "
            "--untested allow, or --untested TOOL,..."
        )
    return NOT_DONE if report.broken or left else DONE


def _allowed(word: str) -> Allowed:
    """Return what ``--untested`` says.

    Raises:
        UsageError: it names nothing.
    """
    if word == "fail" or word == "allow":
        return word
    tools = [each.strip() for each in word.split(",") if each.strip()]
    if not tools:
        raise UsageError(f"--untested {word!r}: write fail, allow, or names of tools with commas")
    return tools


def _drilled(out: Output, request: DrillRequest) -> DrillReport:
    modules = Modules()
    agent, every = modules.agents(request.agent)
    return drill(
        agent,
        request.task,
        agents=every,
        model=None if request.model is None else modules.model(request.model),
        stubs=modules.stubs(request.stubs),
        workspace=request.cwd,
        secrets=pairs_of("--secret", request.secrets),
        variables=request.env,
        policy=request.policy,
        budget=request.budget,
        only=[each.strip() for words in request.only for each in words.split(",") if each.strip()],
        cells=request.cells,
        seed=request.seed,
        jobs=request.jobs,
        progress=_Progress(out).tell,
    )


class _Progress:
    """Says on standard error how far a long drill is."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._told_at = time.monotonic()

    def tell(self, done: int, total: int, cell: str) -> None:
        now = time.monotonic()
        if now - self._told_at >= NOTE_EVERY_S:
            self._told_at = now
            self._out.note(f"{done} of {total} faults tried", "grey")
