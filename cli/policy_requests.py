"""What was typed after policy, as the commands take it."""

import argparse

from ..supervisor.decide import History
from ..supervisor.errors import UsageError
from .explain_danger import DangerGiven
from .explain_recorded import StepGiven
from .policy import CallGiven, ErrorGiven
from .simulate import SimulateRequest


def danger_given(options: argparse.Namespace) -> DangerGiven:
    """Return the call that is to be judged.

    Raises:
        UsageError: an error is named, too.
    """
    if any(each is not None for each in (options.error, options.status, options.exception)):
        raise UsageError("name an error or a call: --args goes with no error")
    return DangerGiven(
        arguments=options.args,
        tool=options.tool,
        agent=options.agent,
        danger=options.danger,
        effect=options.effect,
        cwd=options.cwd,
    )


def step_given(options: argparse.Namespace) -> StepGiven:
    """Return the recorded failure that was named.

    Raises:
        UsageError: an error or a call is named, too, or the step is not.
    """
    others = (options.error, options.status, options.exception, options.text, options.args)
    if any(each is not None for each in others):
        raise UsageError("name an error or a session: --session goes with no other")
    if options.session is None or options.step is None:
        raise UsageError("--session ID and --step N go together: a failure in the store")
    return StepGiven(store=options.store, session_id=options.session, step=options.step)


def simulate_request(options: argparse.Namespace) -> SimulateRequest:
    """Return what is to be played."""
    return SimulateRequest(
        store=options.store,
        policies=options.policy,
        sweep=options.sweep,
        seeds=options.seeds,
        seed=options.seed,
        outages=options.outages,
        agent=options.agent,
        limit=options.limit,
        html=options.html,
    )


def only_policy(options: argparse.Namespace) -> str | None:
    """Return the one policy that is named, if any.

    Raises:
        UsageError: several are.
    """
    files: list[str] = options.policy
    if len(files) > 1:
        raise UsageError("--args goes with one --policy")
    return files[0] if files else None


def error_given(options: argparse.Namespace) -> ErrorGiven:
    """Return the error that was named."""
    return ErrorGiven(
        error=options.error,
        status=options.status,
        exception=options.exception,
        text=options.text,
        headers=tuple(options.header),
        body=options.body,
        message=options.message,
        stage=options.stage,
    )


def call_given(options: argparse.Namespace) -> CallGiven:
    """Return the call that was named."""
    history = History(
        attempts=max(1, options.attempt),
        elapsed_s=max(0.0, options.elapsed),
        corrections=max(0, options.corrections),
    )
    return CallGiven(
        tool=options.tool,
        agent=options.agent,
        effect=options.effect,
        safe_to_retry=options.safe_to_retry,
        accepts_key=options.accepts_key,
        model=options.model,
        history=history,
    )
