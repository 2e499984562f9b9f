"""One SELECT put together, and what is shown of a row."""

from rehearsal.sql.ask import Measure, Spot
from rehearsal.sql.literals import name
from rehearsal.sql.scopes import Place, Scope
from rehearsal.sql.tables import Column

Shown = list[tuple[str, str]]  # expression and name


def title(measure: Measure) -> str:
    if measure.function == "count":
        return measure.noun.table if measure.noun and not measure.spots else f"{measure.spots[0].columns[0]}_count"
    if measure.per is not None:
        return "average"
    kinds = {"sum": "total", "avg": "average", "max": "highest", "min": "lowest"}
    return f"{kinds[measure.function]}_{measure.spots[0].columns[0]}"


def label(place: Place) -> Shown:
    table = place.writer.tables[place.table]
    return [(place.column(column), column) for column in table.label]


def key(place: Place) -> list[str]:
    return [place.column(column) for column in place.writer.tables[place.table].key]


def columns_of(place: Place, spots: tuple[Spot, ...]) -> Shown:
    spot, path = place.nearest(spots)
    there = place.at(path)
    return [(there.column(column), column) for column in spot.columns]


def column_of(place: Place, spot: Spot) -> Column:
    return place.writer.tables.column(spot.table, spot.columns[0])


def statement(  # noqa: PLR0913 - the parts of a SELECT, by name
    shown: Shown,
    scope: Scope,
    *,
    keys: list[str] | None = None,
    having: str = "",
    order: list[str] | None = None,
    limit: int | None = None,
    distinct: bool = False,
) -> str:
    lines = [f"SELECT {'DISTINCT ' if distinct else ''}{', '.join(_named(shown))}", scope.source()]
    if keys:
        lines.append(f"GROUP BY {', '.join(keys)}")
    if having:
        lines.append(f"HAVING {having}")
    if order:
        lines.append(f"ORDER BY {', '.join(dict.fromkeys(order))}")
    if limit is not None:
        lines.append(f"LIMIT {limit}")
    return "\n".join(lines)


def _named(shown: Shown) -> list[str]:
    """Expressions with their names, each name once."""
    taken: set[str] = set()
    lines = []
    for text, wanted in shown:
        label, number = wanted, 2
        while label in taken:
            label, number = f"{wanted}_{number}", number + 1
        taken.add(label)
        plain = text.rpartition(".")[2].strip('"') == label and "(" not in text
        lines.append(text if plain else f"{text} AS {name(label)}")
    return lines
