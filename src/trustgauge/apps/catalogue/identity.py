"""Which service of the catalogue a rating is of: its key in a plan, and what is asked under that key.

Plans give their services any key, often the same. So a service is known by its key and its place: a digest
of address, model and route, whatever its version, so that later versions stand in one history. Documents
of before have no place. There the fingerprint of a service without version tells, as it is of its settings;
else kind, provider and route do, and what those do not tell apart is one service.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, func, select, update
from sqlalchemy.sql.dml import Insert

from trustgauge.apps.catalogue.schema import SERVICES
from trustgauge.records import digest
from trustgauge.reports.document import is_talk
from trustgauge.reports.sanitize import visible

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RatingEntry, RunDocument


@dataclass(frozen=True, slots=True)
class ServiceIdentity:
    """What a rating says of its service.

    Attributes:
        key: its name in the plan.
        place: the digest of what is asked; "" if the document does not tell.
        fingerprint: of who answered; "" for several parts.
        route: the middle languages of a way there and back, between blanks: "es fi>it".
        settled: whether another fingerprint is another service: it has no version.
        talk: whether it is a talk, which is kept as a kind of its own.
    """

    key: str
    place: str
    fingerprint: str
    kind: str
    provider: str
    route: str
    settled: bool
    talk: bool

    @classmethod
    def of(cls, rating: RatingEntry, document: RunDocument) -> ServiceIdentity:
        """The identity of the service of a rating, from its document."""
        said = rating["service"]
        fingerprint = said.get("talked_with") or said["fingerprint"]
        return cls(
            key=visible(said["key"])[:1000],
            place=visible(said.get("place", ""))[:80],
            fingerprint=visible(fingerprint)[:80],
            kind=visible(said["kind"])[:200],
            provider=visible(said["provider"])[:200],
            route=_route(document["run"]["services"].get(said["key"])),
            settled=bool(fingerprint) and not said["version"],
            talk=is_talk(said),
        )

    @property
    def asked(self) -> str:
        """The fingerprint, if it tells a service from another one."""
        return self.fingerprint if self.settled else ""

    @property
    def columns(self) -> dict[str, str]:
        """What is kept of it."""
        sure = self.place or self.asked
        whole = [self.key, sure] if sure else [self.key, self.kind, self.provider, self.route]
        return {
            "identity": digest("catalogue-service", whole),
            "key": self.key,
            "place": self.place,
            "asked": self.asked,
            "kind": self.kind,
            "provider": self.provider,
            "route": self.route,
        }

    def find(self, connection: Connection) -> RowMapping | None:
        """The service that is kept already: of this place, else of this fingerprint, else like it."""
        known = SERVICES.c
        ways = [known.place == self.place] if self.place else []
        if self.fingerprint:
            same = known.asked == self.fingerprint
            ways.append(and_(same, known.place.in_(("", self.place))) if self.place else same)
        ways.append(and_(*self._alike))
        for way in ways:
            chosen = select(SERVICES).where(known.key == self.key, way)
            first = chosen.order_by(func.length(known.slug), known.slug).limit(1)
            if found := connection.execute(first).mappings().first():
                return found
        return None

    @property
    def _alike(self) -> list[ColumnElement[bool]]:
        known = SERVICES.c
        if self.talk and not self.place:
            return [known.key == self.key]  # of the bot of this name, whose kind a talk does not have
        alike = [getattr(known, name) == getattr(self, name) for name in ("kind", "provider", "route")]
        return [*alike, known.place == "", known.asked == ""] if self.place or self.asked else alike


def keep_service(connection: Connection, rating: RatingEntry, document: RunDocument, insert: Insert) -> str:
    """Find the service of a rating, or add it. Returns its name in addresses.

    Args:
        connection: of the database, in a transaction.
        rating: the rating.
        document: its document.
        insert: an insert into SERVICES that passes over what is there already.
    """
    mine = ServiceIdentity.of(rating, document)
    name = visible(rating["service"]["name"])[:1000]
    if found := mine.find(connection):
        _add_what_it_tells(connection, found, mine, name)
        return str(found["slug"])
    values = {**mine.columns, "name": name, "testing": "", "note": ""}
    kept = select(SERVICES.c.slug).where(SERVICES.c.identity == values["identity"])
    for number in count(1):
        connection.execute(insert.values(slug=numbered_slug(mine.key, number), **values))
        if slug := connection.execute(kept).scalar():
            return str(slug)
    raise AssertionError  # `count` does not end


def _add_what_it_tells(connection: Connection, found: RowMapping, mine: ServiceIdentity, name: str) -> None:
    """A later document may tell the place of a service; a talk says nothing of what it is."""
    if mine.talk:
        return
    place, asked = found["place"] or mine.place, found["asked"] or mine.asked
    values = replace(mine, place=place, fingerprint=asked, settled=bool(asked)).columns | {"name": name}
    if any(found[one] != value for one, value in values.items()):
        connection.execute(update(SERVICES).where(SERVICES.c.slug == found["slug"]).values(**values))


def slug_of(key: str) -> str:
    """The name of a service in addresses: its key where that is plain, else with a hash of it.

    >>> slug_of("apertium"), slug_of("openai/GPT 5")
    ('apertium', 'openai-gpt-5-ab67cc14')
    """
    plain = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:60]
    if plain and plain == key:
        return plain
    return f"{plain or 'service'}-{hashlib.blake2b(key.encode(), digest_size=4).hexdigest()}"


def numbered_slug(key: str, number: int) -> str:
    """The name in addresses of a service, the first of its key or a later one.

    >>> numbered_slug("mine", 1), numbered_slug("mine", 2)
    ('mine', 'mine-2')
    """
    return slug_of(key) if number == 1 else f"{slug_of(key)}-{number}"


def _route(service: Any) -> str:
    """The parts of a service that has several ways, in their order; "" for one without."""
    parts = service.get("parts") if isinstance(service, Mapping) else None
    keys = [str(key) for key in parts if key] if isinstance(parts, Mapping) else []
    return visible(" ".join(sorted(keys)))[:1000]
