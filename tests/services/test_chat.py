"""Chat services over the network, by their protocols against real local servers."""

from __future__ import annotations

import asyncio
import logging
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from tests.servers import LocalServer, Request, Response, script
from tests.services.asking import outputs, replies, replies_to
from tests.services.protocols import chats
from tests.services.protocols.chats import KEY, WIDE
from trustgauge.errors import (
    BusyError,
    GarbledError,
    KeyMissingError,
    PlanError,
    RefusedError,
    RejectedError,
    ServiceError,
    UnavailableError,
)
from trustgauge.records import Message
from trustgauge.services import chat
from trustgauge.services.anthropic import Anthropic
from trustgauge.services.chat_protocol import ChatSpec
from trustgauge.services.conformance import check_service

Serve = Callable[..., LocalServer]
PROVIDERS = (
    chat.OpenAi,
    chat.Ollama,
    chat.Mistral,
    chat.Groq,
    chat.OpenRouter,
    chat.Gemini,
    chat.Azure,
    Anthropic,
)
VARIABLES = {
    "OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST", "MISTRAL_API_KEY", "GROQ_API_KEY",
    "OPENROUTER_API_KEY", "GOOGLE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT",
    "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL",
}  # fmt: skip
MESSAGES = [Message("She is a nurse."), Message("He is a baker."), Message("你好")]
SESSION = Message(
    "And men?", session="s", user="u", turns=(("Hi", "Hello!"), ("Are women lazy?", "")), script=("x",) * 3
)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def openai(server: LocalServer, **changes: Any) -> chat.OpenAi:
    return chat.OpenAi.model_validate({"use": "openai", "model": "m-1", "url": server.url, **changes})


def anthropic(server: LocalServer, **changes: Any) -> Anthropic:
    return Anthropic.model_validate({"use": "anthropic", "model": "m-1", "url": server.url, **changes})


def failure(description: ChatSpec) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        outputs(description, "Are women lazy?")
    assert KEY not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("stream", [False, True])
def test_openai_keeps_the_protocol(serve: Serve, stream: bool) -> None:
    server = serve(chats.openai)
    check_service(openai(server, stream=stream, deterministic=True, temperature=0), MESSAGES)


@pytest.mark.parametrize("stream", [False, True])
def test_anthropic_keeps_the_protocol(serve: Serve, stream: bool) -> None:
    server = serve(chats.anthropic)
    check_service(anthropic(server, stream=stream, deterministic=True), MESSAGES)


@pytest.mark.parametrize("stream", [False, True])
def test_words_tokens_and_price_are_read(serve: Serve, stream: bool) -> None:
    prices = {"usd_per_million_input_tokens": 2.0, "usd_per_million_output_tokens": 10.0, "stream": stream}
    (reply,) = replies(openai(serve(chats.openai), **prices), "Hello")
    assert (reply.output, reply.tokens) == (f"1 turns, last: Hello{WIDE}end", 16)
    assert reply.usd == pytest.approx((11 * 2 + 5 * 10) / 1e6)
    (reply,) = replies(anthropic(serve(chats.anthropic), **prices), "Hello")
    assert (reply.output, reply.tokens) == (f"1 turns, last: Hello{WIDE}end", 13)
    assert reply.usd == pytest.approx((9 * 2 + 4 * 10) / 1e6)


def test_settings_and_session_are_sent(serve: Serve) -> None:
    server = serve(chats.openai)
    settings = {
        "system": "Be brief.",
        "temperature": 0.5,
        "max_tokens": 7,
        "seed": 40,
        "extra": {"top_p": 0.9},
    }
    asyncio.run(replies_to(openai(server, **settings), [SESSION, Message("Hi", draw=2)]))
    first, second = (request.json() for request in server.requests)
    roles = ["system", "user", "assistant", "user", "assistant", "user"]
    assert [message["role"] for message in first["messages"]] == roles
    assert [message["content"] for message in first["messages"]][2:5] == ["Hello!", "Are women lazy?", ""]
    known = {"model": "m-1", "temperature": 0.5, "max_tokens": 7, "seed": 40, "top_p": 0.9}
    assert {name: first[name] for name in first if name != "messages"} == known
    assert second["seed"] == 42, "each draw is an answer of its own"
    assert [message["content"] for message in second["messages"]] == ["Be brief.", "Hi"]


def test_anthropic_sends_no_empty_turn(serve: Serve) -> None:
    server = serve(chats.anthropic)
    asyncio.run(replies_to(anthropic(server, system="Be brief.", extra={"top_k": 1}), [SESSION]))
    asked = server.requests[0].json()
    assert [message["content"] for message in asked["messages"]] == [
        "Hi",
        "Hello!",
        "Are women lazy?",
        "And men?",
    ]
    assert (asked["system"], asked["max_tokens"], asked["top_k"]) == ("Be brief.", 1024, 1)


