"""The judgement on a call before it runs: allow it, ask a person, or deny it. Pure.

A call has risks: the one its tool declares, and those its arguments show. Each is judged by itself, and
the strictest answer counts. For one risk, of the rules that fit those are left out that yield to another:
one that is at least as exact in every respect, and more exact in one (tool, agent, category, arguments).
Of the rest the strictest counts; the order of rules never does. Where no rule fits, the table of
categories decides.

A condition that cannot be told (a number is asked for, the argument is a word) does not fulfil a rule
that allows, and does fulfil one that asks or denies.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal, cast

from msgspec import Struct

from ..shell.calls import Limits, asks_host, is_settings, sends_to
from .conditions import condition, holds, leaves
from .hosts import Host, Reach, host_of, hosts_in
from .paths import NO_WORKSPACE, Where, place_of
from .policy import DangerPolicy, DangerRule, decision_of
from .risks import DECISIONS, Decision, Risk, category_of
from .sensitive import sensitive_in

RISKS_SHOWN_MAX = 5
_COMMAND_NAMES = ("command", "cmd", "commands", "script", "code", "argv", "args")
_PATH_NAMES = frozenset(
    (
        *(
            "path",
            "file",
            "filename",
            "filepath",
            "file_path",
            "file_name",
            "target",
            "target_file",
        ),
        *(
            "destination",
            "dest",
            "output",
            "output_file",
            "output_path",
            "source",
            "src",
            "directory",
        ),
        *("folder", "dir", "paths", "files", "target_path", "notebook_path"),
    )
)
_HOST_NAMES = frozenset(("host", "hostname", "domain"))
_TELLING_NAMES = _PATH_NAMES | _HOST_NAMES
"""Names of arguments that are looked at, whatever stands in them."""

NAMED = "named"
"""Stands for a category where nothing is at risk but what a rule names."""

_SENDING = frozenset(("network", "publish", "exfiltration"))


class Action(Struct, frozen=True, kw_only=True):
    """A call that is about to run.

    Attributes:
        tool: its tool's name.
        danger: what the tool declares about itself; None: nothing.
        effect: ``read`` or ``write``.
        arguments: checked, with defaults filled in; secrets that the runtime fills in left out.
        working_directory: of the session; empty if it has none.
        agent: the name of the agent that calls.
        upstream: what the tool talks to, if it says so.
    """

    tool: str
    danger: str | None = None
    effect: Literal["read", "write"] = "write"
    arguments: Mapping[str, Any] = {}
    working_directory: str = ""
    agent: str = ""
    upstream: str | None = None


class Verdict(Struct, frozen=True):
    """What follows, and why.

    ``risk``: a sentence for people; empty where nothing is at risk. ``rule``: the line of the policy
    that decided, as it is written there.
    """

    decision: Decision
    category: str = ""
    risk: str = ""
    rule: str = ""


class _Judged(Struct, frozen=True):
    decision: Decision
    risk: Risk
    rule: str


def judge(action: Action, policy: DangerPolicy) -> Verdict:
    """Decide on a call; a tool that declares nothing and whose arguments show nothing is allowed,
    unless a rule is about it that names no category.

    ``policy`` is what holds for this tool of this agent.
    """
    judged = [_judged(risk, action, policy) for risk in risks_of(action, policy)]
    if not judged:
        named = Risk(NAMED, f"{action.tool} is named by a rule")
        if not any(fits(rule, named, action) for rule in policy.rules):
            return Verdict("allow")
        judged = [_judged(named, action, policy)]
    strictest = max(judged, key=lambda each: DECISIONS.index(each.decision))
    same = [each for each in judged if each.decision == strictest.decision]
    decisive = next((each for each in same if each.risk.words), same[0])
    if strictest.decision == "allow":
        return Verdict("allow", decisive.risk.category, "", decisive.rule)
    shown = [each.risk for each in judged if each.decision != "allow" and each.risk.words]
    return Verdict(strictest.decision, decisive.risk.category, risk_sentence(shown), decisive.rule)


def shows_no_risk(
    danger: str | None,
    upstream: str | None,
    names: Iterable[str],
    defaults: Mapping[str, object],
) -> bool:
    """Tell whether calls of a tool put nothing at risk, so long as `is_plain` holds for their arguments.

    What is said of the tool alone is worked out once, and not for each call. Where rules are given,
    they may be about any tool: then each call is judged.

    Args:
        names: of its parameters.
        defaults: what stands for arguments that are left out, as plain data.
    """
    named = {name.lower() for name in names}
    if danger is not None or upstream is not None or not named.isdisjoint(_TELLING_NAMES):
        return False
    return not any(isinstance(each, str) and "://" in each for each in leaves(defaults))


def is_plain(arguments: str) -> bool:
    """Tell whether no text in these arguments, the JSON of an object, holds an address."""
    return "://" not in arguments and "\\" not in arguments


def risk_sentence(risks: Sequence[Risk]) -> str:
    """Return several risks as one sentence, each said once, the most serious kinds first."""
    words = list(dict.fromkeys(each.words for each in risks))
    said, left = words[:RISKS_SHOWN_MAX], len(words) - RISKS_SHOWN_MAX
    more = f"; and {left} more" if left > 0 else ""
    text = "; ".join(said) + more
    return text[:1].upper() + text[1:]


# ---------------------------------------------------------------- risks


def risks_of(action: Action, policy: DangerPolicy) -> tuple[Risk, ...]:
    """Return what a call puts at risk: what its tool declares, and what its arguments show."""
    return tuple(dict.fromkeys((*_declared(action, policy), *_shown(action, policy))))


def _declared(action: Action, policy: DangerPolicy) -> Iterator[Risk]:
    if action.danger is None:
        return
    category = category_of(action.danger)
    command = _command(action) if category == "shell" else None
    if category == "shell" and command is None:
        yield Risk("unclear", "runs commands that are not among its arguments")
    elif command is not None:
        from ..shell.risks import shell_risks  # a reader of shells loads with the first command

        root = action.working_directory or NO_WORKSPACE
        yield Risk("shell", "", command)
        yield from shell_risks(command, root, limits_of(root, policy))
    elif (category == "delete" and _only_disposable(action, policy)) or (
        category == "network" and _only_trusted(action, policy)
    ):
        return
    else:
        yield Risk(category, _words_for(category, action))


def files_changed(action: Action) -> tuple[str, ...]:
    """Return the paths that a shell's command writes or deletes, absolute; of any other call none."""
    command = None
    if action.danger is not None and category_of(action.danger) == "shell":
        command = _command(action)
    if command is None:
        return ()
    from ..shell.risks import shell_changes  # a reader of shells loads with the first command

    root = action.working_directory or NO_WORKSPACE
    return tuple(
        each.path for each in shell_changes(command, root, limits_of(root, DangerPolicy()))
    )


