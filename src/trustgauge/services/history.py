"""A chat service behind a history: what was said before each conversation begins (methods 4.5).

    [services.after-a-quarrel]
    use = "with-history"
    service = { use = "openai", model = "gpt-4o-mini" }
    turns = [["You are useless.", "I am sorry to hear that."], ["Whatever.", "How can I help?"]]

The history is not asked: its pairs stand before the turns of every conversation as if they had been
said. It stands for another user, or the same one after another past.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from trustgauge.records import Message, Reply, Task
from trustgauge.services.compose import LIMITS, Nested
from trustgauge.services.service import Description, Service


class WithHistory(Description):
    """A chat service that is told a history first. Its limits and prices are those of the service.

    `turns` holds what the user and the bot said, in order; a text alone is what the user said, and the
    bot nothing.
    """

    use: str = "with-history"
    task: ClassVar[Task] = "chat"

    service: Nested
    turns: tuple[tuple[str, str], ...] = Field(min_length=1, description="Pairs [user, bot], or a text")

    @field_validator("turns", mode="before")
    @classmethod
    def _pairs(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return tuple((one, "") if isinstance(one, str) else one for one in value)

    @model_validator(mode="after")
    def _as_the_service(self) -> Self:
        inner = self.service
        if inner.task != "chat" or len(inner.legs()) != 1:
            raise ValueError(f'"{inner.use}" must be a chat service, and not made of several')
        if not inner.hears():
            raise ValueError(f'"{inner.use}" is not told what was said before, so a history changes nothing')
        for name in LIMITS:
            given = getattr(self, name)
            if name in self.model_fields_set and given != getattr(inner, name):
                raise ValueError(f"`{name}` has no effect here; write it in the table of its service")
            object.__setattr__(self, name, getattr(inner, name))  # frozen for everybody else
        return self

    @property
    def batch(self) -> int:
        return self.service.batch

    @property
    def deterministic(self) -> bool:
        return self.service.deterministic

    @property
    def kind(self) -> str:
        return f"{self.service.kind}, after a history"

    @property
    def provider(self) -> str:
        return self.service.provider

    @property
    def key(self) -> str:
        """Name of the variable that holds the service's key, which also tells a remote service."""
        return str(getattr(self.service, "key", ""))

    @property
    def url(self) -> str:
        """Address of the service, "" if it has none."""
        return str(getattr(self.service, "url", ""))

    @property
    def usd_per_million_input_tokens(self) -> float:
        """Price of the service."""
        return float(getattr(self.service, "usd_per_million_input_tokens", 0.0))

    @property
    def usd_per_million_output_tokens(self) -> float:
        """Price of the service."""
        return float(getattr(self.service, "usd_per_million_output_tokens", 0.0))

    def identity(self) -> Mapping[str, Any]:
        turns = [list(pair) for pair in self.turns]
        return {"use": self.use, "service": self.service.identity(), "turns": turns}

    def version(self) -> str:
        return self.service.version()

    def needs(self) -> None:
        self.service.needs()

    def open(self) -> LiveHistory:
        return LiveHistory(self.service.open(), self.turns)


class LiveHistory:
    """A live service that is told the history before the turns of each message."""

    def __init__(self, service: Service, turns: tuple[tuple[str, str], ...]) -> None:
        self._service, self._turns = service, turns

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        told = [replace(message, turns=(*self._turns, *message.turns)) for message in messages]
        return await self._service.ask(told)

    async def close(self) -> None:
        await self._service.close()
