"""How a catalogue is served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from trustgauge.apps.catalogue.store import Role


@dataclass(frozen=True)
class ServeOptions:
    """How the catalogue is served.

    Attributes:
        ratings: folder of the runs that are made here.
        hosts: names that the catalogue is reached by, without a port.
        address: where it is reached from outside, with a slash at its end; "" if that is not known.
        user_header: header in which a reverse proxy names a user whom it has let in; "" for none.
        group_header: header in which that proxy names the groups of the user, with commas; "" for none.
        groups: group -> role of its members; the highest counts, and users without one are readers.
        keys: ids of the keys by one of which a rating must be signed to be published; any, if there are none.
        runs: settings of `run` by which plans are asked that are started here: who asks, and where that lies.
        reads_per_minute, writes_per_minute: of one client.
    """

    ratings: Path
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    address: str = ""
    user_header: str = ""
    group_header: str = ""
    groups: Mapping[str, Role] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()
    runs: Mapping[str, Any] = field(default_factory=dict)
    reads_per_minute: int = 6_000
    writes_per_minute: int = 120

    @cached_property
    def known_hosts(self) -> frozenset[str]:
        own = urlsplit(self.address).hostname
        return frozenset(one.lower() for one in (*self.hosts, *([own] if own else ())))
