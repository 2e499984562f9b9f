"""Alembic's entry point. The caller provides the connection and commits the transaction."""

from alembic import context

from services.plan_store.tables import METADATA

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=METADATA, render_as_batch=connection.dialect.name == "sqlite")
context.run_migrations()
