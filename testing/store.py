"""A store whose writes fail by plan; around any other store."""

from collections.abc import Sequence

from ..stores.base import Store, StoreFailed, Write, Written
from .faults import FaultPlan
from .passing_on import PassingOn


class FaultyStore(PassingOn):
    """Wrap a store: each commit is a call of kind ``store`` of the plan.

    An ``error`` is a `StoreFailed` whatever its class, and nothing was stored; ``lost`` has stored it. A
    call without any write, such as ``commit([])``, is not counted.
    """

    def __init__(self, store: Store, plan: FaultPlan) -> None:
        super().__init__(store)
        self.plan = plan

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        async def body() -> list[Written]:
            return await self.inner.commit(writes)

        if not writes:
            return await body()
        before = len(self.plan.struck)
        try:
            return await self.plan.around("store", body)
        except Exception as error:
            # Only what was planned is renamed; the store's own errors say what they are.
            if len(self.plan.struck) > before and not isinstance(error, StoreFailed):
                raise StoreFailed(str(error)) from error
            raise
