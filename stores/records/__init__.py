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

Files: words · conversation, calls, staging, people, undoing, rollback, ends · rows.
"""

from .calls import Allowed, Intended, Late, Probed, Resulted, Retried
from .conversation import (
    Answered,
    FellBack,
    Noted,
    OnFailure,
    Opened,
    Progressed,
    Pruned,
    Restarted,
    Said,
    ToolCall,
)
from .ends import Assessed, Audited, AuditFinding, Booked, ClaimVerdict, Ended, Parked, Woken
from .people import Decided, Judged, Requested
from .rollback import PathEnd, PathEnding, RollbackMode, RolledBack, RollingBack
from .rows import JournalEntry, decode_row, encode_entry, encode_row, join_row
from .staging import StagedCheck, StagedPath, StagedResult
from .undoing import Frozen, UndoHow, Undoing, Undone, UndoState, UndoStep, Unwinding
from .words import RECORD_VERSION, CallState, Entry, SessionStatus, Spent, TreeWindow, Usage

__all__ = [
    "RECORD_VERSION",
    "Allowed",
    "Answered",
    "Assessed",
    "AuditFinding",
    "Audited",
    "Booked",
    "CallState",
    "ClaimVerdict",
    "Decided",
    "Ended",
    "Entry",
    "FellBack",
    "Frozen",
    "Intended",
    "JournalEntry",
    "Judged",
    "Late",
    "Noted",
    "OnFailure",
    "Opened",
    "Parked",
    "PathEnd",
    "PathEnding",
    "Probed",
    "Progressed",
    "Pruned",
    "Requested",
    "Restarted",
    "Resulted",
    "Retried",
    "RollbackMode",
    "RolledBack",
    "RollingBack",
    "Said",
    "SessionStatus",
    "Spent",
    "StagedCheck",
    "StagedPath",
    "StagedResult",
    "ToolCall",
    "TreeWindow",
    "UndoHow",
    "UndoState",
    "UndoStep",
    "Undoing",
    "Undone",
    "Unwinding",
    "Usage",
    "Woken",
    "decode_row",
    "encode_entry",
    "encode_row",
    "join_row",
]
