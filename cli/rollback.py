"""`ukemi rollback`: a session of the store is taken back, or it is said what that would do."""

import msgspec
from msgspec import Struct

from ..actors.handle import SessionHandle
from ..actors.rollback.rollback import RollbackPreview, RollbackReport
from ..actors.rollback.rollbacks import check_wanted
from ..actors.runtime import Runtime
from ..stores.records import RollbackMode
from ..supervisor.errors import UsageError
from .errors import DONE, NOT_DONE, ExitStatus, NotDone
from .loading import load_agents
from .output import Output
from .rollback_words import preview_lines, report_lines
from .stored import existing_store


class RollbackRequest(Struct, frozen=True, kw_only=True):
    """What ``ukemi rollback`` was asked for."""

    session_id: str
    to: int | None
    mode: RollbackMode
    dry_run: bool
    force: bool
    undo: bool
    by: str
    store: str
    module: str | None = None


async def roll_back(out: Output, request: RollbackRequest) -> ExitStatus:
    """Roll a session back; the status is 1 where it was not done, or not all of it.

    Raises:
        CannotRead: there is no such store.
        CheckpointUnknown: there is no such checkpoint.
        NotDone: as the session stands, that cannot be taken back.
        SessionOwned: a living process drives the session.
        UsageError: nobody can mean that, whatever the session.
    """
    if request.to is None and not request.undo and request.mode != "prune":
        raise UsageError(
            f"a rollback of mode {request.mode!r} needs the checkpoint to go back to: --to N, "
            "or take the last back: --undo"
        )
    check_wanted(request.to, request.mode, force=request.force, undo=request.undo)
    agents = load_agents(request.module) if request.module is not None else []
    store = await existing_store(request.store)
    async with Runtime(store, agents=agents, adopt=False) as runtime:
        session = runtime.session(request.session_id)
        try:
            done = await _roll_back(request, session)
        except UsageError as error:  # the words are right: the session stands otherwise
            raise NotDone(str(error)) from error
    if isinstance(done, RollbackPreview):
        _show_preview(out, done)
        if request.module is None and any(each.way == "kept" for each in done.effects):
            out.note("--module MODULE names its agent's module, to compensate what can be", "grey")
        return DONE
    _show_report(out, done)
    return DONE if done.clean else NOT_DONE


async def _roll_back(
    request: RollbackRequest, session: SessionHandle
) -> RollbackPreview | RollbackReport:
    to, mode, force, undo = request.to, request.mode, request.force, request.undo
    if request.dry_run:
        return await session.rollback(to, mode, dry_run=True, force=force, undo=undo)
    return await session.rollback(to, mode, force=force, undo=undo, by=request.by)


def _show_preview(out: Output, preview: RollbackPreview) -> None:
    if out.as_json:
        out.data(msgspec.to_builtins(preview) | {"clean": preview.clean})
        return
    for line in preview_lines(preview):
        out.text(line)


def _show_report(out: Output, report: RollbackReport) -> None:
    if out.as_json:
        out.data(msgspec.to_builtins(report) | {"clean": report.clean})
        return
    for line in report_lines(report):
        out.text(line)
    if report.state == "done" and report.mode in ("full", "context") and not report.undoes:
        out.note(f'go on with: ukemi resume MODULE {report.session_id} --say "..."', "grey")
