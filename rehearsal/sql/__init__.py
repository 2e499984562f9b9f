"""Questions in English become SQL over any tables that are shown, by a grammar; and what goes with that.

Pure: nothing here reads or writes anything but its arguments.
"""

from rehearsal.sql.answers import answer
from rehearsal.sql.followups import rewrite
from rehearsal.sql.mend import mend
from rehearsal.sql.relevant import Relevant, columns_for, relevant
from rehearsal.sql.requests import classify
from rehearsal.sql.tables import Tables, read_tables
from rehearsal.sql.writing import Written, write_sql

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
