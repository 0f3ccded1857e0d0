"""Calls in threads, which cannot be stopped: the caller is released, the outcome told later."""

from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from .reports import LateOutcome
from .services import Services

T = TypeVar("T")


class BlockingCall(Generic[T]):
    """One call in a thread, whose caller may be cancelled before it ends."""

    def __init__(
        self,
        services: Services,
        who: tuple[str, str],
        call: str,
        work: Callable[[], T],
        on_late: Callable[[LateOutcome], object] | None,
    ) -> None:
        self._services = services
        self._who = who
        self._call = call
        self._work = work
        self._on_late = on_late
        self._lock = Lock()
        self._began = False
        self._abandoned = False
        self._outcome: LateOutcome | None = None

    async def run(self, limiter: CapacityLimiter | None) -> T:
        try:
            return await run_sync(self._in_thread, abandon_on_cancel=True, limiter=limiter)
        except self._services.loop.cancelled:
            self._abandon()
            raise

    def _in_thread(self) -> T:
        with self._lock:
            self._began = True
        try:
            value = self._work()
        except BaseException as error:
            # Not swallowed: noted for the case that nobody waits any more, then raised.
            crash = self._services.explain(error)
            self._ended(self._late(ok=False, error=f"{crash.type_name}: {crash.text}"))
            raise
        self._ended(self._late(ok=True, value=value))
        return value

    def _late(self, *, ok: bool, value: object = None, error: str = "") -> LateOutcome:
        supervisor, child = self._who
        return LateOutcome(
            supervisor=supervisor, child=child, call=self._call, ok=ok, value=value, error=error
        )

    def _ended(self, outcome: LateOutcome) -> None:
        with self._lock:
            self._outcome = outcome
            late = self._abandoned
        if late:
            self._services.loop.call_from_thread(lambda: self._tell(outcome))

    def _abandon(self) -> None:
        with self._lock:
            if not self._began:
                return  # it waited for a thread and never ran
            self._abandoned = True
            outcome = self._outcome
        if outcome is not None:
            self._tell(outcome)
        else:
            self._services.threads[self] = f"{'/'.join(filter(None, self._who))}: {self._call}"

    def _tell(self, outcome: LateOutcome) -> None:
        self._services.threads.pop(self, None)
        if self._on_late is not None:
            self._services.call(self._on_late, outcome)
        self._services.report(outcome)


def describe_call(work: Callable[..., Any]) -> str:
    return getattr(work, "__qualname__", type(work).__qualname__)
