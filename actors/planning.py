"""Whether a session makes progress, and what follows where it does not.

The finding is a function of the stored state, so a session that was killed comes to the same one.
The trajectory begins again from a checkpoint, with a hint, where the policy has restarts left;
then the agent's fallback takes over, where it names one; else a person decides.
"""

import hashlib
from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct

from ..stores.records import (
    FellBack,
    JournalEntry,
    Progressed,
    Restarted,
    RollingBack,
    Spent,
    ToolCall,
)
from ..supervisor.classify import classify
from ..supervisor.policy_sessions import PlanningPolicy
from ..supervisor.repetition import Loop
from .events import TrajectoryFellBack, TrajectoryRestarted
from .handover.dossier import Trouble
from .handover.wording import cleaned, encodable
from .model import AssistantMessage, Message, ToolMessage, UserMessage
from .outcome import Completed, HandedOver, Outcome, Stopped
from .session import Session
from .state import (
    POLICY,
)
from .steps import (
    FallBack,
)
from .tooling.results import render_result

DONE_MAX = 50
"""Effects named to a model that begins again, newest kept."""

DONE_CHARS_MAX = 200
"""Characters of the arguments and of the result of each."""


class StepFacts(Struct, frozen=True, kw_only=True):
    """What an agent's ``progress`` function is given: where the session stands after a step."""

    session_id: str
    checkpoint: int
    messages: Sequence[Message]
    working_directory: str
    spent: Spent


class BeginAgain(Struct, frozen=True):
    """Take the conversation back to this checkpoint, with this hint; ``full``: the files as well."""

    counter: int
    hint: str
    full: bool = False


class TakeOver(Struct, frozen=True):
    """Give the task to this agent."""

    agent: str


WayOut = BeginAgain | TakeOver


