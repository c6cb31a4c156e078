"""Chat services that speak OpenAI's protocol: OpenAI, those compatible with it, servers of your own.

    [services.mine]
    use = "openai"
    model = "gpt-4o-mini"
    temperature = 0

Keys stand in environment variables, addresses too where their makers' own tools look for them
(OPENAI_BASE_URL, OLLAMA_HOST, AZURE_OPENAI_ENDPOINT). The turns of a session are sent along with
each message; the service itself keeps nothing. In a scene of several users or conversations the
field `user` tells who asks, in case the service does keep something; no two runs share a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from trustgauge.records import Message
from trustgauge.services import storable
from trustgauge.services.chat_protocol import ChatAnswer, ChatSpec, gather_events, is_declined, words_of
from trustgauge.services.session_replay import person


class OpenAi(ChatSpec):
    """OpenAI, or any server that speaks its chat protocol: set `url` or OPENAI_BASE_URL."""

    provider: ClassVar[str] = "OpenAI"
    own_hosts: ClassVar[tuple[str, ...]] = ("api.openai.com", ".api.openai.com")
    usual_url: ClassVar[str] = "https://api.openai.com/v1"
    url_variable: ClassVar[str] = "OPENAI_BASE_URL"
    path: ClassVar[str] = "/chat/completions"
    knows_users: ClassVar[bool] = True  # takes the field `user`; strict servers reject what they do not know

    use: str = "openai"
    key: str = "OPENAI_API_KEY"

    def limit_name(self) -> str:
        """OpenAI's newer models reject the old name of the limit; most other servers know only that."""
        return "max_completion_tokens" if self.base() == OpenAi.usual_url else "max_tokens"

    def request(self, message: Message) -> dict[str, Any]:
        said = [{"role": "system", "content": self.system}] if self.system else []
        for user, bot in message.turns:
            said += [{"role": "user", "content": storable(user)}]
            said += [{"role": "assistant", "content": storable(bot)}]
        said += [{"role": "user", "content": storable(message.text)}]
        asked: dict[str, Any] = {"model": self.model, "messages": said}
        if self.temperature is not None:
            asked["temperature"] = self.temperature
        if self.max_tokens is not None:
            asked[self.limit_name()] = self.max_tokens
        if self.seed is not None:
            asked["seed"] = self.seed + message.draw
        if message.cast and self.knows_users:
            asked["user"] = storable(person(message))
        if self.stream:
            asked["stream_options"] = {"include_usage": True}
        return asked

    def read(self, whole: Mapping[str, Any]) -> ChatAnswer | None:
        choice = _first(whole.get("choices"))
        if choice is None:
            return None
        message = choice.get("message")
        if message is None and is_declined(str(choice.get("finish_reason"))):
            message = {}  # Gemini leaves out the message that it keeps back
        said = ChatAnswer()
        said.count(whole.get("usage"))
        return said if _add(said, choice, message) else None

    def gather(self, stream: Iterable[dict[str, Any] | None]) -> ChatAnswer | None:
        return gather_events(stream, _add_event)


class Ollama(OpenAi):
    """A local Ollama server; OLLAMA_HOST may hold its address, also as `host:port`."""

    provider: ClassVar[str] = "Ollama"
    own_hosts: ClassVar[tuple[str, ...]] = ("ollama.com",)
    usual_url: ClassVar[str] = "http://localhost:11434/v1"
    url_variable: ClassVar[str] = "OLLAMA_HOST"
    key_needed: ClassVar[bool] = False

    use: str = "ollama"
    key: str = ""

    def _from_environment(self, value: str) -> str:
        """Servers listen at 0.0.0.0, but are not reached there on every system."""
        scheme, found, place = value.rpartition("://")
        place = place.rstrip("/").replace("0.0.0.0", "127.0.0.1", 1)
        port = "" if found or ":" in place.rpartition("]")[2] else ":11434"
        return f"{scheme or 'http'}://{place}{port}/v1"


class Mistral(OpenAi):
    """Mistral's own service."""

    provider: ClassVar[str] = "Mistral"
    own_hosts: ClassVar[tuple[str, ...]] = ("api.mistral.ai",)
    usual_url: ClassVar[str] = "https://api.mistral.ai/v1"
    url_variable: ClassVar[str] = ""
    knows_users: ClassVar[bool] = False

    use: str = "mistral"
    key: str = "MISTRAL_API_KEY"

    def request(self, message: Message) -> dict[str, Any]:
        """As of OpenAI, with Mistral's name of the seed and without options that it rejects."""
        asked = super().request(message)
        asked.pop("stream_options", None)
        if "seed" in asked:
            asked["random_seed"] = asked.pop("seed")
        return asked


class Groq(OpenAi):
    """Groq."""

    provider: ClassVar[str] = "Groq"
    own_hosts: ClassVar[tuple[str, ...]] = ("api.groq.com",)
    usual_url: ClassVar[str] = "https://api.groq.com/openai/v1"
    url_variable: ClassVar[str] = ""

    use: str = "groq"
    key: str = "GROQ_API_KEY"


class OpenRouter(OpenAi):
    """OpenRouter; a model's name has a slash of its own: `openrouter/maker/model`."""

    provider: ClassVar[str] = "OpenRouter"
    own_hosts: ClassVar[tuple[str, ...]] = ("openrouter.ai",)
    usual_url: ClassVar[str] = "https://openrouter.ai/api/v1"
    url_variable: ClassVar[str] = ""

    use: str = "openrouter"
    key: str = "OPENROUTER_API_KEY"


class Gemini(OpenAi):
    """Google's Gemini by its OpenAI-compatible address."""

    provider: ClassVar[str] = "Google"
    own_hosts: ClassVar[tuple[str, ...]] = ("generativelanguage.googleapis.com",)
    usual_url: ClassVar[str] = "https://generativelanguage.googleapis.com/v1beta/openai"
    url_variable: ClassVar[str] = ""
    knows_users: ClassVar[bool] = False

    use: str = "gemini"
    key: str = "GOOGLE_API_KEY"


class Azure(OpenAi):
    """Azure OpenAI (v1 of its interface); `model` is the name of the deployment."""

    provider: ClassVar[str] = "Azure OpenAI"
    own_hosts: ClassVar[tuple[str, ...]] = (".openai.azure.com", ".services.ai.azure.com")
    usual_url: ClassVar[str] = ""
    url_variable: ClassVar[str] = "AZURE_OPENAI_ENDPOINT"

    use: str = "azure"
    key: str = "AZURE_OPENAI_API_KEY"

    def _from_environment(self, value: str) -> str:
        return f"{value.rstrip('/')}/openai/v1"

    def limit_name(self) -> str:
        return "max_completion_tokens"

    def headers(self, key: str) -> Mapping[str, str]:
        return {"api-key": key} if key else {}


def _first(choices: Any) -> dict[str, Any] | None:
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None


def _add_event(said: ChatAnswer, event: Mapping[str, Any]) -> bool:
    """Add an event of a stream; a last one may hold only the count of tokens."""
    choice = _first(event.get("choices"))
    return choice is None or _add(said, choice, choice.get("delta") or {})


def _add(said: ChatAnswer, choice: Mapping[str, Any], part: Any) -> bool:
    """Add a message, or a piece of one; False if its form is unknown."""
    if not isinstance(part, dict):
        return False
    for name in ("content", "refusal"):
        text = words_of(part.get(name))
        if text is None:
            return False
        said.text += text
        said.refused = said.refused or bool(name == "refusal" and text)
    said.end = str(choice.get("finish_reason") or said.end)
    return True