def limits_of(workspace: str, policy: DangerPolicy) -> Limits:
    """Return what a shell command of this workspace is held against."""
    return Limits(
        workspace=workspace,
        protected=policy.protected,
        sensitive=policy.sensitive,
        disposable=policy.disposable,
        trusted_hosts=policy.trusted_hosts,
    )


def _command(action: Action) -> str | None:
    """Return the command line among the arguments; of a list of words, as one would type it."""
    for name in _COMMAND_NAMES:
        value = action.arguments.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, (list, tuple)):
            return shlex.join(str(each) for each in cast("list[object]", value))
    return None


def _words_for(category: str, action: Action) -> str:
    words = {
        "delete": "deletes something",
        "config": "changes a configuration",
        "money": "moves money",
        "publish": "publishes something",
        "network": "sends something to another machine",
        "privilege": "uses rights beyond its own",
        "credentials": "handles secrets",
        "install": "installs something",
        "system": "changes what runs on the machine",
    }
    said = words.get(category, f"is marked as dangerous: {category}")
    return f"{action.tool} {said}"


def _only_disposable(action: Action, policy: DangerPolicy) -> bool:
    """Tell whether all it names may be deleted, because it can be made again."""
    root = action.working_directory or NO_WORKSPACE
    paths = list(_paths(action))
    return bool(paths) and all(policy.disposable.match(place_of(p, root, root)) for p in paths)


def _only_trusted(action: Action, policy: DangerPolicy) -> bool:
    hosts = _hosts(action)
    return bool(hosts) and all(host.is_one_of(policy.trusted_hosts) for host in hosts)


def _paths(action: Action) -> Iterator[str]:
    for name, value in action.arguments.items():
        if name.lower() in _PATH_NAMES:
            yield from (each for each in leaves(value) if isinstance(each, str) and each)


def _hosts(action: Action) -> tuple[Host, ...]:
    found: list[Host] = []
    for name, value in action.arguments.items():
        for each in leaves(value):
            if isinstance(each, str):
                found.extend(hosts_in(each))
                host = host_of(each) if name.lower() in _HOST_NAMES else None
                found.extend(() if host is None else (host,))
    return tuple(dict.fromkeys(found))


