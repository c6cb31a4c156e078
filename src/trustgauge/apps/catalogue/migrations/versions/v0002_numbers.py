"""Texts are found by numbers; what replaces a rating, and who published it, without reading all of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Number the texts of the search, and add indexes."""
    op.add_column("ratings", sa.Column("number", sa.Integer))
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE search ADD COLUMN number serial UNIQUE")
        op.execute("UPDATE ratings SET number = search.number FROM search WHERE search.id = ratings.id")
    else:
        op.execute("CREATE TEMPORARY TABLE numbers AS SELECT rowid AS number, id FROM search")
        op.execute("CREATE INDEX temp.numbers_id ON numbers (id)")
        op.execute("UPDATE ratings SET number = (SELECT number FROM numbers WHERE numbers.id = ratings.id)")
        op.execute("DROP TABLE numbers")
    op.create_index("ratings_number", "ratings", ["number"], unique=True)
    op.create_index("ix_ratings_supersedes", "ratings", ["supersedes"])
    op.create_index("ix_audit_subject", "audit", ["subject"])
