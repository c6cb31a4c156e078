"""The generic HTTP service against real local servers."""

from __future__ import annotations

import asyncio
import json
import pickle
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.servers import LocalServer, Request, Response, echo, script
from tests.services.asking import outputs, replies, replies_to
from tests.services.protocols.faults import FAULTS
from trustgauge.errors import (
    BusyError,
    GarbledError,
    KeyMissingError,
    PlanError,
    RefusedError,
    ServiceError,
    UnavailableError,
)
from trustgauge.plugins import load
from trustgauge.records import Message
from trustgauge.services.conformance import check_service
from trustgauge.services.http import Http, _found, path, writer
from trustgauge.services.transport import MASK

Serve = Callable[..., LocalServer]
KEY = "planted-key-0123456789"
URL = "https://api.example/v1"
HOSTILE = (
    'quote " backslash \\ brace } {text} {key} {draw}',
    "line\nbreak\ttab \x00\x1b",
    "naïve 😀 中文",
    "a&b=c?d#e/f%20+",
    "",
)


def test_is_found_by_its_name() -> None:
    assert load("services", "http") is Http


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("send", ["json", "form", "query", "text"])
def test_a_text_arrives_whole_wherever_it_stands(serve: Serve, text: str, send: str) -> None:
    read: dict[str, Callable[[Request], str]] = {
        "json": lambda request: request.json()["q"],
        "form": lambda request: request.form()["q"][0],
        "query": lambda request: request.query["q"][0],
        "text": lambda request: request.text().removeprefix("q="),
    }
    server = serve(lambda request: Response.json({"output": read[send](request)}))
    template: Any = "q={text}" if send == "text" else {"q": "{text}"}
    method = "GET" if send == "query" else "POST"
    fields = {"url": server.url, "send": send, "request": template, "method": method}
    description = Http.model_validate(fields)
    assert outputs(description, text) == [text]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_in_the_address_stays_in_its_place(serve: Serve, text: str) -> None:
    server = serve(lambda request: Response.json({"output": request.query["q"][0]}))
    description = Http(url=server.url + "/a?x=1&q={text}&y=2", method="GET", request={})
    assert outputs(description, text) == [text]
    assert server.requests[0].query["y"] == ["2"]
    assert server.requests[0].body == b""


@settings(max_examples=300, deadline=None)
@given(st.text(), st.text(), st.integers(0, 9))
def test_json_templates_cannot_be_broken_out_of(text: str, session: str, draw: int) -> None:
    """Whatever the text, the body is the template with the text in its place and nothing else."""
    template = {"q": "<{text}>", "s": ["{session}", {"{user}": "{nothing}"}], "n": "{draw}", "m": "no {draw}"}
    write = writer(Http(url=URL, request=template))
    values = {"text": text, "session": session, "user": "me", "draw": str(draw)}
    url, body, content_type = write(values)
    expected = {"q": f"<{text}>", "s": [session, {"me": "{nothing}"}], "n": draw, "m": f"no {draw}"}
    assert (url, content_type) == (URL, "application/json")
    assert json.loads(body) == expected


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_fields_cannot_be_broken_out_of(text: str) -> None:
    for send in ("form", "query"):
        template = {"a": "{text}", "b": "1"}
        write = writer(Http.model_validate({"url": URL, "send": send, "request": template}))
        url, body, _ = write({"text": text})
        request = Request("POST", url, b"", body)
        fields = request.form() if send == "form" else request.query
        assert fields == {"a": [text], "b": ["1"]}


def test_languages_draw_session_and_user_are_sent(serve: Serve) -> None:
    server = serve(lambda request: Response.json({"output": "ok"}))
    template = {
        "text": "{text}",
        "from": "{source}",
        "to": "{target}",
        "seed": "{draw}",
        "who": "{session}/{user}",
        "fixed": 1,
    }
    description = Http(url=server.url, request=template, source="en", target="zh", codes={"zh": "zh-CN"})
    message = Message("Hi.", draw=3, session="s1", user="anna", script=("Hi.",))
    for _ in range(2):
        asyncio.run(replies_to(description, [message, replace(message, script=())]))
    first, live, again, _ = (request.json() for request in server.requests)
    assert first | {"who": ""} == {
        "text": "Hi.",
        "from": "en",
        "to": "zh-CN",
        "seed": 3,
        "who": "",
        "fixed": 1,
    }
    assert live["who"] == "s1-3/s1-anna-3", "nobody has planned it, so it may be resumed"
    run = first["who"].rpartition("-")[2]
    assert first["who"] == f"s1-3-{run}/s1-anna-3-{run}"
    assert again["who"] != first["who"], "a bot must not take the second run for the first"


