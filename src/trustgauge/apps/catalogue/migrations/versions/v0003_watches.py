"""Plans may be rated again and again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the interval of a job, and when it is due."""
    op.add_column("jobs", sa.Column("every", sa.Integer, nullable=False, server_default="0"))
    op.add_column("jobs", sa.Column("due", sa.Float, nullable=False, server_default="0"))
