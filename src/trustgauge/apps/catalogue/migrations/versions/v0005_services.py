"""A service is its key and what is asked under it: ratings of several services of one key are told apart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

import sqlalchemy as sa
from alembic import op

from trustgauge.records import digest
from trustgauge.reports.sanitize import visible

revision = "0005"
down_revision = "0004"

SERIES = ("service", "method", "rule", "dimension", "assessor")
TEXTS = ("slug", "identity", "key", "place", "asked", "route", "name", "kind", "provider", "testing", "note")
SERVICES = sa.table("services", *(sa.column(one) for one in TEXTS))
RATINGS = sa.table(
    "ratings",
    *(sa.column(one) for one in ("id", "run", "tested", "received", "ended", "place", *SERIES)),
    sa.column("slight", sa.Boolean),
    sa.column("latest", sa.Boolean),
)
RUNS = sa.table("runs", sa.column("id"), sa.column("header"))
CONTENTS = sa.table("contents", sa.column("rating"), sa.column("entry"))
AT_ONCE = 200
Facts = dict[str, str]


def upgrade() -> None:
    """Add what tells services apart, and split those that were joined by their key."""
    op.execute("ALTER TABLE services RENAME COLUMN key TO identity")
    kinds = {"key": sa.Text(), "place": sa.String(80), "asked": sa.String(80), "route": sa.Text()}
    for name, kind in kinds.items():
        op.add_column("services", sa.Column(name, kind, nullable=False, server_default=""))
    connection = op.get_bind()
    services = connection.execute(sa.select(SERVICES)).mappings().all()
    taken = {row["slug"] for row in services}
    for row in services:
        _split(connection, dict(row), taken)


def _split(connection: sa.Connection, service: Facts, taken: set[str]) -> None:
    """Give each service of one key its ratings; the one that came first keeps the address."""
    key, slugs = service["identity"], [service["slug"]]
    groups = _grouped(_ratings(connection, service["slug"]))
    first = groups[0][0] if groups else {**service, "place": "", "asked": "", "route": ""}
    known = SERVICES.c.slug == service["slug"]
    connection.execute(sa.update(SERVICES).where(known).values(**_columns(key, first)))
    kept = {one: service[one] for one in ("testing", "note")}
    for said, names in groups[1:]:
        slug = next(one for number in count(2) if (one := f"{service['slug']}-{number}") not in taken)
        taken.add(slug)
        slugs.append(slug)
        connection.execute(sa.insert(SERVICES).values(**kept, **_columns(key, said), slug=slug))
        for start in range(0, len(names), AT_ONCE):
            mine = RATINGS.c.id.in_(names[start : start + AT_ONCE])
            connection.execute(sa.update(RATINGS).where(mine).values(service=slug))
    if len(slugs) > 1:
        _mark_latest(connection, slugs)


def _grouped(ratings: Sequence[tuple[str, Facts]]) -> list[tuple[Facts, list[str]]]:
    """The services that ratings are of, each with their ids."""
    found: list[tuple[Facts, list[str]]] = []
    for name, said in ratings:
        known = next((one for is_same in WAYS for one in found if is_same(one[0], said)), None)
        if known is None:
            found.append((dict(said), [name]))
            continue
        known[1].append(name)
        if not said["talk"]:
            known[0].update(said | {one: known[0][one] or said[one] for one in ("place", "asked")})
    return found


def _ratings(connection: sa.Connection, slug: str) -> list[tuple[str, Facts]]:
    """What each rating says of its service, in the order in which they came; talks come last."""
    columns = RATINGS.c.id, CONTENTS.c.entry, RUNS.c.header
    order = (RATINGS.c.received, RATINGS.c.run, RATINGS.c.place)
    chosen = (
        sa.select(*columns)
        .join(CONTENTS, CONTENTS.c.rating == RATINGS.c.id)
        .join(RUNS, RUNS.c.id == RATINGS.c.run)
        .where(RATINGS.c.service == slug)
        .order_by(*order)
    )
    rows = connection.execute(chosen)
    told = [(name, _facts(json.loads(entry), json.loads(header))) for name, entry, header in rows]
    return sorted(told, key=lambda one: one[1]["talk"])


def _facts(entry: Any, header: Any) -> Facts:
    said = entry["service"]
    fingerprint = str(said.get("talked_with") or said["fingerprint"])
    run = header["run"]["services"].get(said["key"])
    parts = run.get("parts") if isinstance(run, dict) else None
    ways = sorted(str(one) for one in parts if one) if isinstance(parts, dict) else []
    return {
        "place": visible(str(said.get("place", "")))[:80],
        "fingerprint": visible(fingerprint)[:80],
        "asked": visible(fingerprint)[:80] if fingerprint and not said["version"] else "",
        "name": visible(said["name"])[:1000],
        "kind": visible(said["kind"])[:200],
        "provider": visible(said["provider"])[:200],
        "route": visible(" ".join(ways))[:1000],
        "talk": "talk" if "talked_with" in said else "",
    }


def _is_place(known: Facts, said: Facts) -> bool:
    return said["place"] != "" and said["place"] == known["place"]


def _is_fingerprint(known: Facts, said: Facts) -> bool:
    contradicts = said["place"] and known["place"]
    return said["fingerprint"] != "" and said["fingerprint"] == known["asked"] and not contradicts


def _is_alike(known: Facts, said: Facts) -> bool:
    """Whether nothing tells two services apart; a talk is of the bot of its name."""
    if said["talk"] and not said["place"]:
        return True
    if (said["place"] or said["asked"]) and (known["place"] or known["asked"]):
        return False
    return all(known[one] == said[one] for one in ("kind", "provider", "route"))


WAYS = (_is_place, _is_fingerprint, _is_alike)
"""What tells of which service a rating is, the surest first."""


def _columns(key: str, said: Facts) -> Facts:
    """What is kept of a service; its identity as trustgauge makes it."""
    sure = said["place"] or said["asked"]
    whole = [key, sure] if sure else [key, said["kind"], said["provider"], said["route"]]
    kept = {one: said[one] for one in ("place", "asked", "route", "name", "kind", "provider")}
    return {**kept, "key": key, "identity": digest("catalogue-service", whole)}


def _mark_latest(connection: sa.Connection, slugs: Sequence[str]) -> None:
    """Mark the newest of every series again, as there are more of them now."""
    columns = [RATINGS.c[one] for one in ("id", *SERIES)]
    newest = [RATINGS.c[one].desc() for one in ("tested", "ended", "received", "id")]
    first: dict[tuple[str, ...], str] = {}
    chosen = sa.select(*columns).where(RATINGS.c.service.in_(slugs)).order_by(RATINGS.c.slight, *newest)
    for name, *series in connection.execute(chosen):
        first.setdefault(tuple(series), name)
    for key, name in first.items():
        same = sa.and_(*(RATINGS.c[one] == value for one, value in zip(SERIES, key, strict=True)))
        connection.execute(sa.update(RATINGS).where(same).values(latest=RATINGS.c.id == name))
