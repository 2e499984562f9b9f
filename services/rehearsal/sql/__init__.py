"""Questions in English become SQL over any tables that are shown, by a grammar; and what goes with that.

Pure: nothing here reads or writes anything but its arguments.
"""

from services.rehearsal.sql.answers import answer
from services.rehearsal.sql.followups import rewrite
from services.rehearsal.sql.mend import mend
from services.rehearsal.sql.relevant import Relevant, columns_for, relevant
from services.rehearsal.sql.requests import classify
from services.rehearsal.sql.tables import Tables, read_tables
from services.rehearsal.sql.writing import Written, write_sql

__all__ = [
    "Relevant",
    "Tables",
    "Written",
    "answer",
    "classify",
    "columns_for",
    "mend",
    "read_tables",
    "relevant",
    "rewrite",
    "write_sql",
]