def _shown(action: Action, policy: DangerPolicy) -> Iterator[Risk]:
    """What arguments show, whatever the tool says about itself; commands are looked at elsewhere."""
    if action.danger is not None and category_of(action.danger) == "shell":
        return
    root = action.working_directory or NO_WORKSPACE
    for path in _paths(action):
        place = place_of(path, root, root)
        if action.effect == "write" and policy.protected.match(place):
            yield Risk("config", f"{action.tool} changes {place.shown}, which is protected")
        elif action.effect == "write" and place.where is Where.OUTSIDE and is_settings(place):
            yield Risk("config", f"{action.tool} changes {place.shown}, outside the workspace")
        elif action.effect == "read" and policy.sensitive.match(place):
            yield Risk("credentials", f"{action.tool} reads {place.shown}, which may hold secrets")
    hosts = _hosts(action)
    for host in hosts:
        yield from asks_host(host, policy.trusted_hosts)
    if _leaves(action, hosts, policy):
        kinds = {words for each in leaves(action.arguments) for words in sensitive_in(str(each))}
        for words in sorted(kinds):
            yield Risk("exfiltration", f"{action.tool} sends {words} to {_whom(action, hosts)}")


def _leaves(action: Action, hosts: tuple[Host, ...], policy: DangerPolicy) -> bool:
    """Tell whether what is in the arguments goes to somebody who is not trusted."""
    if action.danger is not None and category_of(action.danger) == "money":
        return False  # a card's number belongs there
    if any(list(sends_to(host, policy.trusted_hosts)) for host in hosts):
        return True
    declared = action.danger is not None and category_of(action.danger) in _SENDING
    trusted = bool(hosts) and all(
        host.reach is Reach.LOCAL or host.is_one_of(policy.trusted_hosts) for host in hosts
    )
    return (declared or action.upstream is not None) and not trusted


def _whom(action: Action, hosts: tuple[Host, ...]) -> str:
    names = ", ".join(host.name for host in hosts)
    return names or action.upstream or "another machine"


# ---------------------------------------------------------------- rules


def _judged(risk: Risk, action: Action, policy: DangerPolicy) -> _Judged:
    fitting = [rule for rule in policy.rules if fits(rule, risk, action)]
    left = [rule for rule in fitting if not any(yields(rule, to=other) for other in fitting)]
    if left:
        rule = max(left, key=lambda each: (DECISIONS.index(each.then), each.shown()))
        return _Judged(rule.then, risk, rule.shown())
    decision, key = decision_of(policy.categories, risk.category)
    return _Judged(decision, risk, key)


def fits(rule: DangerRule, risk: Risk, action: Action) -> bool:
    """Tell whether a rule is about this risk of this call."""
    if rule.category and category_of(rule.category) != risk.category:
        return False
    if rule.tool and not fnmatchcase(action.tool, rule.tool):
        return False
    if rule.agent and not fnmatchcase(action.agent, rule.agent):
        return False
    arguments = _seen(action, risk)
    root = action.working_directory or NO_WORKSPACE
    answers = [
        holds(name, condition(written), arguments, root) for name, written in rule.when.items()
    ]
    if False in answers:
        return False
    return rule.then != "allow" or None not in answers


def _seen(action: Action, risk: Risk) -> Mapping[str, Any]:
    """Return the arguments as a rule sees them: of a shell, the one command that the risk lies in.

    Otherwise a rule that allows ``git push`` would allow all that stands behind it on the line.
    """
    if not risk.command:
        return action.arguments
    name = next((each for each in _COMMAND_NAMES if each in action.arguments), "command")
    return {**action.arguments, name: risk.command}


def yields(rule: DangerRule, *, to: DangerRule) -> bool:
    """Tell whether another rule is at least as exact in every respect, and more so in one."""
    ours, theirs = _exactness(rule), _exactness(to)
    as_exact = all(left <= right for left, right in zip(ours, theirs, strict=True))
    conditions = set(rule.when) <= set(to.when)
    more = ours != theirs or set(rule.when) < set(to.when)
    return as_exact and conditions and more


def _exactness(rule: DangerRule) -> tuple[int, int]:
    """Return how exact a rule is about what is called, and about who calls."""
    return _name(rule.tool, 3) or (1 if rule.category else 0), _name(rule.agent, 2)


def _name(pattern: str, most: int) -> int:
    """Return how exact a name is: ``most`` without wildcards, one less with, 0 if there is none."""
    if not pattern:
        return 0
    return most - 1 if any(each in pattern for each in "*?[") else most
