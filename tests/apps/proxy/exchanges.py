"""Exchanges as the proxy hands them over."""

from __future__ import annotations

import json
from typing import Any

from trustgauge.apps.proxy.exchange import LARGEST, Exchange
from trustgauge.apps.proxy.wire import ResponseHead, request_head

HELLO = ({"role": "user", "content": "hello"},)


def exchange(
    request: Any, back: bytes | str, *, kind: str = "application/json", packing: str = "", status: int = 200
) -> Exchange:
    """One that passed whole."""
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sk-planted-key"
    made = Exchange.of(request_head(head))
    made.sent.add(request if isinstance(request, bytes) else json.dumps(request).encode())
    made.note_head(ResponseHead(status, {"content-type": kind, "content-encoding": packing}))
    made.back.add(back.encode() if isinstance(back, str) else back)
    made.end(whole=True)
    return made


def said(*messages: dict[str, Any], answer: Any = "Hi.", **more: Any) -> Exchange:
    """An exchange of these messages and this answer; `more` stands in the request."""
    choice = {"message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}
    back = {"model": "m-1", "choices": [choice]}
    return exchange({"model": "m", "messages": list(messages), **more}, json.dumps(back))


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def bot(text: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


TOO_MUCH = b"x" * (LARGEST + 1)
