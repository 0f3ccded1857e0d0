"""Rules of the user from a TOML file: tried before all that is shipped.

::

    [[rule]]
    class = "business_rejected"
    executed = "no"            # no (default), maybe or yes
    status = [409, 422]        # any of these
    code = "STOCK_*"           # a code anywhere in the answer; * at its end stands for the rest
    exception = "StockError"   # the class or an ancestor
    text = "stock & !restock"  # the phrases of the shipped rules; lower case
    host = "shop.internal"     # part of the address

All keys of a rule must hold; at least one besides the class is needed.
"""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from ..errors import UsageError
from .evidence import Evidence
from .http import answer_of
from .phrases import Term, Verdict, all_hold, parse_phrase, parse_verdict, token
from .values import is_list
from .words import clip


class _Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"klass": "class"}):
    """One rule as it is written; single values may stand for lists of one."""

    klass: str
    executed: str = "no"
    status: int | list[int] = []
    code: str | list[str] = []
    exception: str | list[str] = []
    text: str | list[str] = []
    host: str | list[str] = []


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rule: list[_Rule] = []


class UserRule(msgspec.Struct, frozen=True):
    """One rule, checked; empty parts are not asked for."""

    verdict: Verdict
    statuses: tuple[int, ...]
    codes: tuple[str, ...]
    names: tuple[str, ...]
    phrases: tuple[tuple[Term, ...], ...]
    hosts: tuple[str, ...]

    def holds(self, evidence: Evidence, codes: Iterable[str], text: str) -> bool:
        """Whether every part that is given holds."""
        return (
            (not self.statuses or evidence.status in self.statuses)
            and (not self.names or evidence.has(*self.names))
            and (not self.codes or any(self._is_code(code) for code in codes))
            and (not self.hosts or any(host in evidence.url for host in self.hosts))
            and (not self.phrases or any(all_hold(phrase, text) for phrase in self.phrases))
        )

    def _is_code(self, code: str) -> bool:
        plain = token(code)
        return any(
            plain.startswith(wanted[:-1]) if wanted.endswith("*") else plain == wanted
            for wanted in self.codes
        )


class UserRules(msgspec.Struct, frozen=True):
    """The rules of one file, in order; the first that holds wins."""

    rules: tuple[UserRule, ...] = ()

    def judge(self, evidence: Evidence) -> Verdict | None:
        """What the first rule that holds says; None if none does."""
        if not self.rules:
            return None
        answer = answer_of(evidence)
        stderr = evidence.text("stderr")
        text = clip(f"{evidence.message}\n{answer.words}\n{stderr}").lower()
        codes = (*answer.codes, *(str(evidence.attrs.get(name)) for name in ("code", "sqlstate")))
        for rule in self.rules:
            if rule.holds(evidence, codes, text):
                return rule.verdict
        return None


def read_rules(path: str | Path) -> UserRules:
    """Read a file of rules.

    Raises:
        UsageError: the file cannot be read, is not TOML, or a rule in it is not one; the message
            names the file, the rule by its number, and the key.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read the rules {path}: {error.strerror}") from error
    return parse_user_rules(text, str(path))


def parse_user_rules(text: str, name: str = "rules") -> UserRules:
    """Read rules from the text of a TOML document.

    Raises:
        UsageError: as for `read_rules`.
    """
    try:
        document = msgspec.convert(tomllib.loads(text), _Document)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name} is not TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {error}") from error
    return UserRules(
        tuple(
            _checked(rule, f"{name}, rule {number}") for number, rule in enumerate(document.rule, 1)
        )
    )


def _checked(rule: _Rule, where: str) -> UserRule:
    if not (rule.status or rule.code or rule.exception or rule.text or rule.host):
        raise UsageError(f"{where} has no condition; give status, code, exception, text or host")
    try:
        verdict = parse_verdict(f"{rule.klass} {rule.executed}", where)
        phrases = tuple(parse_phrase(text.lower(), re.compile) for text in _many(rule.text))
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error
    if bad := [status for status in _many(rule.status) if not 100 <= status < 600]:
        raise UsageError(f"{where}: status {bad[0]} is none of HTTP's")
    return UserRule(
        verdict=verdict,
        statuses=tuple(_many(rule.status)),
        codes=tuple(token(code) for code in _many(rule.code)),
        names=tuple(token(each.rsplit(".", 1)[-1]) for each in _many(rule.exception)),
        phrases=phrases,
        hosts=tuple(_many(rule.host)),
    )


def _many(value: Any) -> list[Any]:
    """A single value as a list of one."""
    return value if is_list(value) else [value]
