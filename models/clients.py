"""The vendors' SDK clients: made when first needed, one for each event loop, closed on request."""

import asyncio
import importlib
import inspect
from collections.abc import Callable, Collection, Mapping
from types import ModuleType
from typing import Any, Generic, Protocol, TypeVar, cast
from weakref import WeakKeyDictionary

from ..supervisor.errors import TransientError, UkemiError, UsageError

TIMEOUT_S = 600.0
"""Seconds of silence after which a request has failed; the session's deadline comes earlier."""

CONNECT_TIMEOUT_S = 10.0

OUTPUT_TOKENS_MAX = 8192
"""What one answer may be at most, where the caller says nothing."""


def require_sdk(package: str, wanted_by: str) -> ModuleType:
    """Import a vendor's SDK.

    Raises:
        UsageError: it is not installed; the message has the command.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise UsageError(
            f"{wanted_by} needs the package {package!r}: pip install 'ukemi[{package}]'"
        ) from error


class SdkClient(Protocol):
    """What we need of either SDK's client, whatever its resources are called."""

    async def close(self) -> None: ...


Client = TypeVar("Client", bound=SdkClient)


class LoopClients(Generic[Client]):
    """One client for each event loop: connections of one loop are dead in another.

    Args:
        make: makes a client; called inside the running loop.
        given: the caller's own client, used in every loop and never closed.
    """

    def __init__(self, make: Callable[[], Client], given: Client | None = None) -> None:
        self._make = make
        self._given = given
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Client] = WeakKeyDictionary()

    def current(self) -> Client:
        """Return the client of the running loop.

        Raises:
            UsageError: no asyncio loop runs; the SDKs need one.
        """
        if self._given is not None:
            return self._given
        loop = _running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = self._make()
        return client

    async def aclose(self) -> None:
        """Close the client of the running loop; safe to call twice, or if none was made."""
        client = self._clients.pop(_running_loop(), None)
        if client is not None:
            await client.close()


def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError as error:
        raise UsageError("the vendors' SDKs run on asyncio only, and no such loop runs") from error


def checked_options(
    create: Callable[..., object], options: Mapping[str, Any], *, ours: Collection[str], whose: str
) -> dict[str, Any]:
    """Return request options the SDK knows; a typo is found here, not in the first request.

    Raises:
        UsageError: an option is unknown to the SDK, or is set by us.
    """
    for name in options:
        if name in ours:
            raise UsageError(f"{whose} sets {name!r} itself")
        if name not in inspect.signature(create).parameters:
            raise UsageError(
                f"{whose} knows no option {name!r};"
                " what only the server knows goes into extra_body={...}"
            )
    return dict(options)


def smaller(one: int | None, other: int | None) -> int | None:
    """Return the smaller limit; None is no limit."""
    limits = [limit for limit in (one, other) if limit is not None]
    return min(limits, default=None)


def checked_context(tokens: int | None) -> int | None:
    """Return how many tokens a context has.

    Raises:
        UsageError: no model has so few.
    """
    if tokens is not None and tokens < 1:
        raise UsageError(f"context_tokens={tokens} must be at least 1")
    return tokens


class AnswerError(UkemiError):
    """The provider said "success" and sent something that is no answer.

    ``body`` is what came (plain data), ``code`` and ``type`` are the error's own where it has them.
    """

    def __init__(self, message: str, body: object) -> None:
        super().__init__(message)
        self.body = body
        told: Mapping[str, Any] = {}
        if isinstance(body, Mapping):
            told = cast("Mapping[str, Any]", body)
        self.code = told.get("code")
        self.type = told.get("type")


def cut_off(what: str) -> TransientError:
    """Return the error for an answer that ended without its ending."""
    return TransientError(
        f"the answer of {what} broke off before its end; nothing of it was used",
        may_have_executed="maybe",
    )
