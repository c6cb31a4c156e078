"""A chat service whose conversations begin with a fixed history (trust 4.5).

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
from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from trustgauge.records import Message, Reply
from trustgauge.services import Service
from trustgauge.services.wrapper import ServiceWrapper


class WithHistory(ServiceWrapper):
    """A chat service with a fixed history before each conversation.

    `turns` holds what the user and the bot said, in order; a text alone is what the user said, and the
    bot nothing.
    """

    use: str = "with-history"

    turns: tuple[tuple[str, str], ...] = Field(min_length=1, description="Pairs [user, bot], or a text")

    @field_validator("turns", mode="before")
    @classmethod
    def _pairs(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return tuple((one, "") if isinstance(one, str) else one for one in value)

    @model_validator(mode="after")
    def _hears(self) -> Self:
        if not self.service.uses_history():
            text = f'"{self.service.use}" is not told what was said before'
            raise ValueError(f"{text}, so a history changes nothing")
        return self

    @property
    def deterministic(self) -> bool:
        return self.service.deterministic

    @property
    def kind(self) -> str:
        return f"{self.service.kind}, after a history"

    def identity(self) -> Mapping[str, Any]:
        turns = [list(pair) for pair in self.turns]
        return {"use": self.use, "service": self.service.identity(), "turns": turns}

    def check_requirements(self) -> None:
        self.service.check_requirements()

    def open(self) -> LiveHistory:
        return LiveHistory(self.service.open(), self.turns)


class LiveHistory:
    """Puts the history before the turns of each message."""

    def __init__(self, service: Service, turns: tuple[tuple[str, str], ...]) -> None:
        self._service, self._turns = service, turns

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        asked = [replace(message, turns=(*self._turns, *message.turns)) for message in messages]
        return await self._service.ask(asked)

    async def close(self) -> None:
        await self._service.close()
