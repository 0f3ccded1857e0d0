"""What is stored: the entries of a session's journal, and the few facts kept beside it.

A session is an append-only journal. A *row* is what one commit adds to it: a short list of
entries, encoded once. State is a fold over the entries; nothing is ever rewritten to record
progress, so a step costs what it added.

Entries are a tagged union of plain data: no class or module of a user's code is needed to read
them. New fields have defaults. Rows keep their bytes for as long as they live, so a field that
this version does not know survives loading and saving.

Every message has a number ``n``, given once per session and never used again, not even after a
rollback; a call is named by the number of its assistant message and its index there. The ids that
providers give their calls are hints for the wire: they repeat.
"""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from .decisions import Decision

RECORD_VERSION = 1
"""Version of the entries this code writes; stored beside every row."""

CallState = Literal["succeeded", "failed", "in_doubt", "denied", "refused"]
"""How a call's ledger entry stands once it has a result.

``refused``: the body never ran (bad arguments, a limit, an incomplete call).
"""

OnFailure = Literal["undo", "freeze"]
"""What becomes of a session's effects when it ends other than completed, before a person looks."""

UndoHow = Literal["rollback", "compensate"]

RollbackMode = Literal["full", "soft", "context", "prune"]
"""What goes back: files and conversation, files, conversation; or the conversation is summed up."""

PathEnding = Literal[
    "restored", "deleted", "as wanted", "conflict", "not covered", "failed", "not tried"
]
"""What became of a path of a rollback. ``conflict``: others changed it too, so it was left alone."""

UndoState = Literal[
    "again", "compensated", "rolled_back", "not_rolled_back", "failed", "in_doubt", "abandoned"
]
"""How an effect stands that was to be undone.

``again``: not yet, another attempt follows. ``in_doubt``: the compensation may or may not have run.
``abandoned``: a person leaves the effect as it is.
"""

SessionStatus = Literal["running", "parked", "completed", "handed_over", "stopped"]


