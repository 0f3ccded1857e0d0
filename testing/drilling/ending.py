"""How a session ended, and how each of its calls stands, for the record of its run."""

from collections.abc import Sequence
from typing import cast

from ...actors.handle import SessionHandle
from ...actors.outcome import Completed, HandedOver, Outcome, Stopped
from ...supervisor.errors import message_of
from .record import Call, Ended, Standing


async def standings_of(handle: SessionHandle) -> list[Standing]:
    """Return how each call of a session stands by what is stored."""
    effects = {each.call: each for each in await handle.effects()}
    inspected = await handle.inspect()
    details = {(each.n, each.index): each.detail for each in inspected.compensations}
    checkpoint = await handle.checkpoint()
    found: list[Standing] = []
    for each in checkpoint.tool_history:
        effect = effects.pop((each.n, each.index), None)
        undo = "" if effect is None else effect.undo
        found.append(
            Standing(
                call=Call(handle.id, each.n, each.index),
                tool=each.tool,
                state=each.state if effect is None or undo else effect.state,
                arguments=each.arguments,
                write=effect is not None,
                attempts=each.attempts,
                content=each.content,
                undo=undo,
                undo_content=details.get((each.n, each.index), ""),
            )
        )
    found += [
        Standing(
            call=Call(handle.id, *each.call),
            tool=each.tool,
            state=each.state,
            arguments=each.arguments,
            write=True,
            undo=each.undo,
        )
        for each in effects.values()
    ]
    return found


def ended_as(outcome: Outcome) -> Ended:
    """Return how a session ended, for the record of its run."""
    match outcome:
        case Completed(answer):
            return Ended(outcome="completed", answer=answer)
        case HandedOver(reason, dossier, detail):
            return Ended(
                outcome="handed_over",
                reason=reason,
                detail=detail,
                frozen=dossier.frozen is not None,
                doubts=len(dossier.in_doubt),
            )
        case Stopped(reason):
            return Ended(outcome="stopped", reason=reason)


def told(error: BaseException | None) -> str:
    """Return what was raised, in words."""
    if isinstance(error, BaseExceptionGroup):
        members = cast("Sequence[BaseException]", error.exceptions)
        return "; ".join(told(each) for each in members)
    return "it was cancelled" if error is None else f"{type(error).__name__}: {message_of(error)}"
