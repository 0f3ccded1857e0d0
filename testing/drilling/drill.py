"""The drill, whole: a clean run, then one run for each fault at each step, each judged by itself."""

import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from ...actors.agent import Agent
from ...actors.budget import Budget
from ...actors.model import Model
from ...actors.runtime import Runtime
from ...actors.tooling.tools import AnyTool
from ...actors.workspaces import Snapshots
from ...supervisor.classify import classify
from ...supervisor.errors import UsageError
from ...supervisor.policy import Policy
from .apart import CAN_FORK, JOBS_MAX, run_apart
from .cells import Cell, ToolFacts, cells_of, steps_of
from .judging import judge
from .planted import declared_names, planted_value, secrets_of, variables_named
from .promises import Broken, Case, Expected, ToolPromises, expected_effects
from .record import Seen
from .rehearsal import Setting, rehearse
from .report import CLEAN, CellResult, DrillReport, findings_of, how_ended, result_of
from .standing_in import StandIn, bound_to_workspace, stand_ins
from .stubs import Stub
from .untested import Untested, untested_of

CELL_S_MAX = 60.0
"""Real seconds for one run."""

PATIENCE_S = 2.0

SESSION_S = 900.0
"""Virtual seconds of a session that was given no budget: the default hour makes a hang four times as dear."""

Progress = Callable[[int, int, str], None]


def drill(
    agent: Agent,
    task: str,
    *,
    agents: Sequence[Agent] = (),
    model: Model | None = None,
    stubs: Mapping[str, Stub] | None = None,
    workspace: str | Path | None = None,
    secrets: Mapping[str, str] | None = None,
    variables: Sequence[str] = (),
    policy: Policy | str | Path | None = None,
    budget: Budget | None = None,
    only: Sequence[str] = (),
    cells: Sequence[str] = (),
    seed: int = 0,
    jobs: int | None = None,
    forks: bool = CAN_FORK,
    patience_s: float = PATIENCE_S,
    cell_s_max: float = CELL_S_MAX,
    progress: Progress | None = None,
) -> DrillReport:
    """Run an agent's session under every fault at every step, and say which promises were broken.

    Each run has a virtual clock, a store in memory, a copy of the workspace, and a process of its own
    where the system can fork. Call it outside of any event loop.

    Args:
        agent: whose session it is.
        task: its first message.
        agents: others that it hands tasks to, or falls back on.
        model: in place of the agents' own. A `ScriptedModel` is asked in every run; of any other, the
            answers of the clean run are said again.
        stubs: what runs in place of tools that write outside of the workspace, by ``TOOL``,
            ``TOOL.compensate`` or ``TOOL.probe``: an `EffectStub`, which counts what takes effect, or `OWN`
            for a function that talks to one in the place of its client; ``{"*": OWN}``: all of them do. A
            function or an `Ok` tells less. What no stub counts is ``untested`` in the report.
        workspace: the folder to copy for each run; None: an empty one.
        secrets: values for what tools declare as secrets; others are made up.
        variables: environment variables to plant a secret in, besides those that the tools name.
        policy: as for a `Runtime`.
        budget: the session's limits; None: the defaults, with 900 seconds.
        only: only these faults. ``cells``: only these cells, such as ``3:kill_after``.
        seed: of made-up values and of the spread of waits; the same seed gives the same report.
        jobs: runs at a time; None: one for each core, at most 4.
        forks: False runs everything in this process, where nothing ends a body that blocks the loop.
        patience_s: real seconds for which threads and connections are waited for before time jumps.
        cell_s_max: real seconds for one run.
        progress: told after each run: how many are done, of how many, and the cell.

    Raises:
        UsageError: a tool writes outside and has no stub, or something given here does not exist; nothing
            was run.
    """
    every = _with_model([agent, *(each for each in agents if each is not agent)], model)
    found = stand_ins(every, stubs or {})
    setting = _setting(
        every,
        agent.name,
        task,
        found,
        secrets or {},
        variables,
        policy,
        budget,
        workspace,
        seed,
        patience_s,
    )
    run_all = partial(
        run_apart, limit_s=cell_s_max, jobs=jobs or min(JOBS_MAX, os.cpu_count() or 1), forks=forks
    )
    ((_, clean),) = run_all([("", partial(rehearse, setting, None))])
    setting.replies = clean.replies
    tools = _tools_of(every)
    steps = steps_of(clean, {name: _facts_of(each) for name, each in tools.items()})
    wanted = cells_of(steps, only=only, named=cells)
    told = progress or _untold
    told(0, len(wanted), "")
    promises = {name: _promises_of(each, found[name]) for name, each in tools.items()}
    expected = expected_effects(clean)
    broken: list[tuple[str, list[Broken]]] = [(CLEAN, judge(Case(clean, None, expected, promises)))]
    runs = run_all([(each, partial(rehearse, setting, each)) for each in wanted])
    judged = partial(_judged, expected=expected, promises=promises)
    ordered = _results(wanted, runs, judged, told)
    broken += [(each.name, list(each.broken)) for each in ordered]
    return DrillReport(
        agent=agent.name,
        task=task,
        seed=seed,
        clean=how_ended(clean),
        steps=tuple(steps),
        cells=tuple(ordered),
        findings=findings_of(broken),
        untested=tuple(_untested(promises, _within_reach(agent, every), expected, clean)),
    )


