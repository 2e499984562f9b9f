"""The words of a schema: what its tables, columns and values are called in a question."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from rehearsal.sql.ask import Option, Spot, Value
from rehearsal.sql.places import CODES
from rehearsal.sql.tables import Column, Table, Tables
from rehearsal.sql.thesaurus import phrases, stem
from rehearsal.sql.words import Token, shape, split

Words = tuple[str, ...]
LONGEST, WORDS = 40, 6  # of a sample that is a word of the question
_WEAK = {"id", "name", "number", "date", "year", "at", "on", "time"}
_UNITS = {"cent", "usd", "eur", "dollar", "euro", "kg", "gram", "minute", "hour", "day", "cm", "mm", "km", "percent"}
_KINDS = {"type", "kind", "source", "category", "genre"}
_NOUNS = {
    "lent": "lending loan",
    "born": "birth",
    "published": "publication",
    "created": "creation",
    "due": "due return",
}
_STOCK = (("in", "stock"), ("out", "of", "stock"))


@dataclass
class Entry:
    """All that one phrase may mean. A value is kept with how it must be written, "" where that is all the same."""

    things: dict[str, int] = field(default_factory=dict)  # table: how far fetched
    spots: dict[Spot, int] = field(default_factory=dict)
    options: dict[Option, str] = field(default_factory=dict)

    def as_written(self, text: str) -> "Entry | None":
        """What it means when written like this; None if nothing."""
        options = {option: exact for option, exact in self.options.items() if exact in ("", text)}
        return Entry(self.things, self.spots, options) if self.things or self.spots or options else None


class Lexicon:
    """Phrases of normalised words and what they mean in these tables."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.entries: dict[Words, Entry] = {}
        self._stems: dict[str, list[Words]] = {}
        for table in tables.by_name.values():
            self._name_table(table)
        for table in tables.by_name.values():
            self._name_columns(table)
        for table in tables.by_name.values():
            for column in table.columns:
                self._name_values(table, column)
        for words in [words for words, entry in self.entries.items() if entry.options and len(words) == 1]:
            self._stems.setdefault(stem(words[0]), []).append(words)

    def look_up(self, words: Words, written: str) -> Entry | None:
        """What exactly this phrase means."""
        entry = self.entries.get(words)
        if entry is None and len(words) == 1 and len(words[0]) > 5:
            alike = self._stems.get(stem(words[0]), [])
            entry = Entry(options=self.entries[alike[0]].options) if len(alike) == 1 else None
        return entry.as_written(written) if entry else None

    def words(self) -> set[str]:
        return {word for words in self.entries for word in words}

    def value_words(self) -> set[str]:
        return {word for words, entry in self.entries.items() if entry.options for word in words}

    def shaped(self, token: Token) -> tuple[Option, ...]:
        """The columns whose samples have the form of this id, number or address of mail."""
        for exactly in (True, False) if token.kind != "number" else (True,):
            found: list[Option] = []
            for table in self.tables.by_name.values():
                for column in table.columns:
                    like = _like(column, token.text, exactly)
                    found += [(Spot(table.name, (column.name,)), (like,))] if like else []
            if found:
                return tuple(found)
        return ()

    def _entry(self, words: Words) -> Entry:
        return self.entries.setdefault(words, Entry())

    def _thing(self, words: Words, table: str, rank: int) -> None:
        things = self._entry(words).things
        things[table] = min(rank, things.get(table, rank))

    def _spot(self, words: Words, spot: Spot, rank: int) -> None:
        spots = self._entry(words).spots
        spots[spot] = min(rank, spots.get(spot, rank))

    def _name_table(self, table: Table) -> None:
        for words, rank in called(table):
            self._thing(words, table.name, rank)

    def _name_columns(self, table: Table) -> None:
        names = [words for words, rank in called(table) if rank < 3]
        for column in table.columns:
            spot = Spot(table.name, (column.name,))
            for phrase, rank in _said(column).items():
                self._spot(phrase, spot, rank)
                for name in names:
                    self._spot((*name, *phrase), spot, rank)
                    if phrase in (("type",), ("kind",)):
                        self._spot((*phrase, "of", *name), spot, 1)
        self._name_rows(table, names)

    def _name_rows(self, table: Table, names: list[Words]) -> None:
        """What rows are called by: their name or title, their address, their key."""
        for phrases_of, columns in (((("name",), ("full", "name")), table.title), ((("address",),), _address(table))):
            for phrase in phrases_of if columns else ():
                self._spot(phrase, Spot(table.name, columns), 0)
                for name in names:
                    self._spot((*name, *phrase), Spot(table.name, columns), 0)
        if table.own_key:
            key = Spot(table.name, (table.own_key,))
            for end in ("id", "number"):
                self._spot((end,), key, 0)
                for name in names:
                    self._spot((*name, end), key, 0)

    def _name_values(self, table: Table, column: Column) -> None:
        spot = Spot(table.name, (column.name,))
        if column.boolean:
            self._name_flag(spot, split(column.name))
        if column.date or column.identity:
            return
        for text in column.texts:
            words = split(text)
            if len(text) <= LONGEST and len(words) <= WORDS and any(letter.isalpha() for letter in text):
                self._value(words, spot, text, text if len(text) < 3 else "")
        if column.codes:
            for name, code in CODES.items():
                self._value(split(name), spot, code, "")
                self._value((code.lower(),), spot, code, code)

    def _name_flag(self, spot: Spot, words: Words) -> None:
        bare = words[1:] if words[0] in ("is", "has", "for") and len(words) > 1 else words
        for phrase in (bare, *((_STOCK[0],) if bare[-1] in ("available", "stock") else ())):
            self._value(phrase, spot, True, "")
        for prefix in ("un", "in"):
            self._value((*bare[:-1], prefix + bare[-1]), spot, False, "")
        if bare[-1] in ("available", "stock"):
            self._value(_STOCK[1], spot, False, "")

    def _value(self, words: Words, spot: Spot, value: Value, exact: str) -> None:
        if words:
            self._entry(words).options[spot, (value,)] = exact