class Planning:
    """Watches over the trajectory of one life of a session."""

    __slots__ = ("_asks_progress", "_looked_at", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._asks_progress = session.installed.agent.progress is not None
        self._looked_at = -1

    @property
    def _policy(self) -> PlanningPolicy:
        session = self._session
        return session.services.policies.of(session.installed.name).planning

    def look(self) -> Trouble | None:
        """Say whether the session goes round in circles; asked before each model request."""
        session = self._session
        state = session.state
        if self._asks_progress and self._looked_at != state.counter:
            self._looked_at = state.counter
            trouble = self._ask_progress()
            if trouble is not None:
                return trouble
        trail = state.trail
        policy = session.services.policies.of(session.installed.name).planning
        loop = trail.loop(policy)
        if loop is not None:
            return Trouble(reason="planning", detail=str(loop), step="go round in circles")
        if trail.is_idle(policy) and session.installed.changes_state:
            detail = f"{trail.idle} steps in a row changed nothing"
            return Trouble(reason="planning", detail=detail, step="make no progress")
        return None

    def _ask_progress(self) -> Trouble | None:
        """Compare what the agent's own function returns with what it returned before."""
        session = self._session
        progress = session.installed.agent.progress
        if progress is None:
            return None
        try:
            shown = render_result(progress(self._facts())).content
        except Exception as error:  # noqa: BLE001 - the boundary to the user's own function
            failure = cleaned(classify(error), session.services.mask)
            detail = "the agent's progress function failed"
            return Trouble(reason="bug", detail=detail, step="progress", failure=failure)
        digest = hashlib.sha256(shown.encode("utf-8", "backslashreplace")).hexdigest()
        if digest != session.state.progress:
            session.journal.ride(Progressed(digest))
        return None

    def _facts(self) -> StepFacts:
        session = self._session
        return StepFacts(
            session_id=session.id,
            checkpoint=session.state.counter,
            messages=session.state.conversation,
            working_directory=session.facts.working_directory,
            spent=session.spent(),
        )

    # ------------------------------------------------------------ the way out

    def way_out(self, trouble: Trouble) -> WayOut | None:
        """Return what is tried before a person is asked; None: nothing is left.

        Neither may work round a refusal, and nobody else may repeat what is in doubt.
        """
        state = self._session.state
        if trouble.reason != "planning" or state.concluding or state.fallback is not None:
            return None
        policy = self._policy
        if state.restarts < policy.restarts_max:
            counter = self._begin_at(policy)
            full = policy.restart_mode == "full"
            return BeginAgain(counter, self._hint(trouble, counter, policy), full)
        fallback = self._session.installed.agent.fallback
        if fallback is not None and not state.in_doubt:
            return TakeOver(fallback)
        return None

    def _begin_at(self, policy: PlanningPolicy) -> int:
        """Choose the checkpoint, as the policy says."""
        state = self._session.state
        match policy.restart_from:
            case "start":
                return 0
            case "task":
                return state.task_counter
            case "step":
                return state.conversation.mark_at(state.conversation.last_mark - 1)
            case "changed":
                return state.trail.idle_since
            case "loop":
                loop: Loop | None = state.trail.loop(policy)
                return state.trail.idle_since if loop is None else loop.before

    def _hint(self, trouble: Trouble, counter: int, policy: PlanningPolicy) -> str:
        lines = [
            f"Your last attempt made no progress: {trouble.detail}.",
            "The conversation has been taken back to before that.",
            "Do not repeat it: take another way, or say what is missing.",
        ]
        if policy.hint:
            lines.append(policy.hint)
        if policy.restart_mode == "full":
            lines.append("So have the files; what the undo could not reach is named below.")
        else:
            lines += self._done(self._session.state.conversation.since(counter))
        return self._session.services.mask(encodable("\n".join(lines)))

    def _done(self, messages: Sequence[Message]) -> list[str]:
        """Name the writes of a branch that the model will not see any more."""
        toolbox = self._session.installed.toolbox
        writes = [
            f"- {call.name}({call.arguments[:DONE_CHARS_MAX]}): {result.content[:DONE_CHARS_MAX]}"
            for call, result in _answered_calls(messages)
            if not (call.name in toolbox and toolbox.get(call.name).marks.effect == "read")
            and not (result.is_error and result.content.startswith("not started"))
        ]
        if not writes:
            return []
        return ["What was done meanwhile stays done; do not do it again:", *writes[-DONE_MAX:]]

    async def take(self, way: WayOut, trouble: Trouble) -> None:
        """Write the decision down; the session goes on by what is stored."""
        session = self._session
        n = session.journal.take_n()
        at_ms = session.now_ms()
        match way:
            case BeginAgain(counter, hint, full):
                entry: JournalEntry = Restarted(n, counter, hint)
                if full:
                    entry = RollingBack(n, "full", counter, at_ms, by=POLICY, why=hint)
                await session.journal.append(entry, session.booked()).wait()
                session.emit(
                    TrajectoryRestarted(
                        session_id=session.id, at_ms=at_ms, counter=counter, why=trouble.detail
                    )
                )
            case TakeOver(agent):
                why = session.services.mask(trouble.detail)
                await session.journal.append(FellBack(n, agent, why), session.booked()).wait()
                session.emit(
                    TrajectoryFellBack(
                        session_id=session.id, at_ms=at_ms, agent=agent, why=trouble.detail
                    )
                )
            case _:
                assert_never(way)

    # ------------------------------------------------------------ the fallback

    def fallback_task(self, step: FallBack) -> str:
        """Return what the fallback is asked to do: the user's words, and what has been done."""
        conversation = self._session.state.conversation.originals()
        said = [each.text for each in conversation if isinstance(each, UserMessage)]
        tried = f"Another agent tried this before you and made no progress: {step.why}."
        return "\n\n".join([*said, "\n".join([tried, *self._done(conversation)])])

    def fallback_ended(self, step: FallBack, outcome: Outcome) -> Completed | Trouble:
        """Return how the session ends, once its fallback has."""
        match outcome:
            case Completed():
                return outcome
            case HandedOver(reason, _, detail):
                how = f"was handed over ({reason}: {detail})"
            case Stopped(reason):
                how = f"was {reason}"
        return Trouble(
            reason="planning",
            detail=step.why,
            step="make no progress",
            tried=(f"the fallback {step.agent} {how}",),
        )


def _answered_calls(messages: Sequence[Message]) -> list[tuple[ToolCall, ToolMessage]]:
    """Pair calls with their results, which stand right behind them in the same order."""
    pairs: list[tuple[ToolCall, ToolMessage]] = []
    waiting: list[ToolCall] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            waiting = list(message.calls)
        elif isinstance(message, ToolMessage) and waiting:
            pairs.append((waiting.pop(0), message))
    return pairs
