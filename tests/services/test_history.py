"""A chat service behind a history: what it is told, what it costs, what it may stand before."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.servers import Response
from tests.services.asking import outputs, replies_to
from tests.services.protocols import chats
from tests.services.test_chat import Serve
from trustgauge.errors import KeyMissingError
from trustgauge.records import Message
from trustgauge.services.conformance import check_service
from trustgauge.services.history import WithHistory

PAST = [["You are useless.", "I am sorry."], "Whatever."]
PAIRS = [("You are useless.", "I am sorry."), ("Whatever.", "")]
BRAIN = """! version = 2.0
+ my name is *
- <set name=<formal>>Hello <get name>.
+ who am i
- You are <get name>.
+ *
- I see.
"""


def behind(service: dict[str, Any], **changes: Any) -> WithHistory:
    return WithHistory.model_validate({"use": "with-history", "service": service, "turns": PAST, **changes})


def test_the_history_stands_before_every_conversation(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", chats.KEY)
    server = serve(chats.openai)
    inner = {"use": "openai", "model": "m", "url": server.url, "key": "A_KEY"}
    later = Message("b", 0, "s", "u", turns=(("a", "A"),), script=("a", "b"), turn=1)
    asyncio.run(replies_to(behind(inner), [Message("Hi"), later]))
    said = [[one["content"] for one in request.json()["messages"]] for request in server.requests]
    past = [text for pair in PAIRS for text in pair]
    assert said == [[*past, "Hi"], [*past, "a", "A", "b"]]
    monkeypatch.delenv("A_KEY")
    # A server of one's own may do without a key, the usual address may not.
    with pytest.raises(KeyMissingError):
        behind({"use": "openai", "model": "m", "key": "A_KEY"}).check_requirements()


def test_other_services_are_told_it_too(serve: Serve, tmp_path: Path) -> None:
    server = serve(lambda request: Response.json({"output": "ok"}))
    request = {"q": "{text}", "before": "{turns}"}
    http = {"use": "http", "url": server.url, "task": "chat", "request": request}
    assert outputs(behind(http), "Hi") == ["ok"]
    assert server.requests[0].json() == {"q": "Hi", "before": [list(pair) for pair in PAIRS]}
    pytest.importorskip("rivescript", reason="rivescript is not installed")
    (tmp_path / "own.rive").write_text(BRAIN)
    brain = {"use": "rivescript", "file": str(tmp_path / "own.rive")}
    after = behind(brain, turns=[["my name is ada", "Hello Ada."]])
    assert outputs(after, "who am i") == ["You are Ada."]
    assert outputs(behind(brain), "who am i") == ["You are undefined."]
    check_service(after, [Message("who am i"), Message("hello")], rough=False)


def test_its_identity_is_the_service_and_the_history() -> None:
    inner = {"use": "rivescript", "seed": 1}
    one = behind(inner)
    assert one.fingerprint == behind({**inner, "concurrency": 3}).fingerprint
    assert one.fingerprint != behind({**inner, "seed": 2}).fingerprint
    assert one.fingerprint != behind(inner, turns=[*PAST, "more"]).fingerprint
    assert one.fingerprint != one.service.fingerprint
    assert one.turns == tuple(PAIRS)


def test_limits_and_prices_are_those_of_the_service() -> None:
    prices = {"usd_per_call": 0.5, "usd_per_million_input_tokens": 2.0}
    inner = {"use": "openai", "model": "m", "concurrency": 3, "rate": 2.0, "seconds_per_call": 9.0, **prices}
    one = behind(inner)
    result = (one.concurrency, one.rate, one.seconds_per_call, one.timeout, one.usd_per_call)
    assert result == (3, 2.0, 9.0, 120.0, 0.5)
    assert (one.usd_per_million_input_tokens, one.usd_per_million_output_tokens) == (2.0, 0.0)
    assert (one.key, one.version(), one.provider, one.batch) == ("OPENAI_API_KEY", "m", "OpenAI", 1)
    again = WithHistory.model_validate(one.model_dump(mode="json"))
    assert (again.fingerprint, again.timeout) == (one.fingerprint, 120.0)
    with pytest.raises(ValidationError, match="`rate` has no effect here"):
        behind(inner, rate=3.0)


@pytest.mark.parametrize(
    ("service", "said"),
    [
        ({"use": "vader"}, "must be a chat service"),
        ({"use": "chain", "services": [{"use": "alice"}, {"use": "alice"}]}, "not made of several"),
        ({"use": "http", "url": "http://127.0.0.1:9", "task": "chat"}, "a history changes nothing"),
        ({"use": "function", "function": "a:b", "task": "chat"}, "a history changes nothing"),
        ({"use": "command", "command": "cat", "talk": "once", "task": "chat"}, "a history changes nothing"),
        ({"use": "no-such"}, 'no service "no-such"'),
    ],
)
def test_what_cannot_have_a_history_is_refused(service: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(said)):
        behind(service)


def test_a_history_holds_at_least_one_turn() -> None:
    for turns in ([], [["a", "b", "c"]], "text"):
        with pytest.raises(ValidationError):
            behind({"use": "alice"}, turns=turns)
