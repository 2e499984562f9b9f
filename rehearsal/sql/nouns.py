"""Nouns and values: which rows a question is about, before anything else is said of them."""

from dataclasses import replace

from rehearsal.sql.reader import Reader, Unclear
from rehearsal.sql.syntax import Filter, Noun
from rehearsal.sql.words import split


class Nouns(Reader):
    """Heads of nouns, with the values beside them; see Phrases for what follows."""

    apart = False  # “and” joins rows, not values of one row: `a Tent and a Kettle`

    def head(self) -> Noun | None:
        """`orders`, `pending orders`, `refunds`, `Tent variants`, `the customer Ada Grant`, `order #W1`."""
        start = self.at
        self.articles()
        if self.take("everybody", "everyone", "anybody", "anyone", "somebody", "someone", "person"):
            return Noun(self._people())
        filters: list[Filter] = list(self.values())
        end = self.at
        self.skip("'s", "'")
        begin = self.at
        meaning = self.term(kind="tables")
        if meaning is None:
            self.at = end
            self.skip("account", "card")
            if not filters:
                self.at = start
            return Noun((), tuple(filters)) if filters else None
        own = {(spot, value) for spot, value in meaning.values if spot.table in meaning.tables}
        filters += [Filter(tuple((spot, (value,)) for spot, value in own), "named")] if own else []
        words = tuple(token.word for token in self.tokens[begin : self.at])
        end = self.at
        self.skip("called", "named")
        named = self.identity(words) or self.values()
        self.at = self.at if named else end
        return Noun(tuple(meaning.tables.items()), (*filters, *named))

    def _people(self) -> tuple[tuple[str, int], ...]:
        meaning = self.lexicon.meanings.get(("person",))
        return tuple(meaning.tables.items()) if meaning else ()

    def value(self) -> Filter | None:
        """One value that some column has, which is not the name of a table as well."""
        start = self.at
        meaning = self.term(kind="values")
        if meaning is None or meaning.tables or meaning.columns:
            self.at = start
            return None
        return Filter(tuple((spot, (value,)) for spot, value in meaning.values))

    def values(self) -> tuple[Filter, ...]:
        """`pending`, `black or red`, `neither navy nor gray`, `Ada Grant`, `not pending`."""
        start = self.at
        negated = self.take("not", "neither", "except", "excluding", "other than", "non")
        self.articles()
        self.skip("either", "both")
        found: list[Filter] = []
        end, joined = start, ""
        while (value := self.value() or self._quoted()) is not None:
            merged = _either(found[-1], value) if found else None
            if merged and joined:
                found[-1] = merged
            elif joined in {"or", "nor"}:
                raise Unclear("“or” between values of different columns")
            else:
                found.append(value)
            end = self.at
            joined = next(
                (
                    word
                    for word in (("or", "nor") if self.apart else ("or", "nor", "and", ","))
                    if self.take(f", {word}", word)
                ),
                "",
            )
            self.articles()
        self.at = end
        if negated and len(found) > 1:
            raise Unclear("“not” before several values")
        return tuple(replace(one, negated=negated) for one in found)

    def _quoted(self) -> Filter | None:
        """An id, or a text in quotes, as the columns hold it."""
        if self.token.kind not in {"quoted", "id"} and not (self.token.kind == "number" and len(self.token.text) > 6):
            return None
        options = tuple((spot, (value,)) for spot, value in self.lexicon.like(self.token.text))
        self.at += bool(options)
        return Filter(options) if options else None

    def identity(self, words: tuple[str, ...]) -> tuple[Filter, ...]:
        """The id of a row that is called by these words: `item 9937863455`."""
        found = self._quoted()
        if found is None:
            return ()
        keys = tuple(option for option in found.options if split(option[0].columns[0]) == (*words, "id"))
        return (replace(found, options=keys or found.options),)


def _either(left: Filter, right: Filter) -> Filter | None:
    """Both values of one column, None if no column has both."""
    theirs = dict(right.options)
    options = tuple((spot, (*values, *theirs[spot])) for spot, values in left.options if spot in theirs)
    return replace(left, options=options) if options else None
