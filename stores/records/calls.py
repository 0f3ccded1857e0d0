"""Calls of tools: the intent, attempts, the result, and what was learned afterwards."""

from typing import Any, Literal

from .words import CallState, Entry, Spent, TreeWindow


class Intended(Entry, frozen=True, tag="intent"):
    """A call is about to run; durable before its body starts.

    ``doubtful``: an earlier attempt of it may have taken effect. ``root`` is the digest of the working
    directory before it; empty where that is not kept, or could not be.
    """

    n: int
    index: int
    tool: str
    digest: str
    attempt: int = 1
    key: str | None = None
    doubtful: bool = False
    root: str = ""


class Allowed(Entry, frozen=True, tag="allowed"):
    """A person lets a call in doubt run again, under the same identity.

    ``arguments`` is None where they are the ones it was asked with. ``digest`` and ``key`` are those
    of the run to come.
    """

    n: int
    index: int
    digest: str
    key: str | None = None
    arguments: str | None = None


class Probed(Entry, frozen=True, tag="probe"):
    """A tool's probe was asked whether a call took effect: ``done``, ``not_done`` or ``unclear``.

    ``content`` says why it is unclear. ``attempts`` counts how often it was asked this time.
    """

    n: int
    index: int
    answer: Literal["done", "not_done", "unclear"]
    content: str = ""
    attempts: int = 1
    elapsed_s: float = 0.0


class Resulted(Entry, frozen=True, tag="result"):
    """The one result of a call: the tool message, the ledger's result and the checkpoint.

    ``content`` is what the model sees, bounded. ``blob`` is the digest of the full text where it
    was too long to keep here, ``value_type`` the type a structured result had in the tool.
    ``closes`` names what no write may touch any more in this trajectory, after a refusal for good.
    ``stops``: the session ends with it, and nothing more is done.
    ``replayed``: the body did not give this result now; ``by`` says where it is from: ``probe``, or
    the ``record`` of an equal call. ``windows`` are what its attempts did to the working directory,
    ``no_snapshot`` says why that is not known. ``trouble``: what the session is handed over for with
    it, so that a process killed before the end is stored hands it over all the same. ``held_s``: seconds
    for which its upstream was not asked, since others could not reach it; not in ``elapsed_s`` where it
    succeeded. ``note`` is what the model is told above the content, and no part of what the call gave.
    """

    n: int
    index: int
    counter: int
    content: str
    state: CallState = "succeeded"
    error_class: str | None = None
    attempts: int = 1
    elapsed_s: float = 0.0
    blob: str | None = None
    value_type: str | None = None
    digest: str = ""
    replayed: bool = False
    still_running: bool = False
    spent: Spent = Spent()
    closes: tuple[str, ...] = ()
    by: str = ""
    stops: bool = False
    windows: tuple[TreeWindow, ...] = ()
    no_snapshot: str = ""
    trouble: dict[str, Any] | None = None
    held_s: float = 0.0
    note: str = ""


class Late(Entry, frozen=True, tag="late"):
    """How a call in doubt really ended, learned after its result was stored.

    ``by`` says from whom: empty where the body itself came back, ``person`` where somebody looked,
    ``again`` where a person had it run again. ``attempt`` counts as in `Intended`; 0: not said.
    ``trouble``: what the session is handed over for with it, as in `Resulted`.
    """

    n: int
    index: int
    state: CallState
    content: str
    by: str = ""
    attempt: int = 0
    blob: str | None = None
    value_type: str | None = None
    still_running: bool = False
    error_class: str | None = None
    windows: tuple[TreeWindow, ...] = ()
    no_snapshot: str = ""
    trouble: dict[str, Any] | None = None


class Retried(Entry, frozen=True, tag="retry"):
    """An attempt failed: what it was taken for, from what, and what followed.

    ``index`` is -1 for a model request. ``directive`` is what followed: another attempt after
    ``wait_s`` seconds (retry), or the end of the attempts, for the reason in ``detail``.
    ``retry_after`` is the wait that the other side asked for, in seconds. ``due_at_ms``: when the next
    attempt is due, on the wall clock; the wait goes on over a restart. ``doubtful``: this attempt,
    or one before it, may have taken effect. ``fields`` are the arguments at fault. What else was decided
    by, so that other policies can be tried on it: ``executed``, whether this attempt may have taken
    effect (``no``, ``maybe``, ``yes``); ``upstream``, whom it was made to, empty where nobody was named;
    ``marks`` of the tool (``read``, ``safe``, ``key``), None in records of older versions; ``took_s``,
    the seconds of this attempt alone.
    """

    n: int
    index: int
    number: int
    error_class: str
    wait_s: float
    elapsed_s: float
    message: str = ""
    directive: str = "retry"
    detail: str = ""
    retry_after: float | None = None
    evidence: tuple[str, ...] = ()
    due_at_ms: int | None = None
    doubtful: bool = False
    fields: tuple[str, ...] = ()
    executed: str = ""
    upstream: str = ""
    marks: tuple[str, ...] | None = None
    took_s: float = 0.0