def _untold(done: int, total: int, cell: str) -> None:
    """Tell nobody."""


def _results(
    wanted: Sequence[Cell],
    runs: Iterable[tuple[Cell, Seen]],
    judged: Callable[[Cell, Seen], CellResult],
    told: Progress,
) -> list[CellResult]:
    """Judge runs as they end, in whatever order, and return what came of them in that of the cells."""
    found: dict[str, CellResult] = {}
    for done, (cell, seen) in enumerate(runs, 1):
        found[cell.name] = judged(cell, seen)
        told(done, len(wanted), cell.name)
    return [found[each.name] for each in wanted]


def _judged(
    cell: Cell, seen: Seen, expected: Expected, promises: Mapping[str, ToolPromises]
) -> CellResult:
    case = Case(seen, cell, expected, promises)
    return result_of(cell, seen, judge(case))


def _with_model(agents: Sequence[Agent], model: Model | None) -> list[Agent]:
    if model is None:
        return list(agents)
    return [
        Agent(
            each.name,
            model=model,
            tools=each.tools,
            instructions=each.instructions,
            fallback=each.fallback,
            progress=each.progress,
            checks=each.checks,
        )
        for each in agents
    ]


def _setting(
    agents: Sequence[Agent],
    main: str,
    task: str,
    found: Mapping[str, StandIn],
    secrets: Mapping[str, str],
    variables: Sequence[str],
    policy: Policy | str | Path | None,
    budget: Budget | None,
    workspace: str | Path | None,
    seed: int,
    patience_s: float,
) -> Setting:
    declared = {name: planted_value(name, seed) for name in declared_names(agents)} | dict(secrets)
    functions = [
        each
        for one in found.values()
        for each in (one.body, one.undo, one.probe)
        if each is not None
    ]
    named = list(dict.fromkeys([*variables, *variables_named(functions)]))
    folder = None if workspace is None else Path(workspace)
    if folder is not None and not folder.is_dir():
        raise UsageError(f"workspace {str(folder)!r} is no folder")
    _load_all(agents, declared, policy)
    return Setting(
        agents=agents,
        main=main,
        task=task,
        stand_ins=found,
        secrets=declared,
        variables=named,
        wanted=secrets_of(declared, named, os.environ, seed),
        policy=policy,
        budget=budget or Budget(seconds=SESSION_S),
        workspace=folder,
        seed=seed,
        patience_s=patience_s,
    )


def _load_all(
    agents: Sequence[Agent], secrets: Mapping[str, str], policy: Policy | str | Path | None
) -> None:
    """Refuse here what no run could have; and load what a first runtime and a first error load, so that
    it is not loaded once in every process."""
    # Nothing is made of the path before something is kept there.
    kept = Snapshots(path=Path(tempfile.gettempdir(), "ukemi-drill-unused"))
    Runtime("memory:", agents=agents, secrets=secrets, policy=policy, snapshots=kept)
    classify(RuntimeError("nothing"))


def _tools_of(agents: Sequence[Agent]) -> dict[str, AnyTool]:
    return {each.name: each for agent in agents for each in agent.tools}


def _facts_of(tool: AnyTool) -> ToolFacts:
    marks = tool.marks
    return ToolFacts(
        compensates=marks.undo == "compensate",
        probes=marks.probe is not None,
        timeout_s=marks.timeout_s,
    )


def _promises_of(tool: AnyTool, found: StandIn) -> ToolPromises:
    marks = tool.marks
    return ToolPromises(
        write=marks.effect == "write",
        repeatable=marks.safe_to_retry or marks.accepts_key,
        probes=marks.probe is not None,
        compensates=marks.undo == "compensate",
        timeout_s=marks.timeout_s,
        shipped=bound_to_workspace(tool),
        counts=found.counts,
        undo_judged=found.undo_judged,
    )


def _untested(
    promises: Mapping[str, ToolPromises], reached: Collection[str], expected: Expected, clean: Seen
) -> Iterator[Untested]:
    """Yield what the drill could not tell, tool by tool; tools that the session cannot reach are no part
    of it."""
    called = {run.tool for run in clean.runs if run.kind == "call"}
    for name, marks in promises.items():
        effects = expected.tools.get(name, 0)
        found = untested_of(name, marks, called=name in called, effects=effects)
        if found is not None and name in called.union(reached):
            yield found


def _within_reach(main: Agent, agents: Sequence[Agent]) -> set[str]:
    """Return the tools of an agent, of those that are its tools, and of those that it falls back on: a
    module may have others."""
    known = {each.name: each for each in agents}
    waiting, reached = [main.name], dict[str, Agent]()
    while waiting:
        agent = known.get(waiting.pop())
        if agent is not None and agent.name not in reached:
            reached[agent.name] = agent
            # An agent as a tool has the agent's name.
            waiting += [each.name for each in agent.tools if bound_to_workspace(each)]
            waiting += [] if agent.fallback is None else [agent.fallback]
    return set(_tools_of(list(reached.values())))