def test_in_a_scene_the_service_is_told_who_asks(serve: Serve) -> None:
    server = serve(chats.openai)
    cast = (("ann", "x"), ("bob", "y"))
    scene = [
        Message(text, 1, "s7", user, script=("a", "b"), turn=turn, cast=cast)
        for turn, (text, (user, _)) in enumerate(zip("ab", cast, strict=True))
    ]
    asyncio.run(replies_to(openai(server), [*scene, SESSION, Message("Hi")]))
    sent = [request.json() for request in server.requests]
    users = [one.get("user") for one in sent]
    run = str(users[0]).removeprefix("s7-ann-").removesuffix("-1")
    assert users == [f"s7-ann-{run}-1", f"s7-bob-{run}-1", None, None]
    asyncio.run(replies_to(openai(server), scene))
    assert server.requests[-1].json()["user"] not in users, (
        "a service that remembers people knows one run only"
    )
    for strict in (chat.Mistral, chat.Gemini):
        settings = {"model": "m", "url": server.url, "key": "OPENAI_API_KEY"}
        asyncio.run(replies_to(strict.model_validate(settings), scene[:1]))
        assert "user" not in server.requests[-1].json(), "it rejects fields that it does not know"
    theirs = serve(chats.anthropic)
    asyncio.run(replies_to(anthropic(theirs), [scene[1], SESSION]))
    (ours,), none = ((one.json().get("metadata") or {}).values() for one in theirs.requests)
    assert re.fullmatch(r"s7-bob-[0-9a-f]{8}-1", ours)
    assert not none


@pytest.mark.parametrize(
    ("answer", "text", "refused"),
    [
        (chats.completion("Yes."), "Yes.", False),
        (chats.completion(None), "", False),
        (chats.completion([{"type": "thinking"}, {"type": "text", "text": "Yes."}]), "Yes.", False),
        (chats.completion(None, refusal="I can't."), "I can't.", True),
        (chats.completion("", "content_filter"), "", True),
        (chats.completion("half \ud83d"), "half \N{REPLACEMENT CHARACTER}", False),
        (chats.completion(f"your key is {KEY}"), "your key is [key removed]", False),
    ],
)
def test_what_a_service_may_say(
    serve: Serve, answer: Callable[[Request], Response], text: str, refused: bool
) -> None:
    (reply,) = replies(openai(serve(answer)), "Are women lazy?")
    assert (reply.output, reply.refused) == (text, refused)


@pytest.mark.parametrize(
    "error",
    [
        {"code": "content_filter", "message": "no"},
        {"code": 400, "innererror": {"code": "ResponsibleAIPolicyViolation"}, "message": "no"},
        {"code": 403, "metadata": {"reasons": ["hate"], "flagged_input": "x"}, "message": "no"},
    ],
)
@pytest.mark.parametrize("status", [200, 400])
def test_an_error_that_filters_the_question_is_a_refusal(
    serve: Serve, error: dict[str, Any], status: int
) -> None:
    (reply,) = replies(openai(serve(lambda request: Response.json({"error": error}, status))), "Hi")
    assert (reply.output, reply.refused) == ("no", True)


def test_a_question_that_names_the_filter_is_no_refusal(serve: Serve) -> None:
    facts = {"error": {"message": 'bad text "content_filter flagged_input"', "code": "too_long"}}
    assert isinstance(failure(openai(serve(lambda request: Response.json(facts, 400)))), RejectedError)


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_ends_at_the_most_tokens_is_marked_and_no_error(serve: Serve, stream: bool) -> None:
    cut = chats.completion("Women are", "length")
    if stream:
        events = [{"choices": [{"delta": {"content": "Women are"}, "finish_reason": "length"}]}, "[DONE]"]
        cut = lambda request: chats.sse(*events)  # noqa: E731
    (reply,) = replies(openai(serve(cut), stream=stream, max_tokens=2), "Hi")
    assert (reply.output, reply.cut) == ("Women are", True)
    body = {"content": [{"type": "text", "text": "Wo"}], "stop_reason": "max_tokens"}
    (reply,) = replies(anthropic(serve(lambda request: Response.json(body))), "Hi")
    assert (reply.output, reply.cut) == ("Wo", True)
    (whole,) = replies(openai(serve(chats.completion("Women."))), "Hi")
    assert not whole.cut


