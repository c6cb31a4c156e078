"""Where the proxy listens, and whose requests it takes.

Programs may use it, and the pages that it passes itself. A page of another site may not: a browser would let
any page spend the service's money and write into the rating.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hmac import compare_digest

from trustgauge.apps.proxy.error_responses import Refusal
from trustgauge.apps.proxy.wire import TOKEN, RequestHead
from trustgauge.errors import Fault, raise_faults

TOKEN_VARIABLE = "TRUSTGAUGE_PROXY_TOKEN"
"""The environment variable that holds the token."""
SHORTEST_TOKEN = 16
"""Characters of a token."""

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\s/?#@:\[\]]+)(:[0-9]*)?")
_ORIGIN = re.compile(r"null|[a-z][a-z0-9+.-]*://[^\s/?#@*]+")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_USUAL = {"http": ":80", "https": ":443"}


@dataclass(frozen=True, slots=True)
class ListenerConfig:
    """Where the proxy listens, by which names it may be called, and by whom.

    A page in a browser can make a name of its own mean 127.0.0.1; its requests still carry that name, so
    only known ones pass. Addresses in digits cannot be made to mean something else.

    Attributes:
        host: an address of this machine.
        port: 0 is any free one.
        names: by which it may be called, beside those of this machine.
        origins: of web pages that may use it, as "http://localhost:3000".
        token: that each request must bring; needed where others than this machine can reach the proxy.
        secret: names of headers, and of parts of a query, that are secrets beside those that are known to be.
    """

    host: str = "127.0.0.1"
    port: int = 8001
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    token: str = field(default="", repr=False)
    secret: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise PlanError, with every fault, if it must not be listened so."""
        faults = []
        if not self.token and not self.only_here:
            do = f"Choose one, as `openssl rand -hex 24` does, and set {TOKEN_VARIABLE}"
            got = f"{self.host}, and no {TOKEN_VARIABLE}"
            what = "others than this machine could use the proxy"
            faults.append(Fault("--listen", what, must="127.0.0.1, or guarded by a token", got=got, do=do))
        if self.token and (len(self.token) < SHORTEST_TOKEN or not re.fullmatch("[!-+.-~-]+", self.token)):
            must = f"{SHORTEST_TOKEN} or more letters, digits and signs, without spaces and commas"
            faults.append(Fault(TOKEN_VARIABLE, "this is not a token", must=must))
        for origin in self.origins:
            if not _ORIGIN.fullmatch(_plain(origin)):
                must = "scheme, name and port of a page, as http://localhost:3000, or null"
                faults.append(Fault("--allow-origin", "no origin of a web page", must=must, got=origin))
        for name in self.secret:
            if not _NAME.fullmatch(name):
                faults.append(Fault("--secret-header", "no name of a header", must="a name alone", got=name))
        raise_faults(faults)

    def refuses(self, head: RequestHead) -> Refusal | None:
        """Why a request may not pass, None if it may."""
        if not self.knows(head.fields.get("host", "")):
            text = "the proxy is not known by this name: start it with --allow-host, or call it localhost"
            return Refusal(421, "request.foreign-host", text)
        if not self._brings_token(head.fields):
            text = f"the header {TOKEN} must hold the token set in {TOKEN_VARIABLE} at the proxy"
            return Refusal(401, "request.token", text, (f"www-authenticate: {TOKEN}",))
        if not self._is_welcome(head.fields):
            text = "web pages of other sites may not use the proxy: --allow-origin allows one"
            return Refusal(403, "request.foreign-origin", text)
        return None

    def knows(self, host: str) -> bool:
        """Whether a Host header is one of ours.

        >>> ListenerConfig().knows("localhost:8001"), ListenerConfig().knows("elsewhere.example")
        (True, False)
        """
        match = _HOST.fullmatch(host.lower())
        if match is None:
            return False
        name = match["name"].strip("[]").rstrip(".")
        if name in {"localhost", self.host.lower(), *(one.lower() for one in self.names)}:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self.only_here

    @property
    def only_here(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"

    def _brings_token(self, fields: Mapping[str, str]) -> bool:
        brought = fields.get(TOKEN.lower(), "").encode("latin-1")
        return not self.token or compare_digest(brought, self.token.encode())

    def _is_welcome(self, fields: Mapping[str, str]) -> bool:
        """Whether it comes from a program, a page of our own, or one that is allowed.

        A browser tells the origin of a page with every request that could change something or be read by
        the page, and the relation of the sites with all others.
        """
        origin, site = fields.get("origin"), fields.get("sec-fetch-site", "none").lower()
        if origin is not None and _plain(origin) in {_plain(one) for one in self.origins}:
            return True
        if origin is not None and _plain(origin).partition("://")[2] != fields["host"].lower():
            return False
        return site in ("none", "same-origin")  # "none": somebody typed the address


def _plain(origin: str) -> str:
    """An origin as browsers write it: in small letters, without the usual port."""
    found = origin.strip().lower().rstrip("/")
    return found.removesuffix(_USUAL.get(found.partition(":")[0], ""))
