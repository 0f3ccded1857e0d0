"""How do sessions live inside a web service, and outlive it?

The runtime is entered in the application's lifespan, so it shares the server's event loop and is
left when the server stops. What was unfinished then, or when the process was killed, goes on when
the next process enters a runtime over the same store: nothing in here does that.

It needs two packages beside ukemi: ``pip install starlette uvicorn``. Run it with
``python examples/service.py``, then::

    curl -d '{"task": "How many bolts are on the shelves?"}' localhost:8000/sessions
    curl -N localhost:8000/sessions/ID/events
    curl localhost:8000/sessions/ID
    curl -d '{"text": "And the nuts?"}' localhost:8000/sessions/ID/messages
    curl localhost:8000/health
"""

import os
import socket
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, TypedDict, TypeVar

import anyio
import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ukemi import (
    Agent,
    ModelRequest,
    Runtime,
    SessionHandle,
    SessionOwned,
    SessionUnknown,
    UkemiError,
    UsageError,
    tool,
)
from ukemi.actors import Event, ToolMessage
from ukemi.models import Reply, ScriptedModel, call

SHELVES = {"north": 120, "east": 7, "south": 0, "west": 63, "cellar": 400}


@tool(effect="read")
async def count(shelf: str) -> int:
    """Count the bolts on one shelf; takes a moment."""
    await anyio.sleep(0.3)
    return SHELVES[shelf]


def script(request: ModelRequest) -> Reply:
    """Count shelf after shelf, then add up; decides by the request alone, so it can resume."""
    counted = [each.content for each in request.messages if isinstance(each, ToolMessage)]
    if len(counted) < len(SHELVES):
        return call("count", shelf=list(SHELVES)[len(counted)])
    return f"{sum(map(int, counted))} bolts."


clerk = Agent(
    "clerk",
    model=ScriptedModel(script),  # a real one: OpenAIModel("...") or AnthropicModel("...")
    tools=[count],
    instructions="You count what is on the shelves.",
)


class State(TypedDict):
    """What every request sees as ``request.state``."""

    runtime: Runtime


class NewSession(msgspec.Struct):
    """Body of ``POST /sessions``."""

    task: str


class NewMessage(msgspec.Struct):
    """Body of ``POST /sessions/{id}/messages``."""

    text: str


T = TypeVar("T")


async def start(request: Request) -> Response:
    """Start a session; it is durable when the answer goes out."""
    session = await runtime_of(request).start("clerk", (await body(request, NewSession)).task)
    return json({"id": session.id}, status=201)


async def events(request: Request) -> Response:
    """Stream what happens up to the session's end, as server-sent events."""
    happening = session_of(request).events()
    first = await anext(happening)  # an unknown session is a 404, not a stream that breaks off
    return StreamingResponse(
        stream(first, happening, request.app.state.streams),
        media_type="text/event-stream",
        headers={"cache-control": "no-cache"},
    )


class Streams:
    """The open event streams. They end when the server stops; a client then connects again."""

    def __init__(self) -> None:
        self._waiting = set[anyio.CancelScope]()
        self._stopping = False

    def stop(self) -> None:
        self._stopping = True
        for scope in self._waiting:
            scope.cancel()

    async def next(self, events: AsyncGenerator[Event]) -> Event | None:
        """Wait for the next event; None where there is none, or the server stops."""
        if self._stopping:
            return None
        with anyio.CancelScope() as scope:
            self._waiting.add(scope)
            try:
                return await anext(events, None)
            finally:
                self._waiting.discard(scope)
        return None


async def stream(
    first: Event, rest: AsyncGenerator[Event], streams: Streams
) -> AsyncGenerator[bytes]:
    """Yield each event in the form of a server-sent event."""
    async with aclosing(rest):
        event: Event | None = first
        while event is not None:
            yield sse(event)
            event = await streams.next(rest)


def sse(event: Event) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event.event.encode(), msgspec.json.encode(event))


async def show(request: Request) -> Response:
    """Say where a session stands, and its outcome once it has one."""
    facts = msgspec.structs.asdict(await session_of(request).inspect())
    return json({**facts, "spent": msgspec.structs.asdict(facts["spent"])})


async def send(request: Request) -> Response:
    """Give the session a message; one that has ended goes on with it."""
    await session_of(request).send((await body(request, NewMessage)).text)
    return Response(status_code=202)


async def health(request: Request) -> Response:
    """Say how the runtime is doing: what a probe or a dashboard asks."""
    return json(runtime_of(request).health())


async def refuse(_: Request, error: Exception) -> Response:
    """Answer what the caller did wrong; everything else is a fault of this service."""
    match error:
        case SessionUnknown():
            status = 404
        case SessionOwned():  # another process over the same store drives it
            status = 409
        case UsageError() | msgspec.ValidationError() | msgspec.DecodeError():
            status = 400
        case _:
            raise error
    return json({"error": str(error)}, status=status)


def json(value: Any, *, status: int = 200) -> Response:
    """Return a value as JSON; outcomes and events are plain data."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")


async def body(request: Request, kind: type[T]) -> T:
    """Read the body of a request, checked."""
    return msgspec.json.decode(await request.body(), type=kind)


def runtime_of(request: Request) -> Runtime:
    runtime: Runtime = request.state.runtime
    return runtime


def session_of(request: Request) -> SessionHandle:
    return runtime_of(request).session(request.path_params["id"])


def make_app(store: str) -> Starlette:
    """Return the application over a store; several processes may share one file."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[State]:
        async with Runtime(store, agents=[clerk]) as runtime:
            yield {"runtime": runtime}

    app = Starlette(
        lifespan=lifespan,
        routes=[
            Route("/health", health),
            Route("/sessions", start, methods=["POST"]),
            Route("/sessions/{id}", show),
            Route("/sessions/{id}/events", events),
            Route("/sessions/{id}/messages", send, methods=["POST"]),
        ],
        exception_handlers={UkemiError: refuse, msgspec.MsgspecError: refuse},
    )
    app.state.streams = Streams()
    return app


class Server(uvicorn.Server):
    """A server that ends the event streams before it waits for open requests."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.app.state.streams.stop()  # type: ignore[union-attr]
        await super().shutdown(sockets)


if __name__ == "__main__":
    config = uvicorn.Config(
        make_app(os.environ.get("UKEMI_STORE", "service.db")),
        host="127.0.0.1",
        port=int(os.environ.get("PORT", "8000")),
        timeout_graceful_shutdown=5,
    )
    with suppress(KeyboardInterrupt):  # Ctrl-C has stopped the server; there is nothing to add
        Server(config).run()
