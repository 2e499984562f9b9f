"""The lexicon of a schema: the phrases by which questions refer to its tables, columns and values."""

import re
from dataclasses import dataclass, field

from rehearsal.sql.schema import Column, Table, Tables
from rehearsal.sql.synonyms import others
from rehearsal.sql.syntax import Spot, Value
from rehearsal.sql.tokenizer import QuestionToken, split
from rehearsal.states import CODES

Words = tuple[str, ...]
LONGEST = 5  # words of a phrase


@dataclass
class Meaning:
    """Everything that one phrase may refer to. Lower ranks are likelier. `values`: the required spelling, or ""."""

    tables: dict[str, int] = field(default_factory=dict)
    columns: dict[Spot, int] = field(default_factory=dict)
    values: dict[tuple[Spot, Value], str] = field(default_factory=dict)


class Lexicon:
    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.meanings: dict[Words, Meaning] = {}
        for table in tables.by_name.values():
            names = self._name_table(table)
            for column in table.columns:
                if not column.boolean:
                    self._name_column(table, column, names)
                self._name_values(table, column)

    def words(self) -> set[str]:
        return {word for words in self.meanings for word in words}

    def look_up(self, read: list[QuestionToken]) -> Meaning | None:
        """The meaning of exactly these words."""
        meaning = self.meanings.get(tuple(token.word for token in read))
        if meaning is None:
            return None
        text = " ".join(token.text for token in read)
        values = {key: form for key, form in meaning.values.items() if form in ("", text)}
        matching = Meaning(meaning.tables, meaning.columns, values)
        return matching if matching.tables or matching.columns or matching.values else None

    def like(self, text: str) -> list[tuple[Spot, Value]]:
        """The columns whose samples have the same format as this id, code or e-mail address."""
        return [
            (Spot(table.name, (column.name,)), text)
            for table in self.tables.by_name.values()
            for column in table.columns
            if (column.identity or "@" in text) and _shape(text) in map(_shape, column.texts)
        ]

    def _meaning(self, words: Words) -> Meaning:
        return self.meanings.setdefault(words, Meaning())

    def _name_table(self, table: Table) -> list[Words]:
        """The nouns for a table's rows, the likeliest first."""
        key = split(table.own_key)[:-1] if table.own_key.endswith("_id") else ()
        named = [(table.words, 0), *((words, 1) for words in others(table.words))]
        if len(table.words) > 1:
            named += [(table.words[-1:], 2), *((words, 3) for words in others(table.words[-1:]))]
        if key and key not in dict(named):
            named.append((key, 3))
        for words, rank in named:
            tables = self._meaning(words).tables
            tables[table.name] = min(rank, tables.get(table.name, rank))
        return [words for words, _ in named]

    def _name_column(self, table: Table, column: Column, names: list[Words]) -> None:
        spot, words = Spot(table.name, (column.name,)), column.words
        phrases = {words: 0} | dict.fromkeys(others(words), 1)
        if len(words) > 1 and not (column.identity or column.date):
            phrases.setdefault(words[-1:], 2)
        if column.name == table.own_key:
            phrases |= {("id",): 0}
        named = [(phrase, spot, rank) for phrase, rank in phrases.items()]
        if column.name in table.title:
            named.append((("name",), Spot(table.name, table.title), 0))
        for phrase, target, rank in named:
            for full in (phrase, *((*name, *phrase) for name in names)):
                columns = self._meaning(full).columns
                columns[target] = min(rank, columns.get(target, rank))

    def _name_values(self, table: Table, column: Column) -> None:
        spot, words = Spot(table.name, (column.name,)), column.words
        if column.boolean:
            bare = words[1:] if words[0] in ("is", "has", "for") else words
            self._value(bare, spot, True)
            self._value(("not", *bare), spot, False)
        elif column.codes:
            for name, code in CODES.items():
                self._value(split(name), spot, code)
                self._value((code.lower(),), spot, code, code)
        elif not (column.date or column.identity):
            person = column.name in table.full_name
            for text in column.texts:
                if len(split(text)) <= LONGEST and any(letter.isalpha() for letter in text) and "{" not in text:
                    self._value(split(text), spot, text, text if person or len(text) < 3 else "")

    def _value(self, words: Words, spot: Spot, value: Value, written: str = "") -> None:
        self._meaning(words).values[spot, value] = written


def _shape(text: str) -> str:
    """The format of an id: `#A9999999` for `#W1005766`."""
    return re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]", "A", re.sub(r"\d", "9", text)))
