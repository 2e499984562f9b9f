"""What a schema tells of its rows: which are people, and which kind of rows a table is called after."""

from rehearsal.sql.ask import Match, Spot
from rehearsal.sql.tables import Tables
from rehearsal.sql.thesaurus import synonyms
from rehearsal.sql.words import split


def own_kind(tables: Tables, table: str) -> tuple[Match, ...]:
    """Where rows are of several kinds, one of them called like the table: only these."""
    for column in tables[table].columns:
        mine = [text for text in column.texts if split(text) == tables[table].words]
        if mine and len(column.texts) > 1:
            return (Match((((Spot(table, (column.name,)), (mine[0],)),),)),)
    return ()


def humans(tables: Tables) -> list[str]:
    """The tables whose rows are called by a person's name, authors and the like among them."""
    known = {
        "author",
        "artist",
        "director",
        "teacher",
        "student",
        "doctor",
        "owner",
        "player",
        "vet",
        "actor",
        *_people(),
    }
    return [
        table.name
        for table in tables.by_name.values()
        if table.full_name or known & ({table.words[-1]} | synonyms(table.words[-1]))
    ]


def _people() -> set[str]:
    people = {"customer", "person", "employee", "member"}
    return people | {other for word in people for other in synonyms(word)} - {"owner", "holder"}  # of whatever


def persons(tables: Tables) -> list[str]:
    """The tables whose rows are people."""
    people = _people()
    named = [table.name for table in tables.by_name.values() if table.full_name or table.words[-1] in people]
    return named if len(named) == 1 else []
