"""Stand-ins for services outside: they count what took effect, where no session can forget it.

A stub keeps one record for each effect. While a tool's body, its probe or its compensation runs, the
record says for which call, so that what a session believes can be held against what happened.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol
from weakref import WeakSet

from anyio.lowlevel import checkpoint
from msgspec import Struct

from ..actors.tooling.context import CallContext, current_or_none

Visit = Literal["effect", "undo", "look"]


class Effect(Struct):
    """One effect: what it was asked for, what it answered, and for whom it was.

    ``call``: session, number and index of the call whose body took it; None outside of any.
    ``standing``: it has not been taken back.
    """

    arguments: Mapping[str, object]
    answer: object
    call: tuple[str, int, int] | None
    standing: bool = True


class Watcher(Protocol):
    """What may step in between a body and a stub; both methods may raise."""

    def before(self, stub: "EffectStub", visit: Visit, context: CallContext | None) -> None: ...

    def after(
        self, stub: "EffectStub", visit: Visit, context: CallContext | None, change: int
    ) -> None:
        """``change``: 1 for an effect, -1 for one taken back, -2 for one too many, 0 for none."""
        ...


class _Watch:
    """Who watches the stubs of this process."""

    def __init__(self) -> None:
        self.watcher: Watcher | None = None
        self.stubs: WeakSet[EffectStub] = WeakSet()
        # Bodies in threads reach the stubs too.
        self.lock = threading.RLock()


_watch = _Watch()


def watch(watcher: Watcher | None) -> None:
    """Have this one told of each visit to a stub, in place of the one before; None: nobody."""
    _watch.watcher = watcher


def reset_all() -> None:
    """Make every stub of the process forget what took effect."""
    for stub in list(_watch.stubs):
        stub.reset()


class EffectStub:
    """Stands for a service: each call takes effect once, answers, and is counted.

    Use it inside of a tool's body in the place of the client, or as the body itself::

        shop = EffectStub(lambda sku, units: f"order of {units} {sku}")

        @tool(effect="write", accepts_key=True, compensate=cancel)
        async def order(sku: str, units: int, *, key: str) -> str:
            return await shop(sku=sku, units=units, key=key)

        async def cancel(result: str) -> None:
            shop.undo(result)

    Args:
        answer: what a call returns, or a function of its arguments (without ``key``) that does; None:
            a name with a number, new for each effect.
        name: how reports call it.
        once_per: the arguments that name an effect. A second call that gives all of them, equal to an
            earlier one's, takes no second effect and gets that one's answer. An idempotent service has
            its own here; None: every call takes effect.
    """

    def __init__(
        self,
        answer: object = None,
        *,
        name: str = "stub",
        once_per: Sequence[str] | None = ("key",),
    ) -> None:
        self.name = name
        self.effects: list[Effect] = []
        self.over = 0
        """Effects taken back that were not there any more."""
        self._answer = answer
        self._once_per = tuple(once_per or ())
        _watch.stubs.add(self)

    def __repr__(self) -> str:
        return f"<EffectStub {self.name}: {self.count} of {len(self.effects)} stand>"

    @property
    def count(self) -> int:
        """How many effects stand; below 0 where more were taken back than there were."""
        return sum(each.standing for each in self.effects) - self.over

    def reset(self) -> None:
        """Forget everything."""
        with _watch.lock:
            self.effects.clear()
            self.over = 0

    async def __call__(self, **arguments: Any) -> Any:
        """Take effect and answer; like a request, it gives other tasks their turn first."""
        await checkpoint()
        return self.do(**arguments)

    def do(self, **arguments: Any) -> Any:
        """Take effect and answer, for bodies that are not async."""
        known = self.arrive(arguments)
        if known is not None:
            return known.answer
        answer = self._answered(arguments)
        self.leave(arguments, answer)
        return answer

    def arrive(self, arguments: Mapping[str, object], *, counts: bool = True) -> Effect | None:
        """Begin an effect whose answer comes from elsewhere: `leave` ends it.

        Returns the effect that it was before, where it is the same one again: then it has ended.
        """
        context = self._arrive("effect" if counts else "look")
        with _watch.lock:
            known = self._known(arguments) if counts else None
        if known is not None:
            self._leave("effect", context, 0)
        return known

    def leave(
        self, arguments: Mapping[str, object], answer: object, *, counts: bool = True
    ) -> None:
        """End what `arrive` began: it took effect, and this is its answer."""
        context = current_or_none()
        if not counts:
            self._leave("look", context, 0)
            return
        with _watch.lock:
            self.effects.append(Effect(dict(arguments), answer, _call_of(context)))
        self._leave("effect", context, 1)

    def tell(self, **arguments: Any) -> Any:
        """Answer without any effect, for reads."""
        context = self._arrive("look")
        answer = self._answered(arguments)
        self._leave("look", context, 0)
        return answer

    def undo(self, answer: object = None, *, key: str | None = None) -> None:
        """Take an effect back, as a refund does: one too many is counted against whoever asks.

        Args:
            answer: that of the effect; None: the effect of the call that is compensated, else the last.
            key: that of the effect.
        """
        context = self._arrive("undo")
        with _watch.lock:
            effect = self._standing(answer, key, context)
            if effect is None:
                self.over += 1
            else:
                effect.standing = False
        self._leave("undo", context, -2 if effect is None else -1)

    def cancel(self, answer: object = None, *, key: str | None = None) -> bool:
        """Take an effect back where it stands, as a cancellation does: a second one changes nothing."""
        context = self._arrive("undo")
        with _watch.lock:
            effect = self._standing(answer, key, context)
            if effect is not None:
                effect.standing = False
        self._leave("undo", context, 0 if effect is None else -1)
        return effect is not None

    def find(self, **arguments: Any) -> Any:
        """Return the answer of the last standing effect with these arguments, or None: for probes and
        reads. Takes no effect."""
        context = self._arrive("look")
        with _watch.lock:
            found = [
                each.answer
                for each in self.effects
                if each.standing and arguments.items() <= each.arguments.items()
            ]
        self._leave("look", context, 0)
        return found[-1] if found else None

    # ------------------------------------------------------------ inside

    def _arrive(self, visit: Visit) -> CallContext | None:
        context = current_or_none()
        if _watch.watcher is not None:
            _watch.watcher.before(self, visit, context)
        return context

    def _leave(self, visit: Visit, context: CallContext | None, change: int) -> None:
        if _watch.watcher is not None:
            _watch.watcher.after(self, visit, context, change)

    def _known(self, arguments: Mapping[str, object]) -> Effect | None:
        if not self._once_per or any(arguments.get(each) is None for each in self._once_per):
            return None
        wanted = [arguments[each] for each in self._once_per]
        for effect in self.effects:
            if [effect.arguments.get(each) for each in self._once_per] == wanted:
                return effect
        return None

    def _answered(self, arguments: Mapping[str, object]) -> object:
        if callable(self._answer):
            given = {name: value for name, value in arguments.items() if name != "key"}
            return self._answer(**given)
        if self._answer is None:
            return f"{self.name}-{len(self.effects) + 1}"
        return self._answer

    def _standing(
        self, answer: object, key: str | None, context: CallContext | None
    ) -> Effect | None:
        call = _call_of(context) if context is not None and context.undo else None
        for effect in reversed(self.effects):
            named = (answer is None or effect.answer == answer) and (
                key is None or effect.arguments.get("key") == key
            )
            # Without any name it is the effect of the call that is compensated.
            own = answer is not None or key is not None or call in (None, effect.call)
            if effect.standing and named and own:
                return effect
        return None


def _call_of(context: CallContext | None) -> tuple[str, int, int] | None:
    return None if context is None else (context.session_id, *context.call)