class Usage(Struct, frozen=True, omit_defaults=True, gc=False):
    """What one model request consumed; tokens as the provider counts them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class Spent(Struct, frozen=True, array_like=True, gc=False):
    """What a session itself has consumed, sub-sessions not included. Durations are monotonic."""

    seconds: float = 0.0
    active_seconds: float = 0.0
    steps: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    retries: int = 0
    corrections: int = 0


class ToolCall(Struct, frozen=True, omit_defaults=True, gc=False):
    """A call the model asked for.

    ``arguments`` is always the text of one valid JSON object. Where the model's own text was not
    (cut off, malformed), it is ``{}`` and ``problem`` says why the call must be refused.
    """

    id: str
    name: str
    arguments: str = "{}"
    problem: str | None = None


class Entry(Struct, frozen=True, omit_defaults=True, tag_field="t", gc=False):
    """Base of all journal entries. They hold plain data and no cycles, so no collector need look."""


class Opened(Entry, frozen=True, tag="open"):
    """The session exists. ``limits`` is its own budget as plain data, None values left out.

    ``on_failure`` says what becomes of its effects where it ends other than completed.
    ``snapshots``: its working directory is kept before and after what may write there.
    """

    agent: str
    at_ms: int
    working_directory: str = ""
    limits: dict[str, float] = {}
    parent: str | None = None
    group: str | None = None
    tenant: str | None = None
    on_failure: OnFailure = "undo"
    snapshots: bool = False


class Said(Entry, frozen=True, tag="user"):
    """A message of the user."""

    n: int
    text: str


class Noted(Entry, frozen=True, tag="note"):
    """Something the runtime tells the model: a budget running out, a late outcome, an answer."""

    n: int
    text: str
    about: str = ""


class Answered(Entry, frozen=True, tag="model"):
    """A message of the model.

    ``raw`` holds the provider's own blocks (JSON) in the form named by ``raw_format``, so that they
    go back unchanged. ``ledger``: the runtime that stored this writes an intent before it runs a
    write, so a call without one did not execute. Histories from elsewhere do not promise that.
    ``held_s``: seconds for which the provider was not asked, since others could not reach it.
    """

    n: int
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    usage: Usage = Usage()
    model: str = ""
    raw: bytes | None = None
    raw_format: str = ""
    ledger: bool = False
    held_s: float = 0.0


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


class TreeWindow(Struct, frozen=True, array_like=True, gc=False):
    """The working directory before and after an attempt, as digests of kept trees.

    ``shared``: another session wrote there meanwhile, so what changed may be either's. ``uncovered``
    counts the paths that are there and were not kept.
    """

    before: str
    after: str
    shared: bool = False
    uncovered: int = 0


class StagedPath(Struct, frozen=True, array_like=True, gc=False):
    """A path that a staged call changed: ``added``, ``changed``, ``removed``, ``mode`` or ``kind``.

    Bytes that are no text are escaped; ``size`` is what is there then, in bytes.
    """

    path: str
    kind: str
    size: int = 0


class StagedResult(Entry, frozen=True, tag="staged"):
    """A staged call has run in its staging area: what it would change, kept, and what it returned.

    From here on the body never runs again. ``base`` and ``tree`` are digests of kept trees, before and
    after it; empty where the tool has a ``commit`` function instead. ``paths`` are the first of what it
    changed, ``paths_more`` counts the rest. ``not_kept`` are paths it changed that are never carried
    over. The other fields are as in `Resulted`.
    """

    n: int
    index: int
    content: str
    base: str = ""
    tree: str = ""
    paths: tuple[StagedPath, ...] = ()
    paths_more: int = 0
    not_kept: tuple[str, ...] = ()
    attempts: int = 1
    elapsed_s: float = 0.0
    blob: str | None = None
    value_type: str | None = None
    digest: str = ""


class StagedCheck(Entry, frozen=True, tag="checked"):
    """What a staged call would change was looked at; ``problem`` says why it is not committed.

    Without one, the commit may begin once this is durable. ``by`` names the check that rejected it.
    """

    n: int
    index: int
    problem: str = ""
    by: str = ""


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
    succeeded.
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


class Decided(Entry, frozen=True, tag="decided"):
    """A person's decision has reached the session; the entries behind it are what it did.

    ``about`` names the question and how often it was asked: ``call 2.0#1``. ``by`` is who decided,
    ``at_ms`` when. ``problem`` says why it changed nothing; the question can be decided again then.
    ``decision`` is None where its bytes could not be read.
    """

    about: str
    decision: Decision | None
    at_ms: int
    by: str = ""
    problem: str = ""


class Requested(Entry, frozen=True, tag="request"):
    """A person is asked whether a call may run; durable before anybody is told.

    ``digest`` is that of the canonical arguments, to which the answer is bound. ``number``: how often
    this call was asked about. ``arguments`` are as people are shown them: cleaned, and cut short where
    they are long. ``rule`` is the line of the policy that asks. ``expires_at_ms``: from when on nobody
    can approve it, on the wall clock. ``wave`` holds the indexes of the calls of this message that run
    side by side with it.
    """

    n: int
    index: int
    tool: str
    digest: str
    arguments: str
    at_ms: int
    expires_at_ms: int | None = None
    number: int = 1
    category: str = ""
    risk: str = ""
    rule: str = ""
    wave: tuple[int, ...] = ()


class Judged(Entry, frozen=True, tag="judge"):
    """A request for approval is decided, or nobody decided it in time.

    Where it is approved, ``digest`` names what may run, and ``arguments`` is its text where a person
    has changed it. ``by`` is who decided, ``at_ms`` when, ``why`` a remark.
    """

    n: int
    index: int
    verdict: Literal["approved", "denied", "expired"]
    at_ms: int
    number: int = 1
    digest: str = ""
    arguments: str | None = None
    by: str = ""
    why: str = ""


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


class Restarted(Entry, frozen=True, tag="restart"):
    """The trajectory began again at a checkpoint: the model sees the conversation up to there, what
    a person or the runtime said since, and ``hint``. The branch that was left stays in the journal;
    what its calls did stays done."""

    n: int
    counter: int
    hint: str


class Pruned(Entry, frozen=True, tag="prune"):
    """The model sees less of the conversation from here on; the originals stay in the journal.

    Positions are those of the messages the model saw before. Of the first ``cut``, those at ``kept``
    stay word for word, and ``summary`` stands for the others. Of the rest, results at ``shortened``
    are shown to so many characters. ``by``: who wrote the summary, ``digest`` (the runtime, from its
    records) or ``model``. ``why``: ``overflow``, where the model refused, ``limit``, where it would
    have, ``person`` on request. ``calls`` counts what is left out by now, for each tool: calls that
    succeeded, and others.
    """

    n: int
    cut: int
    kept: tuple[int, ...]
    summary: str
    by: str = "digest"
    why: str = "overflow"
    shortened: tuple[tuple[int, int], ...] = ()
    calls: dict[str, tuple[int, int]] = {}


class FellBack(Entry, frozen=True, tag="fallback"):
    """Another agent takes the task over, in a sub-session named after ``n``; ``why`` the plan failed."""

    n: int
    agent: str
    why: str = ""


class Progressed(Entry, frozen=True, tag="progress"):
    """What the agent's own ``progress`` function returned has changed; only its digest is kept."""

    digest: str


