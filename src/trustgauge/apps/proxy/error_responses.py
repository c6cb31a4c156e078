"""What the proxy says itself: refusals, in the form of OpenAI's errors, and JSON of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request did not pass. `code` is for programs; `fields` are lines of the answer's head."""

    status: int
    code: str
    message: str
    fields: tuple[str, ...] = ()

    def answer(self) -> bytes:
        """The whole answer."""
        return reply(self.status, self.as_json(), self.fields)

    def as_json(self) -> dict[str, Any]:
        """As clients of OpenAI's protocol read it."""
        return {"error": {"message": self.message, "type": "trustgauge_proxy", "code": self.code}}


def reply(status: int, body: Mapping[str, Any], fields: Sequence[str] = ()) -> bytes:
    """A whole answer of the proxy's own; the connection ends with it."""
    data = json.dumps(body, ensure_ascii=True, indent=1).encode("ascii") + b"\n"
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "content-type: application/json",
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        f"content-length: {len(data)}",
        "connection: close",
        "server: trustgauge",
        *fields,
    ]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + data
