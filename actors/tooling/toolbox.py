"""The tools of one agent: found by name, shown to the model, put in order."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from ...stores.records import ToolCall
from ...supervisor.errors import InvalidArgument, UsageError
from ..model import ToolSchema
from ..secrets import Mask
from ..text import shorten
from .marks import Marks
from .tools import AnyTool, Tool

NAMES_SHOWN_MAX = 20


class Toolbox:
    """Tools by name, with the secrets they need. Immutable once made.

    Args:
        tools: what `@tool` made; the model sees them in this order.
        secrets: values by the name of the parameter they fill.

    Raises:
        UsageError: something in the list is no tool, two tools share a name, or a tool needs a
            secret that is not given.
    """

    def __init__(
        self, tools: Iterable[AnyTool] = (), *, secrets: Mapping[str, str] | None = None
    ) -> None:
        self._tools: dict[str, AnyTool] = {}
        self._secrets = dict(secrets or {})
        for tool in cast(Iterable[object], tools):
            self._add(tool)
        self._schemas = tuple(
            ToolSchema(tool.name, tool.description, tool.parameters)
            for tool in self._tools.values()
        )
        self.mask = Mask(self._secrets.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Return the tools as the model sees them; the same tuple each time."""
        return self._schemas

    def get(self, name: str) -> AnyTool:
        """Return a tool by name.

        Raises:
            InvalidArgument: there is none; the message names those that are close, or all.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise InvalidArgument(self._unknown(name), fields=("name",))
        return tool

    def reads(self, name: str) -> bool:
        """Whether there is a tool of this name that changes nothing."""
        found = self._tools.get(name)
        return found is not None and found.marks.effect == "read"

    def secrets_for(self, tool: AnyTool) -> dict[str, str]:
        """Return the secrets that this tool names in its marks, and no other."""
        named = tool.marks.secrets
        if not named:
            return {}
        return {name: self._secrets[name] for name in named if name in self._secrets}

    def waves(self, calls: Sequence[ToolCall]) -> list[list[int]]:
        """Return which calls of one message run side by side, by index, wave after wave.

        Neighbouring calls whose tools all overlap share a wave; any other call has one to itself.
        The order of the message is kept. A call without a body to run (its tool is unknown, or it
        arrived incomplete) disturbs nobody.
        """
        found: list[list[int]] = []
        open_wave = False
        for index, call in enumerate(calls):
            overlaps = self._overlaps(call)
            if overlaps and open_wave:
                found[-1].append(index)
            else:
                found.append([index])
            open_wave = overlaps
        return found

    def _overlaps(self, call: ToolCall) -> bool:
        tool = self._tools.get(call.name)
        return tool is None or call.problem is not None or tool.marks.overlap

    def _add(self, tool: object) -> None:
        if not isinstance(tool, Tool):
            what = getattr(tool, "__name__", None) or repr(tool)
            raise UsageError(
                f"{what} is no tool; decorate it with @tool, so that it says what it does"
            )
        made = cast(AnyTool, tool)
        other = self._tools.get(made.name)
        if other is not None:
            raise UsageError(
                f"two tools are called {made.name!r}: {_where(other)} and {_where(made)}; "
                "give one of them another name with @tool(name=...)"
            )
        missing = [
            name for name in made.marks.secrets if name not in self._secrets and made.needs(name)
        ]
        if missing:
            raise UsageError(
                f"tool {made.name!r} needs the secret {missing[0]!r}; pass it in secrets="
            )
        self._tools[made.name] = made

    def _unknown(self, name: str) -> str:
        shown = shorten(name, 80, unit="chars").text
        near = difflib.get_close_matches(name[:80], self._tools, n=3, cutoff=0.5)
        if near:
            return f"there is no tool {shown!r}; did you mean {' or '.join(near)}?"
        known = list(self._tools)[:NAMES_SHOWN_MAX]
        more = len(self._tools) - len(known)
        tools = ", ".join(known) + (f" and {more} more" if more else "")
        return f"there is no tool {shown!r}; the tools are: {tools or 'none'}"


def marks_in(toolbox: Toolbox, name: str) -> Marks | None:
    """Return what a tool declares, or None where it is not there (any more)."""
    return toolbox.get(name).marks if name in toolbox else None


def _where(tool: AnyTool) -> str:
    function: Any = tool.__wrapped__
    module = getattr(function, "__module__", "?")
    return f"{module}.{getattr(function, '__qualname__', repr(function))}"
