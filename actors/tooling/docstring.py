"""What a docstring tells the model: a description, and words about single parameters."""

import inspect
import re
from collections.abc import Iterable

from msgspec import Struct

# A section ends at the next line that stands as far left as its own heading.
_SECTION = re.compile(
    r"^(Args|Arguments|Parameters):\s*\n((?:[ \t]+.*\n?|[ \t]*\n)*)", re.MULTILINE
)
_ITEM = re.compile(r"^(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


class Described(Struct, frozen=True):
    """A docstring taken apart."""

    text: str = ""
    parameters: dict[str, str] = {}


def describe(docstring: str | None, names: Iterable[str]) -> Described:
    """Read a docstring; its ``Args:`` section, if it has one, describes the parameters.

    Words about anything that is no parameter of the function are dropped.
    """
    text = inspect.cleandoc(docstring or "")
    section = _SECTION.search(text + "\n")
    if section is None:
        return Described(text)
    known = frozenset(names)
    found = {key: said for key, said in _items(section[2]).items() if key in known}
    rest = (text + "\n")[: section.start()].rstrip() + "\n\n" + (text + "\n")[section.end() :]
    return Described(rest.strip(), found)


def _items(section: str) -> dict[str, str]:
    lines = inspect.cleandoc(section).splitlines()
    found: dict[str, str] = {}
    last = ""
    for line in lines:
        item = _ITEM.match(line)
        if item is not None:
            last = str(item[1])
            found[last] = str(item[2]).strip()
        elif last and line.startswith((" ", "\t")):
            found[last] = f"{found[last]} {line.strip()}".strip()
    return found
