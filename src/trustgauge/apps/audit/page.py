"""The page on which a sample is labelled: on this machine alone, one key an answer.

Each label is on disk before the page shows the next answer, so the page may be closed at any time. Only
requests with a name of this machine as their host, from the page itself, and with its token are taken.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from trustgauge.errors import StoreError, TrustgaugeError
from trustgauge.records import json_or_none
from trustgauge.reports import components, html
from trustgauge.run.audit_sample import AuditItem
from trustgauge.run.labelling import Labelling

HOST = "127.0.0.1"
LARGEST = 4_096  # bytes of a request
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def page(labelling: Labelling, token: str) -> str:
    """The page itself; what it shows it asks for."""
    content = {"token": token, "by": labelling.by, "total": len(labelling.items)}
    return components.environment().get_template("audit.html.j2").render(content)


class LabelServer:
    """Serves the page of one labeller until it is closed.

    Args:
        labelling: what is labelled, and by whom.
        port: 0 is any free one.

    Raises:
        StoreError: the port is taken.
    """

    def __init__(self, labelling: Labelling, port: int = 0) -> None:
        self.labelling, self.token = labelling, secrets.token_urlsafe(24)
        self.lock = threading.Lock()
        self.ended = threading.Event()
        handler = type("Handler", (_Handler,), {"app": self})
        try:
            self._server = ThreadingHTTPServer((HOST, port), handler)
        except OSError as error:
            raise StoreError(
                f"the page cannot be served on {HOST}, port {port}",
                must="a free port of this machine",
                got=error.strerror or type(error).__name__,
                do="Choose another one with --port",
            ) from None
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.port}/"

    def __enter__(self) -> LabelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def knows(self, host: str) -> bool:
        """Whether a Host header is ours: a page elsewhere can make a name of its own mean this machine."""
        return host.lower() in {f"{HOST}:{self.port}", f"localhost:{self.port}"}

    def state(self, last: str = "") -> dict[str, Any]:
        """What the page shows: the next answer, and how far the labeller is."""
        item = self.labelling.next
        shown = None if item is None else self._shown(item)
        return {"done": self.labelling.done, "of": len(self.labelling.items), "item": shown, "last": last}

    def _shown(self, item: AuditItem) -> dict[str, Any]:
        choices = [{"label": label, "words": words} for label, words in self.labelling.choices(item)]
        return {"key": item.key, "question": item.question, "answer": item.answer, "choices": choices}

    def act(self, path: str, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Do what the page asks for: status and what it gets back."""
        with self.lock:
            if path == "/state":
                return 200, self.state()
            if path == "/label":
                key, label = str(asked.get("key", "")), str(asked.get("label", ""))
                if not self.labelling.label(key, label):
                    return 400, {"error": "no such answer or label"}
                return 200, self.state(last=label)
            if path == "/undo":
                item = self.labelling.undo()
                return 200, self.state(last="undone" if item else "")
            if path == "/end":
                self.ended.set()
                return 200, self.state()
        return 404, {"error": "no such page"}


class _Handler(BaseHTTPRequestHandler):
    app: LabelServer
    server_version, sys_version = "trustgauge", ""
    protocol_version = "HTTP/1.0"  # no connection outlives its request
    timeout = 60

    def do_GET(self) -> None:
        if not self._welcome():
            return
        if self.path == "/":
            self._send(200, page(self.app.labelling, self.app.token).encode(), "text/html; charset=utf-8")
        elif self.path == "/audit.js":
            self._send(200, components.file("audit.js").encode(), "text/javascript; charset=utf-8")
        elif self.path == "/audit.css":
            style = html.style() + components.file("audit.css")
            self._send(200, style.encode(), "text/css; charset=utf-8")
        else:
            self._send(404, b"no such page", "text/plain; charset=utf-8")

    def do_POST(self) -> None:
        if not self._welcome():
            return
        origin = self.headers.get("Origin", "")
        own = origin.partition("://")[2].lower() == self.headers.get("Host", "").lower()
        token = self.headers.get("X-Audit-Token", "")
        if not own or not compare_digest(token.encode(), self.app.token.encode()):
            self._json(403, {"error": "only the page itself may label"})
            return
        size = self.headers.get("Content-Length", "")
        if not size.isdigit() or int(size) > LARGEST:
            self._json(413, {"error": "too much"})
            return
        asked = json_or_none(self.rfile.read(int(size)) or b"{}")
        if not isinstance(asked, dict):
            self._json(400, {"error": "no JSON object"})
            return
        try:
            self._json(*self.app.act(self.path, asked))
        except TrustgaugeError as error:  # a full disk: nothing was kept, and the page says so
            self._json(500, {"error": str(error)})

    def _welcome(self) -> bool:
        if self.app.knows(self.headers.get("Host", "")):
            return True
        self._send(421, b"call this page 127.0.0.1", "text/plain; charset=utf-8")
        return False

    def _json(self, status: int, content: dict[str, Any]) -> None:
        self._send(status, json.dumps(content).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: what people read is nobody's business."""


def serve(labelling: Labelling, port: int, ready: Callable[[str], None]) -> None:
    """Serve the page until the labeller ends it there, or presses Ctrl-C. All labels are kept by then."""
    with LabelServer(labelling, port) as server:
        ready(server.address)
        try:
            while not server.ended.wait(0.2):
                pass
        except KeyboardInterrupt:
            return
        server.ended.wait(0.3)  # the page gets its reply
