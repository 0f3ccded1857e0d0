"""What the shipped checks let through, and what they do not: a table of changes."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Struct

from ukemi import StagedChange, StagedFile, UsageError
from ukemi.actors.secrets import Mask
from ukemi.actors.staging.checks import check_checks, judged
from ukemi.stores.workspace import Change, Entry, File, Link
from ukemi.stores.workspace.entries import digest_of
from ukemi.supervisor.policy_sessions import StagingPolicy

AWS = "AKIA" + "Q7R2T9W4X1Z8B5N3"  # put together, so that nobody takes this file for a leak
PEM = "-----BEGIN RSA PRIV" + "ATE KEY-----"
MASK = Mask(["hunter-2-hunter"])


class Case(Struct, frozen=True):
    what: str
    files: dict[str, tuple[str | None, str | None]]
    by: str = ""
    """Which check objects; empty: none does."""
    policy: StagingPolicy = StagingPolicy()


CASES = [
    Case("nothing", {}),
    Case("plain text", {"a.txt": ("one", "two"), "b/c.py": (None, "x = 1")}),
    Case("a deletion", {"a.txt": (AWS, None)}),
    Case("a key that comes", {"a.txt": ("one", f"one\nkey {AWS}\n")}, "secrets"),
    Case("a key in a new file", {"deep/er/a.txt": (None, AWS)}, "secrets"),
    Case("a private key", {"a.txt": (None, f"{PEM}\nabc\n")}, "secrets"),
    Case("a password in an address", {"a": (None, "redis://u:hunter22@db:1")}, "secrets"),
    Case("a key far behind", {"a": (None, "x" * 300_000 + f"\n{AWS}")}, "secrets"),
    Case("a key far behind in one line", {"a": (None, "x " * 150_000 + AWS)}, "secrets"),
    Case("a key where one part ends", {"a": (None, "y" * 199_985 + f" {AWS} ")}, "secrets"),
    Case("a secret of the runtime", {"a": (None, "is hunter-2-hunter")}, "secrets"),
    Case("a key that was there", {"a": (f"{AWS}\n", f"{AWS}\nmore")}),
    Case("another key than before", {"a": (f"{AWS}\n", f"{AWS[:-1]}4\n")}, "secrets"),
    Case("a key, where that is allowed", {"a": (None, AWS)}, "", StagingPolicy(secrets=False)),
    Case("a protected file", {".env": (None, "A=1")}, "protected"),
    Case("a protected file anywhere", {"x/y/.env.prod": ("A=1", "A=2")}, "protected"),
    Case("a protected file deleted", {"tls/cert.pem": ("x", None)}, "protected"),
    Case("a name that only looks like it", {"my.env.md": (None, "A=1"), "pem": (None, "x")}),
    Case(
        "paths that an application protects",
        {"migrations/1.sql": (None, "x")},
        "protected",
        StagingPolicy(protected_paths=("migrations/**",)),
    ),
    Case(
        "the same name elsewhere",
        {"old/migrations/1.sql": (None, "x")},
        "",
        StagingPolicy(protected_paths=("migrations/**",)),
    ),
    Case(
        "as many as allowed", {"a": (None, "1"), "b": (None, "1")}, "", StagingPolicy(paths_max=2)
    ),
    Case("more", {"a": (None, "1"), "b": (None, "1")}, "size", StagingPolicy(paths_max=1)),
    Case("as large as allowed", {"a": (None, "1234")}, "", StagingPolicy(bytes_max=4)),
    Case("larger", {"a": (None, "123"), "b": ("", "45")}, "size", StagingPolicy(bytes_max=4)),
    Case("deletions have no size", {"a": ("123456", None)}, "", StagingPolicy(bytes_max=4)),
]


def change_of(files: dict[str, tuple[str | None, str | None]]) -> StagedChange:
    kept: dict[bytes, bytes] = {}

    def entry(text: str | None) -> Entry | None:
        if text is None:
            return None
        data = text.encode()
        kept[digest_of(data)] = data
        return File(0o644, len(data), digest_of(data))

    return StagedChange(
        session_id="s",
        agent="a",
        tool="t",
        arguments={},
        result="done",
        files=tuple(
            StagedFile(path, Change(entry(was), entry(now)), kept.__getitem__)
            for path, (was, now) in files.items()
        ),
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_a_change_is_judged(case: Case) -> None:
    verdict = judged(change_of(case.files), case.policy, MASK)
    assert ("" if verdict is None else verdict.by) == case.by
    if verdict is not None:
        assert AWS not in verdict.problem
        assert "hunter" not in verdict.problem


def test_what_a_check_of_the_application_sees_of_a_path() -> None:
    made = change_of({"a": ("one", "two"), "b": (None, "three"), "c": ("four", None)})
    assert made.bytes == 8
    assert [(one.path, one.kind, one.size, one.before(), one.after()) for one in made.files] == [
        ("a", "changed", 3, b"one", b"two"),
        ("b", "added", 5, None, b"three"),
        ("c", "removed", 0, b"four", None),
    ]
    link = StagedFile("l", Change(None, Link(b"a/b")), lambda _: b"")
    assert (link.kind, link.link(), link.after()) == ("added", "a/b", None)
    kind = StagedFile("l", Change(File(0o644, 1, b""), Link(b"a")), lambda _: b"")
    assert kind.kind == "kind"


def test_a_check_that_cannot_be_called_is_refused() -> None:
    checks: list[Any] = ["lint"]
    with pytest.raises(UsageError, match="'lint', which cannot be called"):
        check_checks("Runtime", checks)


@pytest.mark.parametrize(
    "given",
    [{"tree_bytes_max": 0}, {"paths_max": 0}, {"check_s_max": -1}, {"protected_paths": ("[a",)}],
)
def test_sizes_that_cannot_be(given: dict[str, Any]) -> None:
    make: Callable[..., StagingPolicy] = StagingPolicy
    with pytest.raises(ValueError, match=next(iter(given))):
        make(**given)
