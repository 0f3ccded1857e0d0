"""Places for few, shared fairly among the tenants of many. Pure: no waiting, no clock, no chance.

Whoever wants a place stands in the line of his tenant, in order of arrival. A free place goes to
the tenant that holds the fewest, so long work is not given more than short work; among those that
hold equally few, to the one that has waited for its turn the longest. Thus

- a tenant alone may hold every place;
- one that holds none is served after at most as many others as stood there holding none when it
  came, however long their lines are and however long anybody keeps a place;
- within a tenant the order of arrival is kept.

Every step costs the same however many wait, but for a look at the different numbers of places
held: with ``n`` places there are at most about the square root of ``2n`` of them.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class FairLine(Generic[T]):
    """Who holds a place and who waits for one.

    Args:
        places_max: places there are; None: no limit.
        each_max: places that one tenant may hold; None: no limit of its own.
        own_max: the same for tenants by name, in place of ``each_max``.
    """

    __slots__ = (
        "_each_max",
        "_held",
        "_lines",
        "_own_max",
        "_places",
        "_places_max",
        "_turns",
        "_waits",
    )

    def __init__(
        self,
        places_max: int | None = None,
        each_max: int | None = None,
        own_max: Mapping[str, int | None] | None = None,
    ) -> None:
        self._places_max = places_max
        self._each_max = each_max
        self._own_max = own_max or {}
        self._places: dict[T, str] = {}
        self._held: dict[str, int] = {}
        self._waits: dict[T, str] = {}
        self._lines: dict[str, OrderedDict[T, float]] = {}
        self._turns: dict[int, OrderedDict[str, None]] = {}
        """Tenants that may be given a place, by how many they hold, in order of their turns."""

    # ------------------------------------------------------------ looking

    def __contains__(self, item: T) -> bool:
        return item in self._places or item in self._waits

    def holds(self, item: T) -> bool:
        """Tell whether this one holds a place."""
        return item in self._places

    def waits(self, item: T) -> bool:
        """Tell whether this one stands in line."""
        return item in self._waits

    @property
    def held(self) -> int:
        """Places taken."""
        return len(self._places)

    @property
    def waiting(self) -> int:
        """How many stand in line."""
        return len(self._waits)

    def waiting_of(self) -> dict[str, int]:
        """Return how many stand in line, by tenant; those without any are left out."""
        return {tenant: len(line) for tenant, line in self._lines.items()}

    def held_of(self) -> dict[str, int]:
        """Return the places taken, by tenant; those without any are left out."""
        return dict(self._held)

    def oldest(self) -> float | None:
        """Return since when the one has waited who has waited longest; None where nobody waits."""
        return min((next(iter(line.values())) for line in self._lines.values()), default=None)

    # ------------------------------------------------------------ changing

    def join(self, item: T, tenant: str, since: float) -> None:
        """Stand in line; see `serve`. Without effect for one that is here.

        Args:
            since: now, on whatever clock is meant.
        """
        if item in self:
            return
        self._waits[item] = tenant
        line = self._lines.get(tenant)
        if line is None:
            line = self._lines[tenant] = OrderedDict()
            self._take_turn(tenant)
        line[item] = since

    def take_free(self, item: T, tenant: str) -> bool:
        """Take a place that is free and that nobody waits for; tell whether this one has it.

        What `join` and `serve` would come to, where there is no line to stand in.
        """
        if self._waits or item in self._places:
            return False
        if self._places_max is not None and len(self._places) >= self._places_max:
            return False
        if self._is_full(tenant):
            return False
        self._hold(item, tenant)
        return True

    def take(self, item: T, tenant: str) -> None:
        """Take a place at once, whether or not there is one; whoever comes after waits longer."""
        if item in self._places:
            return
        self._drop(item)
        self._hold(item, tenant)

    def leave(self, item: T) -> bool:
        """Go: give up the place, or the wait for one; tell whether there was any."""
        tenant = self._places.pop(item, None)
        if tenant is None:
            return self._drop(item)
        self._move(tenant, -1)
        return True

    def resize(self, places_max: int | None) -> None:
        """Set how many places there are; who holds one keeps it."""
        self._places_max = places_max

    def limit(
        self,
        places_max: int | None,
        each_max: int | None = None,
        own_max: Mapping[str, int | None] | None = None,
    ) -> None:
        """Set other limits; who holds a place keeps it."""
        self._places_max = places_max
        own_max = own_max or {}
        if (each_max, own_max) != (self._each_max, self._own_max):
            self._each_max, self._own_max = each_max, own_max
            for tenant in self._lines:
                self._lose_turn(tenant)
                self._take_turn(tenant)

    def serve(self) -> list[T]:
        """Give the free places away; return who has one now, in the order they were given."""
        served: list[T] = []
        while self._turns and (self._places_max is None or len(self._places) < self._places_max):
            tenant = next(iter(self._turns[min(self._turns)]))
            item = next(iter(self._lines[tenant]))
            self._drop(item)
            self._hold(item, tenant)
            served.append(item)
        return served

    # ------------------------------------------------------------ inside

    def _hold(self, item: T, tenant: str) -> None:
        self._places[item] = tenant
        self._move(tenant, 1)

    def _move(self, tenant: str, by: int) -> None:
        """Count a place taken or given up; the tenant's turn is the last of its new equals."""
        waits = tenant in self._lines
        if waits:
            self._lose_turn(tenant)
        held = self._held.get(tenant, 0) + by
        if held:
            self._held[tenant] = held
        else:
            del self._held[tenant]
        if waits:
            self._take_turn(tenant)

    def _drop(self, item: T) -> bool:
        """Take one out of its line."""
        tenant = self._waits.pop(item, None)
        if tenant is None:
            return False
        line = self._lines[tenant]
        del line[item]
        if not line:
            del self._lines[tenant]
            self._lose_turn(tenant)
        return True

    def _is_full(self, tenant: str) -> bool:
        """Whether a tenant holds as many places as it may."""
        most = self._own_max.get(tenant, self._each_max)
        return most is not None and self._held.get(tenant, 0) >= most

    def _take_turn(self, tenant: str) -> None:
        if not self._is_full(tenant):
            held = self._held.get(tenant, 0)
            self._turns.setdefault(held, OrderedDict())[tenant] = None

    def _lose_turn(self, tenant: str) -> None:
        held = self._held.get(tenant, 0)
        turns = self._turns.get(held)
        if turns is not None and turns.pop(tenant, self) is None and not turns:
            del self._turns[held]
