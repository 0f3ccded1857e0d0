# ruff: noqa: RUF001 - the punctuation of Chinese
"""One claim of a statement, and the words that make it none in any sentence. Data."""

import re
from typing import Literal, NamedTuple

from msgspec import Struct

from ...supervisor.patterns import lazy_pattern
from .claims_words import words

Kind = Literal["action", "tests", "failure", "done", "given"]


class Claim(Struct, frozen=True, kw_only=True):
    """One thing a statement says was done.

    Attributes:
        kind: a deed, that tests pass, that something was tried and failed, the whole task, or what
            was given in a structured form.
        actions: what the verb may stand for; see claims_words.
        verb: the word itself, in its base form where it is in no table.
        text: the words of the claim, up to the next one.
        reported: it may tell of what others did: a passive without a doer.
        implicit: nobody is named who did it: "Added dark mode".
        standing: it may tell of what is so in general: "errors are logged".
        after: the words behind the verb, where its object usually is.
        value: a value the deed is said to have led to; of structured claims only.
        tool: the tool that is said to have done it; of structured claims only.
    """

    kind: Kind
    text: str
    actions: tuple[str, ...] = ()
    verb: str = ""
    reported: bool = False
    standing: bool = False
    implicit: bool = False
    after: str = ""
    value: str = ""
    tool: str = ""


class Head(NamedTuple):
    """Where a claim begins: its fragment, and its verb there."""

    fragment: int
    actions: tuple[str, ...]
    verb: str
    reported: bool
    after: str
    standing: bool = False
    implicit: bool = False


NEGATED = lazy_pattern(
    r"\b(?:not|never|no|nothing|none|nobody|without|cannot|neither|nor|failed|unable|refused|"
    r"denied|rejected|blocked|instead of|rather than|hardly|forgot)\b|n['’]t\b|\bby (?:hand|yourself)\b",
    re.IGNORECASE,
)
MODALS = words(
    """
    will would can could should may might must shall cannot please let going want wants wanted
    need needs needed plan plans planned intend intended ready able about try tried trying
    attempt attempted attempting expected supposed asked ask waiting pending awaiting 'll i'll
    we'll you'll it'll they'll would've should've could've requested like before unless i'd
    you'd wish hope hopes request requests yet cannot
    """
)
NEGATED_ZH = lazy_pattern(
    r"未|没有|没能|没|无法|尚未|不能|不会|不可|不要|不|失败|拒绝|无需|别再|请别|难以|取消了?失败|出错|报错"
)

PATH = lazy_pattern(
    r"(?<![\w/@:.-])(?:~?/|\.{1,2}/)?(?:[\w@+-][\w@.+-]*/)*[\w@+.-]*[\w]\."
    r"(?:py|pyi|js|jsx|ts|tsx|mjs|java|kt|go|rs|rb|php|c|h|cc|cpp|hpp|cs|swift|scala|sh|bash|ps1|"
    r"bat|sql|md|rst|txt|log|csv|tsv|json|jsonl|ndjson|yaml|yml|toml|ini|cfg|conf|env|xml|html|"
    r"htm|css|scss|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|mp[34]|wav|zip|tar|gz|tgz|bz2|7z|"
    r"db|sqlite3?|parquet|ipynb|tex|lock|bak|tmp|out|dat|bin|proto|tf|vue|svelte|r|jl|lua|pl|patch|"
    r"diff|pem|key|crt|ics|eml|service|dockerfile|mk|gradle|properties|rtf|odt|ods)\b"
    r"|(?<![\w/@:.-])(?:~|\.{1,2})?/(?:[\w@.+-]+/)*[\w@+-][\w@.+-]*"
    r"|(?<![\w/@:.-])(?:Makefile|Dockerfile|LICENSE|Jenkinsfile)\b",
    re.IGNORECASE | re.ASCII,
)
"""A file as it is named in text."""
