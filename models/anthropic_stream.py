"""An answer of the messages API put together from its events. No I/O here."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from .anthropic_wire import Block, BlocksAnswer, Json
from .text import PieceJoiner

# How a delta grows its block: the field that grows, by the delta's type.
_GROWS: Mapping[str, str] = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}


class BlocksAssembly:
    """Collect the events of one stream; `answer` is there once the answer is whole."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._joiner = PieceJoiner()
        self._stop_reason = ""
        self._stopped = False
        self.begun = False
        self.usage: Json = {}  # as told so far; the counts are totals, never increments

    def add(self, event: Mapping[str, Any]) -> str:
        """Take one event; return the text in it that can be shown now."""
        match event.get("type"):
            case "message_start":
                self.begun = True
                message: Json = event.get("message") or {}
                self._told(message.get("usage"))
            case "content_block_start":
                self._blocks[event["index"]] = _Block(event.get("content_block") or {})
            case "content_block_delta":
                return self._add_delta(event["index"], event.get("delta") or {})
            case "content_block_stop":
                self._block(event["index"]).whole = True
            case "message_delta":
                self._told(event.get("usage"))
                delta: Json = event.get("delta") or {}
                self._stop_reason = str(delta.get("stop_reason") or self._stop_reason)
            case "message_stop":
                self._stopped = True
            case _:
                pass  # pings, and kinds of event to come
        return ""

    def answer(self) -> BlocksAnswer | None:
        """Return the answer, or None where its ending never came."""
        if not self._stopped or not self._stop_reason:
            return None
        blocks = [self._blocks[index].block() for index in sorted(self._blocks)]
        return BlocksAnswer(blocks=blocks, stop_reason=self._stop_reason, usage=self.usage)

    def arrived(self) -> str:
        """Return all text that has come so far, for an estimate of what it cost."""
        return "".join(block.text() for block in self._blocks.values())

    def _block(self, index: int) -> "_Block":
        return self._blocks.setdefault(index, _Block({}))

    def _told(self, usage: Json | None) -> None:
        told = (usage or {}).items()
        self.usage |= {key: value for key, value in told if value is not None}

    def _add_delta(self, index: int, delta: Json) -> str:
        self._block(index).add(delta)
        text = str(delta.get("text") or "") if delta.get("type") == "text_delta" else ""
        return self._joiner.push(text)


class _Block:
    """One content block as it comes in; growing texts are kept in pieces and joined once."""

    def __init__(self, content: Json) -> None:
        self.whole = False
        self._content = content
        self._pieces: dict[str, list[str]] = {}

    def add(self, delta: Json) -> None:
        kind = str(delta.get("type"))
        if kind in _GROWS:
            field = _GROWS[kind]
            self._pieces.setdefault(field, []).append(str(delta.get(field) or ""))
        elif kind == "citations_delta":
            have = cast("list[object]", self._content.get("citations") or [])
            self._content = self._content | {"citations": [*have, delta.get("citation")]}
        else:  # a signature, or a kind to come: its fields belong to the block
            fields = {key: value for key, value in delta.items() if key != "type"}
            self._content = self._content | fields

    def text(self) -> str:
        return "".join("".join(pieces) for pieces in self._pieces.values())

    def block(self) -> Block:
        content = dict(self._content)
        for field, pieces in self._pieces.items():
            if field != "partial_json":
                content[field] = str(content.get(field) or "") + "".join(pieces)
        arguments = "".join(self._pieces.get("partial_json", ()))
        if "input" in content:
            content, arguments = _with_input(content, arguments)
        return Block(content=content, arguments=arguments, whole=self.whole)


def _with_input(content: Json, arguments: str) -> tuple[Json, str]:
    """Fill in a call's input; what is no JSON leaves it empty, the call is judged later."""
    if not arguments:
        given = content["input"]
        return content, msgspec.json.encode(given).decode() if given else ""
    try:
        return content | {"input": msgspec.json.decode(arguments.encode())}, arguments
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return content | {"input": {}}, arguments