def counted(**usage: Any) -> Callable[[Request], Response]:
    """A handler that gives one answer with its count of tokens."""
    choice = {"message": {"role": "assistant", "content": "No."}, "finish_reason": "stop"}
    return lambda request: Response.json({"choices": [choice], **({"usage": usage} if usage else {})})


PRICES = {"usd_per_million_input_tokens": 2.0, "usd_per_million_output_tokens": 10.0}


def test_what_a_model_thought_is_paid_for(serve: Serve) -> None:
    usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 216}  # as xAI and Gemini count
    (reply,) = replies(openai(serve(counted(**usage)), **PRICES), "Hello")
    assert (reply.output, reply.tokens, reply.estimated) == ("No.", 216, False)
    assert reply.usd == pytest.approx((11 * 2 + 205 * 10) / 1e6)
    (reply,) = replies(openai(serve(counted(**{**usage, "total_tokens": 3})), **PRICES), "Hello")
    assert reply.tokens == 16  # a total that cannot be true says nothing


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("end", ["content_filter: PROHIBITED_CONTENT", "SAFETY", "content_filter"])
def test_an_answer_that_is_kept_back_is_a_refusal(serve: Serve, end: str, stream: bool) -> None:
    """So Gemini says it by its OpenAI-compatible address, without any message."""
    body = {"choices": [{"index": 0, "finish_reason": end}], "usage": {"prompt_tokens": 10}}
    answer = chats.sse(body, "[DONE]") if stream else Response.json(body)
    (reply,) = replies(openai(serve(lambda request: answer), stream=stream), "Are women lazy?")
    assert (reply.output, reply.refused, reply.tokens) == ("", True, 10)


def test_a_stream_that_is_declared_as_something_else_is_read(serve: Serve) -> None:
    stream = chats.sse({"choices": [{"delta": {"content": "No."}, "finish_reason": "stop"}]}, "[DONE]")
    for kind in ("application/json", "text/plain"):
        body = stream.body.removeprefix(b": hello\n\n")
        answer = Response(body=body, headers=(("content-type", kind),))
        assert outputs(openai(serve(lambda request, answer=answer: answer)), "Hi") == ["No."]


def test_a_model_that_wants_another_limit_says_how_to_set_it(serve: Serve) -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    server = serve(lambda request: Response.json({"error": {"message": words}}, 400))
    said = str(failure(openai(server, max_tokens=70)))
    assert "Take `max_tokens` out and set `extra = { max_completion_tokens = 70 }`" in said


@pytest.mark.parametrize("usage", [{}, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}])
def test_an_answer_whose_tokens_nobody_counts_costs_what_the_plan_guessed(
    serve: Serve, usage: dict[str, int]
) -> None:
    about = openai(serve(counted(**usage)), **PRICES, system="abcdefgh")
    message = Message("Hello", turns=(("abcd", "No."),), session="s", script=("x", "y"))
    (reply,) = asyncio.run(replies_to(about, [message]))
    read = (2 + 4) + (1 + 4) + (1 + 4) + (2 + 4)
    assert (reply.tokens, reply.estimated) == (read + 1, True)
    assert reply.usd == pytest.approx((read * 2 + 10) / 1e6)


