"""What makes two descriptions the same service, of which one rating is older: the place they ask."""

from __future__ import annotations

from typing import Any

import pytest

from trustgauge import plugins
from trustgauge.run.targets import rateable_service

HTTP: dict[str, Any] = {"use": "http", "url": "http://localhost:1/a", "deterministic": True}
THERE: dict[str, Any] = {**HTTP, "request": {"text": "{text}", "from": "{source}", "to": "{target}"}}
OPENAI: dict[str, Any] = {"use": "openai", "model": "one", "url": "http://localhost:1/v1", "key": ""}
TRIP: dict[str, Any] = {"use": "round-trip", "translator": THERE, "via": ["es"]}


def place(service: dict[str, Any]) -> str:
    description = plugins.load("services", service["use"]).model_validate(service)
    return rateable_service(description).place_digest()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (HTTP, {**HTTP, "timeout": 5, "response": "text", "headers": {"x": "y"}}),
        (OPENAI, {**OPENAI, "temperature": 0.5, "system": "Be kind."}),
        (TRIP, {**TRIP, "translator": {**THERE, "busy_codes": [503]}}),
        (TRIP, {**THERE, "source": "en", "target": "es"}),  # which is rated there and back
        ({"use": "command", "command": ["bot"]}, {"use": "command", "command": ["bot"], "revision": "2"}),
        (
            {"use": "huggingface", "model": "a/b", "revision": "a" * 40},
            {"use": "huggingface", "model": "a/b", "revision": "b" * 40},
        ),
    ],
)
def test_another_version_or_setting_is_the_same_place(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert place(one) == place(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (HTTP, {**HTTP, "url": "http://localhost:1/b"}),
        (HTTP, {**HTTP, "request": {"q": "{text}"}}),
        (OPENAI, {**OPENAI, "model": "two"}),
        (OPENAI, {**OPENAI, "url": "http://localhost:2/v1"}),
        (OPENAI, {**OPENAI, "use": "completions"}),
        (TRIP, {**TRIP, "via": ["fi"]}),
        (TRIP, {**TRIP, "translator": {**THERE, "url": "http://localhost:1/b"}}),
        (TRIP, {**THERE, "source": "en"}),
        (OPENAI, {"use": "chat-scorer", "service": OPENAI}),
        ({"use": "eliza"}, {"use": "eliza", "bot": "zen"}),
    ],
)
def test_another_address_model_or_route_is_another_place(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert place(one) != place(other)
