"""The way to the service: through the HTTP proxy of the environment, and over TLS."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.apps.proxy.proxies import proxied, raw, received
from tests.servers import LocalServer, Response

Serve = Callable[..., LocalServer]
ASKED = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def connect_proxy(listener: socket.socket, port: int, heard: list[bytes], answer: bytes) -> None:
    """An HTTP proxy for one connection, wherever it is to go."""
    connection, _ = listener.accept()
    with connection:
        heard.append(received(connection, b"\r\n\r\n"))
        connection.sendall(answer)
        if b" 200 " in answer:
            asked = received(connection, b"\r\n\r\n")
            with socket.create_connection(("127.0.0.1", port)) as service:
                service.sendall(asked)
                connection.sendall(received(service, b"{}"))


@pytest.mark.parametrize(
    ("answer", "status"),
    [(b"HTTP/1.1 200 Yes\r\n\r\n", b"200"), (b"HTTP/1.1 407 No\r\n\r\n", b"502"), (b"", b"502")],
)
def test_the_http_proxy_of_the_environment(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, status: bytes
) -> None:
    server = serve(lambda request: Response.json({}))
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = listener.getsockname()[1]
        monkeypatch.setenv("http_proxy", f"http://ann:pass%20word@127.0.0.1:{place}")
        thread = threading.Thread(target=connect_proxy, args=(listener, server.port, heard, answer))
        thread.start()
        with proxied("http://bot.example:8080/v1", tmp_path / "t.jsonl") as proxy:
            back = raw(proxy.port, ASKED, until=b"{}")
        thread.join(5)
    assert back[9:12] == status
    assert heard[0].startswith(b"CONNECT bot.example:8080 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic YW5uOnBhc3Mgd29yZA==" in heard[0]
    assert b"pass" not in back
    if status == b"200":
        assert server.requests[0].headers["host"] == "bot.example:8080"
        assert "proxy-authorization" not in server.requests[0].headers


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the program openssl")
    folder = tmp_path_factory.mktemp("tls")
    made, key = folder / "cert.pem", folder / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=bot"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    return made, key


@pytest.mark.parametrize("trusted", [True, False])
def test_over_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certificate: tuple[Path, Path], *, trusted: bool
) -> None:
    back = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    heard: list[bytes] = []

    def service(listener: socket.socket) -> None:
        try:
            with context.wrap_socket(listener.accept()[0], server_side=True) as connection:
                heard.append(received(connection, b"\r\n\r\n"))
                connection.sendall(back)
        except OSError:
            heard.append(b"no handshake")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=service, args=(listener,))
        thread.start()
        with proxied(f"https://127.0.0.1:{listener.getsockname()[1]}/v1", tmp_path / "t.jsonl") as proxy:
            got = raw(proxy.port, ASKED)
        thread.join(5)
    if trusted:
        assert got == back
        assert heard[0].startswith(b"GET /v1/models HTTP/1.1")
    else:
        assert got.startswith(b"HTTP/1.1 502")
        assert b"its certificate is not accepted: self-signed certificate. Set SSL_CERT_FILE" in got
        assert heard == [b"no handshake"]