@pytest.mark.parametrize("stream", [False, True])
def test_tokens_of_a_cache_are_counted(serve: Serve, stream: bool) -> None:
    usage = {"input_tokens": 9, "output_tokens": 4, "cache_read_input_tokens": 80}
    usage["cache_creation_input_tokens"] = 7
    body = {"content": [{"type": "text", "text": "No."}], "stop_reason": "end_turn", "usage": usage}
    answer = Response.json(body)
    if stream:
        start = {"type": "message_start", "message": {"usage": usage}}
        end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}}
        answer = chats.sse(start, end, {"type": "message_stop"}, name=True)
    (reply,) = replies(anthropic(serve(lambda request: answer), stream=stream, **PRICES), "Hello")
    assert reply.tokens == 100
    assert reply.usd == pytest.approx((96 * 2 + 4 * 10) / 1e6)


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ("<think>\nAre women lazy? Yes, say some.\n</think>\n\nNo.", "No."),
        ("Are women lazy? Yes, say some.\n</think>\n\nNo.", "No."),  # the template opened it
        ("<think>\n\n</think>\n\nNo.", "No."),
        ("<thought>Yes, say some.</thought>No.", "No."),
        ("<Reasoning>No </think> yet.</Reasoning>\nNo.", "No."),
        ("<reasoning>Yes, say", ""),
        ("<think>Are women", ""),
        (
            "Pages begin with <think> and end with </think>.",
            "Pages begin with <think> and end with </think>.",
        ),
        ("No.", "No."),
    ],
)
def test_what_a_model_thought_is_no_answer(serve: Serve, content: str, output: str) -> None:
    (reply,) = replies(openai(serve(chats.completion(content))), "Are women lazy?")
    assert reply.output == output
    assert reply.tokens > 0


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (Response.json({"error": {"code": "rate_limit_exceeded"}}, 429), BusyError),
        (Response.json({"error": {"code": "insufficient_quota"}}, 429), RefusedError),
        (Response.json({"error": {"message": f"Incorrect API key {KEY}"}}, 401), RefusedError),
        (Response.json([{"error": {"message": "API key not valid."}}], 400), RefusedError),
        (Response.json({"error": {"message": "no such model"}}, 404), RejectedError),
        (Response(500, b"<html>"), UnavailableError),
        (Response.json({"error": {"message": "busy", "code": 429}}), BusyError),
        (Response.json({"error": {"type": "overloaded_error"}}), BusyError),
        (Response.json({"error": "something"}), UnavailableError),
        (Response.json({"choices": []}), GarbledError),
        (Response.json({"choices": [{"message": {"content": 5}}]}), GarbledError),
        (Response.json([1]), GarbledError),
        (Response(body=b"{"), GarbledError),
        (chats.sse({"choices": [{"delta": {"content": "Wo"}}]}), UnavailableError),
        (chats.sse("{", "[DONE]"), GarbledError),
        (chats.sse("[1]"), GarbledError),
        (chats.sse({"choices": [{"delta": {"content": 7}}]}, "[DONE]"), GarbledError),
        (chats.sse({"error": {"code": 429, "message": "slow down"}}), BusyError),
    ],
)
def test_what_goes_wrong_is_told_apart(serve: Serve, response: Response, kind: type[ServiceError]) -> None:
    error = failure(openai(serve(lambda request: response)))
    assert type(error) is kind
    no_message = "has no message" in str(error)
    assert ('write use = "http"' in str(error)) == no_message == ("of /chat/completions" in str(error))


@pytest.mark.parametrize("status", [404, 502])
def test_errors_name_the_server_that_was_asked(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    server = serve(lambda request: Response(status))
    host = server.url.removeprefix("http://")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    for service in (openai(server), anthropic(server), chat.OpenAi(model="m-1")):
        assert str(failure(service)).startswith(f"{host} answered {status} ")
        assert service.offered_by() == host  # nobody is rated who was not asked
    monkeypatch.delenv("OPENAI_BASE_URL")
    for service in (chat.OpenAi(model="m-1"), chat.OpenAi(model="m-1", url="https://eu.api.openai.com/v1")):
        assert service.name_in_errors() == service.offered_by() == "OpenAI"
    assert chat.Ollama(model="m-1").name_in_errors() == "Ollama"


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (chats.sse({"type": "error", "error": {"type": "overloaded_error"}}, name=True), BusyError),
        (chats.sse({"type": "message_start", "message": {}}, name=True), UnavailableError),
        (Response.json({"type": "message", "content": "text"}), GarbledError),
        (Response(529, b"{}"), BusyError),
    ],
)
def test_what_goes_wrong_with_anthropic(serve: Serve, response: Response, kind: type[ServiceError]) -> None:
    assert type(failure(anthropic(serve(lambda request: response)))) is kind


def test_a_refusal_of_anthropic(serve: Serve) -> None:
    body = {"content": [{"type": "text", "text": "I won't."}], "stop_reason": "refusal"}
    (reply,) = replies(anthropic(serve(lambda request: Response.json(body))), "Hi")
    assert (reply.output, reply.refused) == ("I won't.", True)


def test_retry_after_is_passed_on(serve: Serve) -> None:
    slow = Response(429, b"{}", (("retry-after", "3"),))
    error = failure(openai(serve(script(slow, Response(500)))))
    assert isinstance(error, BusyError)
    assert error.retry_after == 3


def test_a_server_that_does_not_stream_is_read_all_the_same(serve: Serve) -> None:
    assert outputs(openai(serve(chats.completion("Yes.")), stream=True), "Hi") == ["Yes."]


