"""The command that was typed, ready to run.

What only one command needs is loaded when that one was typed: nobody waits for the demo to be told the
usage.
"""

import argparse
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from ..stores.decisions import Decide, Resolve
from ..supervisor.errors import UsageError
from .drill_arguments import without_picks
from .errors import CannotRead, ExitStatus
from .output import Output
from .typed import args_of, budget_of, call_named, result_of

Command = Callable[[], Awaitable[ExitStatus]]


def command_of(options: argparse.Namespace, out: Output) -> Command:
    """Return what runs in an event loop.

    Raises:
        UsageError: what was typed does not go together.
        CannotRead: standard input cannot be read.
    """
    return _COMMANDS[options.command](options, out)


def drill_now(options: argparse.Namespace, words: Sequence[str], out: Output) -> ExitStatus:
    """Run the drill outside of any event loop: it makes one for each process that it plays."""
    from .drill import DrillRequest, run_drill

    return run_drill(
        out,
        DrillRequest(
            agent=options.agent,
            task=_task(options),
            model=options.model,
            stubs=options.stub,
            cells=options.cell,
            only=options.only,
            secrets=options.secret,
            env=options.env,
            cwd=options.cwd,
            policy=options.policy,
            budget=budget_of(options.budget),
            seed=options.seed,
            jobs=options.jobs,
            untested=options.untested,
            again=without_picks(words),
        ),
    )


# ---------------------------------------------------------------- running


def _demo(options: argparse.Namespace, out: Output) -> Command:
    if options.worker is not None:
        from .demo_worker import work

        return partial(work, options.worker)
    if options.record is not None:
        from .demo_record import record_demo

        return partial(record_demo, out, options.record, options.policy)
    if options.policy is not None:
        raise UsageError("demo takes a --policy only with --record FILE")
    from .demo import DemoRequest, demo

    wanted = DemoRequest(store=options.store, model=options.model, keep=options.keep)
    return partial(demo, out, wanted)


def _run(options: argparse.Namespace, out: Output) -> Command:
    from .driving import RunRequest, run

    request = RunRequest(
        agent=options.agent,
        task=_task(options),
        store=options.store,
        budget=budget_of(options.budget),
        policy=options.policy,
        model=options.model,
        cwd=options.cwd,
        on_failure=options.on_failure,
        session_id=options.session_id,
        no_wait=options.no_wait,
    )
    return partial(run, out, request)


def _resume(options: argparse.Namespace, out: Output) -> Command:
    from .driving import ResumeRequest, resume

    request = ResumeRequest(
        module=options.module,
        ids=options.ids,
        store=options.store,
        policy=options.policy,
        model=options.model,
        say=options.say,
        no_wait=options.no_wait,
    )
    return partial(resume, out, request)


def _task(options: argparse.Namespace) -> str:
    """Return the task; a dash stands for standard input."""
    if options.task != "-":
        task: str = options.task
        return task
    try:
        return sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotRead(f"the task could not be read from standard input: {error}") from error


# ---------------------------------------------------------------- what people decide


def _resolve(options: argparse.Namespace, out: Output) -> Command:
    from .resolve import ResolveRequest, resolve, this_user

    request = ResolveRequest(
        session_id=options.id,
        said=Resolve(
            options.option,
            None if options.call is None else call_named(options.call),
            None if options.result is None else result_of(options.result),
            None if options.args is None else args_of(options.args),
        ),
        by=this_user() if options.by is None else options.by,
        store=options.store,
        wait_s=options.wait,
    )
    return partial(resolve, out, request)


def _answer(options: argparse.Namespace, out: Output) -> Command:
    from .approvals import Answer, answer
    from .resolve import this_user

    approves = options.command == "approve"
    args = options.args if approves else None
    why = None if options.why is None else result_of(options.why)
    given = Answer(
        request=options.request,
        decision=Decide(
            "approve" if approves else "deny",
            result=why,
            args=None if args is None else args_of(args),
        ),
        by=this_user() if options.by is None else options.by,
        store=options.store,
        wait_s=options.wait,
    )
    return partial(answer, out, given)


def _approvals(options: argparse.Namespace, out: Output) -> Command:
    from .approvals import approvals

    return partial(approvals, out, options.store, now_ms=_now_ms(), limit=options.limit)


