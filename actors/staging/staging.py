"""A staged call after its body: archive what it would change, check it, then commit it or discard it.

Each step is durable before the next begins, and a later life goes on behind the last one: a body that was
archived never runs again, a check that was stored is not asked again, a commit that was cut off is finished.
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial

import anyio
import msgspec
from anyio import from_thread

from ...stores.records import StagedCheck, StagedResult, TreeWindow
from ...supervisor.decide import HandOver
from ...supervisor.errors import ErrorClass, PermissionDenied, ToolBug, UkemiError
from ...supervisor.failure import Failure
from ...supervisor.policy_sessions import StagingPolicy
from ..attempting import Attempt
from ..ends import Ended, Prepared, end_failed, interrupted
from ..events import ChangeDecided, StagingVerdict
from ..rollback.rolling_files import restore_name
from ..session import Session
from ..tooling.bodies import is_async, run_body
from ..tooling.marks import Staged
from ..work import CutOff, Superseded, Work
from .checks import Check, StagedChange, Verdict, judged, listed
from .commit import StagingCommit, ended_of, not_committed
from .files import Archived, Area, Conflict, Stuck, commit_files, files_of
from .staged import StagedCall

STAGED = "staged "
"""Begins what the commit of a call is called among a session's restores."""


class Staging:
    """Staged calls of one life of a session."""

    def __init__(self, session: Session, work: Work) -> None:
        self._session = session
        self._work = work
        self._functions = StagingCommit(session, work)

    # ------------------------------------------------------------ around the body

    async def open(self, call: Prepared) -> Area | None:
        """Return a private copy for a call to run in; None for one whose effect is no file.

        Raises:
            PermissionDenied: there is no working directory, or nothing is kept in this runtime.
            ResourceExhausted, OSError, UkemiError: it cannot be copied.
        """
        if isinstance(call.tool.marks.staged, Staged):
            return None
        services = self._session.services
        directory = self._session.facts.working_directory
        if not directory:
            raise PermissionDenied("this session has no working directory; start it with one")
        bytes_max = self._policy(call).tree_bytes_max
        workspaces = services.workspaces
        rules, files = workspaces.rules(directory), workspaces.files

        def make() -> Area:
            overlay = workspaces.overlays.make(
                directory, bytes_max=bytes_max, own=rules.own, pause=from_thread.check_cancelled
            )
            try:
                return Area(overlay, files.files, rules)
            except BaseException:
                workspaces.overlays.remove(overlay)
                raise

        return await self._work.run(partial(files.run, make), what="staging")

    async def close(self, area: Area | None) -> None:
        """Remove a private copy."""
        if area is None:
            return
        workspaces = self._session.services.workspaces

        def remove() -> None:
            workspaces.overlays.remove(area.overlay)
            with suppress(UkemiError):
                area.forget()

        with anyio.CancelScope(shield=True):
            await workspaces.files.run(remove)

    async def around(
        self, call: Prepared, now: Attempt, run: Callable[[], Awaitable[Ended | Failure]]
    ) -> Ended | Failure:
        """Run one attempt in a staging area, and take it to its end from there.

        Raises:
            CutOff: before the body began.
        """
        try:
            area = await self.open(call)
        except (CutOff, Superseded):
            raise
        except Exception as error:  # noqa: BLE001 - nothing has begun: whatever the system says
            return self._no_effect(self._session.services.classify(error, traits=call.traits))
        try:
            now.directory = None if area is None else area.overlay.directory
            ended = await run()
            if isinstance(ended, Failure):
                return ended
            if ended.state == "succeeded":
                return await self.carry(call, ended, area)
            return ended if area is None else _discarded(ended)
        finally:
            await self.close(area)

    async def carry(self, call: Prepared, ended: Ended, area: Area | None) -> Ended | Failure:
        """Take a call whose body has succeeded to its end: committed, rejected or given up.

        Returns:
            The failure where what it did could not be kept; nothing is changed then.
        """
        archived = Archived("", "")
        if area is not None:
            try:
                archived = await self._session.services.workspaces.files.run(area.changed)
            except Exception as error:  # noqa: BLE001 - a full disk, for one
                return self._no_effect(self._session.services.classify(error, traits=call.traits))
            if not archived.paths:
                mask = self._session.services.mask
                ended = msgspec.structs.replace(ended, windows=self._windows(archived.base))
                return _noted(ended, tuple(map(mask, archived.not_kept)))
        entry = self._archived(call, ended, archived)
        journal = self._session.journal
        await journal.append(entry, self._session.booked(), blobs=ended.blobs).wait()
        return await self.go_on(call, StagedCall(entry))

    def _archived(self, call: Prepared, ended: Ended, archived: Archived) -> StagedResult:
        mask = self._session.services.mask
        return StagedResult(
            call.n,
            call.index,
            ended.content,
            archived.base,
            archived.tree,
            tuple(msgspec.structs.replace(each, path=mask(each.path)) for each in archived.paths),
            archived.paths_more,
            tuple(map(mask, archived.not_kept)),
            ended.attempts,
            ended.elapsed_s,
            ended.blob,
            ended.value_type,
            ended.digest,
        )

    # ------------------------------------------------------------ behind the archive

    async def go_on(self, call: Prepared, known: StagedCall) -> Ended:
        """Take a call that is archived to its end, from wherever an earlier life has left it."""
        begun = known.check is not None
        if known.check is None:
            try:
                verdict = await self._judge(call, known.result)
            except CutOff:
                return await self._given_up(call, known, "the session was cut off")
            except Superseded:
                raise
            except Exception as error:  # noqa: BLE001 - a check of the application's own
                return await self._unjudged(call, known, error)
            known.check = await self._stored(call, verdict)
        if known.check.problem:
            return await self._rejected(call, known, known.check)
        if known.is_files:
            return await self._commit_files(call, known)
        ended = await self._functions.commit(call, known, begun=begun)
        if ended.state == "succeeded":
            self._tell(call, known, "committed")
        return ended

    async def settle(self, call: Prepared, known: StagedCall, why: str) -> Ended:
        """Take a call to its end whose session ends: what has been begun is finished, nothing else."""
        if not known.may_be_committed:
            return await self._given_up(call, known, why)
        if known.is_files:
            return await self._commit_files(call, known)
        return interrupted(known.result.digest, safe=False, attempts=known.result.attempts)

    async def _stored(self, call: Prepared, verdict: Verdict | None) -> StagedCheck:
        problem, by = ("", "") if verdict is None else (verdict.problem, verdict.by)
        mask = self._session.services.mask
        check = StagedCheck(call.n, call.index, mask(problem), mask(by))
        await self._session.journal.append(check).wait()
        return check

    # ------------------------------------------------------------ the checks

    async def _judge(self, call: Prepared, entry: StagedResult) -> Verdict | None:
        """Ask every check, the shipped ones first; the first that objects has the word."""
        session, services = self._session, self._session.services
        policy = self._policy(call)
        change = StagedChange(
            session_id=session.id,
            agent=session.installed.name,
            tool=call.tool.name,
            arguments=call.arguments,
            result=entry.content,
        )
        if entry.tree:
            files = services.workspaces.files

            def look() -> tuple[StagedChange, Verdict | None]:
                found = files_of(files.files, entry.base, entry.tree)
                whole = msgspec.structs.replace(change, files=found)
                return whole, judged(whole, policy, services.mask)

            change, verdict = await self._work.run(partial(files.run, look), what="checks")
            if verdict is not None:
                return verdict
        return await self._ask(self._checks(), change, policy)

    def _checks(self) -> Iterable[Check]:
        return (*self._session.services.checks, *self._session.installed.agent.checks)

    async def _ask(
        self, checks: Iterable[Check], change: StagedChange, policy: StagingPolicy
    ) -> Verdict | None:
        for check in checks:
            name = getattr(check, "__name__", type(check).__name__)
            body = partial(
                run_body,
                partial(check, change),
                {},
                name=f"check {name}",
                in_loop=is_async(check),
                threads=self._session.services.threads,
            )
            said = await self._work.run(body, what=f"check {name}", limit_s=policy.check_s_max)
            if said is not None and not isinstance(said, str):
                raise ToolBug(
                    f"the check {name} returned {type(said).__name__}; it must return text that says "
                    "what is wrong, or None",
                    may_have_executed="no",
                )
            if said:
                return Verdict(said, name)
        return None

    # ------------------------------------------------------------ the ends

    async def _commit_files(self, call: Prepared, known: StagedCall) -> Ended:
        session, entry = self._session, known.result
        workspaces, directory = session.services.workspaces, session.facts.working_directory
        name = restore_name(session.id, f"{STAGED}{call.n}.{call.index} {entry.attempts}")
        if not session.owned:
            await session.ensure_owned()
        files = workspaces.files.files
        try:
            async with workspaces.committing(directory):
                done = await workspaces.run(
                    directory,
                    lambda space: commit_files(files, space, entry.base, entry.tree, name),
                )
        except Conflict as error:
            self._tell(call, known, "conflict", str(error))
            return self._corrected(
                call,
                known,
                "Conflict",
                "not committed, since somebody else changed the same files meanwhile: "
                f"{error}. Nothing was changed; look at them again",
            )
        except Exception as error:  # noqa: BLE001 - a full disk, for one
            return self._not_written(call, known, error)
        self._tell(call, known, "committed")
        windows = self._windows(entry.base, done.windows)
        return _noted(msgspec.structs.replace(ended_of(known), windows=windows), entry.not_kept)

    def _windows(self, base: str, done: tuple[TreeWindow, ...] = ()) -> tuple[TreeWindow, ...]:
        """Return what a call did to the files, where that is kept: that it did nothing is a window too."""
        opened = self._session.state.opened
        if opened is None or not opened.snapshots:
            return ()
        return done or (TreeWindow(base, base),)

    def _not_written(self, call: Prepared, known: StagedCall, error: Exception) -> Ended:
        failure = self._session.services.classify(error)
        if isinstance(error, Stuck):
            detail = "a commit stopped half-way and could not be taken back"
            failure = msgspec.structs.replace(failure, may_have_executed="yes")
        else:
            detail = "what it changed could not be written; nothing was changed"
            failure = self._no_effect(failure)
        return self._failed(call, known, failure, detail)

    async def _rejected(self, call: Prepared, known: StagedCall, check: StagedCheck) -> Ended:
        await self._functions.abort(call, known)
        self._tell(call, known, "rejected", check.problem)
        text = f"rejected by the check {check.by}: {check.problem}. Nothing was changed"
        return self._corrected(call, known, "Rejected", text)

    async def _given_up(self, call: Prepared, known: StagedCall, why: str) -> Ended:
        await self._functions.abort(call, known)
        self._tell(call, known, "discarded", why)
        return not_committed(known, why)

    async def _unjudged(self, call: Prepared, known: StagedCall, error: Exception) -> Ended:
        """End a call of which a check could not say whether it may be committed: it is not."""
        await self._functions.abort(call, known)
        failure = self._no_effect(self._session.services.classify(error))
        self._tell(call, known, "discarded", failure.message)
        return self._failed(call, known, failure, "a check failed, so nothing was committed")

    def _corrected(self, call: Prepared, known: StagedCall, type_name: str, text: str) -> Ended:
        """Tell the model what is wrong with what it would change; it may change something else."""
        failure = Failure(
            error_class=ErrorClass.INVALID_ARGUMENT,
            message=text,
            type_name=type_name,
            may_have_executed="no",
        )
        entry = known.result
        return end_failed(
            self._session,
            failure,
            call.traits,
            call,
            attempts=entry.attempts,
            elapsed_s=entry.elapsed_s,
            digest=entry.digest,
            ran=True,
        )

    def _failed(self, call: Prepared, known: StagedCall, failure: Failure, detail: str) -> Ended:
        entry = known.result
        return end_failed(
            self._session,
            failure,
            call.traits,
            call,
            directive=HandOver("unknown", detail),
            elapsed_s=entry.elapsed_s,
            digest=entry.digest,
            ran=True,
            doubtful=failure.may_have_executed == "yes",
        )

    @staticmethod
    def _no_effect(failure: Failure) -> Failure:
        return msgspec.structs.replace(failure, may_have_executed="no")

    def _policy(self, call: Prepared) -> StagingPolicy:
        session = self._session
        return session.services.policies.of(session.installed.name, call.tool.name).staging

    def _tell(
        self, call: Prepared, known: StagedCall, verdict: StagingVerdict, why: str = ""
    ) -> None:
        session = self._session
        session.emit(
            ChangeDecided(
                session_id=session.id,
                at_ms=session.now_ms(),
                n=call.n,
                index=call.index,
                tool=call.tool.name,
                verdict=verdict,
                why=session.services.mask(why),
                paths=tuple(each.path for each in known.result.paths),
            )
        )


def _discarded(ended: Ended) -> Ended:
    """Say of a call that was no success that what it wrote is gone with its copy."""
    return msgspec.structs.replace(
        ended, content=f"{ended.content}\n[staged: no file of the working directory was changed]"
    )


def _noted(ended: Ended, not_kept: tuple[str, ...]) -> Ended:
    """Say what a call has changed in its copy that is never carried over."""
    if not not_kept:
        return ended
    note = f"[not carried over into the working directory: {listed(list(not_kept))}]"
    return msgspec.structs.replace(ended, content=f"{ended.content}\n{note}")
