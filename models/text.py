"""Text from a provider, made fit to be stored and sent: no half characters."""

from typing import Any, cast


def clean(text: str) -> str:
    """Return text that encodes as UTF-8: surrogate pairs joined, lone halves replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_deep(value: Any) -> Any:
    """Return plain data with every text in it cleaned; keys too."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {clean_deep(key): clean_deep(item) for key, item in pairs}
    if isinstance(value, list):
        return [clean_deep(item) for item in cast("list[object]", value)]
    return value


def filled(text: str, otherwise: str) -> str:
    """Return the text cleaned, or a stand-in where it is blank: providers refuse blank content."""
    return clean(text) if text.strip() else otherwise


class PieceJoiner:
    """Clean pieces as they stream by; a character cut in two is held until its other half comes."""

    def __init__(self) -> None:
        self._held = ""

    def push(self, piece: str) -> str:
        """Return what can be shown now; may be empty."""
        text = self._held + piece
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return clean(text)