def test_no_key_is_logged_or_told(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    server = serve(lambda request: Response.json({"error": {"message": f"{request.head!r}"}}, 400))
    with caplog.at_level(logging.DEBUG):
        service = openai(server)
        failure(service)
    assert KEY not in caplog.text + repr(service) + service.model_dump_json() + repr(service.identity())
    assert pickle.loads(pickle.dumps(service)) == service
    assert KEY.encode() not in pickle.dumps(service)


def test_addresses_come_from_the_environment(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(chats.openai)
    usual = chat.OpenAi(model="m-1")
    before = usual.fingerprint
    monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
    assert outputs(usual, "Hi")
    assert usual.fingerprint == openai(server).fingerprint != before
    monkeypatch.setenv("OPENAI_BASE_URL", "not an address")
    with pytest.raises(PlanError, match=r"OPENAI_BASE_URL: no usable address\. Must be"):
        usual.check_requirements()


def test_a_server_of_ones_own_needs_no_key(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(KeyMissingError, match="OPENAI_API_KEY"):
        chat.OpenAi(model="m-1").open()
    server = serve(lambda request: chats.openai(request, key=""))
    assert outputs(openai(server), "Hi")
    assert "authorization" not in server.requests[0].headers


def test_ollama_host_is_read_as_its_maker_does(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    service = chat.Ollama.named("llama3.2:1b")
    assert service.base() == "http://localhost:11434/v1"
    for value, base in (
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("box:80", "http://box:80/v1"),
        ("https://box.example/", "https://box.example/v1"),
    ):
        monkeypatch.setenv("OLLAMA_HOST", value)
        assert service.base() == base
    server = serve(lambda request: chats.openai(request, "/v1/chat/completions", key=""))
    monkeypatch.setenv("OLLAMA_HOST", server.url.removeprefix("http://"))
    assert outputs(service, "Hi")


def test_azure_asks_its_resource(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    service = chat.Azure(model="deployment", max_tokens=5)
    with pytest.raises(KeyMissingError, match="AZURE_OPENAI_ENDPOINT"):
        service.check_requirements()
    server = serve(lambda request: chats.openai(request, "/openai/v1/chat/completions", key=""))
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url)
    with pytest.raises(KeyMissingError, match="AZURE_OPENAI_API_KEY"):
        service.check_requirements()
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    assert outputs(service, "Hi")
    assert server.requests[0].headers["api-key"] == KEY
    assert server.requests[0].json()["max_completion_tokens"] == 5


def test_mistral_has_its_own_name_for_the_seed(serve: Serve) -> None:
    server = serve(lambda request: chats.openai(request, key=""))
    service = chat.Mistral(model="m-1", url=server.url, seed=3, stream=True)
    assert outputs(service, "Hi") == [f"1 turns, last: Hi{WIDE}end"]
    asked = server.requests[0].json()
    assert asked["random_seed"] == 3
    assert not {"seed", "stream_options"} & set(asked)


def test_the_limit_has_the_name_that_the_service_knows() -> None:
    assert "max_completion_tokens" in chat.OpenAi(model="m", max_tokens=3).request(Message("x"))
    assert "max_tokens" in chat.Groq(model="m", max_tokens=3).request(Message("x"))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_has_a_short_form_and_an_identity(provider: type[ChatSpec]) -> None:
    service = provider.named("maker/model-1")
    assert (service.model, service.version(), service.task) == ("maker/model-1", "maker/model-1", "chat")
    assert provider.model_validate({"use": service.use, "model": "maker/model-1"}) == service
    assert service.fingerprint != provider.named("other").fingerprint
    same = {"stream": True, "usd_per_million_input_tokens": 1.0, "deterministic": True, "timeout": 1.0}
    assert service.model_copy(update=same).fingerprint == service.fingerprint
    for changes in ({"system": "x"}, {"temperature": 0.1}, {"max_tokens": 3}, {"extra": {"top_p": 1}}):
        assert service.model_copy(update=changes).fingerprint != service.fingerprint
    with pytest.raises(ValueError, match="must follow the slash"):
        provider.named("")


def test_no_two_providers_are_the_same_service() -> None:
    assert len({provider.named("m").fingerprint for provider in PROVIDERS}) == len(PROVIDERS)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "Field required"),
        ({"model": ""}, "at least 1 character"),
        ({"model": "m", "key": KEY}, "name of an environment variable"),
        ({"model": "m", "url": "localhost:80"}, "begins with"),
        ({"model": "m", "url": "http://a/v1?key=1"}, "before any query"),
        ({"model": "m", "url": "http://me:secret@a/v1"}, "address without user, password or key"),
        ({"model": "m", "extra": {"messages": []}}, "may not set messages"),
        ({"model": "m", "temperature": -1}, "greater than or equal to 0"),
        ({"model": "m", "max_tokens": 0}, "greater than or equal to 1"),
    ],
)
def test_wrong_settings_are_told(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        chat.OpenAi.model_validate({"use": "openai", **settings})
    assert said in str(caught.value)
