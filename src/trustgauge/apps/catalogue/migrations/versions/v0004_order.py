"""Ratings stand in the order in which their runs ended; a talk takes the place of no fuller rating."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

SERIES = ("service", "method", "rule", "dimension", "assessor")
RATINGS = sa.table(
    "ratings",
    *(sa.column(one) for one in ("id", "run", "tested", "received", "ended", *SERIES)),
    sa.column("slight", sa.Boolean),
    sa.column("latest", sa.Boolean),
)
RUNS = sa.table("runs", sa.column("id"), sa.column("header"))
CONTENTS = sa.table("contents", sa.column("rating"), sa.column("entry"))
AT_ONCE = 200


def upgrade() -> None:
    """Add when a run ended and whether a rating is slight, from the documents that are kept."""
    op.add_column("ratings", sa.Column("ended", sa.String(32), nullable=False, server_default=""))
    op.add_column("ratings", sa.Column("slight", sa.Boolean, nullable=False, server_default=sa.false()))
    op.drop_index("ratings_by_date", "ratings")
    columns = ["latest", "tested", "ended", "received", "run", "place"]
    op.create_index("ratings_by_date", "ratings", columns)
    connection = op.get_bind()
    _date_runs(connection)
    _find_slight(connection)
    _mark_latest(connection)


def _date_runs(connection: sa.Connection) -> None:
    names = connection.execute(sa.select(RUNS.c.id)).scalars().all()
    for name in names:
        header = connection.execute(sa.select(RUNS.c.header).where(RUNS.c.id == name)).scalar_one()
        ended = _utc(str(json.loads(header)["run"]["ended"]))
        connection.execute(sa.update(RATINGS).where(RATINGS.c.run == name).values(ended=ended))


def _find_slight(connection: sa.Connection) -> None:
    names = connection.execute(sa.select(RATINGS.c.id).where(RATINGS.c.method == "trust")).scalars().all()
    for start in range(0, len(names), AT_ONCE):
        chosen = CONTENTS.c.rating.in_(names[start : start + AT_ONCE])
        rows = connection.execute(sa.select(CONTENTS.c.rating, CONTENTS.c.entry).where(chosen)).all()
        slight = [name for name, entry in rows if json.loads(entry)["details"].get("provisional") is True]
        connection.execute(sa.update(RATINGS).where(RATINGS.c.id.in_(slight)).values(slight=True))


def _mark_latest(connection: sa.Connection) -> None:
    """Mark the newest of every series again, as their order is another one now."""
    columns = [RATINGS.c[one] for one in ("id", "slight", "latest", *SERIES)]
    newest = [RATINGS.c[one].desc() for one in ("tested", "ended", "received", "id")]
    first: dict[tuple[str, ...], str] = {}
    marked: dict[tuple[str, ...], str] = {}
    for name, _, latest, *series in connection.execute(
        sa.select(*columns).order_by(RATINGS.c.slight, *newest)
    ):
        first.setdefault(tuple(series), name)
        if latest:
            marked[tuple(series)] = name
    changed = [key for key, name in first.items() if marked.get(key) != name]
    for key in changed:
        same = sa.and_(*(RATINGS.c[one] == value for one, value in zip(SERIES, key, strict=True)))
        connection.execute(sa.update(RATINGS).where(same).values(latest=RATINGS.c.id == first[key]))


def _utc(time: str) -> str:
    try:
        moment = datetime.fromisoformat(time)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError):
        return ""
