"""Before a body runs: checks, the ledger's word, and results for calls whose body does not run."""

import msgspec

from ..stores.records import Requested, ToolCall
from ..supervisor.errors import ErrorClass, InvalidArgument
from ..supervisor.failure import Failure, Traits
from ..supervisor.policy import Policy
from .approvals.judging import gate
from .closing import closed_resource
from .ends import (
    IN_DOUBT,
    Asked,
    Ended,
    Prepared,
    came_back,
    closed_off,
    doubtful_still,
    end_failed,
    given_up,
    in_doubt_still,
    interrupted,
    key_of,
    replayed,
    traits_of,
)
from .handover.wording import not_started
from .ledger import CallEntry, CallId
from .session import Session
from .staging.staged import StagedCall
from .state import Wait
from .tooling.arguments import FORM, NO_DEFAULTS, digest, digest_unread
from .tooling.tools import AnyTool


class Preparing:
    """Decides, from the stored state, what becomes of a call before anything runs."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def prepare(self, asked: Asked) -> Prepared | Ended | Requested:
        """Return the call ready to run, its result where it must not, or what a person is asked."""
        state = self._session.state
        if asked.ledgered and not (state.ledger.open or state.waits):
            return self._fresh(asked)
        intent = state.ledger.open.get(asked.id)
        if intent is not None and intent.late is not None:
            return came_back(intent, intent.late)
        wait = state.waits.get(asked.id)
        if wait is not None and not wait.begun:
            return self._waited(asked, wait)
        if intent is None and asked.ledgered:
            return self._fresh(asked)
        return self._begun(asked, intent)

    def again(self, call: CallId, entry: CallEntry) -> Prepared | Ended:
        """Return a call in doubt ready for the run that a person has allowed."""
        asked = Asked(*call, ToolCall("", entry.tool, entry.arguments))
        wait = self._session.state.waits.get(call)
        waited = wait is not None and not wait.begun
        if entry.again == "begun" and not waited:
            return self._begun(asked, entry)
        try:
            tool = self._session.installed.toolbox.get(entry.tool)
            arguments = tool.check(entry.arguments)
        except InvalidArgument as error:
            return self._doubt(asked, entry, f"it cannot be run again: {error.message}")
        return Prepared(
            n=asked.n,
            index=asked.index,
            tool=tool,
            arguments=arguments,
            text=entry.arguments,
            traits=traits_of(tool),
            digest=entry.digest,
            key=entry.key,
            attempt=entry.attempts + 1,
            elapsed_s=wait.elapsed_s if wait is not None and waited else 0.0,
            doubtful=wait is not None and waited and wait.doubtful,
        )

    def unrun(self, asked: Asked, why: str, *, began: bool) -> Ended:
        """Return the result of an open call that will not run (any more)."""
        intent = self._session.state.ledger.open.get(asked.id)
        if intent is not None and intent.late is not None:
            return came_back(intent, intent.late)
        name = asked.call.name
        toolbox = self._session.installed.toolbox
        safe = name in toolbox and not traits_of(toolbox.get(name)).leaves_doubt
        wait = self._session.state.waits.get(asked.id)
        if wait is not None and not wait.begun:
            return given_up(wait, why, intent)
        unbegun = intent is None or (self._session.never_began(asked.id) and not intent.doubtful)
        if not began and unbegun and asked.ledgered:
            return Ended(content=not_started(why), state="refused", error_class="cancelled")
        # What has begun here and has no result yet has not come back.
        named = intent.digest if intent else ""
        attempts = intent.attempts if intent else 1
        return interrupted(named, safe=safe, still_running=began, attempts=attempts)

    def question(self, asked: Asked) -> Requested | None:
        """Return what a person is to be asked about a call that has not begun, ahead of its turn."""
        state, toolbox = self._session.state, self._session.installed.toolbox
        call = asked.call
        if call.name not in toolbox or call.problem is not None:
            return None
        if asked.id in state.ledger.open or asked.id in state.waits or not asked.ledgered:
            return None
        tool = toolbox.get(call.name)
        try:
            arguments = tool.check(call.arguments)
        except InvalidArgument:
            return None
        if self._closed(asked, tool, arguments, self._named(tool, call)) is not None:
            return None
        found = gate(self._session, asked, tool)
        return found if isinstance(found, Requested) else None

    def _waited(self, asked: Asked, wait: Wait) -> Prepared | Ended | Requested:
        """Make the next attempt of a call whose last one may be repeated."""
        intent = self._session.state.ledger.open.get(asked.id)
        if not wait.ready:
            why = "the user has spoken; call again if it is still needed"
            return given_up(wait, why, intent)
        fresh = self._fresh(asked)
        if isinstance(fresh, Requested):
            return fresh
        if isinstance(fresh, Ended):
            return doubtful_still(fresh, wait, intent) if wait.doubtful else fresh
        return msgspec.structs.replace(
            fresh, attempt=wait.number + 1, elapsed_s=wait.elapsed_s, doubtful=wait.doubtful
        )

    # ------------------------------------------------------------ a call nobody began

    def _fresh(self, asked: Asked) -> Prepared | Ended | Requested:
        session = self._session
        call = asked.call
        try:
            tool = session.installed.toolbox.get(call.name)
            if call.problem is not None:
                raise InvalidArgument(call.problem)
            arguments = tool.check(call.arguments)
        except InvalidArgument as error:
            return self._refused(asked, error)
        state, marks = session.state, tool.marks
        named = ""
        if marks.ledgered or state.rejected or state.ledger.open:
            named = self._named(tool, call)
        stopped: Ended | Requested | None = None
        if named or state.closed:
            stopped = self._closed(asked, tool, arguments, named)
        if stopped is None:
            stopped = gate(session, asked, tool)
        if stopped is not None:
            return stopped
        keyed = marks.accepts_key
        return Prepared(
            n=asked.n,
            index=asked.index,
            tool=tool,
            arguments=arguments,
            text=call.arguments,
            traits=tool.traits,
            digest=named,
            key=key_of(session.id, asked.n, asked.index) if keyed else None,
            attempt=1,
        )

    def _named(self, tool: AnyTool, call: ToolCall) -> str:
        """Name the call by tool and canonical arguments, where anybody will compare it.

        A program that gives equal calls ids of their own means two; a model's ids say nothing.
        """
        session = self._session
        state = session.state
        if tool.marks.ledgered or state.rejected or state.ledger.open:
            named = digest(tool.name, call.arguments, tool.defaults)
            return f"{named}/{call.id}" if session.installed.is_guard and call.id else named
        return ""

    def _closed(
        self, asked: Asked, tool: AnyTool, arguments: dict[str, object], named: str
    ) -> Ended | None:
        """Refuse a call whose equal is in doubt, and whatever reaches what was refused for good.

        Where its equal was in doubt and is known to have taken effect by now, answer from that.
        """
        session = self._session
        state = session.state
        closed, rejected = session.closings()
        if named and self._doubted(asked, tool, named):
            why = "an equal call is in doubt; whether it took effect is not known yet"
            return closed_off(why, IN_DOUBT, named)
        answer = state.ledger.answers.get(named) if named else None
        if answer is not None:
            return replayed(answer, named)
        if named and named in state.ledger.abandoned:
            why = "an equal call was abandoned in doubt, so this one is refused for good"
        elif named and named in rejected:
            why = "an equal call was refused for good"
        else:
            found = closed_resource(tool, arguments, closed, session.facts.working_directory)
            if found is None:
                return None
            why = found
        failure = Failure(
            error_class=ErrorClass.BUSINESS_REJECTED,
            message=not_started(why),
            type_name="Closed",
            may_have_executed="no",
        )
        return end_failed(self._session, failure, Traits(), asked, digest=named)

    def _doubted(self, asked: Asked, tool: AnyTool, named: str) -> bool:
        """Tell whether an equal call, not this one itself, is in doubt."""
        entries = self._session.state.ledger.open
        if not entries:
            return False
        return any(
            each.in_doubt and call != asked.id and _equal(each, tool, named)
            for call, each in entries.items()
        )

    def _refused(self, asked: Asked, error: InvalidArgument) -> Ended:
        failure = Failure(
            error_class=ErrorClass.INVALID_ARGUMENT,
            message=error.message,
            type_name=type(error).__name__,
            fields=error.fields,
            may_have_executed="no",
        )
        return end_failed(self._session, failure, Traits(), asked)

    # ------------------------------------------------------------ a call of an earlier life

    def _begun(self, asked: Asked, intent: CallEntry | None) -> Prepared | Ended:
        """Run it again only where that can do no harm; else ask its probe; else it is in doubt."""
        session, call = self._session, asked.call
        try:
            tool = session.installed.toolbox.get(call.name)
            if call.problem is not None:
                raise InvalidArgument(call.problem)
            arguments = tool.check(call.arguments)
        except InvalidArgument:
            return self._doubt(asked, intent)
        staged = session.state.staging.open.get(asked.id)
        if staged is not None:
            return self._archived(asked, tool, arguments, staged)
        traits = traits_of(tool)
        unbegun = session.never_began(asked.id)
        repeat = unbegun or self._may_repeat(traits, intent)
        if not repeat and tool.probe is None:
            return self._doubt(asked, intent)
        before = intent is not None and intent.doubtful
        return Prepared(
            n=asked.n,
            index=asked.index,
            tool=tool,
            arguments=arguments,
            text=call.arguments,
            traits=traits,
            digest=intent.digest if intent else self._named(tool, call),
            key=intent.key if intent else None,
            attempt=intent.attempts + (not unbegun) if intent else 1 + (not repeat),
            doubtful=(before or not unbegun) and traits.leaves_doubt,
            probe_first=not repeat,
            still_running=asked.id in session.began,
        )

    def staged(self, asked: Asked) -> Prepared | None:
        """Return a call that has run in its staging area and has no result yet; None if it has not."""
        known = self._session.state.staging.open.get(asked.id)
        if known is None:
            return None
        try:
            tool = self._session.installed.toolbox.get(asked.call.name)
            arguments = tool.check(asked.call.arguments)
        except InvalidArgument:
            return None
        return self._archived(asked, tool, arguments, known)

    def _archived(
        self, asked: Asked, tool: AnyTool, arguments: dict[str, object], known: StagedCall
    ) -> Prepared:
        return Prepared(
            n=asked.n,
            index=asked.index,
            tool=tool,
            arguments=arguments,
            text=asked.call.arguments,
            traits=traits_of(tool),
            digest=known.result.digest,
            key=None,
            attempt=known.result.attempts,
            staged=known,
        )

    def _may_repeat(self, traits: Traits, intent: CallEntry | None) -> bool:
        if traits.safe_to_retry:
            return True
        # A key helps only if the first attempt went out with the same one.
        if not traits.accepts_key or intent is None or intent.key is None:
            return False
        limit = self._policy(intent.tool).in_doubt_timeout.attempts_max
        return limit is None or intent.attempts < limit

    def _policy(self, tool: str) -> Policy:
        return self._session.services.policies.of(self._session.installed.name, tool)

    def _doubt(
        self,
        asked: Asked,
        intent: CallEntry | None,
        tried: str = "nothing: it is not safe to repeat",
    ) -> Ended:
        call = asked.call
        # Its body was entered in this process and has not come back.
        running = asked.id in self._session.began
        return in_doubt_still(
            asked.step,
            self._session.services.mask(call.arguments),
            intent.digest if intent else self._name_of(call),
            intent.attempts if intent else 1,
            tried,
            still_running=running,
        )

    def _name_of(self, call: ToolCall) -> str:
        """Name a call of which there is no intent, and perhaps no tool any more."""
        toolbox = self._session.installed.toolbox
        defaults = toolbox.get(call.name).defaults if call.name in toolbox else NO_DEFAULTS
        try:
            return digest(call.name, call.arguments, defaults)
        except InvalidArgument:
            return digest_unread(call.name, call.arguments)


def _equal(entry: CallEntry, tool: AnyTool, named: str) -> bool:
    if entry.digest.startswith(FORM) or entry.tool != tool.name:
        return entry.digest == named
    # Named by an earlier version of the form: name it anew.
    return digest(entry.tool, entry.arguments, tool.defaults) == named
