"""A chat completion put together from its chunks. No I/O here."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from .openai_wire import ChatAnswer, Json, content_text, ended_in_error
from .text import PieceJoiner


class ChatAssembly:
    """Collect the chunks of one stream; `answer` is there once the answer is whole.

    Texts are kept in pieces and joined once: a long answer has thousands of them.
    """

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._others: Json = {}
        self._calls: list[_Call] = []
        self._joiner = PieceJoiner()
        self._finish_reason = ""
        self.begun = False
        self.usage: Json | None = None  # as told so far
        self.failed: Json | None = None  # the choice that ended with an error

    def add(self, chunk: Mapping[str, Any]) -> str:
        """Take one chunk; return the text in it that can be shown now."""
        self.begun = True
        self.usage = chunk.get("usage") or self.usage
        choices: Sequence[Json] = chunk.get("choices") or ()
        shown = ""
        for choice in choices:
            if choice.get("index"):
                continue  # only one answer was asked for
            if ended_in_error(choice):
                self.failed = choice
            shown += self._add_delta(choice.get("delta") or {})
            self._finish_reason = str(choice.get("finish_reason") or self._finish_reason)
        return shown

    def answer(self) -> ChatAnswer | None:
        """Return the answer, or None where its ending never came."""
        if not self._finish_reason:
            return None
        message = self._others | {key: "".join(texts) for key, texts in self._texts.items()}
        if self._calls:
            message["tool_calls"] = [call.entry() for call in self._calls]
        return ChatAnswer(message=message, finish_reason=self._finish_reason, usage=self.usage)

    def arrived(self) -> str:
        """Return all text that has come so far, for an estimate of what it cost."""
        texts = ["".join(pieces) for pieces in self._texts.values()]
        return "".join([*texts, *(call.text() for call in self._calls)])

    def _add_delta(self, delta: Json) -> str:
        for key, value in delta.items():
            if key == "tool_calls":
                for piece in cast("list[Json]", value or []):
                    self._call_of(piece).add(piece)
            elif key == "role" or value is None:
                continue
            elif isinstance(value, str):
                self._texts.setdefault(key, []).append(value)
            else:
                self._others[key] = merged(self._others.get(key), value)
        return self._joiner.push(content_text(delta.get("content")))

    def _call_of(self, piece: Json) -> "_Call":
        """Return the call a piece belongs to.

        By index; but some servers give none, or the same one to all parallel calls, so a new id
        begins a new call.
        """
        index, id = piece.get("index"), piece.get("id")
        for call in reversed(self._calls):
            same = index is None or call.index == index
            if same and (not id or not call.id or call.id == id):
                return call
            if same and index is not None:
                break
        self._calls.append(_Call(index))
        return self._calls[-1]


class _Call:
    """One tool call as it comes in."""

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self._name = ""
        self._arguments: list[str] = []
        self._extra: Json = {}
        self._extra_function: Json = {}

    def add(self, piece: Json) -> None:
        self.id = self.id or str(piece.get("id") or "")
        function: Json = piece.get("function") or {}
        self._add_name(str(function.get("name") or ""))
        self._arguments.append(str(function.get("arguments") or ""))
        self._extra = _grown(self._extra, piece, ("index", "id", "function"))
        self._extra_function = _grown(self._extra_function, function, ("name", "arguments"))

    def _add_name(self, name: str) -> None:
        # Sent once, in pieces, or again and again with every piece: all three are found.
        if name != self._name:
            self._name += name

    def text(self) -> str:
        return self._name + "".join(self._arguments)

    def entry(self) -> Json:
        function = {"name": self._name, "arguments": "".join(self._arguments)}
        entry = {"id": self.id, "type": "function", **self._extra}
        if entry["type"] == "function":
            entry["function"] = self._extra_function | function
        return entry


# Fields that name a thing: sent again, never in pieces.
_WHOLE = frozenset({"type", "index", "id"})


def merged(have: object, piece: object) -> Any:
    """Return a field of which another piece came, as providers stream their own extensions.

    Texts and lists grow, objects merge field by field, anything else is replaced. Entries of a
    list are merged where they carry the same index and type.
    """
    if isinstance(have, str) and isinstance(piece, str):
        return have + piece
    if isinstance(have, dict) and isinstance(piece, dict):
        return _grown(cast("Json", have), cast("Json", piece))
    if isinstance(have, list) and isinstance(piece, list):
        return _grown_list(cast("list[object]", have), cast("list[object]", piece))
    return piece


def _grown(have: Json, piece: Json, skip: Sequence[str] = ()) -> Json:
    grown = dict(have)
    for key, value in piece.items():
        if value is not None and key not in skip:
            grown[key] = value if key in _WHOLE else merged(have.get(key), value)
    return grown


def _grown_list(have: list[object], pieces: list[object]) -> list[object]:
    grown = list(have)
    for piece in pieces:
        place = _place(grown, piece)
        if place is None:
            grown.append(piece)
        else:
            grown[place] = merged(grown[place], piece)
    return grown


def _place(entries: list[object], piece: object) -> int | None:
    """Return where an entry with the same index and type stands."""
    if not isinstance(piece, dict) or "index" not in piece:
        return None
    wanted = cast("Json", piece)
    for place, entry in enumerate(entries):
        if not isinstance(entry, dict):
            continue
        known = cast("Json", entry)
        same_type = wanted.get("type") in (None, known.get("type"))
        if known.get("index") == wanted["index"] and same_type:
            return place
    return None
