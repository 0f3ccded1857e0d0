"""The section ``[danger]`` of a policy: which calls need a person, and which must not run."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from .conditions import Value, condition
from .paths import PathGlobs, glob_pattern
from .risks import CATEGORIES, DangerCategories, Decision

_PROTECTED = (
    *("**/.env", "**/.env.*", "!**/.env*.example", "!**/.env*.sample", "!**/.env*.template"),
    *("**/.git", "**/.git/**", ".github/workflows/**", ".gitlab-ci.yml", ".circleci/**"),
    *("**/.ssh/**", "**/.aws/**", "**/.kube/**", "**/.gnupg/**", "**/.netrc", "**/.npmrc"),
    *("**/.pypirc", "**/authorized_keys", "**/*.pem", "**/*.key", "**/id_rsa", "**/id_ed25519"),
)
_SENSITIVE = (
    *("**/.env", "**/.env.*", "**/*.env", "!**/.env*.example", "!**/.env*.sample"),
    *(
        "!**/.env*.template",
        "**/.ssh/**",
        "!**/*.pub",
        "!**/known_hosts",
        "**/id_rsa*",
        "**/id_dsa*",
    ),
    *("**/id_ecdsa*", "**/id_ed25519*", "**/*.pem", "**/*.key", "**/*.p12", "**/*.pfx", "**/*.jks"),
    *("**/*.keystore", "**/*.kdbx", "**/*.ppk", "**/.aws/**", "**/.azure/**", "**/.gnupg/**"),
    *(
        "**/.kube/**",
        "**/.docker/config.json",
        "**/.netrc",
        "**/.pgpass",
        "**/.my.cnf",
        "**/.npmrc",
    ),
    *("**/.pypirc", "**/.git-credentials", "**/.htpasswd", "**/.vault-token", "**/.*_history"),
    *("**/credentials", "**/credentials.*", "**/secret", "**/secrets", "**/secrets.yml"),
    *("**/secrets.yaml", "**/secrets.json", "**/secrets.toml", "**/secrets.txt", "**/secrets.env"),
    *("**/secret.*", "**/secrets.ini", "**/passwords.*", "**/*credentials*.json", "**/token.json"),
    *("**/service-account*.json", "**/service_account*.json", "**/wallet.dat", "**/*.tfstate"),
    *("~/.config/**", "~/.local/share/**", "~/.mozilla/**", "~/Library/**", "/home/*/.*/**"),
    *(
        "/root/**",
        "/etc/shadow*",
        "/etc/gshadow*",
        "/etc/passwd",
        "/etc/sudoers",
        "/etc/sudoers.d/**",
    ),
    *("/etc/ssl/private/**", "/etc/ssh/*key", "/proc/*/environ", "/proc/*/mem", "/run/secrets/**"),
    *("/var/run/secrets/**", "/dev/mem", "/dev/kmem", "/var/lib/docker/**"),
)
_DISPOSABLE = (
    *("build/**", "dist/**", "out/**", "target/**", "**/__pycache__/**", "**/*.pyc", "**/*.pyo"),
    *("**/*.o", "**/*.obj", "**/*.tmp", "**/*.swp", "**/*~", "**/.pytest_cache/**", "**/.coverage"),
    *("**/.mypy_cache/**", "**/.ruff_cache/**", "**/*.egg-info/**", "**/.DS_Store", "/tmp/*"),
    *("/tmp/*/*", "/var/tmp/*"),
)


Section = Mapping[str, Any]


class DangerRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule: what it is about, and what follows. All that is given must hold.

    Attributes:
        then: ``allow``, ``ask`` or ``deny``.
        category: a kind of danger, as in `DangerCategories`, or a tool's own word.
        tool: a tool's name; ``*`` in it stands for any letters.
        agent: an agent's name, likewise.
        when: conditions by the name of an argument; see `ukemi.supervisor.danger.conditions`. Of a
            shell, ``command`` is each single command, not the line as a whole.
    """

    then: Decision
    category: str = ""
    tool: str = ""
    agent: str = ""
    when: dict[str, Value | list[Value]] = {}

    def __post_init__(self) -> None:
        if not (self.category or self.tool or self.agent or self.when):
            raise ValueError("a rule must say what it is about: category, tool, agent or when")
        for name, written in self.when.items():
            try:
                condition(written)
            except ValueError as error:
                raise ValueError(f"when.{name}: {error}") from error

    def shown(self) -> str:
        """Return the rule as a document writes it, on one line."""
        parts = [
            f'{name} = "{getattr(self, name)}"'
            for name in ("category", "tool", "agent")
            if getattr(self, name)
        ]
        parts += [f"{name} {written}" for name, written in self.when.items()]
        return f"[[danger.rules]] {', '.join(parts)} -> {self.then}"


class DangerPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which calls wait for a person, which never run, and how long a question stands.

    Attributes:
        categories: what follows from each kind of danger.
        rules: exceptions and sharper cases; a rule yields to one that is more exact in every respect.
        protected_paths: globs of what must not be changed without a question; see `PathGlobs`.
        sensitive_paths: globs of what may hold secrets: reading it is a question too.
        disposable_paths: globs of what may be deleted, because it can be made again.
        trusted_hosts: hosts that may be sent data: names, ``*.example.com``, numbers.
        expires_s: seconds that a request waits for a decision; None: without end.
        on_denied: ``conclude``: the model is told and may only report; ``stop``: the session ends.
    """

    categories: DangerCategories = DangerCategories()
    rules: tuple[DangerRule, ...] = ()
    protected_paths: tuple[str, ...] = _PROTECTED
    sensitive_paths: tuple[str, ...] = _SENSITIVE
    disposable_paths: tuple[str, ...] = _DISPOSABLE
    trusted_hosts: tuple[str, ...] = ()
    expires_s: float | None = 86_400.0
    on_denied: Literal["conclude", "stop"] = "conclude"

    def __post_init__(self) -> None:
        if self.expires_s is not None and not (
            math.isfinite(self.expires_s) and self.expires_s > 0
        ):
            raise ValueError(f"expires_s={self.expires_s} must be a number of seconds above 0")
        for name in ("protected_paths", "sensitive_paths", "disposable_paths"):
            for glob in cast("tuple[str, ...]", getattr(self, name)):
                try:
                    glob_pattern(glob.removeprefix("!"))
                except ValueError as error:
                    raise ValueError(f"{name}: {error}") from error
        for host in self.trusted_hosts:
            if not host or "/" in host or host.strip("*.") == "":
                raise ValueError(f"trusted_hosts: {host!r} is no host; give its name alone")

    @property
    def protected(self) -> PathGlobs:
        """The patterns of ``protected_paths``."""
        return PathGlobs(self.protected_paths)

    @property
    def sensitive(self) -> PathGlobs:
        """The patterns of ``sensitive_paths``."""
        return PathGlobs(self.sensitive_paths)

    @property
    def disposable(self) -> PathGlobs:
        """The patterns of ``disposable_paths``."""
        return PathGlobs(self.disposable_paths)


def decision_of(categories: DangerCategories, category: str) -> tuple[Decision, str]:
    """Return what follows from a kind of danger, and the key that says so."""
    known = category if category in CATEGORIES else "other"
    decision: Decision = getattr(categories, known)
    return decision, f'[danger.categories] {known} = "{decision}"'


def danger_over(where: str, below: DangerPolicy, keys: Section, whose: Section) -> Section:
    """Return the keys of a section that go over another: its own rules stand beside those below.

    Args:
        where: the section as a document writes it.
        whose: the agent or tool whose section it is, as a key of a rule: its rules are about that
            alone.

    Raises:
        ValueError: there is no such category.
    """
    merged = dict(keys)
    categories, rules = keys.get("categories"), keys.get("rules")
    if isinstance(categories, Mapping):
        named = cast("Section", categories)
        if unknown := [each for each in named if each not in CATEGORIES]:
            known = ", ".join(CATEGORIES)
            raise ValueError(f"{where} categories has no key {unknown[0]!r}; it has: {known}")
        merged["categories"] = {**msgspec.structs.asdict(below.categories), **named}
    if isinstance(rules, (list, tuple)):
        own = cast("Sequence[Any]", rules)
        merged["rules"] = [*below.rules, *(_of(each, whose) for each in own)]
    return merged


def _of(rule: Any, whose: Section) -> Any:
    """Return a rule as one of this agent or tool, whether it is a rule or is written as one."""
    if isinstance(rule, DangerRule):
        return msgspec.structs.replace(rule, **whose)
    return {**cast("Section", rule), **whose} if isinstance(rule, Mapping) else rule
