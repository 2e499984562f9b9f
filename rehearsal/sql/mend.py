"""Puts right a statement with an understandable fault: slips in words, names close to known ones, a join left out."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from rehearsal.sql.joins import Joins
from rehearsal.sql.slips import Work, aliases_of, cut, keywords, known_words, marks, nearest
from rehearsal.sql.tables import Tables
from rehearsal.sql.writing import Written


def mend(sql: str, problem: str, tables: Tables, dialect: str) -> Written:
    """The statement put right, with what was changed; or why that is not clear."""
    work = Work(cut(sql.strip().rstrip(";").rstrip()))
    steps: tuple[Callable[[Work, Tables], Work], ...] = (
        marks,
        keywords,
        _tables,
        _columns,
        _commas,
        _joined,
        _qualified,
        _grouped,
    )
    for step in steps:
        work = step(work, tables)
    if not work.done or _senseless(work.sql):
        return Written(cannot=f"I do not see how to put this right: {problem or 'no fault is known'}.")
    return Written(work.sql, f"Put right: {'; '.join(work.done)}.")


def _senseless(sql: str) -> bool:
    """What was put right has become something that nobody means, and yet may run: BY as a name, a column as itself."""
    names = {word.lower() for word in re.findall(r"(\w+)\s+by\b", sql, re.IGNORECASE)} - {"group", "order", "partition"}
    return bool(names) or re.search(r"\b(\w+\.\w+)\s*=\s*\1\b", sql) is not None


def _tables(work: Work, tables: Tables) -> Work:
    names = tables.by_name
    before = ""
    for at, word in work.words():
        if before in ("from", "join") and word not in names and word.lower() not in ("select", "lateral"):
            found = nearest(word, names)
            if found:
                work = work.put(at, found, f"the table is {found}, not {word}")
                for place, other in work.words():
                    if other.startswith(f"{word}."):
                        work = work.put(place, f"{found}.{other.partition('.')[2]}", f"{found} for {word}")
        before = word.lower()
    return work


def _columns(work: Work, tables: Tables) -> Work:
    """Unknown columns: the nearest of the tables of the statement."""
    aliases = aliases_of(work.sql)
    used = [table for table in aliases.values() if table in tables.by_name]
    mine = [name for table in used for name in tables[table].names]
    known = known_words(tables) - {column.lower() for table in tables.by_name.values() for column in table.names}
    before = ""
    for at, word in work.words():
        alias, dot, column = word.rpartition(".")
        lower = word.lower()
        if dot and aliases.get(alias) in tables.by_name and column not in tables[aliases[alias]].names:
            found = nearest(column, tables[aliases[alias]].names)
            work = work.put(at, f"{alias}.{found}", f"the column is {found}, not {column}") if found else work
        called = work.pieces[at + 1 : at + 2] == ("(",) or before == "as"
        if not dot and not called and lower not in known and word not in aliases and lower not in map(str.lower, mine):
            elsewhere = any(lower == name.lower() for table in tables.by_name.values() for name in table.names)
            found = "" if elsewhere else nearest(word, mine)
            work = work.put(at, found, f"the column is {found}, not {word}") if found else work
        before = lower
    return work


def _commas(work: Work, tables: Tables) -> Work:
    """Two columns side by side in the list after SELECT."""
    columns = {column for table in tables.by_name.values() for column in table.names}
    end = next((at for at, word in work.words() if word.lower() == "from"), 0)
    places = [(at, word) for at, word in work.words() if at < end]
    for (at, word), (after, second) in reversed(list(pairwise(places))):
        plain = [one.rpartition(".")[2] in columns for one in (word, second)]
        if all(plain) and not "".join(work.pieces[at + 1 : after]).strip():
            work = work.put(at, f"{word},", "a comma between two columns")
    return replace(work, pieces=cut(work.sql))


def _joined(work: Work, tables: Tables) -> Work:
    """A table whose column is used and that is not there: joined along the keys."""
    aliases = aliases_of(work.sql)
    used = [table for table in aliases.values() if table in tables.by_name]
    wanted = ""
    mine = {name for table in used for name in tables[table].names}
    known = known_words(tables) - {column.lower() for table in tables.by_name.values() for column in table.names}
    for _, word in work.words():
        alias, dot, column = word.rpartition(".")
        if dot and alias not in aliases and alias in tables.by_name:
            wanted = alias
        if not dot and column not in mine and column.lower() not in known and column not in aliases:
            holders = [table.name for table in tables.by_name.values() if column in table.names]
            reach = Joins(tables)
            ranked = (
                sorted((cost, one) for one in holders for cost in [reach.reach(used[0], one)] if cost) if used else []
            )
            if ranked and (len(ranked) == 1 or ranked[0][0] < ranked[1][0]):
                wanted = ranked[0][1]
    return _with_table(work, tables, used, wanted) if wanted and used else work


def _with_table(work: Work, tables: Tables, used: list[str], wanted: str) -> Work:
    way = Joins(tables).path(used[0], wanted)
    place = re.search(
        r"\bfrom\b.*?(?=\b(?:where|group\s+by|order\s+by|having|limit)\b|$)", work.sql, re.IGNORECASE | re.DOTALL
    )
    if way is None or place is None:
        return work
    names = {table: alias for alias, table in aliases_of(work.sql).items() if table}
    lines = []
    for step in way[1]:
        if step.end not in used:
            on = " AND ".join(
                f"{step.end}.{theirs} = {names.get(step.start, step.start)}.{mine}" for mine, theirs in step.pairs
            )
            lines.append(f" JOIN {step.end} ON {on}")
    sql = f"{work.sql[: place.end()].rstrip()}{''.join(lines)} {work.sql[place.end() :]}".rstrip()
    return Work(cut(sql), (*work.done, f"{wanted} joined along the keys"))


def _qualified(work: Work, tables: Tables) -> Work:
    """A column that several tables have: that of the first."""
    aliases = {alias: table for alias, table in aliases_of(work.sql).items() if table in tables.by_name}
    for at, word in work.words():
        holders = [alias for alias, table in aliases.items() if word in tables[table].names]
        if len(holders) > 1 and word not in aliases and "." not in word:
            work = work.put(at, f"{holders[0]}.{word}", f"{word} is that of {aliases[holders[0]]}")
    return work


def _grouped(work: Work, tables: Tables) -> Work:
    """A column beside a measure that is not among the groups."""
    head = re.match(r"\s*select\s+(?:distinct\s+)?(.*?)\s+from\b", work.sql, re.IGNORECASE | re.DOTALL)
    parts = re.split(r",(?![^()]*\))", head[1]) if head else []
    measured = [part for part in parts if re.search(r"\b(?:count|sum|avg|min|max)\s*\(", part, re.IGNORECASE)]
    plain = [re.sub(r"\s+as\s+\w+$", "", part.strip(), flags=re.IGNORECASE) for part in parts if part not in measured]
    if not measured or not plain or "*" in plain or "select" in " ".join(plain).lower():
        return work
    groups = re.search(
        r"\bgroup\s+by\s+(.*?)(?=\s+(?:having|order\s+by|limit)\b|$)", work.sql, re.IGNORECASE | re.DOTALL
    )
    there = {one.strip().rpartition(".")[2].lower() for one in (groups[1].split(",") if groups else [])}
    lacking = [one for one in plain if one.rpartition(".")[2].lower() not in there and re.fullmatch(r"[\w.\"]+", one)]
    if not lacking or there & {str(number) for number in range(1, 9)}:
        return work
    if groups:
        sql = f"{work.sql[: groups.end(1)]}, {', '.join(lacking)}{work.sql[groups.end(1) :]}"
    else:
        place = re.search(r"\s+(?:having|order\s+by|limit)\b|$", work.sql, re.IGNORECASE)
        at = place.start() if place else len(work.sql)
        sql = f"{work.sql[:at]} GROUP BY {', '.join(lacking)}{work.sql[at:]}"
    return Work(cut(sql), (*work.done, f"grouped by {', '.join(lacking)}"))
