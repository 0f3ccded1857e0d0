"""The agents of a runtime, checked together. Pure."""

from collections.abc import Mapping, Sequence

from ..supervisor.errors import UsageError
from .agent import GUARD, Agent, InstalledAgent, check_fallbacks
from .guarding.guard import guard_agent


def install(agents: Sequence[Agent], secrets: Mapping[str, str]) -> dict[str, InstalledAgent]:
    """Return the agents by name.

    Raises:
        UsageError: two share a name, one is no Agent, or a fallback leads nowhere.
    """
    installed: dict[str, InstalledAgent] = {}
    if isinstance(agents, Agent):
        raise UsageError(f"agents={agents!r} is one agent; give a list: agents=[...]")
    for agent in agents:
        if not isinstance(agent, Agent):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"agents= holds {agent!r}, which is no Agent")
        if agent.name == GUARD:
            raise UsageError(f"the name {GUARD!r} is that of guarded calls; give the agent another")
        if agent.name in installed:
            raise UsageError(f"two agents are called {agent.name!r}; give one another name")
        installed[agent.name] = InstalledAgent(agent, secrets)
    check_fallbacks(installed)
    installed[GUARD] = guard_agent((), secrets)
    return installed


def check_staged(agents: Sequence[Agent], *, kept: bool) -> None:
    """Refuse tools that stage files where no files are kept.

    Raises:
        UsageError: their calls could only fail.
    """
    if kept:
        return
    for agent in agents:
        for each in agent.tools:
            if each.marks.staged is True:
                raise UsageError(
                    f"agent {agent.name!r}: tool {each.name!r} is staged, and no files are kept here: give "
                    "the runtime a store in a file, or snapshots=Snapshots(path=...)"
                )