def called(table: Table) -> Iterator[tuple[Words, int]]:
    """What a table's rows are called, and how far fetched that is."""
    yield table.words, 0
    for words in phrases(table.words):
        yield words, 1
    if len(table.words) > 1:
        yield table.words[-1:], 2
        for words in phrases(table.words[-1:]):
            yield words, 3
    key = split(table.own_key) if table.own_key else ()
    if len(key) > 1 and key[-1] == "id" and key[:-1] != table.words:
        yield key[:-1], 2


def _said(column: Column) -> dict[Words, int]:
    """What a column is called, and how far fetched that is."""
    words = split(column.name)
    said = {words: 0} | dict.fromkeys(phrases(words), 1)
    if len(words) > 1 and words[0] in ("is", "has", "for"):
        said[words[1:]] = 0
    if len(words) > 1 and words[-1] in _UNITS:
        said[words[:-1]] = 1
    if words[-1] in _KINDS and not column.identity:
        said |= {("type",): 2, ("kind",): 2}
    if column.date:
        forms = _forms(words[0])
        said |= {("date",): 3} | {phrase: 1 for one in forms for phrase in ((one, "date"), ("date", "of", one))}
    if len(words) > 1 and words[-1] not in _WEAK and not column.references:
        said |= {words[-1:]: 2} | dict.fromkeys(phrases(words[-1:]), 3)
    return said


def _forms(verb: str) -> set[str]:
    """Nouns of a verb that a column of days is named after: `joined` → join, joining."""
    root = stem(verb)
    return {verb, root, f"{root}e", f"{root}ing", f"{root}ed", *_NOUNS.get(verb, "").split()}


def _address(table: Table) -> Words:
    """The columns of an address, in their order."""
    parts = [split(name) for name in table.names]
    lines = any(words[0] in ("address", "street") or words[0].startswith("address") for words in parts)
    wanted = {"street", "city", "state", "zip", "country", "address1", "address2", "address"}
    found = tuple(name for name, words in zip(table.names, parts, strict=True) if words[0] in wanted)
    return found if lines and len(found) > 1 else ()


def _like(column: Column, text: str, exactly: bool) -> str:
    """The text as this column would hold it; "" where it looks otherwise."""
    for sample in column.texts:
        if not column.identity and "@" not in sample:
            continue
        for written in (text, f"#{text}", text.lstrip("#")):
            if "@" in sample and "@" in written:
                return written
            if shape(written) == shape(sample) and (not exactly or len(_digits(written)) == len(_digits(sample))):
                return written
    return ""


def _digits(text: str) -> str:
    return "".join(letter for letter in text if letter.isdigit())
