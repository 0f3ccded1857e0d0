"""`ukemi resolve`: a person's decision, given to the store; whoever drives the session applies it."""

import getpass
import re
import time
from typing import Any

import anyio
from msgspec import Struct

from ..actors.decisions import already_decided, post_of, repeats
from ..actors.handover.session_answers import CANCEL, GO_ON
from ..actors.inspection import entries_of, fold
from ..actors.resolving import check_resolve
from ..stores.base import AlreadyDecided, Post, PostQuery, Store
from ..stores.decisions import Decision, Resolve, decode_decision
from ..stores.records import Decided
from ..supervisor.danger.sensitive import sensitive_in
from ..supervisor.errors import UkemiError, UsageError
from .errors import DONE, NOT_DONE, ExitStatus, NotDone
from .output import Output
from .owners import standing_of
from .stored import at_store, reading

LOOK_S = 0.1
"""Seconds between two looks whether a decision was applied."""

_TYPED = (
    (re.compile(r"call=\(n, index\)"), "--call N.I"),
    (re.compile(r"\b(call|args|result)="), r"--\1"),
)
"""What the library's words for arguments are on the command line."""


class ResolveRequest(Struct, frozen=True, kw_only=True):
    """What ``ukemi resolve`` was asked for; ``wait_s``: None where nobody waits."""

    session_id: str
    said: Decision
    by: str
    store: str
    wait_s: float | None = None


class Given(Struct, frozen=True, kw_only=True):
    """A decision that stands: this one, or the same as somebody gave before."""

    post: Post
    repeated: bool
    driven_by: str | None
    agent: str
    applied: bool | None = None
    problem: str | None = None


async def resolve(out: Output, request: ResolveRequest) -> ExitStatus:
    """Store a decision and say who applies it; with ``wait_s``, wait until that is done.

    Raises:
        AlreadyDecided: it was decided otherwise before.
        NotDone: as the session stands, there is no such question.
        RequestClosed: the request for approval is not open (any more).
        UsageError: nobody can mean that, whatever the session.
    """
    _check_words(request.said)
    async with reading(request.store) as store:
        given = await _give(store, request)
        if request.wait_s is not None:
            given = await _wait(store, given, request.wait_s)
    _tell(out, given, request)
    return NOT_DONE if given.applied is False or given.problem else DONE


def _check_words(said: Decision) -> None:
    if not isinstance(said, Resolve):
        return
    try:
        check_resolve(said)
    except UsageError as error:
        raise UsageError(_as_typed(error)) from error
    if said.option in (GO_ON, CANCEL) and said.call is not None:
        raise UsageError(f"{said.option!r} is about the whole session: leave --call out")


def _as_typed(error: UsageError) -> str:
    text = str(error)
    for words, typed in _TYPED:
        text = words.sub(typed, text)
    return text


async def _give(store: Store, request: ResolveRequest) -> Given:
    stored = await store.load(request.session_id)
    state = fold(request.session_id, entries_of(stored))
    repeated = False
    try:
        post = post_of(state, request.said, request.by, time.time_ns() // 1_000_000)
        await _commit(store, post)
    except AlreadyDecided as error:
        if not repeats(error, request.said):
            raise already_decided(request.session_id, error) from error
        repeated = True
        post = Post(
            session_id=request.session_id,
            about=error.about,
            body=error.body,
            at_ms=error.at_ms,
            by=error.by,
        )
    except UsageError as error:  # the words are right: the session does not ask that
        raise NotDone(_as_typed(error)) from error
    driven_by = standing_of(stored.head).driven_by
    agent = stored.head.facts.agent
    return Given(post=post, repeated=repeated, driven_by=driven_by, agent=agent)


async def _commit(store: Store, post: Post) -> None:
    (written,) = await store.commit([post])
    if isinstance(written, UkemiError):
        raise written


async def _wait(store: Store, given: Given, wait_s: float) -> Given:
    """Return what has become of a decision, at the latest after so many seconds."""
    give_up_at = anyio.current_time() + wait_s
    while waiting := await _waits(store, given.post):
        if anyio.current_time() >= give_up_at:
            break
        await anyio.sleep(LOOK_S)
    problem = None if waiting else await _problem(store, given.post)
    return Given(
        post=given.post,
        repeated=given.repeated,
        driven_by=given.driven_by,
        agent=given.agent,
        applied=not waiting,
        problem=problem,
    )


async def _waits(store: Store, post: Post) -> bool:
    posts = await store.posts(PostQuery(session_id=post.session_id))
    return any(each.post.about == post.about for each in posts)


async def _problem(store: Store, post: Post) -> str | None:
    """Say why a decision that was taken changed nothing, or None."""
    for entry in entries_of(await store.load(post.session_id)):
        if isinstance(entry, Decided) and entry.about == post.about:
            return entry.problem or None
    return None


def _warnings(given: Given, said: Decision) -> list[str]:
    """What a person should know about the words they gave: secrets in them, and who checks them."""
    found = dict.fromkeys(
        words for text in (said.args, said.result) for words in sensitive_in(text or "")
    )
    warnings: list[str] = []
    if found:
        warnings.append(
            f"what was given looks like {' and '.join(found)}: it lies in the store as it was typed; "
            "if it is one, it has to be changed where it is used"
        )
    if said.args is not None and given.applied is None and not given.repeated:
        warnings.append(
            "the arguments are compared with the tool's parameters by whoever applies this; --wait says "
            "whether they fit"
        )
    return warnings


def _tell(out: Output, given: Given, request: ResolveRequest) -> None:
    warnings = _warnings(given, request.said)
    if out.as_json:
        out.data({**_data(given), "warnings": warnings})
        return
    session_id, option = given.post.session_id, request.said.option
    subject = given.post.about.rpartition("#")[0]
    by = f" by {given.post.by}" if given.post.by else ""
    before = " before" if given.repeated else ""
    out.text(f"{session_id}: {subject} was decided{before}{by}: {option}")
    for each in warnings:
        out.note(each, "yellow")
    if given.problem:
        out.note(f"it changed nothing: {given.problem}", "red")
    elif given.applied:
        out.note("applied; the session goes on where it is driven", "grey")
    elif given.applied is None and given.driven_by is not None:
        out.note(
            f"{given.driven_by}, drives the session and applies it within a second or so", "grey"
        )
    else:
        late = "not applied yet; " if given.applied is False else ""
        out.note(
            f"{late}a living runtime that has agent {given.agent!r} applies it within a second or"
            f" so; where there is none: ukemi resume MODULE {session_id}{at_store(request.store)}",
            "grey" if given.applied is None else "yellow",
        )


def _data(given: Given) -> dict[str, Any]:
    decision = decode_decision(given.post.body)
    return {
        "session_id": given.post.session_id,
        "about": given.post.about,
        "option": decision.option,
        "call": decision.call,
        "by": given.post.by,
        "at_ms": given.post.at_ms,
        "repeated": given.repeated,
        "driven_by": given.driven_by,
        "applied": given.applied,
        "problem": given.problem,
    }


def this_user() -> str:
    """Return who is logged in, empty where that is not known."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
