"""A server that answers in capital letters, as a service, and what it was asked."""

from __future__ import annotations

from collections import Counter

from tests.servers import LocalServer, Request, Response
from trustgauge.services.http import Http


def upper(request: Request) -> Response:
    return Response.json({"output": request.json()["text"].upper()})


def asked(server: LocalServer) -> Counter[str]:
    return Counter(request.json()["text"] for request in server.requests)


def http(server: LocalServer, **more: object) -> Http:
    return Http.model_validate({"url": server.url, "task": "chat", **more})
