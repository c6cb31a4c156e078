"""What services answer, by their protocols: a complete answer of each, and how it is read."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.fuzz.mutations import raises_only
from tests.servers import LocalServer, Response
from trustgauge.apps.proxy.exchange import Exchange
from trustgauge.apps.proxy.exchange_parser import ParsedExchange, UnratableError, parse_exchange
from trustgauge.apps.proxy.wire import END, MalformedError, ResponseReader, request_head
from trustgauge.errors import GarbledError, RejectedError, ServiceError
from trustgauge.records import Message, Reply
from trustgauge.services import Service, ServiceSpec, check_reply
from trustgauge.services.anthropic import Anthropic
from trustgauge.services.chat import OpenAi
from trustgauge.services.command import _reply
from trustgauge.services.http import Http
from trustgauge.services.server_events import events
from trustgauge.services.translate import (
    ApertiumApy,
    DeepL,
    Google,
    LibreTranslate,
    NetworkTranslator,
    Yandex,
)
from trustgauge.services.transport import HttpResponse

OPENAI = {
    "id": "c-1",
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Both."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
}
ANTHROPIC = {
    "type": "message",
    "content": [{"type": "text", "text": "Both."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 12, "output_tokens": 3},
}
DELTAS = [
    {"choices": [{"delta": {"role": "assistant", "content": "Bo"}}]},
    {"choices": [{"delta": {"content": "th."}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3}},
]
BLOCKS = [
    {"type": "message_start", "message": {"usage": {"input_tokens": 12, "output_tokens": 1}}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Both."}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
    {"type": "message_stop"},
]


class Telling:
    """A real server that answers what it is told to."""

    def __init__(self) -> None:
        self.now = Response()
        self.server = LocalServer(lambda request: self.now)

    def tell(self, answer: HttpResponse) -> None:
        self.now = Response(answer.status, answer.body, (("content-type", answer.content_type),))


async def asked(live: Service) -> Reply:
    """One reply, and the service is closed."""
    try:
        (reply,) = await live.ask([Message("Who?")])
        return reply
    finally:
        await live.close()


def usable(reply: Reply) -> None:
    """A reply that the engine keeps: text that can be stored, and a cost that adds up."""
    if isinstance(reply.output, str):
        reply.output.encode()
    check_reply(reply, "Test")


def said(about: ServiceSpec) -> None:
    """Ask once; the answer is a usable reply, or refused by an error of ours."""
    with raises_only(ServiceError):
        usable(asyncio.run(asked(about.open())))


def as_json(value: Any, status: int = 200) -> HttpResponse:
    return HttpResponse(status, json.dumps(value).encode("ascii"), "application/json")


def as_stream(found: list[Any]) -> HttpResponse:
    body = "".join(f"data: {json.dumps(one)}\n\n" for one in found) + "data: [DONE]\n\n"
    return HttpResponse(200, body.encode("ascii"), "text/event-stream")


TRANSLATED = [{"text": "Hola", "detected_source_language": "EN"}]
KEYS = ("DEEPL_API_KEY", "GOOGLE_API_KEY", "YANDEX_API_KEY")
TRANSLATORS: tuple[tuple[type[NetworkTranslator], Any], ...] = (
    (ApertiumApy, {"responseData": {"translatedText": "Hola"}, "responseStatus": 200}),
    (LibreTranslate, {"translatedText": ["Hola"]}),
    (DeepL, {"translations": TRANSLATED}),
    (Google, {"data": {"translations": [{"translatedText": "Hola"}]}}),
    (Yandex, {"translations": TRANSLATED}),
)


LINE = {"id": 3, "output": "Both.", "tokens": 5, "usd": 0.1, "refused": False}


ASKED = {"model": "m", "messages": [{"role": "user", "content": "Who?"}], "user": "u1"}


HEAD = b"POST /v1/chat/completions?key=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 12\r\nX: y"
BACK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked"


Reader = Callable[[bytes], Any]


@dataclass(frozen=True)
class Spoken:
    """A kind of answer.

    Attributes:
        name: what it is.
        whole: the bytes of a whole one.
        read: what is done with it.
        errors: in which it may end.
    """

    name: str
    whole: bytes
    read: Reader
    errors: tuple[type[Exception], ...] = (ServiceError,)


@cache
def server() -> Telling:
    """A server for all, which ends with the process."""
    telling = Telling()
    telling.server.__enter__()
    return telling


def over_http(make: Callable[[str], ServiceSpec], usual: HttpResponse) -> Reader:
    """Ask a service that answers these bytes."""

    def read(data: bytes) -> None:
        for name in KEYS:
            os.environ.setdefault(name, "a-key-of-tests-0123456789")
        server().tell(HttpResponse(usual.status, data, usual.content_type))
        usable(asyncio.run(asked(make(server().server.url).open())))

    return read


def spoken(name: str, make: Callable[[str], ServiceSpec], usual: HttpResponse) -> Spoken:
    return Spoken(name, usual.body, over_http(make, usual))


def traffic(data: bytes) -> None:
    """What a client sent, a line of its own, and what came back."""
    exchange = Exchange("POST", "/v1/chat/completions", read=True, status=200, whole=True)
    exchange.kind = "application/json"
    sent, _, back = data.partition(b"\n")
    exchange.sent.add(sent)
    exchange.back.add(back)
    assert isinstance(parse_exchange(exchange), ParsedExchange)


def response(data: bytes) -> None:
    ResponseReader(request_head(HEAD)).take(data + END, None)


def head(data: bytes) -> None:
    found = request_head(data)
    found.sent_to("127.0.0.1", "/")


def of(kind: Any, **settings: Any) -> Callable[[str], ServiceSpec]:
    return lambda url: kind(url=url, **settings)


WHOLE = as_json(OPENAI)
ANSWERS: tuple[Spoken, ...] = (
    spoken("openai", of(OpenAi, model="m"), WHOLE),
    spoken("openai stream", of(OpenAi, model="m"), as_stream(DELTAS)),
    spoken("openai error", of(OpenAi, model="m"), as_json({"error": {"message": "x", "code": "y"}}, 400)),
    spoken("anthropic", of(Anthropic, model="m"), as_json(ANTHROPIC)),
    spoken("anthropic stream", of(Anthropic, model="m"), as_stream(BLOCKS)),
    spoken(
        "http", of(Http, task="chat", response="a.0.b", tokens="t"), as_json({"a": [{"b": "Hi"}], "t": 3})
    ),
    *(spoken(one.__name__, of(one, source="en", target="es"), as_json(whole)) for one, whole in TRANSLATORS),
    Spoken(
        "events",
        as_stream(DELTAS).body,
        lambda data: list(events(data.decode("utf-8", "replace"))),
        (ValueError,),
    ),
    Spoken(
        "line", json.dumps(LINE).encode(), lambda data: _reply(data, 3, "chat"), (GarbledError, RejectedError)
    ),
    Spoken("traffic", json.dumps(ASKED).encode() + b"\n" + WHOLE.body, traffic, (UnratableError,)),
    Spoken("request head", HEAD, head, (MalformedError,)),
    Spoken(
        "response head",
        BACK,
        response,
        (MalformedError,),
    ),
)
"""Every protocol, for fuzzing by bytes; `test_answers.py` changes their parts as well."""
