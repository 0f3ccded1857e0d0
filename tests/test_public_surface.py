"""The names users type: which there are, and that typical uses type-check as they should.

The uses below run, and the strict type checkers read them: ``assert_type`` holds what is inferred.
"""

import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from types import ModuleType
from typing import Any, assert_never, assert_type

import pytest
from virtual_time import VIRTUAL_BACKENDS, virtual_backend

import ukemi
import ukemi.actors
import ukemi.models
import ukemi.supervisor
import ukemi.testing
import ukemi.tools
from ukemi import (
    Agent,
    Budget,
    Checkpoint,
    Completed,
    Dossier,
    ErrorClass,
    Guarded,
    HandedOver,
    Inspection,
    InvalidArgument,
    Model,
    ModelReply,
    ModelRequest,
    Outcome,
    Policy,
    Runtime,
    SessionHandle,
    Stopped,
    Tool,
    TransientError,
    UsageError,
    classify,
    guard,
    tool,
)
from ukemi.actors import CheckpointStored, Event, RetryScheduled, SessionCompleted
from ukemi.actors.warming import LATER
from ukemi.models import ScriptedModel, call
from ukemi.stores.base import Head

UKEMI = """
Agent Budget BusinessRejected CallContext Checkpoint Classifier Completed ContentRefused ContextOverflow Dossier
ErrorClass Failed Failure HandedOver InDoubtTimeout Inspection InvalidArgument Model ModelReply
ModelRequest NOT_DONE NotDone Option Outcome PermissionDenied PlanningFailure Policy Prices RateLimited ResourceExhausted
RetryPolicy RollbackPreview RollbackReport Runtime RuntimeClosed SessionHandle Snapshots Staged StagedChange StagedFile Stopped Tool ToolBug Traits TransientError UkemiError UsageError classify
current declared_failure read_rules tool AlreadyDecided CheckpointUnknown Fenced SessionDamaged SessionExists SessionOwned
SessionUnknown StoreError StoreFailed StoreUnusable ApprovalRequest RequestClosed
CallFailed CallStopped Denied GuardError Guarded GuardedResult HandedOverError InDoubt guard
"""
ACTORS = """
AlertRaised AssistantMessage AuditAssessed AuditMismatch BreakerClosed BreakerHalfOpen BreakerOpened BudgetSoft CallFinished CallLate CallProbed CallStarted CallStuck
ChangeDecided CheckpointStored CompensationFinished CompensationStarted ConversationPruned DecisionTaken Event EventsDropped Message MessageReceived ModelAnswered ModelAsked
ModelPiece ModelSuperseded NoteMessage RetryScheduled SessionCompleted SessionFrozen SessionHandedOver SessionParked SessionRestarted
SessionResumed SessionRolledBack SessionStarted SessionStopped SessionUnwinding SessionWoken StepFacts ToolCall
ToolMessage ToolSchema TrajectoryFellBack TrajectoryRestarted UpstreamHeld Usage UserMessage event_to_data
ApprovalDecided ApprovalExpired ApprovalRequest ApprovalRequested RequestClosed
"""
MODELS = """
AnswerError AnthropicModel Hang OpenAIModel Pieces Reply Script ScriptExhausted ScriptedModel call
parse_model
"""
TESTING = """
CellResult DrillReport Effect EffectStub Fault FaultPlan FaultyStore Finding Hang OWN Ok Pieces Reply Script ScriptedModel Stub Untested
VIRTUAL_BACKENDS VirtualClock VirtualTimeLoop call drill error_of run_virtual virtual_backend
"""
TOOLS = "ShellResult delete_file finish list_files read_file shell shell_tool write_file"
ROOMS = frozenset({"actors", "cli", "models", "stores", "supervisor", "testing", "tools"})


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual_backend(request.param)


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (ukemi, UKEMI),
        (ukemi.actors, ACTORS),
        (ukemi.models, MODELS),
        (ukemi.testing, TESTING),
        (ukemi.tools, TOOLS),
    ],
    ids=["ukemi", "ukemi.actors", "ukemi.models", "ukemi.testing", "ukemi.tools"],
)
def test_public_names_are_these(module: ModuleType, names: str) -> None:
    """A name that comes or goes is a decision, written down here."""
    assert sorted(module.__all__) == sorted(names.split())
    assert all(hasattr(module, name) for name in module.__all__)


def test_the_package_shows_nothing_but_its_names_and_rooms() -> None:
    """What ``dir`` lists is public, a room, or says by an underscore that it is neither."""
    shown = {name for name in dir(ukemi) if not name.startswith("_")}
    assert shown - set(ukemi.__all__) <= ROOMS | {"__main__"}


def test_supervision_alone_has_its_names() -> None:
    """Each name of ``ukemi.supervisor.__all__`` is there, once."""
    names = ukemi.supervisor.__all__
    assert len(names) == len(set(names))
    assert all(hasattr(ukemi.supervisor, name) for name in names)


@pytest.mark.realtime
def test_importing_stays_light() -> None:
    """No SDK, no command line, no trio and no table of patterns is loaded by an import, and no
    logging is configured."""
    program = f"""
import sys, logging, ukemi, ukemi.models, ukemi.tools
assert "structlog" not in sys.modules
import structlog
heavy = {{"openai", "anthropic", "httpx", "argparse", "trio", "uvloop", "ukemi.cli"}}
heavy |= {{"ukemi." + name for name in {LATER!r}}}
print(sorted(heavy & set(sys.modules)), structlog.is_configured(), logging.getLogger().handlers)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "[] False []\n"


def test_making_a_runtime_compiles_no_table_of_patterns() -> None:
    """It loads the tables; each pattern waits for the text that needs it."""
    program = """
