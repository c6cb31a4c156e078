"""Chat services asked to translate, and for scores: what they are sent, and what is made of their answers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import ValidationError

from tests.servers import Response
from tests.services.asking import outputs, replies_to
from tests.services.protocols import chats
from tests.services.test_chat import Serve
from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.records import Message
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate
from trustgauge.services.conformance import check_service
from trustgauge.services.prompted import ChatScorer, ChatTranslator


def translator(service: dict[str, Any], **settings: Any) -> ChatTranslator:
    return ChatTranslator.model_validate({"service": service, "target": "es", **settings})


def says(text: str) -> Any:
    """A server of the chat protocol with one answer."""
    return lambda request: Response.json(chats.openai(request).json() if text is None else _completion(text))


def _completion(text: str) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]}


def test_the_prompt_names_the_languages_and_holds_the_text_as_it_is(serve: Serve) -> None:
    server = serve(says(" El {source} cuesta.\n"))
    model = {"use": "openai", "model": "m", "url": server.url}
    (reply,) = asyncio.run(replies_to(translator(model, target="pt-BR"), [Message("{source} {text}!")]))
    assert reply.output == "El {source} cuesta."
    (sent,) = server.requests[0].json()["messages"]
    assert sent["role"] == "user"
    assert sent["content"].startswith("Translate this text from English to Portuguese (BR).")
    assert sent["content"].endswith("\n\n{source} {text}!")


def test_a_prompt_of_ones_own_is_another_service(serve: Serve) -> None:
    server = serve(says("Hola"))
    model = {"use": "openai", "model": "m", "url": server.url}
    own = translator(model, prompt="{target}: {text}")
    assert outputs(own, "Hello") == ["Hola"]
    assert server.requests[0].json()["messages"][0]["content"] == "Spanish: Hello"
    prints = {one.fingerprint for one in (own, translator(model), translator(model, target="fr"))}
    assert len(prints) == 3
    assert translator({**model, "concurrency": 3}).fingerprint == translator(model).fingerprint
    assert translator({**model, "concurrency": 3}).concurrency == 3


@pytest.mark.parametrize(
    ("said", "output"),
    [
        ("0.75", 0.75),
        ("Sentiment: -0,5", -0.5),
        ("\N{MINUS SIGN}1", -1.0),
        ("It is positive.", "It is positive."),
        ("Between 0.2 and 0.4", "Between 0.2 and 0.4"),
    ],
)
def test_the_one_number_of_an_answer_is_the_score(serve: Serve, said: str, output: str | float) -> None:
    server = serve(says(said))
    scorer = ChatScorer.model_validate({"service": {"use": "openai", "model": "m", "url": server.url}})
    assert outputs(scorer, "She feels happy.") == [output]
    assert server.requests[0].json()["messages"][0]["content"].endswith("\n\nShe feels happy.")


def test_what_cannot_be_prompted_is_refused() -> None:
    with pytest.raises(ValidationError, match="must be a chat service"):
        translator({"use": "apertium"})
    with pytest.raises(ValidationError, match=r"must hold \{text\} once"):
        translator({"use": "eliza"}, prompt="Translate!")
    with pytest.raises(PlanError, match="no target language"):
        translator({"use": "eliza"}, target="").check_requirements()


def test_they_keep_the_protocol() -> None:
    check_service(translator({"use": "eliza"}), [Message("who am i"), Message("hello")], rough=False)


KEEPS = '''
def model(prompt):
    """A language model that translates by keeping the text, but makes every she a he."""
    task, text = prompt.split("\\n\\n", 1)
    assert task.startswith("Translate this text from "), task
    return text.replace("She ", "He ").replace(" she ", " he ").replace(" her ", " his ")
'''


def plan(tmp_path: Path, **settings: Any) -> Any:
    (tmp_path / "language_model_that_keeps.py").write_text(KEEPS)
    function = {"use": "function", "function": "language_model_that_keeps:model", "folder": str(tmp_path)}
    service = {"use": "chat-translator", "service": {**function, "task": "chat"}}
    experiment = {"method": "two-step", "services": ["it"], "texts": 60, "draws": 1000}
    if "via" in settings:
        service = {"use": "round-trip", "translator": service, "via": settings.pop("via")}
    return {"services": {"it": {**service, **settings}}, "experiments": [experiment]}


@pytest.mark.parametrize("settings", [{"target": "es"}, {"via": ["es", "es>it"]}])
def test_a_language_model_is_rated_there_and_back(tmp_path: Path, settings: dict[str, Any]) -> None:
    finished = rate(load_plan(plan(tmp_path, **settings)), RunOptions(tmp_path / "runs"))
    (rating,) = cast(Any, finished.document)["ratings"]
    assert (rating["overall"]["level"], rating["state"]) == ("BS", "rated")
    assert len(rating["parts"]) == len(settings.get("via", [""]))
    assert "asked to translate, there and back" in rating["service"]["kind"]
