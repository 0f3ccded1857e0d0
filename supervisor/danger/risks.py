"""The words for danger: categories, what a risk is. Data only."""

from typing import Literal

from msgspec import Struct

Decision = Literal["allow", "ask", "deny"]
DECISIONS: tuple[Decision, ...] = ("allow", "ask", "deny")
"""By strictness."""


class DangerCategories(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What follows from each kind of danger where no rule says otherwise.

    Attributes:
        shell: a command line in which nothing dangerous was found.
        delete: files, rows or other people's work are gone afterwards.
        config: settings of the machine, of the user or of programs are changed.
        outside: files outside the workspace are written.
        privilege: another user's rights, above all root's.
        network: something is sent, or another machine is commanded.
        exfiltration: something secret would leave.
        credentials: something secret is read.
        money: something is bought, paid or paid back.
        publish: something is released, pushed or deployed.
        install: programs are installed or downloaded to be run.
        system: processes, services, containers, clusters.
        code: code that could not be read is run.
        unclear: what would happen could not be made out.
        destroy: the machine or a whole disk is lost.
        other: any word of a tool's own.
    """

    shell: Decision = "allow"
    delete: Decision = "ask"
    config: Decision = "ask"
    outside: Decision = "ask"
    privilege: Decision = "ask"
    network: Decision = "ask"
    exfiltration: Decision = "ask"
    credentials: Decision = "ask"
    money: Decision = "ask"
    publish: Decision = "ask"
    install: Decision = "ask"
    system: Decision = "ask"
    code: Decision = "ask"
    unclear: Decision = "ask"
    destroy: Decision = "deny"
    other: Decision = "ask"


CATEGORIES: tuple[str, ...] = DangerCategories.__struct_fields__

_SAME = {
    "delete_files": "delete",
    "deletion": "delete",
    "configuration": "config",
    "settings": "config",
    "sudo": "privilege",
    "secrets": "credentials",
    "payment": "money",
    "payments": "money",
    "publishing": "publish",
    "deploy": "publish",
    "process": "system",
    "processes": "system",
}


def category_of(word: str) -> str:
    """Return the category that a tool's own word for its danger means; an unknown word is its own."""
    plain = word.strip().lower()
    return _SAME.get(plain, plain)


class Risk(Struct, frozen=True):
    """One thing that may go wrong.

    ``words``: what would happen, as the end of a sentence ("deletes files recursively under /etc").
    ``command``: of a shell, the command it lies in.
    """

    category: str
    words: str
    command: str = ""
