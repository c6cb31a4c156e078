"""The service behind the proxy: where it is, and a connection to it."""

from __future__ import annotations

import asyncio
import socket
import ssl
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from trustgauge.apps.proxy.wire import END, LONGEST_HEAD
from trustgauge.errors import UnavailableError
from trustgauge.services.transport import AUTHORITY, REACH

OURS = "/v1"
"""Where clients find the service at the proxy; it stands for the path of the service's own address."""
_PORTS = {"http": 80, "https": 443}
_UNKNOWN_AUTHORITY = {2, 18, 19, 20, 21}  # X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT and what is like it
_TUNNEL = 60.0  # seconds that an HTTP proxy of the environment has to open a way


@dataclass(frozen=True)
class Upstream:
    """A service by its address, as `https://api.example/v1`, and what it is called."""

    name: str
    url: str
    trust: ssl.SSLContext | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.parts.scheme == "https" and self.trust is None:
            context = ssl.create_default_context()
            context.set_alpn_protocols(["http/1.1"])
            object.__setattr__(self, "trust", context)  # reading the certificates takes 20 ms

    @property
    def parts(self) -> SplitResult:
        """The address taken apart."""
        return urlsplit(self.url)

    @property
    def host(self) -> str:
        """Its name, as the Host header holds it."""
        return self.parts.netloc

    @property
    def place(self) -> tuple[str, int]:
        """Name and port."""
        return self.parts.hostname or "", self.parts.port or _PORTS[self.parts.scheme]

    def target(self, target: str) -> str:
        """What a request to the proxy asks of the service.

        >>> Upstream("x", "http://x.example/openai/v1").target("/v1/models?a=1")
        '/openai/v1/models?a=1'
        >>> Upstream("x", "http://x.example/openai/v1").target("/health")
        '/health'
        """
        rest = target[len(OURS) :]
        if not target.startswith(OURS) or (rest and rest[0] not in "/?"):
            return target
        return (self.parts.path.rstrip("/") + rest) or "/"

    def unreachable(self, error: BaseException) -> UnavailableError:
        """The error for a connection that could not be made; it quotes nothing but the address."""
        why, do = "no connection", REACH
        if isinstance(error, ssl.SSLCertVerificationError):
            why = f"its certificate is not accepted: {error.verify_message}"
            do = AUTHORITY if error.verify_code in _UNKNOWN_AUTHORITY else REACH
        elif isinstance(error, ConnectionRefusedError):
            why = "connection refused"
        elif isinstance(error, socket.gaierror):
            why = "its name cannot be resolved"
        where = f"{self.parts.scheme}://{self.host}"
        return UnavailableError(
            f"{self.name} cannot be reached at {where}: {why}",
            do=do,
        )

    async def connect(self, protocol: asyncio.Protocol) -> None:
        """Connect `protocol`, through the HTTP proxy of the environment if there is one for this address.

        Raises:
            OSError: there is no connection.
            UnavailableError: the HTTP proxy opens no way.
        """
        loop, (name, port) = asyncio.get_running_loop(), self.place
        way = None if proxy_bypass(name) else getproxies().get(self.parts.scheme)
        if not way:
            await loop.create_connection(lambda: protocol, name, port, ssl=self.trust)
            return
        transport = await _tunnel(urlsplit(way if "://" in way else f"http://{way}"), f"{name}:{port}")
        if self.trust is None:
            transport.set_protocol(protocol)
            protocol.connection_made(transport)
            return
        secured = await loop.start_tls(transport, protocol, self.trust, server_hostname=name)
        if secured is None:
            raise ConnectionError("the connection was lost")
        protocol.connection_made(secured)


class _Opening(asyncio.Protocol):
    """Waits for what an HTTP proxy says to CONNECT."""

    def __init__(self) -> None:
        self.said: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._head = b""

    def data_received(self, data: bytes) -> None:
        self._head += data
        if (END in self._head or len(self._head) > LONGEST_HEAD) and not self.said.done():
            self.said.set_result(self._head)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.said.done():
            self.said.set_exception(ConnectionError("the HTTP proxy hung up"))


async def _tunnel(proxy: SplitResult, place: str) -> asyncio.Transport:
    """A connection to `place` by CONNECT (RFC 9110, 9.3.6)."""
    loop = asyncio.get_running_loop()
    transport, opening = await loop.create_connection(_Opening, proxy.hostname or "", proxy.port or 80)
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
    if proxy.username:
        login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        lines.append(f"Proxy-Authorization: Basic {b64encode(login.encode()).decode()}")
    transport.write("\r\n".join([*lines, "", ""]).encode())
    try:
        said = await asyncio.wait_for(opening.said, _TUNNEL)
    except BaseException:
        transport.abort()
        raise
    if said[9:12] != b"200":
        transport.abort()
        status = said[9:12].decode("latin-1")
        raise UnavailableError(
            f"the HTTP proxy answered {status if status.isdigit() else 'no HTTP'}",
            do="Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY",
        )
    return transport
