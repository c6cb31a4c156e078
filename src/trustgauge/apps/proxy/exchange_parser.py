"""What was said in an exchange: read from its bytes, off the path, without any secret of its head."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from trustgauge.apps.proxy.exchange import Exchange
from trustgauge.data.dialogs import LONGEST
from trustgauge.records import json_or_none
from trustgauge.services import storable, without_thinking
from trustgauge.services.chat import OpenAi
from trustgauge.services.chat_protocol import ChatAnswer, is_declined, words_of
from trustgauge.services.server_events import events

Missed = Literal["failed", "cut", "lost", "too-large", "packed", "unreadable"]
"""Why an exchange passed but is not rated: an error of the service; cut off; too much passed at once; larger
than is kept; packed in a way that cannot be opened here; or in a form that is none of the protocol."""

BLOTTED = "[key removed]"
LARGEST = 16_000_000
"""Bytes of a body, opened, beyond which it is not read."""
_PROTOCOL = OpenAi(model="any")


class UnratableError(Exception):
    """An exchange cannot be rated; `why` says why."""

    def __init__(self, why: Missed) -> None:
        self.why = why
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class ParsedExchange:
    """What was said.

    Attributes:
        earlier: role and words of each message up to the bot's last one, as the client sent them, but what
            the model thought before it said something is left out.
        asked: what the user said since, a text a message.
        answer: what the bot said to that, without what it thought before; may be empty.
        refused: whether it declined in the form that the protocol has for it.
        user: the request's own name of who asks, "" if none.
        model: that answered, as the answer calls it.
    """

    earlier: tuple[tuple[str, str], ...]
    asked: tuple[str, ...]
    answer: str
    refused: bool = False
    user: str = ""
    model: str = ""


def parse_exchange(exchange: Exchange) -> ParsedExchange:
    """What was said in an exchange.

    Raises:
        MissedError: it cannot be rated.
    """
    if exchange.status and not 200 <= exchange.status < 300:
        raise UnratableError("failed")
    if not exchange.whole or not exchange.status:
        raise UnratableError("cut")
    if exchange.lost:
        raise UnratableError("lost")
    if exchange.sent.over or exchange.back.over:
        raise UnratableError("too-large")
    request = _object(_opened(exchange.sent.whole(), exchange.sent_packing))
    back = _opened(exchange.back.whole(), exchange.back_packing)
    said, model = _said(back, streamed="event-stream" in exchange.kind)
    messages = _messages(request.get("messages"))
    last = max((place for place, (role, _) in enumerate(messages) if role == "assistant"), default=-1)
    clean = _Cleaner(exchange.secrets)
    asked = tuple(clean(text) for role, text in messages[last + 1 :] if role == "user")
    answer = clean(without_thinking(said.text))
    if max(map(len, (answer, *asked))) > LONGEST:
        raise UnratableError("too-large")
    return ParsedExchange(
        tuple((role, clean(text)) for role, text in messages[: last + 1]),
        asked,
        answer,
        refused=said.refused or is_declined(said.end),
        user=_name(request),
        model=clean(model)[:100],
    )


def _said(body: str, *, streamed: bool) -> tuple[ChatAnswer, str]:
    """What the answer says, and the model that it names."""
    try:
        if streamed:
            stream = list(events(body))
            first = next((one for one in stream if one is not None), {})
            if any(one is not None and one.get("error") for one in stream):
                raise UnratableError("failed")
            said = _PROTOCOL.gather(stream)
        else:
            first = _object(body)
            if first.get("error"):
                raise UnratableError("failed")
            said = _PROTOCOL.read(first)
    except ValueError:
        raise UnratableError("unreadable") from None
    if said is None:
        raise UnratableError("unreadable")
    if not said.whole and streamed:
        raise UnratableError("cut")
    model = first.get("model")
    return said, model if isinstance(model, str) else ""


def _messages(given: Any) -> list[tuple[str, str]]:
    """Role and words of each message; pictures and sounds are left out."""
    if not isinstance(given, list) or not given:
        raise UnratableError("unreadable")
    found = []
    for one in given:
        role = one.get("role") if isinstance(one, Mapping) else None
        words = words_of(one.get("content")) if isinstance(one, Mapping) else None
        if not isinstance(role, str) or words is None:
            raise UnratableError("unreadable")
        # Some clients send back what the model thought, some do not: it is one conversation all the same.
        found.append((role, without_thinking(words) if role == "assistant" else words))
    return found


def _name(request: Mapping[str, Any]) -> str:
    """Who asks: the field `user`, or the one that OpenAI put in its place."""
    for name in ("user", "safety_identifier"):
        value = request.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def _object(body: str) -> dict[str, Any]:
    found = json_or_none(body)
    if not isinstance(found, dict):
        raise UnratableError("unreadable")
    return found


def _opened(body: bytes, packing: str) -> str:
    """A body as text, unpacked, last packing first (RFC 9110, 8.4)."""
    for way in reversed([one.strip().lower() for one in packing.split(",") if one.strip()]):
        body = _unpacked(body, way)
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnratableError("unreadable") from None


def _unpacked(body: bytes, way: str) -> bytes:
    try:
        if way in ("gzip", "x-gzip", "deflate"):
            opener = zlib.decompressobj(zlib.MAX_WBITS | 32)
            opened = opener.decompress(body, LARGEST + 1)
        elif way == "br":
            opened = _brotli(body)
        elif way == "identity":
            return body
        else:
            raise UnratableError("packed")
    except zlib.error:
        raise UnratableError("unreadable") from None
    if len(opened) > LARGEST:
        raise UnratableError("too-large")
    return opened


def _brotli(body: bytes) -> bytes:
    """A body packed by Brotli, if there is something here that opens it."""
    try:
        brotli: Any = import_module("brotli")
    except ImportError:
        raise UnratableError("packed") from None
    opener, opened = brotli.Decompressor(), bytearray()
    try:
        for at in range(0, len(body), 1024):  # a small piece may open to much: look after each
            opened += opener.process(body[at : at + 1024])
            if len(opened) > LARGEST:
                break
    except brotli.error:
        raise UnratableError("unreadable") from None
    return bytes(opened)


class _Cleaner:
    """Blots out secrets, and half characters, which no file holds."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = secrets

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, BLOTTED)
        return storable(text)
