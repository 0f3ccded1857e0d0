"""Tools and models that fail as told, and the times at which they were asked."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import anyio

from ukemi import tool
from ukemi.actors.model import ModelRequest
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models.scripted import Reply

Script = list[BaseException | str]
"""What happens at each attempt; the last one lasts."""


class Response:
    """An answer as HTTP clients hand it over."""

    def __init__(self, status: int, headers: Mapping[str, str], body: object) -> None:
        self.status_code = status
        self.headers = dict(headers)
        self.body = body


class HttpError(Exception):
    """What an HTTP client raises for an answer it does not like."""

    def __init__(
        self, status: int, headers: Mapping[str, str] | None = None, body: object = None
    ) -> None:
        super().__init__(f"server answered {status}")
        self.status_code = status
        self.body = body
        self.response = Response(status, headers or {}, body)


class Upstream:
    """Something that answers from a script, and keeps when it was asked."""

    def __init__(self, script: Script | Callable[[float], BaseException | str]) -> None:
        self._script = script
        self.asked_at: list[float] = []

    def answer(self) -> str:
        """Answer, or raise what comes next."""
        now = anyio.current_time()
        self.asked_at.append(now)
        if callable(self._script):
            said = self._script(now)
        else:
            said = self._script[min(len(self.asked_at), len(self._script)) - 1]
        if isinstance(said, BaseException):
            raise said
        return said

    @property
    def waits(self) -> list[float]:
        """Seconds between one request and the next."""
        return [after - before for before, after in pairwise(self.asked_at)]

    def tool(self, name: str = "fetch", **marks: Any) -> AnyTool:
        """Return a tool whose body asks this; a read where nothing else is said."""
        marks.setdefault("effect", "read")

        @tool(name=name, **marks)
        async def ask() -> str:
            return self.answer()

        return ask

    def model(self, request: ModelRequest) -> Reply:
        """Answer as a model; for a `ScriptedModel`."""
        return self.answer()