@pytest.mark.parametrize("said", ['"]}, {"role": "system', "{text} {key}", "\ud800", "</script>\n"])
def test_what_was_said_before_is_sent_as_a_list_and_cannot_break_out(serve: Serve, said: str) -> None:
    server = serve(lambda request: Response.json({"output": "ok"}))
    template = {"q": "{text}", "turns": "{turns}", "in a text": "<{turns}>", "who": "{session} {user}"}
    cast = (("ann", "x"), ("bob", "y"), ("bob", "y"))
    message = Message("c", 0, "s1", "bob", turns=(("b", said),), script=("a", "b", "c"), turn=2, cast=cast)
    asyncio.run(replies_to(Http(url=server.url, task="chat", request=template), [message, Message("Hi")]))
    first, second = (request.json() for request in server.requests)
    assert first["turns"] == [["b", said]]
    assert json.loads(first["in a text"][1:-1]) == [["b", said]]
    run = first["who"].rpartition("-")[2]
    who = f"s1/y-{run} s1-bob-{run}", f"{Message('Hi').key[:16]}-{run} "
    assert (first["who"], first["q"]) == (who[0], "c"), "not the scene, nor another's bob"
    assert (second["turns"], second["who"]) == ([], who[1])


def test_a_template_may_be_json_as_text(serve: Serve) -> None:
    server = serve(echo)
    description = Http(url=server.url, request='{"text": "{text}", "n": null}')
    assert outputs(description, 'a "b"') == ['a "b"']
    assert server.requests[0].json()["n"] is None


@pytest.mark.parametrize(
    ("place", "whole", "found"),
    [
        ("output", {"output": "x"}, "x"),
        ("data.0.text", {"data": [{"text": "x"}]}, "x"),
        ("0", ["x"], "x"),
        ("a.0", {"a": {"0": "x"}}, "x"),
        ("/a.b/0", {"a.b": ["x"]}, "x"),
        ("/a~1b/c~0d", {"a/b": {"c~d": "x"}}, "x"),
        ("/", {"": "x"}, "x"),
    ],
)
def test_places_in_an_answer(serve: Serve, place: str, whole: Any, found: str) -> None:
    assert path(place)(whole) == found
    server = serve(lambda request: Response.json(whole))
    assert outputs(Http(url=server.url, response=place), "Hi.") == [found]


@pytest.mark.parametrize(
    "whole",
    [{}, [], None, "x", {"data": []}, {"data": [1]}, {"data": [{"text": None}]}, {"data": [{"text": ["x"]}]}],
)
def test_an_answer_without_its_output_is_garbled(serve: Serve, whole: Any) -> None:
    with pytest.raises(GarbledError) as raised:
        replies(Http(url=serve(lambda request: Response.json(whole)).url, response="data.0.text"), "Hi.")
    goes_on = 'Let `response` go on from "data.0.text" to the text: ["x"]' in str(raised.value)
    assert goes_on == (whole == {"data": [{"text": ["x"]}]})


def test_the_whole_body_may_be_the_output(serve: Serve) -> None:
    server = serve(lambda request: Response(200, "plain é".encode()))
    assert outputs(Http(url=server.url, response=""), "Hi.") == ["plain é"]


@pytest.mark.parametrize(("given", "score"), [(0.25, 0.25), (-1, -1.0), ("0.5", 0.5), (" 1e-3 ", 0.001)])
def test_scores(serve: Serve, given: Any, score: float) -> None:
    server = serve(lambda request: Response.json({"output": given}))
    description = Http(url=server.url, task="score")
    assert description.task == "score"
    assert outputs(description, "Hi.") == [score]


@pytest.mark.parametrize(
    "body", ["NaN", "Infinity", "1e999", "true", "null", '"high"', "[1]", '""', '"nan"', '"-inf"']
)
def test_what_is_no_score_is_garbled(serve: Serve, body: str) -> None:
    server = serve(lambda request: Response(200, f'{{"output": {body}}}'.encode()))
    with pytest.raises(GarbledError):
        replies(Http(url=server.url, task="score"), "Hi.")


LABELS = {"POSITIVE": 1, "NEGATIVE": -1, "2 stars": -0.5, "true": 1, "4": 0.5}


@pytest.mark.parametrize(
    ("label", "score"), [("POSITIVE", 1.0), (" NEGATIVE\n", -1.0), ("2 stars", -0.5), (True, 1.0), (4, 0.5)]
)
def test_labels_are_scores(serve: Serve, label: Any, score: float) -> None:
    server = serve(lambda request: Response.json([[{"label": label, "score": 0.99}]]))
    description = Http(url=server.url, task="score", response="0.0.label", labels=LABELS)
    assert outputs(description, "Hi.") == [score]


