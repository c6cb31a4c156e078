"""The first schema: runs, services, ratings and notes on them, tokens, jobs, webhooks; full-text search."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "runs",
        sa.Column("id", sa.String(80), primary_key=True),
        sa.Column("hash", sa.String(32), nullable=False),
        sa.Column("header", sa.Text, nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("evidence", sa.LargeBinary),
    )
    op.create_table(
        "services",
        sa.Column("slug", sa.String(80), primary_key=True),
        sa.Column("key", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("testing", sa.String(20), nullable=False),
        sa.Column("note", sa.Text, nullable=False),
    )
    op.create_table(
        "ratings",
        sa.Column("id", sa.String(90), primary_key=True),
        sa.Column("run", sa.String(80), sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("hash", sa.String(32), nullable=False),
        sa.Column("service", sa.String(80), sa.ForeignKey("services.slug"), nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("task", sa.String(20), nullable=False),
        sa.Column("method", sa.String(80), nullable=False),
        sa.Column("rule", sa.String(20), nullable=False),
        sa.Column("dimension", sa.Text, nullable=False),
        sa.Column("languages", sa.Text, nullable=False),
        sa.Column("level", sa.Text, nullable=False),
        sa.Column("badness", sa.Integer, nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("certainty", sa.Float),
        sa.Column("tested", sa.String(10), nullable=False),
        sa.Column("expires", sa.String(10), nullable=False),
        sa.Column("assessor", sa.Text, nullable=False),
        sa.Column("relationship", sa.String(20), nullable=False),
        sa.Column("supersedes", sa.String(90), nullable=False),
        sa.Column("withdrawn", sa.String(10), nullable=False),
        sa.Column("latest", sa.Boolean, nullable=False),
        sa.Column("received", sa.String(32), nullable=False),
        sa.Index("ratings_by_date", "latest", "tested", "run", "place"),
        sa.Index("ratings_by_level", "method", "dimension", "latest", "badness", "id"),
    )
    op.create_index("ix_ratings_run", "ratings", ["run"])
    op.create_index("ix_ratings_service", "ratings", ["service"])
    op.create_table(
        "contents",
        sa.Column("rating", sa.String(90), sa.ForeignKey("ratings.id"), primary_key=True),
        sa.Column("entry", sa.Text, nullable=False),
        sa.Column("quotations", sa.Text, nullable=False),
        sa.Column("card", sa.Text, nullable=False),
    )
    op.create_table(
        "revisions",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("rating", sa.String(90), sa.ForeignKey("ratings.id"), nullable=False),
        sa.Column("hash", sa.String(32), nullable=False),
        sa.Column("entry", sa.Text, nullable=False),
        sa.Column("replaced", sa.String(32), nullable=False),
    )
    op.create_index("ix_revisions_rating", "revisions", ["rating"])
    op.create_table(
        "notes",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("rating", sa.String(90), sa.ForeignKey("ratings.id"), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("at", sa.String(32), nullable=False),
    )
    op.create_index("ix_notes_rating", "notes", ["rating"])
    op.create_table(
        "tokens",
        sa.Column("name", sa.String(80), primary_key=True),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("made", sa.String(32), nullable=False),
        sa.Column("revoked", sa.String(32), nullable=False),
    )
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("action", sa.String(20), nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("run", sa.String(80), nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("stop", sa.Boolean, nullable=False),
        sa.Column("owner", sa.String(80), nullable=False),
        sa.Column("beat", sa.Float, nullable=False),
        sa.Column("began", sa.String(32), nullable=False),
        sa.Column("ended", sa.String(32), nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("job", sa.String(32), sa.ForeignKey("jobs.id"), nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_index("ix_events_job", "events", ["job"])
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("since", sa.Integer, nullable=False),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("webhook", sa.String(32), sa.ForeignKey("webhooks.id"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("due", sa.Float, nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.UniqueConstraint("webhook", "number"),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE TABLE search (id varchar(90) PRIMARY KEY, text text, words tsvector)")
        op.execute("CREATE INDEX search_words ON search USING gin (words)")
    else:
        op.execute("CREATE VIRTUAL TABLE search USING fts5 (id UNINDEXED, text, tokenize = 'unicode61')")
