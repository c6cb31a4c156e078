"""The tables of the catalogue, and the migrations that make them: SQLite and PostgreSQL by one schema.

A run is kept as its document without ratings, a rating as its entry of the document; together they are the
`rating.json` that was taken in. What lists and filters need stands in columns of `ratings`. Nothing that was
published is deleted or overwritten: an earlier text of a rating lies in `revisions`, and a withdrawal is a
note.
"""

from __future__ import annotations

from importlib.resources import files

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    false,
)
from sqlalchemy.pool import ConnectionPoolEntry

METADATA = MetaData()

RUNS = Table(
    "runs",
    METADATA,
    Column("id", String(80), primary_key=True),
    Column("hash", String(32), nullable=False),  # of the whole document
    Column("header", Text, nullable=False),  # the document without its ratings, canonical JSON
    Column(
        "folder", Text, nullable=False
    ),  # its run folder on this machine, "" if it was published from elsewhere
    Column("evidence", LargeBinary),  # rows as Parquet, null if they were not published
)

SERVICES = Table(
    "services",
    METADATA,
    Column("slug", String(80), primary_key=True),  # in addresses
    Column("identity", Text, nullable=False, unique=True),  # digest of key and place, or what tells it else
    Column("key", Text, nullable=False, server_default=""),  # its name in plans
    Column("place", String(80), nullable=False, server_default=""),  # digest of what is asked; "" if unknown
    Column("asked", String(80), nullable=False, server_default=""),  # the fingerprint, if that tells it
    Column("route", Text, nullable=False, server_default=""),  # middle languages, "es fi>it"; "" for none
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("testing", String(20), nullable=False),  # "" or "forbidden": the provider forbids testing
    Column("note", Text, nullable=False),
)

RATINGS = Table(
    "ratings",
    METADATA,
    Column("id", String(90), primary_key=True),
    Column("run", String(80), ForeignKey("runs.id"), nullable=False, index=True),
    Column("place", Integer, nullable=False),  # in the run's document, from 1
    Column("hash", String(32), nullable=False),  # of the document with this rating only; its ETag
    Column("service", String(80), ForeignKey("services.slug"), nullable=False, index=True),
    Column("version", Text, nullable=False),
    Column("task", String(20), nullable=False),
    Column("method", String(80), nullable=False),
    Column("rule", String(20), nullable=False),
    Column("sound", Integer, nullable=False, server_default="0"),  # 1 by our rule: lists begin with these
    Column("dimension", Text, nullable=False),  # what was rated: the attribute, or the profile of a chatbot
    Column("languages", Text, nullable=False),  # " en es ", of the parts
    Column("level", Text, nullable=False),  # "" for none
    Column("badness", Integer, nullable=False),  # place of the level from the best, 0 is best; 99 for none
    Column("state", String(20), nullable=False),
    Column("certainty", Float),
    Column("tested", String(10), nullable=False),
    Column("expires", String(10), nullable=False),
    Column("assessor", Text, nullable=False),
    Column("relationship", String(20), nullable=False),
    Column("supersedes", String(90), nullable=False, index=True),
    Column("withdrawn", String(10), nullable=False),  # the date, "" if it is not
    Column(
        "latest", Boolean, nullable=False
    ),  # the newest of its series (service, method, rule, dimension, assessor); of slight ones if all are
    Column("received", String(32), nullable=False),
    Column("ended", String(32), nullable=False, server_default=""),  # its run, UTC, ISO 8601; "" if not known
    Column(
        "slight", Boolean, nullable=False, server_default=false()
    ),  # of a talk, or provisional: it takes the place of no fuller rating
    Column("number", Integer),  # of its text in the table of full-text search
    Index("ratings_by_date", "latest", "sound", "tested", "ended", "received", "run", "place"),
    Index("ratings_number", "number", unique=True),
    Index("ratings_by_level", "method", "dimension", "latest", "badness", "id"),
)

CONTENTS = Table(  # apart from `ratings`, whose rows stay short and quick to search
    "contents",
    METADATA,
    Column("rating", String(90), ForeignKey("ratings.id"), primary_key=True),
    Column("entry", Text, nullable=False),  # canonical JSON
    Column("quotations", Text, nullable=False),  # of the first screen, JSON
    Column("card", Text, nullable=False),  # how lists show it, JSON (`cards.card`)
)

REVISIONS = Table(
    "revisions",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("rating", String(90), ForeignKey("ratings.id"), nullable=False, index=True),
    Column("hash", String(32), nullable=False),
    Column("entry", Text, nullable=False),
    Column("replaced", String(32), nullable=False),
)

NOTES = Table(
    "notes",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("rating", String(90), ForeignKey("ratings.id"), nullable=False, index=True),
    Column("kind", String(20), nullable=False),  # correction, withdrawal, reply
    Column("text", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("at", String(32), nullable=False),
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("name", String(80), primary_key=True),
    Column("role", String(20), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("made", String(32), nullable=False),
    Column("revoked", String(32), nullable=False),
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("at", String(32), nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", String(20), nullable=False),
    Column("subject", Text, nullable=False, index=True),
    Column("facts", Text, nullable=False),
)

JOBS = Table(
    "jobs",
    METADATA,
    Column("id", String(32), primary_key=True),  # the hash of its plan
    Column("plan", Text, nullable=False),
    Column("state", String(20), nullable=False),  # waiting, running, done, stopped, failed
    Column("run", String(80), nullable=False),
    Column("error", Text, nullable=False),
    Column("stop", Boolean, nullable=False),
    Column("owner", String(80), nullable=False),
    Column("beat", Float, nullable=False),  # seconds since 1970 at which its worker was last alive
    Column("began", String(32), nullable=False),
    Column("ended", String(32), nullable=False),
    Column("every", Integer, nullable=False, server_default="0"),  # seconds between two looks; 0: once
    Column("due", Float, nullable=False, server_default="0"),  # seconds since 1970 of the next look
)

EVENTS = Table(
    "events",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("job", String(32), ForeignKey("jobs.id"), nullable=False, index=True),
    Column("data", Text, nullable=False),
)

WEBHOOKS = Table(
    "webhooks",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("since", Integer, nullable=False),  # number of the audit log after which it is notified
)

DELIVERIES = Table(
    "deliveries",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("webhook", String(32), ForeignKey("webhooks.id"), nullable=False),
    Column("number", Integer, nullable=False),  # of the audit log
    Column("attempts", Integer, nullable=False),
    Column("due", Float, nullable=False),
    Column("state", String(20), nullable=False),  # due, delivered, failed
    UniqueConstraint("webhook", "number"),
)


def open_database(url: str) -> Engine:
    """The database at a URL, brought to the newest schema; a file of SQLite is made if it is not there."""
    engine = create_engine(_driver(url), pool_pre_ping=not url.startswith("sqlite"))
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
    migrate(engine)
    return engine


def migrate(engine: Engine, revision: str = "head") -> None:
    """Bring a database to a revision of the schema; several processes may try at once."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(files("trustgauge.apps.catalogue").joinpath("migrations")))
    with engine.begin() as connection:
        _lock(connection)
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def _lock(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7243)")  # any number, the same for all
    else:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _driver(url: str) -> str:
    """The URL with the driver that the extra installs."""
    for name in ("postgresql://", "postgres://"):
        if url.startswith(name):
            return f"postgresql+psycopg://{url.removeprefix(name)}"
    return url


def _set_up_sqlite(connection: object, _: ConnectionPoolEntry) -> None:
    for line in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=15000"):
        connection.execute(f"PRAGMA {line}")  # type: ignore[attr-defined]