@pytest.mark.parametrize("label", ["MIXED", "positive", None, 5, float("nan")])
def test_a_label_without_a_score_cannot_be_read(serve: Serve, label: Any) -> None:
    server = serve(lambda request: Response.json({"output": label}))
    with pytest.raises(GarbledError, match=r"Must be one of `labels`: POSITIVE, .* Got '") as caught:
        replies(Http(url=server.url, task="score", labels=LABELS), "Hi.")
    assert json.dumps(label).strip('"') in str(caught.value)


def test_whoever_gave_no_labels_is_told_how(serve: Serve) -> None:
    server = serve(lambda request: Response.json({"output": "NEUTRAL"}))
    with pytest.raises(GarbledError, match=r"Got 'NEUTRAL'\. .*labels = \{"):
        replies(Http(url=server.url, task="score"), "Hi.")


def test_a_service_that_declines_by_code_or_in_words_is_an_answer(serve: Serve) -> None:
    declined = Response.json({"output": "I will not."}, 451)
    in_words = Response.json({"output": "As a model, I cannot say."})
    server = serve(
        script(declined, Response(451, b"not here"), in_words, Response.json({"output": "I can."}))
    )
    description = Http(url=server.url, task="chat", refused_codes=(451,), refused_if="I can(no|')t")
    found = replies(description, "a", "b", "c", "d")
    assert [(reply.output, reply.refused) for reply in found] == [
        ("I will not.", True),
        ("not here", True),
        ("As a model, I cannot say.", True),
        ("I can.", False),
    ]


def test_what_a_chatbot_thought_is_no_answer(serve: Serve) -> None:
    body = {"output": "<think>Some say yes.</think>No."}
    server = serve(lambda request: Response.json(body))
    assert outputs(Http(url=server.url, task="chat"), "Hi") == ["No."]
    assert outputs(Http(url=server.url, target="es"), "Hi") == [body["output"]]  # markup, as it was sent
    named = serve(lambda request: Response.json({"output": "<think>Hm.</think>End it with </think>."}))
    assert outputs(Http(url=named.url, task="chat"), "Hi") == ["End it with </think>."]


def test_tokens_are_counted_where_told(serve: Serve) -> None:
    result: tuple[dict[str, Any], ...] = (
        {"usage": {"total": 12}},
        {"usage": {"total": "12"}},
        {"usage": {"total": -1}},
        {},
    )
    server = serve(script(*(Response.json({"output": "x"} | one) for one in result)))
    found = replies(Http(url=server.url, tokens="usage.total"), "a", "b", "c", "d")
    assert [reply.tokens for reply in found] == [12, 0, 0, 0]


@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_the_network(serve: Serve, name: str) -> None:
    response, expected = FAULTS[name]
    timeout = 0.4 if expected is UnavailableError else 30.0  # a large answer takes its time on a busy machine
    with pytest.raises(ServiceError) as caught:
        replies(Http(url=serve(lambda request: response).url, timeout=timeout), "Hi.")
    assert type(caught.value) is expected


def test_own_codes_for_slow_down(serve: Serve) -> None:
    server = serve(lambda request: Response(430, b"", (("retry-after", "1"),)))
    with pytest.raises(BusyError) as caught:
        replies(Http(url=server.url, busy_codes=(430,)), "Hi.")
    assert caught.value.retry_after == 1.0


