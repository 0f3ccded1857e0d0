"""What a session may begin with, or go on with: checked before anything is done. Pure."""

from ..supervisor.errors import UsageError
from .agent import InstalledAgent
from .budget import Budget
from .state import SessionState


class NotGuarded(UsageError):
    """A scope has an unfinished call of a tool that is not guarded in this runtime."""


def check_task(text: str) -> None:
    """Refuse a task or message without content.

    Raises:
        UsageError: it is no text, or there is nothing in it.
    """
    if not isinstance(text, str) or not text.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"task {text!r} is empty; say what the agent should do")


def check_guarded(installed: InstalledAgent, state: SessionState) -> None:
    """Refuse to go on with a scope whose unfinished calls are of tools that are not guarded here.

    Raises:
        NotGuarded: one is; whoever guards it goes on with the scope.
    """
    unsettled = {call.name for turn in state.conversation.open for call in turn.answered.calls}
    unsettled |= {entry.tool for entry in state.ledger.open.values()}
    for name in sorted(unsettled):
        if name not in installed.toolbox:
            raise NotGuarded(
                f"its tool {name!r} is not guarded here; give it in Runtime(guarded=[...])"
            )


def check_budget(installed: InstalledAgent, budget: Budget) -> None:
    """Refuse what is no budget, and a limit in dollars on a model that does not know its prices.

    Raises:
        UsageError: such a limit could not be held.
    """
    if not isinstance(budget, Budget):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"budget={budget!r} is no Budget; give Budget(...)")
    if budget.cost_usd is not None and getattr(installed.model, "prices", None) is None:
        raise UsageError(
            f"budget cost_usd={budget.cost_usd:g} cannot be held: the model of agent "
            f"{installed.name!r} has no prices; give it prices=Prices(...)"
        )
