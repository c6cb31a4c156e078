"""Every reader of what a service answers: whatever comes, it is read or refused by an error of ours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contracts.test_methods import SMALL
from tests.fuzz.answers import (
    ANSWERS,
    ANTHROPIC,
    ASKED,
    BACK,
    BLOCKS,
    DELTAS,
    HEAD,
    KEYS,
    LINE,
    OPENAI,
    TRANSLATORS,
    Spoken,
    Telling,
    as_json,
    as_stream,
    asked,
    said,
)
from tests.fuzz.mutations import changed, damaged, fuzzed, odd_json, odd_texts, raises_only
from trustgauge import plugins
from trustgauge.apps.proxy.exchange import Exchange
from trustgauge.apps.proxy.exchange_parser import ParsedExchange, UnratableError, parse_exchange
from trustgauge.apps.proxy.wire import END, MalformedError, ResponseReader, request_head
from trustgauge.errors import GarbledError, RejectedError
from trustgauge.methods.conformance import answers
from trustgauge.records import Reply
from trustgauge.services import MOST_TOKENS, check_reply, output_of
from trustgauge.services.anthropic import Anthropic
from trustgauge.services.chat import OpenAi
from trustgauge.services.command import _reply
from trustgauge.services.http import Http
from trustgauge.services.server_events import data_of, events
from trustgauge.services.translate import (
    NetworkTranslator,
)
from trustgauge.services.transport import ConnectionSettings, HttpResponse, Transport

Kind = type[OpenAi] | type[Anthropic]
CHATS: tuple[tuple[Kind, Any, Any], ...] = ((OpenAi, OPENAI, DELTAS), (Anthropic, ANTHROPIC, BLOCKS))
chats = pytest.mark.parametrize(("kind", "whole", "stream"), CHATS, ids=("openai", "anthropic"))


@pytest.fixture(scope="module")
def telling() -> Iterator[Telling]:
    found = Telling()
    with found.server:
        yield found


@chats
def test_the_usual_answers_are_read(telling: Telling, kind: Kind, whole: Any, stream: Any) -> None:
    about = kind(model="m", url=f"{telling.server.url}/v1")
    for answer in (as_json(whole), as_stream(stream)):
        telling.tell(answer)
        reply = asyncio.run(asked(about.open()))
        assert (reply.output, reply.tokens) == ("Both.", 15)


@chats
def test_answers_of_chat_services(telling: Telling, kind: Kind, whole: Any, stream: Any) -> None:
    about = kind(model="m", url=f"{telling.server.url}/v1")

    @fuzzed
    @given(value=st.one_of(changed(whole), odd_json), status=st.sampled_from((200, 201, 400, 429, 500)))
    def holds(value: Any, status: int) -> None:
        telling.tell(as_json(value, status))
        said(about)

    holds()


@chats
def test_streams_of_chat_services(telling: Telling, kind: Kind, whole: Any, stream: Any) -> None:
    about = kind(model="m", url=f"{telling.server.url}/v1")

    @fuzzed
    @given(found=st.one_of(changed(stream), st.lists(odd_json, max_size=4)))
    def holds(found: Any) -> None:
        telling.tell(as_stream(found))
        said(about)

    holds()


@chats
def test_damaged_bytes_of_chat_services(telling: Telling, kind: Kind, whole: Any, stream: Any) -> None:
    about = kind(model="m", url=f"{telling.server.url}/v1")

    @fuzzed
    @given(data=st.data())
    def holds(data: st.DataObject) -> None:
        usual = data.draw(st.sampled_from((as_json(whole), as_stream(stream))))
        telling.tell(HttpResponse(200, data.draw(damaged(usual.body)), usual.content_type))
        said(about)

    holds()


@fuzzed
@given(text=st.one_of(odd_texts, st.lists(odd_texts).map("\n".join)))
def test_server_events(text: str) -> None:
    with raises_only():
        list(data_of(text))
    with raises_only(ValueError):
        list(events(text))


@pytest.fixture(scope="module")
def keys() -> Iterator[None]:
    """The keys that translators want."""
    with pytest.MonkeyPatch.context() as patch:
        for name in KEYS:
            patch.setenv(name, "a-key-of-tests-0123456789")
        yield


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(("kind", "whole"), TRANSLATORS, ids=lambda one: getattr(one, "__name__", ""))
def test_answers_of_translators(telling: Telling, kind: Callable[..., NetworkTranslator], whole: Any) -> None:
    about = kind(source="en", target="es", url=telling.server.url)
    telling.tell(as_json(whole))
    assert asyncio.run(asked(about.open())).output == "Hola"

    @fuzzed
    @given(data=st.data())
    def holds(data: st.DataObject) -> None:
        usual = as_json(whole, data.draw(st.sampled_from((200, 200, 200, 400, 403, 429, 456, 500))))
        broken = damaged(usual.body).map(lambda body: HttpResponse(usual.status, body, usual.content_type))
        odd = st.one_of(changed(whole), odd_json).map(lambda value: as_json(value, usual.status))
        telling.tell(data.draw(st.one_of(odd, broken)))
        said(about)

    holds()


PLACES = ("", "a", "a.0.b", "/a/0", "a~1b", "0", ".", "a..b", "/", "9" * 50)


def test_answers_of_described_services(telling: Telling) -> None:
    @fuzzed
    @given(value=odd_json, place=st.sampled_from(PLACES), task=st.sampled_from(("chat", "score")))
    def holds(value: Any, place: str, task: Any) -> None:
        url = telling.server.url
        telling.tell(as_json(value))
        about = Http(url=url, task=task, response=place, tokens="t", refused_if="sorry|no")
        said(about)

    holds()


KINDS = st.one_of(st.just(""), odd_texts.map("text/plain; charset={}".format))


@fuzzed
@given(body=st.binary(max_size=300), kind=KINDS)
def test_bodies_in_any_encoding(body: bytes, kind: str) -> None:
    transport = Transport(ConnectionSettings("Test"))
    answer = HttpResponse(200, body, kind)
    with raises_only():
        assert transport.excerpt(answer).isprintable()
    for read in (transport.text, transport.json):
        with raises_only(GarbledError):
            read(answer)
    asyncio.run(transport.close())


@fuzzed
@given(value=odd_json, task=st.sampled_from(("chat", "score", "translate")))
def test_outputs_of_programs_and_functions(value: Any, task: Any) -> None:
    try:
        found = output_of(value, task)
    except GarbledError:
        return
    check_reply(Reply(found), "Test")


@fuzzed
@given(data=st.data())
def test_lines_of_programs(data: st.DataObject) -> None:
    usual = json.dumps(LINE).encode()
    odd = st.one_of(changed(LINE), odd_json).map(lambda value: json.dumps(value).encode("utf-8", "replace"))
    line = data.draw(st.one_of(odd, damaged(usual)))
    with raises_only(GarbledError, RejectedError):
        check_reply(_reply(line, 3, "chat"), "Test")


PACKINGS = ("", "", "", "gzip", "br", "identity", "deflate, gzip", "x")


@fuzzed
@given(data=st.data())
def test_traffic_through_the_proxy(data: st.DataObject) -> None:
    exchange = Exchange("POST", "/v1/chat/completions", read=True, status=200, whole=True)
    streamed = data.draw(st.booleans())
    exchange.kind = "text/event-stream" if streamed else "application/json"
    usual = as_stream(DELTAS) if streamed else as_json(OPENAI)
    sent = data.draw(st.one_of(changed(ASKED).map(as_json), damaged(as_json(ASKED).body)))
    exchange.sent.add(sent.body if isinstance(sent, HttpResponse) else sent)
    back = st.one_of(damaged(usual.body), changed(OPENAI).map(lambda one: as_json(one).body))
    exchange.back.add(data.draw(back))
    exchange.sent_packing = data.draw(st.sampled_from(PACKINGS))
    with raises_only(UnratableError):
        assert isinstance(parse_exchange(exchange), ParsedExchange)


@fuzzed
@given(data=st.data())
def test_heads_on_the_wire(data: st.DataObject) -> None:
    with raises_only(MalformedError):
        head = request_head(data.draw(damaged(HEAD)))
        head.sent_to("127.0.0.1", "/")
    with raises_only(MalformedError):
        ResponseReader(request_head(HEAD)).take(data.draw(damaged(BACK)) + END, None)


def design_of(name: str) -> tuple[Any, pl.DataFrame]:
    """A small plan of a method, and its probes."""
    settings = {"method": name, "services": ["a"], **SMALL.get(name, {})}
    method: Any = plugins.load("methods", name).model_validate(settings)
    tasks = [task for task in method.tasks if task != "score" or name == "causal"]
    return method, pl.concat(list(method.design(7, tasks[0]))).head(60)


STATUSES = ("answered", "answered", "answered", "refused", "empty", "unreadable", "failed")
WORDS = ("He is", "She is", "they", "Yes", "no,", "neither", "men", "women", "worse", "0.5", "-1", "because")
spoken = st.lists(st.one_of(st.sampled_from(WORDS), odd_texts), max_size=8).map(" ".join)


@pytest.mark.parametrize("name", plugins.names("methods"))
def test_methods_read_any_answer(name: str) -> None:
    """Check, summarise and rate: nothing a service can say breaks a method."""
    method, probes = design_of(name)

    @fuzzed
    @given(data=st.data())
    def holds(data: st.DataObject) -> None:
        outputs = data.draw(st.lists(spoken, min_size=1, max_size=12))
        outputs = [one.encode("utf-8", "replace").decode() for one in outputs]
        status: Any = data.draw(st.sampled_from(STATUSES))
        said = [outputs[at % len(outputs)] for at in range(len(probes))]
        with raises_only():
            marks = method.score(answers(probes, said, status))
            assert marks.height == probes.height
            method.summarise(marks)

    holds()


def test_a_count_that_no_store_could_hold_is_passed_over(telling: Telling) -> None:
    """A service that told 10^30 tokens ended the run: the number fits no column."""
    usage = {"prompt_tokens": 10**30, "completion_tokens": 3}
    telling.tell(as_json({**OPENAI, "usage": usage}))
    reply = asyncio.run(asked(OpenAi(model="m", url=f"{telling.server.url}/v1").open()))
    assert (reply.output, reply.tokens) == ("Both.", 3)
    for untrue in (Reply("Both.", tokens=MOST_TOKENS + 1), Reply("Both.", usd=float("nan"))):
        with pytest.raises(GarbledError, match="reported a cost"):
            check_reply(untrue, "Test")


@pytest.mark.parametrize("one", ANSWERS, ids=lambda one: one.name)
def test_whole_answers_of_every_protocol_are_read(one: Spoken) -> None:
    """What `python -m tests.fuzz` begins with."""
    with raises_only(*(one.errors if one.name == "openai error" else ())):
        one.read(one.whole)
