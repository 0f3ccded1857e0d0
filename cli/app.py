"""The `ukemi` command: words in, an exit status out."""

import argparse
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from importlib import metadata
from typing import TextIO

import anyio

from ..stores.decisions import Decide, Resolve
from ..supervisor.errors import UkemiError, UsageError
from . import policy
from .approvals import Answer, answer, approvals
from .arguments import args_of, budget_of, call_named, make_parser, result_of, spread_budgets
from .demo import DemoRequest, demo
from .demo_record import record_demo
from .demo_worker import work
from .drill_arguments import without_picks
from .driving import ResumeRequest, RunRequest, resume
from .driving import run as run_session
from .effects import effects
from .errors import NOT_DONE, CannotRead, ExitStatus, status_of
from .explain_danger import explain_danger
from .explain_recorded import explain_recorded
from .export import export, take_in
from .gc import gc
from .handovers import dossier, handovers
from .output import Output, OutputGone
from .policy_arguments import (
    call_given,
    danger_given,
    error_given,
    only_policy,
    simulate_request,
    step_given,
)
from .reading import log, sessions, show
from .resolve import ResolveRequest, resolve, this_user
from .rollback import RollbackRequest, roll_back
from .simulate import named_policies, simulate_policies
from .staged import staged
from .stored import default_store
from .terminal import is_tty, terminal_of

Command = Callable[[], Awaitable[ExitStatus]]


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; arguments default to those of the process.

    0: done; for run and resume, completed. 1: did not complete, or an id is unknown. 2: wrong
    usage, or a file that cannot be read.
    """
    words = sys.argv[1:] if argv is None else argv
    try:
        options = make_parser(_version(), default_store()).parse_args(spread_budgets(words))
    except UkemiError as error:
        return _refuse(error)
    except SystemExit as end:  # argparse ends the process after --help and --version
        return int(end.code or 0)
    try:
        if options.command == "drill":
            return _drill(options, words)
        return anyio.run(_command(options, _output(options)))
    except OutputGone as error:
        return _unheard(error)
    except UkemiError as error:
        return _refuse(error)
    except KeyboardInterrupt:
        _stream(sys.stderr).write("interrupted\n")
        return NOT_DONE


def _drill(options: argparse.Namespace, words: Sequence[str]) -> ExitStatus:
    """Run the drill outside of any event loop: it makes one for each process that it plays."""
    # What only tests need is loaded for this command alone.
    from .drill import DrillRequest, run_drill

    return run_drill(
        _output(options),
        DrillRequest(
            agent=options.agent,
            task=_stdin() if options.task == "-" else options.task,
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


def _unheard(error: OutputGone) -> int:
    """Nothing more can be printed, when Python flushes at its end neither."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error.__cause__, BrokenPipeError):
        with suppress(OSError):
            _stream(sys.stderr).write(f"ukemi: the output could not be written: {error}\n")
    return status_of(error)


def _refuse(error: UkemiError) -> int:
    _stream(sys.stderr).write(f"ukemi: {error}\n")
    return status_of(error)


def _version() -> str:
    try:
        return metadata.version("ukemi")
    except metadata.PackageNotFoundError:
        return "unknown"  # run from a folder that is not installed


def _output(options: argparse.Namespace) -> Output:
    stdout, stderr = _stream(sys.stdout), _stream(sys.stderr)
    return Output(
        stdout=stdout,
        stderr=stderr,
        terminal=terminal_of(stdout, os.environ),
        aside=terminal_of(stderr, os.environ),
        as_json=options.as_json,
        live=is_tty(stderr) and os.environ.get("TERM") != "dumb",
    )


def _stream(stream: TextIO | None) -> TextIO:
    """Return the stream, or one into nothing where the process was started without it."""
    return open(os.devnull, "w", encoding="utf-8") if stream is None else stream


