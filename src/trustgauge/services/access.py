"""What a user confirms before a service is asked: keys that leave the machine, and code that runs on it.

A plan may come from a stranger. It names environment variables, addresses, programs and modules; this
module says which of these a user has to confirm, and keeps a key from going where nobody agreed to.
Nothing here opens, imports or sends anything.
"""

from __future__ import annotations

import ipaddress
import os
import re
from typing import ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from trustgauge.errors import Fault, PlanError
from trustgauge.services import Access, ServiceSpec

_PLACE = re.compile(r"(?:(https?)://)?((?:[\w.-]+|\[[0-9a-fA-F:]+\])(?::\d+)?)")


_KEY_NAME = re.compile(r"(?i)(key|token|secret|password|credentials?)$")
"""Names that a key may have in a `.env` file: a plan must not reach PATH or LD_PRELOAD through it."""


class ApiKeySpec(ServiceSpec):
    """A service that may need a key.

    The key goes to the provider's own hosts and to this machine. To any other host it goes only if the
    plan lists that host in `send_key_to`, or the user's own environment gives the address, and the command
    line asks the user to confirm it (`access`).

    Attributes:
        key: *name* of the environment variable that holds the key.
        send_key_to: further hosts the key may go to: `models.example.org`, `host:8443`, and
            `http://host` where the connection is not encrypted.
    """

    own_hosts: ClassVar[tuple[str, ...]] = ()
    """Hosts of the provider; one that begins with a dot stands for all hosts below it."""

    key: str = ""
    send_key_to: tuple[str, ...] = Field((), description="Further hosts that the key may go to")

    NOT_IDENTITY: ClassVar[frozenset[str]] = ServiceSpec.NOT_IDENTITY | {"send_key_to"}

    @field_validator("send_key_to")
    @classmethod
    def _places(cls, places: tuple[str, ...]) -> tuple[str, ...]:
        for place in places:
            if not _PLACE.fullmatch(place):
                raise ValueError('must hold hosts, such as "models.example.org" or "http://host:8080"')
        return places

    def key_address(self) -> str:
        """The address that the key would be sent to."""
        raise NotImplementedError

    def address_from_environment(self) -> bool:
        """Whether the user's environment, and not the plan, gives the address."""
        return False

    def key_agreed(self) -> bool:
        """Whether the plan itself says that the key goes to this address, apart from `send_key_to`."""
        return False

    def key_to_send(self) -> str:
        """The key as it is sent to the address in use; "" if it is not set, or is not sent there.

        Raises:
            PlanError: the plan names a key for a host that it does not list in `send_key_to`.
        """
        value = os.environ.get(self.key, "").strip() if self.key else ""
        return value if value and self._destination() != "withheld" else ""

    def variables(self) -> tuple[str, ...]:
        return (self.key,) if _KEY_NAME.search(self.key) else ()

    def access(self) -> tuple[Access, ...]:
        if not self.key or not os.environ.get(self.key, "").strip() or self._destination() != "confirmed":
            return ()
        return (Access("sends", self.key, _shown(self.key_address())),)

    def _destination(self) -> Literal["own", "confirmed", "withheld"]:
        address = self.key_address()
        parts = urlsplit(address)
        host = (parts.hostname or "").lower()
        encrypted = parts.scheme == "https"
        if is_loopback(host) or (encrypted and any(_is_of(host, own) for own in self.own_hosts)):
            return "own"
        if any(_fits(address, place) for place in self.send_key_to):
            return "confirmed"
        if encrypted and (self.address_from_environment() or self.key_agreed()):
            return "confirmed"
        if self.key == type(self).model_fields["key"].default and not self.address_from_environment():
            return "withheld"
        raise self.unlisted()

    def unlisted(self) -> PlanError:
        """The error of a key that would go to a host that the plan does not list."""
        address = self.key_address()
        return PlanError(
            (
                Fault(
                    "send_key_to",
                    f"{self.key} would go to {_shown(address)}",
                    must=f'listed, if that is meant: send_key_to = ["{_entry(address)}"]',
                    got=", ".join(self.send_key_to) or "no hosts",
                ),
            )
        )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("10.0.0.1")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost" or host.lower().endswith(".localhost")


def advice(service: ApiKeySpec) -> str:
    """What to do where a service refused because its key, which is set, was withheld; else ""."""
    if not service.key or service.key_to_send() or not os.environ.get(service.key, "").strip():
        return ""
    entry = _entry(service.key_address())
    return f'{service.key} was not sent there; to send it, put send_key_to = ["{entry}"] into the plan'


def _is_of(host: str, own: str) -> bool:
    return host == own or (own.startswith(".") and host.endswith(own))


def _entry(address: str) -> str:
    """What `send_key_to` has to hold for an address."""
    parts = urlsplit(address)
    return parts.netloc if parts.scheme == "https" else f"{parts.scheme}://{parts.netloc}"


def _shown(address: str) -> str:
    parts = urlsplit(address)
    return parts.netloc if parts.scheme == "https" else f"{parts.netloc} without encryption"


def _fits(address: str, place: str) -> bool:
    """Whether an entry of `send_key_to` stands for an address: scheme, host and port agree."""
    return _entry(address).lower() == place.lower().removeprefix("https://")
