"""Chat services by their published protocols, strict about what they are sent.

Each answers with what it heard, so that tests see which turns arrived: "3 turns, last: hello".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.servers import Request, Response

KEY = "sk-test-0123456789abcdef"
EVENTS = (("content-type", "text/event-stream; charset=utf-8"),)
FIELDS = {
    "model", "messages", "temperature", "max_tokens", "max_completion_tokens", "seed", "random_seed",
    "stream", "stream_options", "top_p", "user",
}  # fmt: skip
WIDE = "\N{LINE SEPARATOR}"
"""Ends a line for some, but neither in JSON nor in a stream of events."""


def heard(messages: list[dict[str, str]]) -> str:
    return f"{len(messages)} turns, last: {messages[-1]['content'][:60]}{WIDE}end"


def sse(*events: Any, name: bool = False, end: str = "\n\n") -> Response:
    """Events as a stream; a text stands as it is."""
    lines = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
        lines.append((f"event: {event['type']}\n" if name else "") + f"data: {data}{end}")
    return Response(body="".join([": hello\n\n", *lines]).encode(), headers=EVENTS)


def openai(request: Request, path: str = "/chat/completions", key: str = KEY) -> Response:
    """`POST {path}` as OpenAI answers it; with an empty `key` none is wanted."""
    if key and request.headers.get("authorization") != f"Bearer {key}":
        words = f"Incorrect API key provided: {request.headers.get('authorization')}"
        return Response.json({"error": {"message": words, "code": "invalid_api_key"}}, 401)
    asked = request.json()
    assert (request.method, request.path) == ("POST", path)
    assert request.headers["content-type"] == "application/json"
    assert set(asked) <= FIELDS, set(asked) - FIELDS
    for message in asked["messages"]:
        assert message["role"] in ("system", "user", "assistant")
        message["content"].encode()
    text = heard(asked["messages"])
    usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
    if not asked.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return Response.json({"object": "chat.completion", "choices": [choice], "usage": usage})
    pieces = [
        {"role": "assistant", "content": ""},
        *({"content": text[at : at + 7]} for at in range(0, len(text), 7)),
    ]
    events: list[Any] = [{"choices": [{"delta": piece, "finish_reason": None}]} for piece in pieces]
    events.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    if asked.get("stream_options") == {"include_usage": True}:
        events.append({"choices": [], "usage": usage})
    return sse(*events, "[DONE]")


def anthropic(request: Request) -> Response:
    """`POST /v1/messages` as Anthropic answers it."""
    if request.headers.get("x-api-key") != KEY:
        error = {"type": "authentication_error", "message": "invalid x-api-key"}
        return Response.json({"type": "error", "error": error}, 401)
    asked = request.json()
    assert (request.method, request.path) == ("POST", "/v1/messages")
    assert request.headers["anthropic-version"] == "2023-06-01"
    known = {"model", "messages", "system", "max_tokens", "temperature", "stream", "top_k", "metadata"}
    assert set(asked) <= known
    assert set(asked.get("metadata", {})) <= {"user_id"}
    assert asked["max_tokens"] >= 1
    if not all(message["content"].strip() for message in asked["messages"]):
        error = {
            "type": "invalid_request_error",
            "message": "messages: text content blocks must be non-empty",
        }
        return Response.json({"type": "error", "error": error}, 400)
    text = heard(asked["messages"])
    if not asked.get("stream"):
        content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
        usage = {"input_tokens": 9, "output_tokens": 4}
        body = {"type": "message", "content": content, "stop_reason": "end_turn", "usage": usage}
        return Response.json(body)
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}}
    pieces = [text[at : at + 5] for at in range(0, len(text), 5)]
    deltas: list[dict[str, Any]] = [{"type": "thinking_delta", "thinking": "hm"}]
    deltas += [{"type": "text_delta", "text": piece} for piece in pieces]
    result = [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}}
    return sse(start, {"type": "ping"}, *result, end, {"type": "message_stop"}, name=True, end="\r\n\r\n")


def completion(
    content: Any = "Yes.", finish: str | None = "stop", **message: Any
) -> Callable[[Request], Response]:
    """A handler that gives one whole answer of OpenAI's form."""
    choice = {"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    body = json.dumps({"choices": [choice]}).encode("ascii")
    return lambda request: Response(body=body, headers=(("content-type", "application/json"),))