def _command(options: argparse.Namespace, out: Output) -> Command:
    """Return the command that was typed, ready to run."""
    match options.command:
        case "demo" if options.worker is not None:
            return partial(work, options.worker)
        case "demo" if options.record is not None:
            return partial(record_demo, out, options.record, options.policy)
        case "demo" if options.policy is not None:
            raise UsageError("demo takes a --policy only with --record FILE")
        case "demo":
            wanted = DemoRequest(store=options.store, model=options.model, keep=options.keep)
            return partial(demo, out, wanted)
        case "run":
            return partial(run_session, out, _run_request(options))
        case "resume":
            return partial(resume, out, _resume_request(options))
        case "resolve":
            return partial(resolve, out, _resolve_request(options))
        case "export":
            return partial(
                export,
                out,
                options.store,
                options.id,
                options.checkpoint,
                options.out,
                options.files,
            )
        case "import":
            return partial(take_in, out, options.store, options.file, options.into, options.files)
        case "gc":
            return partial(
                gc,
                out,
                options.store,
                options.files,
                dry_run=options.dry_run,
                grace_s=options.grace,
            )
        case "rollback":
            return partial(roll_back, out, _rollback_request(options))
        case "approvals":
            return partial(approvals, out, options.store, now_ms=_now_ms(), limit=options.limit)
        case "approve" | "deny":
            return partial(answer, out, _answer(options))
        case "handovers":
            return _handovers_command(options, out)
        case "sessions":
            return partial(
                sessions,
                out,
                options.store,
                now_ms=_now_ms(),
                status=options.status,
                agent=options.agent,
                limit=options.limit,
            )
        case "show" if options.dossier:
            return partial(dossier, out, options.store, options.id)
        case "show" if options.effects:
            return partial(effects, out, options.store, options.id, options.checkpoint)
        case "show" if options.staged:
            return partial(staged, out, options.store, options.id, options.checkpoint)
        case "show":
            return partial(show, out, options.store, options.id, options.checkpoint)
        case "log":
            return partial(log, out, options.store, options.id)
        case "policy":
            return _policy_command(options, out)
        case "classify":
            return partial(policy.classify, out, _lines(), options.rules)
        case other:
            raise AssertionError(f"the parser knows {other!r} and this does not")


def _handovers_command(options: argparse.Namespace, out: Output) -> Command:
    if options.id is not None:
        return partial(dossier, out, options.store, options.id)
    return partial(handovers, out, options.store, now_ms=_now_ms(), limit=options.limit)


def _policy_command(options: argparse.Namespace, out: Output) -> Command:
    match options.policy_command:
        case "show":
            return partial(policy.show, out, options.policy, options.agent, options.tool)
        case "check":
            return partial(policy.check, out, options.file)
        case "simulate":
            return partial(simulate_policies, out, simulate_request(options))
        case _ if options.session is not None or options.step is not None:
            return partial(
                explain_recorded, out, step_given(options), named_policies(options.policy)
            )
        case _ if options.args is not None:
            return partial(explain_danger, out, danger_given(options), only_policy(options))
        case _:
            return partial(
                policy.explain_error,
                out,
                error_given(options),
                call_given(options),
                named_policies(options.policy),
                options.rules,
            )


def _lines() -> Iterable[str]:
    return sys.stdin or ()


def _run_request(options: argparse.Namespace) -> RunRequest:
    return RunRequest(
        agent=options.agent,
        task=_stdin() if options.task == "-" else options.task,
        store=options.store,
        budget=budget_of(options.budget),
        policy=options.policy,
        model=options.model,
        cwd=options.cwd,
        on_failure=options.on_failure,
        session_id=options.session_id,
        no_wait=options.no_wait,
    )


def _stdin() -> str:
    try:
        return sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotRead(f"the task could not be read from standard input: {error}") from error


def _resume_request(options: argparse.Namespace) -> ResumeRequest:
    return ResumeRequest(
        module=options.module,
        ids=options.ids,
        store=options.store,
        policy=options.policy,
        model=options.model,
        say=options.say,
        no_wait=options.no_wait,
    )


def _resolve_request(options: argparse.Namespace) -> ResolveRequest:
    return ResolveRequest(
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


def _answer(options: argparse.Namespace) -> Answer:
    approves = options.command == "approve"
    args = options.args if approves else None
    why = None if options.why is None else result_of(options.why)
    return Answer(
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


def _rollback_request(options: argparse.Namespace) -> RollbackRequest:
    return RollbackRequest(
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


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
