"""Runs the migrations over a connection that is open already (`schema.migrate`)."""

from alembic import context

from trustgauge.apps.catalogue.schema import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
