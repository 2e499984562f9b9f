"""Alembic's entry: it is always given a connection, and leaves the transaction to whoever gave it."""

from alembic import context

from services.plan_store.tables import METADATA

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=METADATA, render_as_batch=connection.dialect.name == "sqlite")
context.run_migrations()
