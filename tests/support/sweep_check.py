"""What must hold after a process was killed, and when all sessions have come to their end.

Everything is read from outside: the store's file, opened by nobody but us, the book of the server
that counts effects, and the lines that acknowledgements left in files of their own. Each law returns what breaks it, in words.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import anyio
from msgspec import Struct
from sweep_log import Effect, Line, Told, digest_of, read, result_digest, unpaired
from sweep_plan import KEYED, PROBED, READS, SAFE, SESSIONS, STEPS, UNMARKED, calls

from ukemi import Checkpoint, Runtime
from ukemi.actors.inspection import entries_of, fold
from ukemi.actors.ledger import CallId
from ukemi.actors.model import ToolMessage
from ukemi.actors.state import SessionState
from ukemi.stores.base import StoredSession, StoreError
from ukemi.stores.records import Answered, Intended, JournalEntry, Resulted
from ukemi.stores.sqlite import SqliteStore

Call = tuple[str, int, int]
"""Session, number of the assistant message, index in it."""


class Found(Struct):
    """The store and the logs at one moment, read whole."""

    sessions: dict[str, StoredSession]
    entries: dict[str, list[JournalEntry]]
    states: dict[str, SessionState]
    blobs: dict[str, int]
    checkpoints: dict[tuple[str, int], Checkpoint]
    effects: list[Effect]
    told: list[Told]
    wrong: list[Line]

    @property
    def begun(self) -> set[Call]:
        """Calls with an intent and no result."""
        return {
            (name, *call)
            for name, state in self.states.items()
            for call, entry in state.ledger.open.items()
            if not entry.in_doubt
        }


def look(folder: Path, store: Path, effects: list[Effect]) -> Found:
    """Read everything; the store is opened, so give a copy where that must change nothing.

    ``effects`` is what the server has booked, also of processes that were killed.
    """
    told = read(folder / "told.log", Told)
    stored = anyio.run(_load, store, told)
    entries = {name: entries_of(each) for name, each in stored.sessions.items()}
    return Found(
        stored.sessions,
        entries,
        {name: fold(name, each) for name, each in entries.items()},
        stored.blobs,
        stored.checkpoints,
        effects,
        told,
        read(folder / "wrong.log", Line),
    )


class _Stored(Struct):
    sessions: dict[str, StoredSession]
    blobs: dict[str, int]
    checkpoints: dict[tuple[str, int], Checkpoint]


async def _load(path: Path, told: list[Told]) -> _Stored:
    """Load all sessions, and each checkpoint that was reported as stored by itself."""
    store = SqliteStore(path)
    checkpoints: dict[tuple[str, int], Checkpoint] = {}
    async with Runtime(store, adopt=False) as runtime:
        heads = await runtime.sessions(limit=1000)
        sessions = {head.session_id: await store.load(head.session_id) for head in heads}
        blobs = {
            entry.blob: len(await store.blob(entry.blob))
            for stored in sessions.values()
            for entry in entries_of(stored)
            if isinstance(entry, Resulted) and entry.blob is not None
        }
        for line in told:
            if line.what == "checkpoint":
                with suppress(StoreError):
                    checkpoint = await runtime.session(line.session).checkpoint(line.number)
                    checkpoints[line.session, line.number] = checkpoint
    return _Stored(sessions, blobs, checkpoints)


# ---------------------------------------------------------------- at any moment


def rows_are_whole(found: Found) -> Iterator[str]:
    """Rows and counters count from 1 without gaps; the head agrees with them."""
    for name, stored in found.sessions.items():
        seqs = [row.seq for row in stored.rows]
        if seqs != list(range(1, stored.head.seq + 1)):
            yield f"{name}: rows {seqs}, head at {stored.head.seq}"
        results = [entry for entry in found.entries[name] if isinstance(entry, Resulted)]
        counters = [entry.counter for entry in results]
        if counters != list(range(1, stored.head.counter + 1)):
            yield f"{name}: counters {counters}, head at {stored.head.counter}"


def no_result_without_a_call(found: Found) -> Iterator[str]:
    """Each result answers a call that was asked before it, and each call has one at most."""
    for name, entries in found.entries.items():
        open_calls: set[CallId] = set()
        for entry in entries:
            if isinstance(entry, Answered):
                open_calls |= {(entry.n, index) for index in range(len(entry.calls))}
            elif isinstance(entry, Resulted):
                if (entry.n, entry.index) not in open_calls:
                    yield f"{name}: a result nobody waits for: {entry.n}.{entry.index}"
                open_calls.discard((entry.n, entry.index))


def what_was_told_is_there(found: Found) -> Iterator[str]:
    """Nothing that was reported is missing, and it is what was reported."""
    for told in found.told:
        if told.session not in found.sessions:
            yield f"{told.session} was reported as {told.what} and is not in the store"
        elif not _is_there(found, told):
            yield f"{told.session}: {told.what} {told.number} {told.value} was reported, is missing"


def _is_there(found: Found, told: Told) -> bool:
    state = found.states[told.session]
    match told.what:
        case "checkpoint":
            return _is_checkpoint(found, told)
        case "asked":
            # Up to the last result it was shown; what is behind it may have been said again since.
            return digest_of(list(state.conversation)[: told.number]) == told.value
        case "ended":
            # A message reopens a session that was handed over.
            reopened = ("running", "handed_over", "completed")
            handed_over = told.value == "HandedOver:in_doubt"
            return state.status in (reopened if handed_over else (told.value.lower(),))
        case _:
            return True


def _is_checkpoint(found: Found, told: Told) -> bool:
    """Tell whether the result that was acknowledged is the last of that checkpoint as loaded."""
    checkpoint = found.checkpoints.get((told.session, told.number))
    if checkpoint is None or checkpoint.checkpoint_counter != told.number:
        return False
    # The results of one message may be stored in another order than that of the calls.
    last = next(each for each in checkpoint.tool_history if each.counter == told.number)
    shown = [each.content for each in checkpoint.messages if isinstance(each, ToolMessage)]
    digested = result_digest(last.n, last.index, last.content, last.state, last.blob)
    # What a probe found is shown behind a mark that says so.
    return digested == told.value and any(each.endswith(last.content) for each in shown)


def no_effect_without_an_intent(found: Found) -> Iterator[str]:
    """The body of a write began only after its intent was durable."""
    intents = {
        (name, entry.n, entry.index)
        for name, entries in found.entries.items()
        for entry in entries
        if isinstance(entry, Intended)
    }
    for effect in found.effects:
        call = (effect.session, effect.n, effect.index)
        if effect.tool not in READS and call not in intents:
            yield f"{effect.tag} {effect.tool} took effect, and no intent of {call} is stored"


def nothing_was_seen(found: Found) -> Iterator[str]:
    """No process saw what must never be seen."""
    for line in found.wrong:
        yield line.text


ALWAYS: tuple[Callable[[Found], Iterator[str]], ...] = (
    rows_are_whole,
    no_result_without_a_call,
    what_was_told_is_there,
    no_effect_without_an_intent,
    nothing_was_seen,
)


# ---------------------------------------------------------------- at the end


def all_completed(found: Found) -> Iterator[str]:
    """Every session has reached its typed outcome, with a history a model accepts."""
    for name in SESSIONS:
        state = found.states.get(name)
        if state is None or state.status != "completed":
            yield f"{name} is {state.status if state else 'absent'}"
            continue
        wrong = unpaired(list(state.conversation))
        if wrong is not None or state.conversation.open:
            yield f"{name}: {wrong or 'a call is open'}"
        if state.conversation.assistant_count != STEPS + 1:
            yield f"{name}: {state.conversation.assistant_count} answers for {STEPS} steps"


def effects_are_as_promised(found: Found, kills: int) -> Iterator[str]:
    """Safe: once more per kill at most. Unmarked, probed: asked for once. Keyed: always with the same
    key, and so done once, whatever the kills."""
    bodies: dict[str, list[Effect]] = defaultdict(list)
    for effect in found.effects:
        bodies[effect.tag].append(effect)
    states = Counter[str]()
    for name, tool in calls():
        seen = bodies.pop(name, [])
        most = 1 if tool in UNMARKED | PROBED else 1 + kills
        if len(seen) > most:
            yield f"{name} {tool} took effect {len(seen)} times, {most} allowed"
        keys = {effect.key for effect in seen}
        if tool in KEYED and (len(keys) > 1 or None in keys):
            yield f"{name} {tool} went out with keys {keys}"
        done = sum(not effect.repeat for effect in seen)
        if tool in KEYED and done > 1:
            yield f"{name} {tool} was done {done} times"
        assert tool in READS | SAFE | KEYED | PROBED | UNMARKED
        states[tool] += 1
    if bodies:
        yield f"effects nobody asked for: {sorted(bodies)}"


def results_are_of_their_effects(found: Found) -> Iterator[str]:
    """A call that succeeded has an effect, and shows its nonce; long texts are kept in full."""
    nonces: dict[Call, set[str]] = defaultdict(set)
    for effect in found.effects:
        nonces[effect.session, effect.n, effect.index].add(effect.nonce)
    for name, entries in found.entries.items():
        for entry in entries:
            if not isinstance(entry, Resulted) or entry.state != "succeeded":
                continue
            words = entry.content.split(maxsplit=2)
            if words[1] not in nonces[name, entry.n, entry.index]:
                yield f"{name}: call {entry.n}.{entry.index} succeeded without an effect"
            if entry.blob is not None and found.blobs[entry.blob] < len(entry.content):
                yield f"{name}: the full text of {entry.n}.{entry.index} is not kept"


def doubts_are_the_cut_off(found: Found, begun: set[Call]) -> Iterator[str]:
    """In doubt are exactly the unmarked writes that a kill found begun, and no others.

    Args:
        begun: calls that had an intent and no result when a process was killed.
    """
    doubts: set[Call] = set()
    refused: set[Call] = set()
    tools: dict[Call, str] = {}
    for name, entries in found.entries.items():
        for entry in entries:
            if isinstance(entry, Answered):
                each = {(name, entry.n, i): call.name for i, call in enumerate(entry.calls)}
                tools |= each
            elif isinstance(entry, Resulted) and entry.state != "succeeded":
                (doubts if entry.state == "in_doubt" else refused).add((name, entry.n, entry.index))
    cut = {call for call in begun if tools[call] in UNMARKED}
    if doubts != cut:
        yield f"in doubt: {sorted(doubts)}; cut off: {sorted(cut)}"
    turns = {call[:2] for call in doubts}
    for call in sorted(refused):
        # Not started, since the session was handed over with its neighbour.
        if call[:2] not in turns:
            yield f"{call} {tools[call]} did not run, and nothing beside it is in doubt"
    for effect in found.effects:
        if (effect.session, effect.n, effect.index) in refused:
            yield f"{effect.tag} {effect.tool} is called not started, and took effect"


def check_killed(found: Found) -> list[str]:
    """Return what is broken in what a killed process left behind."""
    return [problem for law in ALWAYS for problem in law(found)]


def check_ended(found: Found, begun: set[Call], kills: int) -> list[str]:
    """Return what is broken once every session has ended."""
    return [
        *check_killed(found),
        *all_completed(found),
        *effects_are_as_promised(found, kills),
        *results_are_of_their_effects(found),
        *doubts_are_the_cut_off(found, begun),
    ]
