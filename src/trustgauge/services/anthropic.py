"""Anthropic's Messages protocol: POST /v1/messages, whole answers and streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pydantic import Field

from trustgauge.records import Message
from trustgauge.services import number, storable
from trustgauge.services.chat_protocol import ChatAnswer, ChatSpec, words_of
from trustgauge.services.session_replay import person

USAGE = ("input_tokens", "output_tokens")
CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")
"""Tokens of the request that are not among its `input_tokens`."""


class Anthropic(ChatSpec):
    """Anthropic, or a server that speaks its protocol. The protocol wants a limit and knows no seed."""

    provider: ClassVar[str] = "Anthropic"
    own_hosts: ClassVar[tuple[str, ...]] = ("api.anthropic.com",)
    usual_url: ClassVar[str] = "https://api.anthropic.com"
    url_variable: ClassVar[str] = "ANTHROPIC_BASE_URL"
    path: ClassVar[str] = "/v1/messages"

    use: str = "anthropic"
    key: str = "ANTHROPIC_API_KEY"
    max_tokens: int | None = Field(1024, ge=1)
    seed: None = None

    def headers(self, key: str) -> Mapping[str, str]:
        version = {"anthropic-version": "2023-06-01"}
        return {**version, "x-api-key": key} if key else version

    def request(self, message: Message) -> dict[str, Any]:
        """An empty turn is left out, as the protocol takes none; two turns of one side are joined by it."""
        said: list[dict[str, str]] = []
        for user, bot in message.turns:
            said += [{"role": "user", "content": storable(user)}] if user.strip() else []
            said += [{"role": "assistant", "content": storable(bot)}] if bot.strip() else []
        said += [{"role": "user", "content": storable(message.text)}]
        asked: dict[str, Any] = {"model": self.model, "messages": said, "max_tokens": self.max_tokens or 1024}
        if self.system:
            asked["system"] = self.system
        if self.temperature is not None:
            asked["temperature"] = self.temperature
        if message.cast:
            asked["metadata"] = {"user_id": storable(person(message))}
        return asked

    def read(self, whole: Mapping[str, Any]) -> ChatAnswer | None:
        content = whole.get("content")
        text = words_of(content) if isinstance(content, list) else None
        if text is None:
            return None
        said = ChatAnswer(text, end=str(whole.get("stop_reason") or ""))
        _count(said, whole.get("usage"))
        return said

    def gather(self, stream: Iterable[dict[str, Any] | None]) -> ChatAnswer | None:
        said = ChatAnswer(whole=False)
        for event in stream:
            kind, delta = (event or {}).get("type"), (event or {}).get("delta")
            if event is None or kind == "message_stop":
                said.whole = True
            elif kind == "message_start":
                message = event.get("message")
                _count(said, message.get("usage") if isinstance(message, dict) else None)
            elif kind == "content_block_delta" and isinstance(delta, dict):
                if delta.get("type") != "text_delta":
                    continue  # thinking, or the input of a tool
                if not isinstance(delta.get("text"), str):
                    return None
                said.text += delta["text"]
            elif kind == "message_delta" and isinstance(delta, dict):
                said.end = str(delta.get("stop_reason") or said.end)
                _count(said, event.get("usage"))
        return said


def _count(said: ChatAnswer, usage: Any) -> None:
    """Note the tokens reported, those of a cache at the price of others: they cost at most a quarter more."""
    said.count(usage, *USAGE)
    if isinstance(usage, dict) and number(usage.get(USAGE[0]), -1) >= 0:
        said.read += sum(number(usage.get(name), 0) for name in CACHED)
