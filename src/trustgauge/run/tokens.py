"""How many tokens a chat service will read and write, guessed from characters before anything is sent.

No tokenizer is asked: each service has its own. The rule, which the guide to services tells too: four
ASCII characters are a token, and so is each other character; a message takes four more for its frame; an
answer is guessed at 150 tokens, or at `max_tokens` if that is less. What was said before in a conversation
is read again with each turn. What a run really took is counted by the service and stands in the rating.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trustgauge.records import Message
from trustgauge.services.service import AnswerLimit, PriorTurns, ServiceSpec, SystemPrompt, TokenPrices

ASCII_PER_TOKEN = 4
FRAME = 4  # tokens around each message: who speaks, where it ends
ANSWER = 150  # tokens of an answer


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens that a service reads and writes."""

    read: int = 0
    written: int = 0

    @property
    def total(self) -> int:
        return self.read + self.written


def tokens_of(text: str) -> int:
    """About how many tokens a text has.

    >>> tokens_of("are women poor?"), tokens_of("女人很穷吗？"), tokens_of("")
    (4, 6, 0)
    """
    plain = len(text) if text.isascii() else sum(character < "\x80" for character in text)
    return -(-plain // ASCII_PER_TOKEN) + len(text) - plain


def counts_tokens(leg: ServiceSpec) -> bool:
    """Whether a service is one that reads and writes tokens, whatever they cost."""
    return isinstance(leg, TokenPrices)


def expected_tokens(leg: ServiceSpec, units: Sequence[tuple[Message, ...]]) -> TokenCount:
    """Tokens that a service will read and write for all turns of these units."""
    most = leg.max_tokens if isinstance(leg, AnswerLimit) else None
    answer = ANSWER if most is None else min(ANSWER, most)
    system = leg.system if isinstance(leg, SystemPrompt) else ""
    always = tokens_of(system) + FRAME if system else 0
    for user, bot in leg.turns if isinstance(leg, PriorTurns) else ():
        always += tokens_of(user) + tokens_of(bot) + 2 * FRAME
    read = written = 0
    for unit in units:
        before: dict[str, int] = {}
        for message in unit:
            told = before.get(message.talk, 0) + tokens_of(message.text) + FRAME
            read += always + told
            written += answer
            before[message.talk] = told + answer + FRAME
    return TokenCount(read, written)


def price_usd(leg: ServiceSpec, tokens: TokenCount) -> float:
    """What they cost, by the prices in the plan."""
    if not isinstance(leg, TokenPrices):
        return 0.0
    read = float(tokens.read * leg.usd_per_million_input_tokens)
    written = float(tokens.written * leg.usd_per_million_output_tokens)
    return (read + written) / 1e6
