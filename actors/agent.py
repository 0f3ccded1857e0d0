"""Agents: what a session runs, defined once and shared by all its sessions."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from ..supervisor.errors import BusinessRejected, UsageError
from .budget import Budget
from .model import Model
from .outcome import Completed, HandedOver, Outcome, Stopped
from .staging.checks import Check, check_checks
from .tooling.marks import Marks
from .tooling.toolbox import Toolbox
from .tooling.tools import AnyTool, tool

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")

GUARD = "guard"
"""Name of the built-in agent whose calls come from a program; see `guard`."""

SubSession = Callable[[str, str, Budget | None], Awaitable[Outcome]]
"""Runs a sub-session of the calling session: agent, task, its own budget."""

subsessions: ContextVar[SubSession] = ContextVar("ukemi_subsessions")
"""Set by the runtime around a tool's body."""


class Agent:
    """A model, its tools and its instructions. Immutable; sessions share it and keep nothing in it.

    Args:
        name: how sessions refer to it in the store; letters, digits, ``_`` and ``-``.
        model: anything with ``async complete(request)``; see `Model`.
        tools: functions decorated with `tool`.
        instructions: the system prompt.
        fallback: another agent, or its name, that gets the task when this one makes no progress.
        progress: called with `StepFacts` after each step; what it returns says how far the session
            has come. While that changes, the session makes progress, whatever its calls look like.
            Called in the event loop: it must be quick, and change nothing.
        checks: what each staged change of its tools has to pass besides the shipped checks, sync or
            async: called with a `StagedChange`, they return why it must not be committed, or None.
        judge: a second model, asked about claims of an answer that nothing supports; it can raise an
            alarm, and never takes one away. Each request counts in the session's budget.

    Raises:
        UsageError: a bad name, a model without ``complete``, or tools that clash.
    """

    def __init__(
        self,
        name: str,
        *,
        model: Model,
        tools: Sequence[AnyTool] = (),
        instructions: str = "",
        fallback: "Agent | str | None" = None,
        progress: Callable[[Any], object] | None = None,
        checks: Sequence[Check] = (),
        judge: Model | None = None,
    ) -> None:
        if not _NAME.match(name):
            raise UsageError(f"agent name {name!r} must be 1 to 64 letters, digits, _ or -")
        if not callable(getattr(model, "complete", None)):
            raise UsageError(
                f"agent {name!r}: model={model!r} has no complete(request); "
                "use one of ukemi.models, or write that one method"
            )
        if judge is not None and not callable(getattr(judge, "complete", None)):
            raise UsageError(
                f"agent {name!r}: judge={judge!r} has no complete(request); "
                "use one of ukemi.models, or leave it out"
            )
        # Refuse what cannot work now, not at the first session; the secrets come with a runtime.
        Toolbox(tools, secrets=dict.fromkeys(_secret_names(tools), ""))
        self.name = name
        self.model = model
        self.judge = judge
        self.tools = tuple(tools)
        self.instructions = instructions
        self.fallback = fallback.name if isinstance(fallback, Agent) else fallback
        self.progress = progress
        self.checks = check_checks(f"agent {name!r}", checks)
        if progress is not None and not callable(progress):
            raise UsageError(f"agent {name!r}: progress={progress!r} cannot be called")

    def __repr__(self) -> str:
        return f"Agent({self.name!r}, {len(self.tools)} tools)"

    def as_tool(self, *, description: str = "", budget: Budget | None = None) -> AnyTool:
        """Return a tool that hands a task to a sub-session of this agent and returns its answer.

        The sub-session lives within the limits of its parent and is cancelled with it. It is named
        after the call, so repeating the call after a crash goes on with the same sub-session.
        """
        agent = self.name

        async def delegate(task: str) -> str:
            return answer_of(agent, await subsessions.get()(agent, task, budget))

        delegate.__doc__ = description or f"Hand a task to the agent {agent!r}; returns its answer."
        return tool(name=agent, effect="write", safe_to_retry=True, overlap=True)(delegate)


def answer_of(agent: str, outcome: Outcome) -> str:
    """Return what a sub-session answered.

    Raises:
        BusinessRejected: it did not complete; the parent must not work round that.
    """
    match outcome:
        case Completed(answer):
            return answer
        case HandedOver(reason, _, detail):
            why = f"handed over to a person ({reason}: {detail})" if detail else reason
        case Stopped(reason):
            why = reason
    raise BusinessRejected(f"{agent} did not complete the task: {why}")


def _secret_names(tools: Sequence[AnyTool]) -> list[str]:
    # What is no tool has no marks; the toolbox says so with a better message.
    marks = (getattr(each, "marks", None) for each in tools)
    return [name for each in marks if isinstance(each, Marks) for name in each.secrets]


class InstalledAgent:
    """An agent as one runtime runs it: its toolbox knows that runtime's secrets."""

    def __init__(self, agent: Agent, secrets: Mapping[str, str]) -> None:
        self.agent = agent
        self.name = agent.name
        self.is_guard = agent.name == GUARD
        self.model = agent.model
        self.toolbox = Toolbox(agent.tools, secrets=secrets)
        self.schemas = self.toolbox.schemas()
        # An agent that can neither change anything nor say how far it is cannot stand still.
        self.changes_state = agent.progress is not None or any(
            each.marks.effect == "write" for each in agent.tools
        )


def check_fallbacks(agents: Mapping[str, InstalledAgent]) -> None:
    """Refuse fallbacks that nobody knows, or that lead back to where they began.

    Raises:
        UsageError: a task could not be handed on, or would be for ever.
    """
    for first in agents.values():
        seen = [first.name]
        while (following := agents[seen[-1]].agent.fallback) is not None:
            if following not in agents:
                known = ", ".join(sorted(agents))
                raise UsageError(
                    f"agent {seen[-1]!r}: fallback={following!r} is unknown; agents= has: {known}"
                )
            if following in seen:
                raise UsageError(f"fallbacks go in a circle: {' -> '.join([*seen, following])}")
            seen.append(following)
