"""What a service does when it fails, over a real socket: a response of each kind, and its error."""

from __future__ import annotations

from tests.servers import Response
from trustgauge.errors import (
    BusyError,
    GarbledError,
    RefusedError,
    RejectedError,
    ServiceError,
    UnavailableError,
)

JSON = (("content-type", "application/json"),)
GOOD = b'{"output": "fine", "translatedText": ["fine"]}'

FAULTS: dict[str, tuple[Response, type[ServiceError]]] = {
    "too fast": (Response(429, b"{}", (("retry-after", "2"),)), BusyError),
    "overloaded": (Response(529, b"{}"), BusyError),
    "broken": (Response(500, b"oops"), UnavailableError),
    "away": (Response(503, b"", (("retry-after", "5"),)), UnavailableError),
    "gateway late": (Response(504), UnavailableError),
    "request late": (Response(408), UnavailableError),
    "conflict": (Response(409), UnavailableError),
    "too early": (Response(425), UnavailableError),
    "never answers": (Response(hang=True), UnavailableError),
    "slow loris": (Response(200, GOOD, JSON, drip=0.1), UnavailableError),
    "cut at once": (Response(raw=b""), UnavailableError),
    "cut in the head": (Response(raw=b"HTTP/1.1 200 O"), UnavailableError),
    "cut in the body": (Response(200, GOOD, JSON, cut_after=9), UnavailableError),
    "cut before the body": (Response(200, GOOD, JSON, cut_after=0), UnavailableError),
    "no HTTP": (Response(raw=b"SSH-2.0-something\r\n\r\n"), GarbledError),
    "no JSON": (Response(200, b"<html>maintenance</html>", JSON), GarbledError),
    "half JSON": (Response(200, GOOD[:-1], JSON), GarbledError),
    "empty": (Response(200, b"", JSON), GarbledError),
    "blank": (Response(200, b" \n", JSON), GarbledError),
    "no content": (Response(204), GarbledError),
    "wrong encoding": (Response(200, b'{"output": "caf\xe9"}', JSON), GarbledError),
    "encoding unknown": (
        Response(200, GOOD, (("content-type", "text/plain; charset=punycode"),)),
        GarbledError,
    ),
    "no gzip": (Response(200, GOOD, (("content-encoding", "gzip"),)), GarbledError),
    "deep": (Response(200, b"[" * 200_000, JSON), GarbledError),
    "huge number": (Response(200, b"1" * 10_000, JSON), GarbledError),
    "huge": (Response(200, b'"' + b"x" * 9_000_000 + b'"', JSON), GarbledError),
    "bomb": (Response.zipped(b" " * 50_000_000), GarbledError),
    "wrong key": (Response(401, b"no"), RefusedError),
    "forbidden": (Response(403, b"no"), RefusedError),
    "unpaid": (Response(402), RefusedError),
    "bad message": (Response(400, b"no"), RejectedError),
    "nothing there": (Response(404, b"no"), RejectedError),
    "too large": (Response(413), RejectedError),
    "unprocessable": (Response(422, b"no"), RejectedError),
    "moved": (Response(301, b"", (("location", "http://127.0.0.1:9/elsewhere"),)), RejectedError),
}
