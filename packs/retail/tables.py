"""The store's own tables: documents as text, because the order of their keys shows in results.

The world "" is the base as it was loaded; other worlds have rows only for documents that were written there.
"""

from sqlalchemy import Column, Integer, MetaData, String, Table, Text

METADATA = MetaData()
BASE = ""

documents = Table(
    "retail_documents",
    METADATA,
    Column("world", String(200), primary_key=True),
    Column("kind", String(20), primary_key=True),
    Column("id", String(200), primary_key=True),
    Column("place", Integer, nullable=False),
    Column("body", Text, nullable=False),
)
effects = Table(
    "retail_effects",
    METADATA,
    Column("world", String(200), primary_key=True),
    Column("key", String(500), primary_key=True),
    Column("tool", Text, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("result", Text, nullable=False),
)
bases = Table("retail_base", METADATA, Column("fingerprint", String(64), primary_key=True))