class Parked(Entry, frozen=True, tag="parked"):
    """The session waits in the store alone, until this time on the wall clock.

    None: for a person, however long that takes.
    """

    due_at_ms: int | None
    spent: Spent = Spent()


class Woken(Entry, frozen=True, tag="woken"):
    """Waits that are due at ``due_at_ms`` or before have ended."""

    due_at_ms: int


class UndoStep(Struct, frozen=True, array_like=True, gc=False):
    """One effect to be undone: its call, the tool it is of, and how."""

    n: int
    index: int
    tool: str
    how: UndoHow


class Unwinding(Entry, frozen=True, tag="unwind"):
    """These effects are undone in this order, before anything else.

    ``outcome`` is how the session ends after that, as in `Ended`; None: it goes on, since a person
    has asked for this while it runs. ``by`` is ``person`` where somebody asked for it.
    """

    steps: tuple[UndoStep, ...]
    outcome: dict[str, Any] | None = None
    by: str = ""


class Undoing(Entry, frozen=True, tag="undo"):
    """The compensation of a call is about to run; durable before its body starts."""

    n: int
    index: int
    attempt: int = 1
    key: str | None = None


class Undone(Entry, frozen=True, tag="undone"):
    """What became of an effect that was to be undone, or of one attempt at it.

    ``again``: the attempt failed in passing, and another follows after ``wait_s`` seconds, not before
    ``due_at_ms`` on the wall clock. ``content`` is what the compensation returned, or its error.
    ``may_have_run``: it failed, and did not say that it had no effect. ``by`` is ``person`` where somebody looked.
    ``windows`` is what it did to the working directory.
    """

    n: int
    index: int
    state: UndoState
    content: str = ""
    attempts: int = 0
    error_class: str | None = None
    may_have_run: bool = False
    elapsed_s: float = 0.0
    wait_s: float = 0.0
    due_at_ms: int | None = None
    by: str = ""
    windows: tuple[TreeWindow, ...] = ()


class Frozen(Entry, frozen=True, tag="freeze"):
    """The session ends and nothing is undone, for this reason; these steps would have been taken."""

    why: str
    steps: tuple[UndoStep, ...]


class PathEnd(Struct, frozen=True, omit_defaults=True, gc=False):
    """What became of one path of a rollback, and why. Bytes that are no text are escaped."""

    path: str
    did: PathEnding
    detail: str = ""


class RollingBack(Entry, frozen=True, tag="back"):
    """The session is rolled back, before anything else: ``n`` names it.

    ``to`` is the checkpoint; None where a prune may take all but the newest. ``force``: also where
    others changed a path. ``undoes`` is the rollback that this one takes back, 0: none. ``by`` is who
    asked; ``policy`` where nobody did, and ``why`` then says what for.
    """

    n: int
    mode: RollbackMode
    to: int | None
    at_ms: int
    force: bool = False
    undoes: int = 0
    by: str = ""
    why: str = ""