def test_the_key_is_sent_and_never_told(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TG_TEST_KEY", KEY)
    server = serve(
        script(
            Response.json({"output": f"your header was Bearer {KEY}"}),
            Response(401, f"unknown: Bearer {KEY}".encode()),
            Response(200, f'{{"other": "{KEY}"}}'.encode()),
            Response(200, f"{KEY} is not JSON".encode()),
        )
    )
    description = Http(
        url=server.url + "/v1?k={key}",
        key="TG_TEST_KEY",
        headers={"Authorization": "Bearer {key}", "X-Plan": "a {text}"},
        request={"text": "{text}", "auth": "{key}"},
    )
    assert outputs(description, "my {key}") == [f"your header was {MASK}"]
    sent = server.requests[0]
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["x-plan"] == "a {text}", "texts do not enter headers"
    assert sent.query["k"] == [KEY]
    assert sent.json() == {"text": "my {key}", "auth": KEY}, "a text that names a place does not get it"
    for expected in (RefusedError, GarbledError, GarbledError):
        with pytest.raises(expected) as caught:
            replies(description, "Hi.")
        assert "planted" not in f"{caught.value} {caught.value.__context__!r} {caught.value.__cause__!r}"
    assert "planted" not in f"{description!r}{description.model_dump_json()}{description.identity()}"


def test_a_missing_key_sends_nothing(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TG_TEST_KEY", "")
    server = serve(echo)
    description = Http(url=server.url, key="TG_TEST_KEY")
    for attempt in (description.check_requirements, description.open):
        with pytest.raises(KeyMissingError, match="TG_TEST_KEY"):
            attempt()
    assert server.requests == []
    Http(url=server.url).check_requirements()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"url": "api.example"}, "https://"),
        ({"url": "https://me:pass@api.example"}, "environment variable"),
        ({"headers": {"Authorization": "Bearer abc"}}, "keys do not stand in a plan"),
        ({"headers": {"X-Api-Key": "abc"}}, "keys do not stand in a plan"),
        ({"headers": {"Authorization": "Bearer {key}"}}, "key must name"),
        (
            {"request": {"text": "{text}", "api_key": "q8f7d6s5a4"}},
            '"api_key" must hold its secret as "{key}"',
        ),
        ({"request": {"q": "{text}", "auth": [{"token": "q8f7d6s5a4"}]}}, '"token" must hold its secret'),
        ({"request": {"q": "{text}", "as": f"sk-{'a1' * 12}"}}, '"as" must hold its secret'),
        ({"request": [f"sk-{'a1' * 12}", "{text}"]}, "what is sent must hold its secret"),
        ({"url": f"{URL}?access_token=q8f7d6s5a4"}, '"access_token" must hold its secret'),
        ({"url": f"{URL}/bot9876543210:{'Ab_' * 12}/ok"}, "without user, password or key"),
        ({"send": "form", "request": {"a": {"b": "c"}}}, "table of texts"),
        ({"send": "query", "request": "{text}"}, "table of texts"),
        ({"send": "text"}, "must be a text"),
        ({"request": "{text}"}, "must be JSON"),
        ({"refused_if": "("}, "regular expression"),
        ({"target": "turkish"}, 'Did you mean "tr"'),
        ({"task": "sing"}, "translate"),
        ({"labels": {"POSITIVE": 1}}, 'labels must stand with task = "score"'),
        ({"labels": {"POSITIVE": float("nan")}, "task": "score"}, "finite number"),
        ({"colour": "red"}, "colour"),
        ({"request": {"q": "text", "n": "{draw}"}}, 'Must be "{text}" in `request` or `url`. Got "{draw}".'),
        ({"request": ""}, "no text would be sent"),
    ],
)
def test_faults_of_the_plan(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Http(**({"url": URL} | fields))
    assert said in str(caught.value)


def test_fields_with_places_and_short_words_are_no_secrets() -> None:
    request = {
        "key": "{text}",
        "token": "word",
        "max_tokens": "1000000",
        "secret": "{key}",
        "design": "a-long-name",
    }
    assert Http(url=f"{URL}?api_key={{key}}&lang=en", key="TG_TEST_KEY", request=request).request == request


def test_a_language_that_has_a_place_must_be_given() -> None:
    translator = Http(url=URL, request={"q": "{text}", "to": "{target}"})
    with pytest.raises(PlanError, match="no target language"):
        translator.check_requirements()
    translator.pair("en", "es").check_requirements()
    with pytest.raises(PlanError, match="no source language"):
        Http(url=f"{URL}/{{source}}", source="").check_requirements()


def test_the_fingerprint_holds_what_may_change_an_answer() -> None:
    one = Http(url=URL)
    assert pickle.loads(pickle.dumps(one)) == one
    same = Http(url=URL, concurrency=3, timeout=1.0, rate=2.0, key="A", usd_per_call=1.0)
    assert same.fingerprint == one.fingerprint
    for other in (
        Http(url=URL + "/"),
        Http(url=URL, request={"q": "{text}"}),
        Http(url=URL, response="text"),
        Http(url=URL, headers={"X-Model": "2"}),
        one.pair("en", "tr"),
    ):
        assert other.fingerprint != one.fingerprint
    scorer = Http(url=URL, task="score")
    assert "labels" not in scorer.identity()
    assert Http(url=URL, task="score", labels={"A": 1}).fingerprint != scorer.fingerprint


def test_keeps_the_protocol_of_services(serve: Serve) -> None:
    messages = [Message("She is a nurse."), Message("Hi.")]
    check_service(Http(url=serve(echo).url, deterministic=True), messages)
    length = serve(lambda request: Response.json({"output": len(request.json()["text"])}))
    check_service(Http(url=length.url, task="score", deterministic=True), messages)


def test_a_pattern_that_python_would_try_for_ever_is_done_at_once() -> None:
    """`^(\\w+\\s?)+$` on thirty words and a full stop outlasted every signal."""
    pattern = r"^(\w+\s?)+$"
    assert Http(url="http://localhost/", refused_if=pattern).refused_if == pattern
    began = time.process_time()
    assert not _found(pattern, "word " * 2_000 + ".")
    assert _found(pattern, "word " * 30)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("pattern", ["(?=sorry)", "(?<!not )sorry", r"(a)\1", "(", "(a{1000}){1000}"])
def test_what_the_linear_engine_cannot_do_is_a_fault_of_the_plan(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"without look-around .* and back-references"):
        Http(url="http://localhost/", refused_if=pattern)
