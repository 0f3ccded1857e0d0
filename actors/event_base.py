"""What every event has: whose it is, when it was, and how loud it is."""

from typing import ClassVar

from msgspec import Struct


class BaseEvent(Struct, frozen=True, tag_field="event", kw_only=True, omit_defaults=True, gc=False):
    """Which session, and when on the wall clock (for people; order is the order given)."""

    session_id: str
    at_ms: int = 0

    level: ClassVar[str] = "debug"

    @property
    def event(self) -> str:
        """The stable name."""
        return str(self.__struct_config__.tag)
