"""What a model request may cost is set aside before it is made, and booked when it has been."""

import math

import msgspec

from ..stores.records import Usage
from .budget import COST_USD, MODEL_CALLS, RETRIES, TOKENS, Account, Amounts, Refusal, Reservation
from .conversation import TOKENS_PER_CHAR
from .model import ModelReply, Prices
from .replies import is_usage

OUTPUT_TOKENS_MAX = 4096
"""What one answer is taken to need at most, for a model that does not say."""

NOTHING = Usage()

_FIRST: Amounts = ((MODEL_CALLS, 1),)
_AGAIN: Amounts = ((MODEL_CALLS, 1), (RETRIES, 1))


class Meter:
    """Reserves and books the requests of one session to its model.

    ``answer_max`` is how many tokens the answer may have by the budget; None: no limit is near.
    """

    __slots__ = ("_account", "_metered", "answer_max", "output_max", "prices")

    def __init__(self, account: Account, model: object) -> None:
        self._account = account
        self.prices: Prices | None = getattr(model, "prices", None)
        self.output_max: int = getattr(model, "output_tokens_max", None) or OUTPUT_TOKENS_MAX
        self._metered = account.limits("tokens") or account.limits("cost_usd")
        self.answer_max: int | None = None

    def reserve(
        self, prompt_tokens: float, output_max: int, *, first: bool
    ) -> Reservation | Refusal | None:
        """Set aside what a request may cost at most; None: nothing, its number is booked already."""
        account = self._account
        if first and not self._metered:
            # One request is certain to be consumed; what else it costs has no limit.
            return account.take(MODEL_CALLS)
        amounts = _FIRST if first else _AGAIN
        if self._metered:
            prompt = math.ceil(prompt_tokens)
            self.answer_max = answer_max(
                output_max, prompt, account.left("tokens"), account.left("cost_usd"), self.prices
            )
            amounts = (*amounts, (TOKENS, prompt + self.answer_max))
            if self.prices is not None:
                usage = Usage(prompt, self.answer_max)
                amounts = (*amounts, (COST_USD, self.prices.cost_usd(usage)))
        return account.hold(amounts)

    def consumed(self, reply: ModelReply, prompt_tokens: float) -> Usage:
        """Return what an answer has consumed: as it tells, or estimated where it tells nothing.

        Estimated only where tokens or dollars are limited: there nothing told must not be nothing spent.
        """
        usage = reply.usage
        if usage.tokens or usage.cost_usd or not self._metered:
            return usage
        chars = len(reply.text) + sum(len(call.name) + len(call.arguments) for call in reply.calls)
        given = math.ceil(chars * TOKENS_PER_CHAR)
        return Usage(input_tokens=math.ceil(prompt_tokens), output_tokens=given)

    def settle(self, reserved: Reservation | None, usage: Usage, *, first: bool) -> Usage:
        """Book what a request has consumed, once; return that with its cost."""
        account, cost_usd = self._account, usage.cost_usd
        if self.prices is not None and not cost_usd:
            cost_usd = self.prices.cost_usd(usage)
            usage = msgspec.structs.replace(usage, cost_usd=cost_usd)
        if reserved is not None:
            account.release(reserved)
            account.add(MODEL_CALLS, 1)
        account.add(TOKENS, max(0, usage.input_tokens + usage.output_tokens))
        if cost_usd:
            account.add(COST_USD, cost_usd)
        if not first:
            account.add(RETRIES, 1)
        return usage


def consumed_by(error: Exception) -> Usage:
    """Return what an attempt that broke off consumed, as its client told through the exception.

    What other libraries' exceptions call ``usage`` is no such word, nor is what could not be stored.
    """
    usage = getattr(error, "usage", None)
    return usage if is_usage(usage) else NOTHING


def answer_max(
    output_max: int,
    prompt: int,
    tokens_left: float,
    usd_left: float,
    prices: Prices | None,
) -> int:
    """Return how many tokens an answer may have, so that the whole of a limit can be used.

    At least 1: a request for which not even that is left is then refused by the reservation.
    """
    room = min(float(output_max), tokens_left - prompt)
    if prices is not None and prices.output_usd > 0:
        usd = usd_left - prices.cost_usd(Usage(prompt, 0))
        room = min(room, usd * 1e6 / prices.output_usd)
    return max(1, int(room))
