"""The commands about the policy, show, check and explain, and classify."""

import builtins
import json
from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from ..actors.ends import traits_of
from ..actors.tooling.tools import AnyTool, Tool
from ..supervisor.classify import Classifier, read_rules
from ..supervisor.classifying.user import UserRules
from ..supervisor.decide import History
from ..supervisor.errors import UsageError
from ..supervisor.failure import MODEL_TRAITS, Failure, Stage, Traits
from ..supervisor.policy import Policy, resolve
from ..supervisor.policy_file import format_policy, load_policy
from .classify import classify_lines
from .errors import DONE, NOT_DONE, CannotRead, ExitStatus
from .explain import explain, explanation_data, explanation_lines
from .loading import load_module
from .output import Output, OutputGone


async def show(out: Output, file: str | None, agent: str, tool: str) -> ExitStatus:
    """Print a policy as a document: every key, or what holds for a tool of an agent."""
    policy = resolve(load_policy(file), agent, tool)
    if out.as_json:
        out.data(msgspec.to_builtins(policy))
    else:
        out.text(format_policy(policy).rstrip())
    return DONE


async def check(out: Output, file: str) -> ExitStatus:
    """Say that a file is a policy.

    Raises:
        UsageError: it is none, as every command that takes one would say.
    """
    policy = load_policy(file)
    overrides = sum(
        len(each) for each in (policy.agent, policy.tool, policy.upstream, policy.tenant)
    )
    if out.as_json:
        out.data({"file": file, "ok": True, "overrides": overrides})
    else:
        own = "agents, tools, upstreams and tenants with sections of their own"
        out.text(f"{file}: ok; {own}: {overrides}")
    return DONE


class ErrorGiven(Struct, frozen=True, kw_only=True):
    """An error as it is named on the command line; exactly one of the first four is set."""

    error: str | None = None
    status: int | None = None
    exception: str | None = None
    text: str | None = None
    headers: tuple[str, ...] = ()
    body: str = ""
    message: str = ""
    stage: Stage = "call"


class CallGiven(Struct, frozen=True, kw_only=True):
    """Which call it happened to, and what has been tried."""

    tool: str = ""
    agent: str = ""
    effect: str | None = None
    safe_to_retry: bool = False
    accepts_key: bool = False
    model: bool = False
    history: History = History()


async def explain_error(
    out: Output,
    error: ErrorGiven,
    call: CallGiven,
    policies: Sequence[tuple[str, Policy]],
    rules: str | None,
) -> ExitStatus:
    """Show evidence, class, directive and numbers for an error of a call, under each policy."""
    failure = failure_of(error, Classifier(rules_of(rules)))
    name, traits = called(call)
    found = [
        (
            file,
            explain(
                failure,
                traits,
                call.history,
                resolve(policy, call.agent, name),
                agent=call.agent,
                tool=name,
            ),
        )
        for file, policy in policies
    ]
    if out.as_json and len(found) == 1:
        out.data(explanation_data(found[0][1]))
    elif out.as_json:
        out.data([{"policy": file, **explanation_data(each)} for file, each in found])
    else:
        for file, each in found:
            if len(found) > 1:
                out.text(f"{file}:")
            out.text("\n".join(explanation_lines(each, out.terminal)))
    return DONE


def failure_of(given: ErrorGiven, classified: Classifier) -> Failure:
    """Classify the error that was named.

    Raises:
        UsageError: none or several were named, or it has none of the stored forms.
    """
    named = [
        each
        for each in (given.error, given.status, given.exception, given.text)
        if each is not None
    ]
    if len(named) != 1:
        raise UsageError(
            "name one error: --error JSON, --status N, --exception TYPE or --text TEXT"
        )
    try:
        received = _received(given)
        stage, received_at = given.stage, received.get("received_at")
        return classified(received, stage=stage, received_at=received_at)
    except ValueError as error:
        raise UsageError(f"the error cannot be read: {error}") from error


def _received(given: ErrorGiven) -> dict[str, Any]:
    if given.error is not None:
        record: object = json.loads(given.error)
        if not isinstance(record, dict):
            raise ValueError("it must be one JSON object")
        found = cast("dict[str, Any]", record)
        return cast("dict[str, Any]", found.get("input", found))
    if given.status is not None:
        headers = dict(_header(each) for each in given.headers)
        return {"form": "http", "status": given.status, "headers": headers, "body": given.body}
    if given.exception is not None:
        kind = given.exception if "." in given.exception else f"builtins.{given.exception}"
        exception = {"type": kind, "mro": _mro(given.exception, kind), "message": given.message}
        return {"form": "exception", "exception": exception}
    return {"form": "text", "text": given.text}


def _mro(name: str, kind: str) -> list[str]:
    """Return the ancestors of a built-in exception; of others nothing is known."""
    found = getattr(builtins, name, None)
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        return [kind]
    return [f"{each.__module__}.{each.__qualname__}" for each in found.__mro__[:-1]]


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise UsageError(f"--header {text!r} must be NAME: VALUE")
    return name.strip().lower(), value.strip()


def called(given: CallGiven) -> tuple[str, Traits]:
    """Return the tool's name and marks: those of MODULE:TOOL, or as told; an unsafe write else."""
    if given.model:
        return "", MODEL_TRAITS
    if ":" in given.tool:
        found = load_tool(given.tool)
        return found.name, traits_of(found)
    reads = given.effect == "read"
    return given.tool, Traits(
        safe_to_retry=given.safe_to_retry or reads, accepts_key=given.accepts_key
    )


def load_tool(word: str) -> AnyTool:
    """Return the tool that ``MODULE:TOOL`` means: the variable that holds it, or its own name.

    Raises:
        UsageError: there is no such module or tool.
    """
    module_name, _, wanted = word.rpartition(":")
    module = load_module(module_name)
    names = cast("dict[str, object]", vars(module))
    found = [cast("AnyTool", each) for each in names.values() if isinstance(each, Tool)]
    held = names.get(wanted)
    for tool in found:
        if tool is held or tool.name == wanted:
            return tool
    known = ", ".join(each.name for each in found) or "none"
    raise UsageError(f"{module_name!r} has no tool {wanted!r}; it has: {known}")


async def classify(out: Output, lines: Iterable[str], rules: str | None) -> ExitStatus:
    """Classify the errors on standard input, a JSON line each; the status is 1 if one was none."""
    known = rules_of(rules)
    try:
        bad = classify_lines(lines, out.stdout, out.stderr, known)
        out.stdout.flush()
    except OSError as error:
        raise OutputGone(str(error.strerror)) from error
    return NOT_DONE if bad else DONE


def rules_of(file: str | None) -> UserRules | None:
    """Return the user's own rules, if a file is named.

    Raises:
        CannotRead: it is no text.
        UsageError: it cannot be read, or a rule in it is none.
    """
    try:
        return None if file is None else read_rules(file)
    except UnicodeDecodeError as error:
        raise CannotRead(f"cannot read the rules {file}: {error}") from error
