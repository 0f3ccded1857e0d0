"""git: what throws work away, publishes it, or has other programs run. Pure."""

import re
from collections.abc import Iterator

from ..danger.hosts import host_of
from ..danger.paths import UNKNOWN
from ..danger.risks import Risk
from ..danger.sensitive import sensitive_in
from .calls import Call, Finding, Handler, Scope, asks_host, writes
from .subcommands import by_table, words_of
from .tables import VERBS


def _git(call: Call, scope: Scope) -> Iterator[Finding]:
    yield from _git_settings(call)
    words, _ = words_of(call)
    verb = words[0].text if words else ""
    if verb and verb not in VERBS["git"]:
        yield Risk("unclear", f"runs git {words[0].shown}, which is not known here")
        return
    yield from by_table(call, scope)
    operands = [each.text for each in words[1:]]
    given = [each.text for each in call.arguments]
    found = _GIT.get(verb)
    if found is not None:
        for pattern, category, what in found:
            if re.search(pattern, f" {' '.join(given[given.index(verb) + 1 :])} "):
                yield Risk(category, f"{what} (git {verb})")
                break
    if verb in _GIT and verb != "commit" and any(UNKNOWN in each for each in operands[:1]):
        yield Risk("unclear", f"runs git {verb} with words that are known only when it runs")
    yield from _git_addresses(call, scope, verb)


def _git_settings(call: Call) -> Iterator[Risk]:
    for at, each in enumerate(call.arguments[:-1]):
        if each.text == "-c" and re.search(
            r"alias\.|pager|editor|sshcommand|fsmonitor|hookspath|helper|\.command|textconv|external|askpass|=!",
            call.arguments[at + 1].text.lower(),
        ):
            yield Risk("code", "has git run a program through a setting")
    for each in call.arguments:
        if each.text.startswith(("--upload-pack", "--receive-pack", "--exec", "-u=")):
            yield Risk("code", "has git run a program of its own choice")


_GIT = {
    "push": (
        (
            r" (?:-f|--force\S*|--mirror|--prune|-[a-z]*f[a-z]*) | \+\S",
            "publish",
            "rewrites the published history",
        ),
        (r" (?:-d|--delete) | :\S", "delete", "deletes a branch of the other repository"),
    ),
    "reset": ((r" --(?:hard|merge|keep)", "delete", "throws changes away"),),
    "checkout": (
        (r" (?:-f|--force|--|\.|-p|--ours|--theirs|:/|\*|\./) ", "delete", "throws changes away"),
        (r" \S+\.\w{1,5} $", "delete", "throws changes to a file away"),
    ),
    "switch": ((r" (?:-f|--force|--discard-changes|-C) ", "delete", "throws changes away"),),
    "restore": ((r"^(?!.* --staged )|.* (?:--worktree|-W) ", "delete", "throws changes away"),),
    "branch": ((r" (?:-\w*[dDfMC]\w*|--delete|--force) ", "delete", "deletes or moves a branch"),),
    "tag": ((r" (?:-d|--delete|-f|--force) ", "delete", "deletes or moves a tag"),),
    "stash": ((r" (?:drop|clear) ", "delete", "throws stashed work away"),),
    "worktree": ((r" (?:remove|prune) ", "delete", "deletes a work tree"),),
    "reflog": ((r" (?:expire|delete) ", "delete", "throws away what git keeps"),),
    "rm": ((r"^(?!.* --cached )", "delete", "deletes files"),),
    "remote": (
        (r" (?:add|set-url|remove|rm|rename|set-head) ", "config", "changes where commits go"),
    ),
    "config": (
        (r" (?:--global|--system) (?!--?(?:get|list|l\b))", "config", "changes git's settings"),
        (
            r" (?i:core\.(?:hookspath|sshcommand|fsmonitor|editor|pager)|alias\.|credential\.|url\.|filter\.|diff\.\S*command|http\.)\S* \S",
            "config",
            "changes what git runs",
        ),
        (r" (?:-e|--edit|--remove-section|--rename-section) ", "config", "changes git's settings"),
    ),
    "submodule": ((r" (?:foreach|deinit|add) ", "code", "runs or changes other repositories"),),
    "rebase": ((r" (?:-x|--exec)", "code", "runs commands while it rebases"),),
    "bisect": ((r" run ", "code", "runs commands while it searches"),),
    "lfs": ((r" (?:prune|push) ", "delete", "changes stored files"),),
    "symbolic-ref": ((r" \S+ \S+ ", "delete", "moves a reference"),),
    "commit": ((r" --no-verify ", "config", "goes past the checks of the repository"),),
    "difftool": ((r" (?:-x|--extcmd)", "code", "runs a program"),),
    "sparse-checkout": ((r" set ", "delete", "takes files out of the work tree"),),
}


def _git_addresses(call: Call, scope: Scope, verb: str) -> Iterator[Risk]:
    for each in call.arguments:
        if each.text.startswith("ext::"):
            yield Risk("code", "has git run a program as if it were another repository")
        if "://" in each.text and verb in ("clone", "fetch", "pull", "ls-remote", "remote"):
            host = host_of(each.text)
            if host is not None:
                yield from asks_host(host, scope.limits.trusted_hosts)
            for words in sensitive_in(each.text):
                yield Risk("exfiltration", f"puts {words} into git's settings")
    if verb == "clone" and len(words_of(call)[0]) > 2:
        yield from writes(scope, words_of(call)[0][2], "copies a repository to")


GIT: dict[str, Handler] = {"git": _git}