class RolledBack(Entry, frozen=True, tag="backed"):
    """How a rollback ended. With ``done``, the conversation goes back with this entry.

    ``failed``: nothing is changed, for the reason in ``error``. ``stuck``: some paths are changed, could
    not be put back, and a person has to look. ``counter`` is where the conversation stands, ``note``
    what the model is told under the number ``note_n``. ``restore_id`` names the files' part, ``windows``
    is what it did. ``undone`` are the calls whose files are back. ``outcome`` is how the session rests
    after this; None: as it was.
    """

    n: int
    state: Literal["done", "failed", "stuck"]
    counter: int = 0
    note: str = ""
    note_n: int = 0
    error: str = ""
    paths: tuple[PathEnd, ...] = ()
    paths_more: int = 0
    restore_id: str = ""
    windows: tuple[TreeWindow, ...] = ()
    undone: tuple[tuple[int, int], ...] = ()
    kept: tuple[str, ...] = ()
    messages_dropped: int = 0
    outcome: dict[str, Any] | None = None


class AuditFinding(Struct, frozen=True, omit_defaults=True, gc=False):
    """A claim of an answer that is not borne out.

    Attributes:
        kind: ``contradicted`` by the record; an ``undisclosed_substitute``: something else was used
            after a failure, and the answer does not say so; an ``unsupported_value``: a number or
            identifier that comes from nowhere; ``unverified``: nothing supports it.
        claim: the words of the answer.
        why: what the record says instead.
        calls: the calls it rests on, each with its tool and state.
    """

    kind: Literal["contradicted", "undisclosed_substitute", "unsupported_value", "unverified"]
    claim: str
    why: str
    calls: tuple[str, ...] = ()


class Audited(Entry, frozen=True, tag="audit"):
    """An answer was compared with what was executed, and does not agree with it.

    ``corrected``: the model was told what differs and may answer again; else a person is asked.
    """

    n: int
    findings: tuple[AuditFinding, ...]
    corrected: bool = True


class Ended(Entry, frozen=True, tag="end"):
    """The session reached an outcome; a later message of the user reopens it.

    ``outcome`` is the encoded outcome as plain data, readable without any class.
    """

    status: SessionStatus
    outcome: dict[str, Any]
    spent: Spent = Spent()


class Booked(Entry, frozen=True, tag="spent"):
    """Consumption that rides along with no result, such as a failed model request."""

    spent: Spent


JournalEntry = (
    Opened
    | Said
    | Noted
    | Answered
    | Intended
    | Allowed
    | Probed
    | StagedResult
    | StagedCheck
    | Resulted
    | Late
    | Decided
    | Requested
    | Judged
    | Retried
    | Restarted
    | Pruned
    | FellBack
    | Progressed
    | Parked
    | Woken
    | Unwinding
    | Undoing
    | Undone
    | Frozen
    | RollingBack
    | RolledBack
    | Audited
    | Ended
    | Booked
)

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[JournalEntry])


def encode_row(entries: list[JournalEntry]) -> bytes:
    """Encode what one commit adds to a journal.

    Raises:
        UnicodeEncodeError: a text holds a lone surrogate; clean it before.
        TypeError: a field is of no type that can be stored, such as a subclass of str.
        OverflowError: a number is beyond 64 bits.
    """
    return _encoder.encode(entries)


def encode_entry(entry: JournalEntry) -> bytes:
    """Encode one entry by itself, for `join_row`; raises as `encode_row` does."""
    return _encoder.encode(entry)


def join_row(encoded: list[bytes]) -> bytes:
    """Return the row of these entries: what `encode_row` makes of them all at once."""
    count = len(encoded)
    if count < 16:
        head = bytes((0x90 | count,))  # MessagePack: fixarray, array 16, array 32
    elif count < 65536:
        head = b"\xdc" + count.to_bytes(2, "big")
    else:
        head = b"\xdd" + count.to_bytes(4, "big")
    return head + b"".join(encoded)


def decode_row(body: bytes) -> list[JournalEntry]:
    """Decode one row of the current version.

    Raises:
        msgspec.DecodeError: the bytes are not a row.
    """
    return _decoder.decode(body)
