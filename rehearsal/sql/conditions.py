"""Parses which rows a question is about: a noun, with adjacent values and conditions."""

from dataclasses import replace

from rehearsal.sql.reader import Reader, Unclear
from rehearsal.sql.synonyms import verb_nouns
from rehearsal.sql.syntax import MONEY, Condition, Filter, Has, Noun
from rehearsal.sql.tokenizer import phrases

Conditions = tuple[Condition, ...]
_PERSONS = phrases("everybody, everyone, anybody, anyone, somebody, someone, person")
_BE = phrases("is, are, was, were, be, been, being, get, got")
_HAVE = phrases("has, have, had, having, own, contain, containing, include, including, hold, with, is there")
_GO = phrases("go, going, went, sent, shipped, addressed, being sent")
_OF = phrases("of, by, from, for, in, on, to, at, with, belonging to, owned by, made by, placed by")
_ADVERBS = phrases("currently, now, still, ever, already, also, either, so far, at least once, on file, right now")
_WHO = phrases("that, who, which, whose")
_PLACES = {"zip", "country", "state", "town", "city", "district"}


class Phrases(Reader):
    """Parses nouns with their conditions. `Questions` parses whole questions."""

    single_row = False  # of a single row, where only “or” joins values: `a Tent and a Kettle` are two rows

    def noun(self) -> Noun | None:
        """Rows: a table's name, with values before it and conditions after it."""
        head = self.head()
        return replace(head, filters=(*head.filters, *self.modifiers())) if head else None

    def head(self) -> Noun | None:
        """`orders`, `pending orders`, `refunds`, `Tent variants`, `the customer Ada Grant`, `order #W1`."""
        start = self.at
        self.articles()
        if self.take(*_PERSONS):
            return Noun(self.people())
        filters: list[Filter] = list(self.values())
        self.skip("'s", "'")
        meaning = self.term("tables")
        if meaning is None:
            self.skip("account", "card")
            self.at = self.at if filters else start
            return Noun((), tuple(filters)) if filters else None
        own = tuple((spot, (value,)) for spot, value in meaning.values if spot.table in meaning.tables)
        named = (Filter(own, "named"),) if own else ()
        return Noun(tuple(meaning.tables.items()), (*filters, *named, *self.values()))

    def people(self) -> tuple[tuple[str, int], ...]:
        meaning = self.lexicon.meanings.get(("person",))
        return tuple(meaning.tables.items()) if meaning else ()

    def values(self) -> tuple[Filter, ...]:
        """`pending`, `black or red`, `Ada Grant`, `not pending`."""
        start = end = self.at
        negated = bool(self.take("not", "except", "excluding"))
        filters: list[Filter] = []
        joined = ""
        while value := self._value() or self._quoted():
            merged = _either(filters[-1], value) if filters and joined else None
            if joined == "or" and not merged:
                raise Unclear("“or” between values of different columns")
            filters = [*filters[:-1], merged] if merged else [*filters, value]
            end = self.at
            joined = self.take("or", ", or") or ("" if self.single_row else self.take("and", ",", ", and"))
            joined = "or" if "or" in joined else joined
        self.at = end if filters else start
        if negated and len(filters) > 1:
            raise Unclear("“not” before several values")
        return tuple(replace(condition, negated=negated) for condition in filters)

    def _value(self) -> Filter | None:
        """One value of some column that is not also the name of a table or column."""
        start = self.at
        self.articles()
        meaning = self.term("values")
        if meaning is None or meaning.tables or meaning.columns:
            self.at = start
            return None
        return Filter(tuple((spot, (value,)) for spot, value in meaning.values))

    def _quoted(self) -> Filter | None:
        """An id, or a quoted text, in the columns' format."""
        if self.token.kind not in {"quoted", "id"} and not (self.token.kind == "number" and len(self.token.text) > 6):
            return None
        options = tuple((spot, (value,)) for spot, value in self.lexicon.like(self.token.text))
        self.at += bool(options)
        return Filter(options) if options else None

    # --- conditions after a noun

    def modifiers(self, *, verb: bool = False) -> Conditions:
        """All conditions after a noun. `verb`: the first may begin with the question's own verb."""
        conditions: list[Condition] = []
        while True:
            start = self.at
            self.skip(*_ADVERBS)
            joined = bool(conditions) and self.take(", and", ", but", "and", "but", ",")
            more = self.predicate() if self.take(*_WHO) or joined or verb else self.post()
            if not more:
                self.at = start
                self.skip(*_ADVERBS)
                return tuple(conditions)
            conditions += more
            verb = False

    def post(self) -> Conditions | None:
        """A condition after a noun, without a verb of its own."""
        return self.first(self.without, self.amount, self.place, self.values, self.related, self.doing)

    def predicate(self) -> Conditions | None:
        """A condition after `who` or `that`, or as the verb of a question: `are pending`, `have no orders`."""
        self.skip(*_ADVERBS)
        start = self.at
        self.take("do", "does", "did", "have", "has", "had", *_BE)
        negated = bool(self.take("not", "never"))
        self.at = self.at if negated else start
        self.skip("ever", "yet", *_BE, *_ADVERBS)
        conditions = self.first(self.having, self.post)
        return _denied(conditions) if negated else conditions

    def amount(self) -> Conditions | None:
        """`over $500`, `that cost less than 20 dollars`, `with a fee of at least 200`."""
        self.skip("with", "a", "have", "has")
        verb = self.take("cost", "costing", "priced", "worth")
        spots = None if verb else self.column()
        self.skip("of")
        comparison = self.compare()
        self.skip("on them", "on it", "each")
        if comparison is None or (spots is None and not verb and not self.ended() and self._names_rows()):
            return None
        return (Filter(tuple((spot, comparison[1]) for spot in spots or MONEY), comparison[0]),)

    def _names_rows(self) -> bool:
        """Whether the number counts rows: a table or value follows it."""
        start = self.at
        meaning = self.term("tables") or self.term("values")
        self.at = start
        return meaning is not None

    def place(self) -> Conditions | None:
        """`in Boston`, `living in Texas or Ohio`, `going to Hawaii`, `not in Oregon`."""
        lives = self.take("live", "lives", "living", "located", "based", "come")
        goes = not lives and self.take(*_GO)
        negated = bool(self.take("not"))
        preposition = self.take("in", "to", "from", "at")
        if not preposition or (goes and preposition != "to"):
            return None
        self.skip("the")
        filters = self.values()
        self.skip("district")
        places = all(set(spot.columns) & _PLACES for condition in filters for spot, _ in condition.options)
        if not filters or (not places and self._names_rows()) or ((lives or goes or len(filters) > 1) and not places):
            return None
        kind = "lives" if places and (lives or preposition == "from") else "in"
        return tuple(replace(condition, op=kind, negated=condition.negated or negated) for condition in filters)

    def related(self) -> Conditions | None:
        """`of Ada Grant`, `in cancelled orders`, `to people living in Detroit`, `with paypal`."""
        self.take("appear", "show up")
        noun = self.noun() if self.take(*_OF) else None
        return (Has(noun),) if noun and noun.filters else None

    def having(self) -> Conditions | None:
        """`have no orders`, `contain a Tent`, `with a phone`."""
        return self._some(()) if self.take(*_HAVE) else None

    def without(self) -> Conditions | None:
        """`without a phone`, `without orders`."""
        if not self.take("without"):
            return None
        if spots := self.column():
            return (Filter(tuple((spot, ()) for spot in spots), "null"),)
        return _denied(self._some(()))

    def doing(self) -> Conditions | None:
        """`ordered a Tent`, `bought by customers in Ohio`, `paid with paypal`, `placed an order`."""
        self.skip("has", "have", "had", "been")
        if self.take("placed", "made", "place", "make"):
            return self._some(())
        via = verb_nouns(self.token.text.lower())
        if not via:
            return None
        self.at += 1
        self.skip("by", "with", "using", "for", "anything", "something")
        return self._some(via) or (Has(Noun(), via=via),)

    def _some(self, via: tuple[str, ...]) -> Conditions | None:
        """`no orders`, `a Tent`. Numbers of rows are not supported."""
        negated = bool(self.take("no"))
        self.take("at least one")
        before, self.single_row = self.single_row, True
        noun = self.noun()
        self.single_row = before
        return (Has(noun, negated, via),) if noun else None


def _denied(conditions: Conditions | None) -> Conditions | None:
    if conditions and (len(conditions) > 1 or conditions[0].negated):
        raise Unclear("“not” before several things")
    return conditions and (replace(conditions[0], negated=True),)


def _either(left: Filter, right: Filter) -> Filter | None:
    """One filter for both values; None if no column has both."""
    theirs = dict(right.options)
    options = tuple((spot, (*values, *theirs[spot])) for spot, values in left.options if spot in theirs)
    return replace(left, options=options) if options else None
