"""How much of a conversation fits into what its model takes. Pure.

Messages are measured in characters, limits in tokens. What one character makes is taken from what the
provider has counted so far, so that no tokenizer is needed.
"""

from msgspec import Struct

from ...supervisor.decide import Prune
from ..conversation import TOKENS_PER_CHAR

TOKENS_PER_CHAR_MAX = 2.0
"""No text makes more; a count beyond it is of something else."""

TIGHT_SHARE = 0.95
"""What may be filled where the share that a policy wants cannot be reached."""

OUTPUT_SHARE_MAX = 0.5
"""The share of a context that is kept free for an answer at most."""


class Measured(Struct, frozen=True):
    """A request: characters of its messages, and of what goes with every request; its tokens.

    ``tokens`` is what the provider counted, as far as it has, and an estimate for the rest.
    """

    messages: int
    overhead: int
    tokens: float

    @property
    def chars(self) -> int:
        """Characters of the whole request."""
        return self.messages + self.overhead

    @property
    def tokens_per_char(self) -> float:
        """What one character makes."""
        measured = self.tokens / max(self.chars, 1)
        return min(max(measured, TOKENS_PER_CHAR), TOKENS_PER_CHAR_MAX)


def room_for(prune: Prune, measured: Measured) -> int:
    """Return how many characters the messages may have so that the request fits; may be below 0."""
    if prune.fits_share is not None and prune.fits_share < 1.0:
        fits = measured.chars * prune.fits_share
    else:
        # Without a size, a limit above what was refused is of something else.
        told = prune.limit / measured.tokens_per_char if prune.limit else measured.chars
        fits = min(told, measured.chars)
    return int(fits - measured.overhead)


def ahead(measured: Measured, context: int, output: int, keep_share: float) -> Prune | None:
    """Return the prune that a request needs before it is made, so that it fits its model.

    Args:
        context: tokens that the model takes, its answer included.
        output: tokens an answer may have at most.
    """
    fits = input_max(context, output)
    if measured.tokens <= fits:
        return None
    return Prune(keep_share, fits / measured.tokens, fits)


def input_max(context: int, output: int) -> int:
    """Return how many tokens a request may have, so that there is room for the answer."""
    return context - min(output, int(context * OUTPUT_SHARE_MAX))