def _handovers(options: argparse.Namespace, out: Output) -> Command:
    from .handovers import dossier, handovers

    if options.id is not None:
        return partial(dossier, out, options.store, options.id)
    return partial(handovers, out, options.store, now_ms=_now_ms(), limit=options.limit)


def _rollback(options: argparse.Namespace, out: Output) -> Command:
    from .resolve import this_user
    from .rollback import RollbackRequest, roll_back

    request = RollbackRequest(
        session_id=options.id,
        to=options.to,
        mode=options.mode,
        dry_run=options.dry_run,
        force=options.force,
        undo=options.undo,
        by=this_user() if options.by is None else options.by,
        store=options.store,
        module=options.module,
    )
    return partial(roll_back, out, request)


# ---------------------------------------------------------------- the store


def _sessions(options: argparse.Namespace, out: Output) -> Command:
    from .reading import sessions

    return partial(
        sessions,
        out,
        options.store,
        now_ms=_now_ms(),
        status=options.status,
        agent=options.agent,
        limit=options.limit,
    )


def _show(options: argparse.Namespace, out: Output) -> Command:
    if options.dossier:
        from .handovers import dossier

        return partial(dossier, out, options.store, options.id)
    if options.effects:
        from .effects import effects

        return partial(effects, out, options.store, options.id, options.checkpoint)
    if options.staged:
        from .staged import staged

        return partial(staged, out, options.store, options.id, options.checkpoint)
    from .reading import show

    return partial(show, out, options.store, options.id, options.checkpoint)


def _log(options: argparse.Namespace, out: Output) -> Command:
    from .reading import log

    return partial(log, out, options.store, options.id)


def _export(options: argparse.Namespace, out: Output) -> Command:
    from .export import export

    return partial(
        export, out, options.store, options.id, options.checkpoint, options.out, options.files
    )


def _import(options: argparse.Namespace, out: Output) -> Command:
    from .export import take_in

    return partial(take_in, out, options.store, options.file, options.into, options.files)


def _gc(options: argparse.Namespace, out: Output) -> Command:
    from .gc import gc

    return partial(
        gc, out, options.store, options.files, dry_run=options.dry_run, grace_s=options.grace
    )


# ---------------------------------------------------------------- policies


def _policy(options: argparse.Namespace, out: Output) -> Command:
    from . import policy, policy_requests
    from .explain_danger import explain_danger
    from .explain_recorded import explain_recorded
    from .simulate import named_policies, simulate_policies

    match options.policy_command:
        case "show":
            return partial(policy.show, out, options.policy, options.agent, options.tool)
        case "check":
            return partial(policy.check, out, options.file)
        case "simulate":
            return partial(simulate_policies, out, policy_requests.simulate_request(options))
        case _ if options.session is not None or options.step is not None:
            step = policy_requests.step_given(options)
            return partial(explain_recorded, out, step, named_policies(options.policy))
        case _ if options.args is not None:
            call = policy_requests.danger_given(options)
            return partial(explain_danger, out, call, policy_requests.only_policy(options))
        case _:
            return partial(
                policy.explain_error,
                out,
                policy_requests.error_given(options),
                policy_requests.call_given(options),
                named_policies(options.policy),
                options.rules,
            )


def _classify(options: argparse.Namespace, out: Output) -> Command:
    from . import policy

    return partial(policy.classify, out, _lines(), options.rules)


def _lines() -> Iterable[str]:
    try:
        yield from sys.stdin or ()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotRead(f"standard input could not be read: {error}") from error


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


# ---------------------------------------------------------------- all of them


_COMMANDS: dict[str, Callable[[argparse.Namespace, Output], Command]] = {
    "demo": _demo,
    "run": _run,
    "resume": _resume,
    "resolve": _resolve,
    "approve": _answer,
    "deny": _answer,
    "approvals": _approvals,
    "handovers": _handovers,
    "rollback": _rollback,
    "sessions": _sessions,
    "show": _show,
    "log": _log,
    "export": _export,
    "import": _import,
    "gc": _gc,
    "policy": _policy,
    "classify": _classify,
}
GROUPS = {"policy": ("show", "check", "explain", "simulate")}
"""Commands that take one more, and which."""

COMMANDS = frozenset({*_COMMANDS, "drill", *(name for names in GROUPS.values() for name in names)})
"""Every word that names a command."""
