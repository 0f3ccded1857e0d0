"""Calls that succeeded in doing nothing: a dry run, a preview, what was not sent after all. Pure."""

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from ...supervisor.patterns import lazy_pattern
from .claims import claims_of
from .findings import Finding, finding
from .ledger import Ledger
from .record import Ran

_DONE = (
    r"sent|placed|ordered|booked|paid|charged|refunded|created|updated|deleted|removed|saved|written|"
    r"stored|applied|changed|published|posted|deployed|submitted|executed|cancell?ed|scheduled|uploaded"
)
_PRETENDED = lazy_pattern(
    r"\bdry[-_ ]?run\b(?!\W{0,3}(?:false|no|off|0|none|null)\b)|\b(?:preview|simulation|simulated|sandbox) only\b|"
    rf"\bnothing (?:was|is|has been|will be) (?:{_DONE}|done)\b|\bno changes (?:were |have been )?(?:made|applied)\b|"
    rf"\bwould (?:be|have been) (?:{_DONE})\b|试运行|仅预览|(?:未|没有)实际",
    re.IGNORECASE,
)
"""How a result tells that all of it was for show."""
_NOT_DONE = lazy_pattern(rf"\bnot (?:yet )?(?:been )?({_DONE})\b", re.IGNORECASE)
_SHOW = frozenset({"dryrun", "simulated", "simulation", "preview", "previewonly"})
_TOLD = lazy_pattern(
    r"\bdry[-_ ]?run|\bsimulat|\bpreview|\bdraft|\bwould\b|试运行|模拟|预览|草稿", re.IGNORECASE
)
_READ_MAX = 4000


def pretended(statement: str, ledger: Ledger) -> list[Finding]:
    """Something is said to be done, and the result says that it was not."""
    call = None if _TOLD.search(statement) else _for_show(statement, ledger)
    if call is None:
        return []
    why = "its result says that it was not done"
    claims = [each for each in claims_of(statement) if each.kind in ("action", "done")]
    return [finding("contradicted", each, why, [call]) for each in claims[:1]]


def _for_show(statement: str, ledger: Ledger) -> Ran | None:
    """Return a call that did nothing. The last of a tool counts: a dry run often comes first."""
    last = {each.tool: each for each in ledger.writes if each.tool not in ledger.executors}
    for call in last.values():
        if call.ok and not call.earlier and _did_nothing(call.content[:_READ_MAX], statement):
            return call
    return None


def _did_nothing(content: str, statement: str) -> bool:
    try:
        held: Any = json.loads(content)
    except (ValueError, RecursionError):
        hit = _NOT_DONE.search(content)
        return bool(_PRETENDED.search(content)) or (hit is not None and _says(statement, hit[1]))
    return any(_is_show(key, value, statement) for key, value in _fields(held))


def _fields(held: object) -> Iterator[tuple[str, object]]:
    """Yield the fields of an object, and of those right inside it."""
    if not isinstance(held, dict):
        return
    for key, value in cast("dict[str, object]", held).items():
        yield key, value
        if isinstance(value, dict):
            yield from cast("dict[str, object]", value).items()


def _is_show(key: str, value: object, statement: str) -> bool:
    name = _plain(key)
    if isinstance(value, str):
        return name in ("status", "mode", "state", "result") and _plain(value) in _SHOW
    if value is True:
        return name in _SHOW
    return value is False and _says(statement, key)


def _plain(word: str) -> str:
    return re.sub(r"[-_ ]", "", word).lower()


def _says(statement: str, done: str) -> bool:
    """Tell whether a statement says that this was done."""
    known = re.fullmatch(_DONE, done, re.IGNORECASE) is not None
    return known and re.search(rf"\b{done}\b", statement, re.IGNORECASE) is not None