import re, ukemi, ukemi.stores
made, compile_now = [], re.compile
re.compile = lambda *given: made.append(given) or compile_now(*given)
ukemi.Runtime(ukemi.stores.MemoryStore())
print(made)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, timeout=60
    )
    assert done.stdout == "[]\n"


# ---------------------------------------------------------------- uses


@tool(effect="read", upstream="warehouse")
async def stock(sku: str) -> int:
    """Units of a product in stock."""
    return {"A-17": 3}[sku]


@tool
def note(text: str, *, loud: bool = False) -> str:
    """Write something down."""
    return text.upper() if loud else text


class Echo:
    """A model of one's own is any object with this method."""

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        if not request.tools:
            raise TransientError("no tools yet", retry_after=1.0)
        return ModelReply(text=f"{len(request.messages)} messages")


def clerk() -> Agent:
    script = ScriptedModel([call("stock", sku="A-17"), "Three."])
    return Agent("clerk", model=script, tools=[stock, note], instructions="Be brief.")


async def test_a_tool_keeps_the_signature_of_its_function() -> None:
    """Called directly, it is the function, and the type checker knows that."""
    assert_type(note("a"), str)
    assert_type(await stock("A-17"), int)
    assert (note("a", loud=True), await stock("A-17")) == ("A", 3)
    assert isinstance(stock, Tool) and stock.marks.upstream == "warehouse"


async def test_a_session_from_start_to_outcome() -> None:
    """What the README shows, with the types it promises."""
    async with Runtime("memory:", agents=[clerk()], policy=Policy()) as runtime:
        session = await runtime.start("clerk", "How many?", budget=Budget(steps=20, seconds=60))
        assert_type(session, SessionHandle)
        events = session.events()
        assert_type(events, AsyncGenerator[Event])
        counters = [event.counter async for event in events if isinstance(event, CheckpointStored)]
        outcome = await session.outcome()
        assert_type(outcome, Completed | HandedOver | Stopped)
        assert_type(await session.inspect(), Inspection)
        assert_type(await session.checkpoint(1), Checkpoint)
        assert_type(await runtime.sessions(status="completed"), list[Head])
        assert_type(runtime.guard(stock, scope="order-1"), Guarded[int])
        assert_type(await guard(note, runtime=runtime, scope="order-1")("b"), str)
        assert_type(await session.cancel(), Outcome)
    assert (counters, outcome) == ([1], Completed("Three."))


async def test_a_model_of_ones_own() -> None:
    """It is retried by the runtime, and handed over when its attempts are used up."""
    model: Model = Echo()
    async with Runtime("memory:", agents=[Agent("echo", model=model)]) as runtime:
        session = await runtime.start("echo", "Hello")
        waits = [
            event.wait_s async for event in session.events() if isinstance(event, RetryScheduled)
        ]
        outcome = await session.outcome()
    assert len(waits) == 3 and min(waits) >= 1.0
    assert describe(outcome) == "blocked: ask the model"


async def test_events_are_told_apart_by_type() -> None:
    """The last event of a stream carries the outcome, typed."""
    async with Runtime("memory:", agents=[clerk()]) as runtime:
        session = await runtime.start("clerk", "How many?")
        answers = [
            event.outcome.answer
            async for event in session.events()
            if isinstance(event, SessionCompleted)
        ]
    assert answers == ["Three."]


def describe(outcome: Outcome) -> str:
    """A match over the outcomes is complete, or the type checker says what is missing."""
    match outcome:
        case Completed(answer):
            return answer
        case HandedOver(reason, dossier):
            assert_type(dossier, Dossier)
            return f"{reason}: {dossier.failed_step}"
        case Stopped(reason):
            return reason
        case _:
            assert_never(outcome)


def test_errors_are_classified_without_a_runtime() -> None:
    """As in tests of one's own tools."""
    failure = classify(InvalidArgument("no such SKU", fields=["sku"]))
    assert_type(failure.error_class, ErrorClass)
    assert (failure.error_class, failure.fields) == (ErrorClass.INVALID_ARGUMENT, ("sku",))


# ---------------------------------------------------------------- listing sessions


@pytest.mark.parametrize(
    ("status", "found"),
    [(None, 1), ("completed", 1), (["running", "completed"], 1), ({"stopped"}, 0), ((), 0)],
    ids=str,
)
async def test_sessions_are_listed_by_one_status_or_several(status: Any, found: int) -> None:
    """A word is one status, not a collection of letters."""
    async with Runtime("memory:", agents=[clerk()]) as runtime:
        await (await runtime.start("clerk", "How many?")).outcome()
        assert len(await runtime.sessions(status=status)) == found


WRONG: dict[str, tuple[Callable[[Runtime], Coroutine[Any, Any, object]], str]] = {
    "status": (lambda runtime: runtime.sessions(status="done"), "'done'"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    "agent": (lambda runtime: runtime.start("clark", "x"), "'clark'"),
    "task": (lambda runtime: runtime.start("clerk", " "), "' '"),
    "session_id": (lambda runtime: runtime.start("clerk", "x", session_id="a/b"), "'a/b'"),
    "parent": (lambda runtime: runtime.start("clerk", "x", parent="p"), "'p'"),
}


@pytest.mark.parametrize("what", WRONG)
async def test_what_cannot_work_is_refused_by_its_value(what: str) -> None:
    """The error names the value, and nothing is stored."""
    attempt, value = WRONG[what]
    async with Runtime("memory:", agents=[clerk()]) as runtime:
        with pytest.raises(UsageError, match=value):
            await attempt(runtime)
        assert await runtime.sessions() == []
