"""People: they start sessions, answer what they are asked, and look before they speak.

Whatever an API call returns is an acknowledgement, and must be in the store by then.
"""

import anyio

from ukemi import (
    Budget,
    Completed,
    Dossier,
    HandedOver,
    Outcome,
    Runtime,
    SessionHandle,
    SessionOwned,
    StoreError,
    UkemiError,
)
from ukemi.actors.inspection import fold
from ukemi.actors.outcome import outcome_from_data
from ukemi.actors.state import SessionState
from ukemi.stores.decisions import decode_decision

from .outside import CallId, Outside
from .plan import Habit, Plan

WITHIN_S = 4 * 3600.0
"""Virtual seconds within which a session has to end, once everybody has answered."""

GO_ON_MAX = 8


class Person:
    """Looks after one session, over all lives of the process."""

    def __init__(self, outside: Outside, plan: Plan) -> None:
        self.outside = outside
        self.plan = plan
        self.handled = 0
        self.messages = 0
        self.outcome: Outcome | None = None

    @property
    def unsaved(self) -> bool:
        """Whether the last outcome was told and could not be stored: the next process goes on."""
        outcome = self.outcome
        return isinstance(outcome, HandedOver) and outcome.dossier.unsaved is not None

    # ------------------------------------------------------------ one life

    async def look_after(self, runtime: Runtime) -> None:
        """See the session to an end after which nobody does anything more."""
        await self._until(self.plan.start_s)
        with anyio.move_on_after(WITHIN_S) as limit:
            handle = await self._begun(runtime)
            while True:
                outcome = await self._ended(handle)
                if not await self._go_on(handle, outcome):
                    break
        if limit.cancelled_caught:
            self.outside.broken(f"{self.plan.id} does not end within {WITHIN_S:g} s")

    async def _until(self, at_s: float) -> None:
        await anyio.sleep(max(0.0, at_s - self.outside.now()))

    async def _begun(self, runtime: Runtime) -> SessionHandle:
        """Start the session, or find the one that an earlier life has started."""
        plan = self.plan
        while True:
            if plan.id in self.outside.committed:
                return runtime.session(plan.id)
            try:
                handle = await runtime.start(
                    "agent",
                    f"order {plan.id}",
                    session_id=plan.id,
                    budget=Budget(**plan.limits),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
                    on_failure=plan.on_failure,
                )
            except StoreError as error:
                self._note(f"start: {type(error).__name__}")
                await anyio.sleep(1.0)
            else:
                self._acknowledged("start", plan.id in self.outside.committed)
                return handle

    async def _ended(self, handle: SessionHandle) -> Outcome:
        """Wait for the session's end, whoever drives it."""
        while True:
            try:
                outcome = await handle.outcome()
            except StoreError as error:
                self._note(f"outcome: {type(error).__name__}")
                await anyio.sleep(2.0)
                continue
            self._note(f"is {type(outcome).__name__} {getattr(outcome, 'reason', '')}")
            self._check_outcome(outcome)
            return outcome

    def _check_outcome(self, outcome: Outcome) -> None:
        known = self.outside.committed.get(self.plan.id)
        self.outcome = outcome
        if self.unsaved:
            return  # it says so itself
        stored = known.ended if known is not None else None
        if stored is None:
            self._acknowledged("outcome", False)
        elif type(outcome_from_data(stored.outcome)) is not type(outcome):
            self.outside.broken(f"{self.plan.id}: the outcome told is not the one stored")

    # ------------------------------------------------------------ at its end

    async def _go_on(self, handle: SessionHandle, outcome: Outcome) -> bool:
        """Do what this person does now; False: nothing more."""
        if isinstance(outcome, Completed) or self.handled >= min(len(self.plan.habits), GO_ON_MAX):
            return False
        habit = self.plan.habits[self.handled]
        self.handled += 1
        self._note(f"person: {habit}")
        await anyio.sleep(30.0 if self.unsaved else 1.0)
        dossier = outcome.dossier if isinstance(outcome, HandedOver) else None
        try:
            await self._do(handle, habit, dossier)
        except SessionOwned:
            await anyio.sleep(5.0)
        except UkemiError as error:
            self._note(f"{habit}: {type(error).__name__}: {error}")
        return True

    async def _do(self, handle: SessionHandle, habit: Habit, dossier: Dossier | None) -> None:
        match habit:
            case "resolve":
                await self._resolve(handle, give_up=False)
            case "abandon":
                await self._resolve(handle, give_up=True)
            case "go_on":
                await self.send(handle)
            case "retry" | "cancel":
                options = (
                    {each.name for each in dossier.options if each.call is None}
                    if dossier
                    else set[str]()
                )
                if habit in options:
                    await self._decide(handle, habit, None)
            case "settle":
                await self._settle(handle)
            case "thaw":
                if dossier is not None and dossier.frozen and not dossier.in_doubt:
                    await self._decide(handle, "compensate", None)
            case "back":
                await self.back(handle)

    async def _resolve(self, handle: SessionHandle, *, give_up: bool) -> None:
        """Say of each call in doubt how it stands, once that can be known."""
        for call in list(self._state().in_doubt):
            happened = await self._truth(call)
            if give_up:
                option = "abandon"
            elif happened:
                option = "done"
            else:
                option = "retry" if (call[0] + call[1]) % 2 else "not_done"
            await self._decide(handle, option, call, happened)

    async def _truth(self, call: CallId) -> bool:
        while (happened := self.outside.happened(self.plan.id, call)) is None:  # noqa: ASYNC110 - nobody tells
            await anyio.sleep(10.0)
        return happened

    async def _settle(self, handle: SessionHandle) -> None:
        """Say of each compensation that failed or is in doubt how it stands."""
        for undo in list(self._state().unwound.open):
            call = (undo.step.n, undo.step.index)
            seen = self.outside.seen.get((self.plan.id, call, "undo"))
            while seen is not None and (seen.coming or seen.running):
                await anyio.sleep(10.0)
                self.outside.settle()
            undone = seen is not None and bool(seen.effects)
            if seen is not None and not undone:
                seen.unsure, seen.by_person = False, True
            await self._decide(handle, "compensated" if undone else "compensate", call)

    def _state(self) -> SessionState:
        return fold(self.plan.id, self.outside.committed[self.plan.id].entries)

    async def _decide(
        self, handle: SessionHandle, option: str, call: CallId | None, happened: bool | None = None
    ) -> None:
        if call is not None and option in ("retry", "not_done"):
            for part in ("body", "commit"):
                self.outside.said_not_done(self.plan.id, call, part)
        if call is not None:
            self.outside.called_settled(self.plan.id, call)
        self._note(f"says {option} {call}")
        await handle.resolve(option, call=call)
        posts = self.outside.committed[self.plan.id].posts.values()
        kept = [decode_decision(each.body) for each in posts]
        told = any(each.option == option and call in (None, each.call) for each in kept)
        self._acknowledged(f"resolve {option} {call}", told)

    async def send(self, handle: SessionHandle) -> None:
        """Give the session a message."""
        self.messages += 1
        text = f"go on, for the {self.messages}. time"
        await handle.send(text)
        self._acknowledged(f"message {self.messages}", self._said(text))

    def _said(self, text: str) -> bool:
        return text in self.outside.committed[self.plan.id].said

    async def back(self, handle: SessionHandle) -> None:
        """Take the conversation back a little."""
        counter = (await handle.inspect()).checkpoint
        report = await handle.rollback(max(0, counter - 1), "context")
        self._note(f"back to {counter - 1}: {report.state}")

    # ------------------------------------------------------------ words

    def _note(self, what: str) -> None:
        self.outside.note(f"{self.plan.id} {what}")

    def _acknowledged(self, what: str, stored: bool) -> None:
        if not stored:
            self.outside.broken(f"{self.plan.id}: {what} was acknowledged and is not in the store")
