"""Ratings by our own rule stand first in lists."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add whether a rating is by our rule, to the index of lists too."""
    op.add_column("ratings", sa.Column("sound", sa.Integer, nullable=False, server_default="0"))
    op.execute("UPDATE ratings SET sound = 1 WHERE rule = 'sound'")
    op.drop_index("ratings_by_date", "ratings")
    columns = ["latest", "sound", "tested", "ended", "received", "run", "place"]
    op.create_index("ratings_by_date", "ratings", columns)
