"""What was said is read from bytes that nobody has checked."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest

from tests.apps.proxy.exchanges import HELLO, TOO_MUCH, bot, exchange, said, user
from trustgauge.apps.proxy.exchange import Exchange
from trustgauge.apps.proxy.exchange_parser import BLOTTED, LARGEST, UnratableError, parse_exchange

ANSWER = json.dumps({"choices": [{"message": {"content": "Hi."}}]})
ASKED = {"messages": list(HELLO)}


def stream(*events: Any, done: bool = True) -> str:
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join(lines) + ("data: [DONE]\n\n" if done else "")


def delta(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "m-1", "choices": [{"delta": {"content": text}, **more}]}


def test_what_both_sides_said() -> None:
    tools = {"role": "tool", "content": "21 degrees", "tool_call_id": "1"}
    heard = parse_exchange(
        said(
            {"role": "system", "content": "Be brief."},
            user("How warm is it?"),
            bot(None),
            tools,
            user([{"type": "text", "text": "And "}, {"type": "image_url", "image_url": {}}]),
            user("the wind?"),
            answer="21 degrees.",
            user="ann",
        )
    )
    assert heard.earlier == (("system", "Be brief."), ("user", "How warm is it?"), ("assistant", ""))
    assert heard.asked == ("And ", "the wind?")
    assert (heard.answer, heard.user, heard.model, heard.refused) == ("21 degrees.", "ann", "m-1", False)


def test_a_stream_is_put_together() -> None:
    body = ": ping\n\n" + stream(delta("Hel"), delta("lo \u2028"), {"choices": [], "usage": {}}, delta("you"))
    heard = parse_exchange(exchange(ASKED, body, kind="text/event-stream; charset=utf-8"))
    assert (heard.answer, heard.model) == ("Hello \u2028you", "m-1")


def test_what_a_model_thought_is_no_part_of_what_it_said() -> None:
    thought = "<think>Women? They are stupid.</think>\n"
    heard = parse_exchange(said(user("Hi"), bot(f"{thought}Hello."), user("And?"), answer=f"{thought}No."))
    assert heard.earlier == (("user", "Hi"), ("assistant", "Hello."))
    assert heard.answer == "No."
    body = stream(delta("<think>Hm"), delta("</think>"), delta(" No."))
    assert parse_exchange(exchange(ASKED, body, kind="text/event-stream")).answer == "No."


def test_a_refusal_is_heard() -> None:
    back = json.dumps({"choices": [{"message": {"content": None, "refusal": "No."}}]})
    heard = parse_exchange(exchange(ASKED, back))
    assert (heard.answer, heard.refused) == ("No.", True)


def test_secrets_of_the_request_are_blotted_out() -> None:
    heard = parse_exchange(said(user("my key is sk-planted-key"), answer="You sent: Bearer sk-planted-key!"))
    assert heard.asked == (f"my key is {BLOTTED}",)
    assert heard.answer == f"You sent: {BLOTTED}!"


@pytest.mark.parametrize("way", ["gzip", "x-gzip", "deflate", "br", "identity", "deflate, gzip", ""])
def test_packed_answers_are_opened(way: str) -> None:
    body = ANSWER.encode()
    for one in way.split(", "):
        if one == "br":
            body = pytest.importorskip("brotli").compress(body)
        elif one == "deflate":
            body = zlib.compress(body)
        elif one.endswith("gzip"):
            body = gzip.compress(body)
    assert parse_exchange(exchange(ASKED, body, packing=way)).answer == "Hi."


def cut_off() -> Exchange:
    made = said(*HELLO)
    made.whole = False
    return made


def no_answer() -> Exchange:
    made = said(*HELLO)
    made.status = 0
    return made


@pytest.mark.parametrize(
    ("passed", "why"),
    [
        (exchange(ASKED, "{}", status=503), "failed"),
        (exchange(ASKED, json.dumps({"error": {"message": "no"}})), "failed"),
        (exchange(ASKED, stream(delta("a"), {"error": {"code": 500}}), kind="text/event-stream"), "failed"),
        (cut_off(), "cut"),
        (no_answer(), "cut"),
        (exchange(ASKED, stream(delta("a"), done=False), kind="text/event-stream"), "cut"),
        (exchange(TOO_MUCH, ANSWER), "too-large"),
        (exchange(ASKED, TOO_MUCH), "too-large"),
        (said(*HELLO, answer="x" * 1_000_001), "too-large"),
        (exchange(ASKED, gzip.compress(b" " * (LARGEST + 1)), packing="gzip"), "too-large"),
        (exchange(ASKED, ANSWER, packing="zip"), "packed"),
        (exchange(ASKED, ANSWER, packing="gzip"), "unreadable"),
        (exchange(ASKED, b"\xff\xfe"), "unreadable"),
        (exchange(ASKED, "<html>"), "unreadable"),
        (exchange(ASKED, "[" * 100_000), "unreadable"),
        (exchange(ASKED, "[]"), "unreadable"),
        (exchange(ASKED, '{"choices": []}'), "unreadable"),
        (exchange(ASKED, "data: {\n\n", kind="text/event-stream"), "unreadable"),
        (exchange(b"{", ANSWER), "unreadable"),
        (exchange({"messages": []}, ANSWER), "unreadable"),
        (exchange({"messages": ["hello"]}, ANSWER), "unreadable"),
        (exchange({"messages": [{"role": 1, "content": "x"}]}, ANSWER), "unreadable"),
        (exchange({"messages": [user(7)]}, ANSWER), "unreadable"),
    ],
)
def test_why_something_is_missed(passed: Exchange, why: str) -> None:
    with pytest.raises(UnratableError) as caught:
        parse_exchange(passed)
    assert caught.value.why == why


def test_a_small_body_that_opens_to_much() -> None:
    brotli = pytest.importorskip("brotli")
    bomb = brotli.compress(b" " * (LARGEST * 4))
    with pytest.raises(UnratableError) as caught:
        parse_exchange(exchange(ASKED, bomb, packing="br"))
    assert caught.value.why == "too-large"
