"""Which rows a question is about: a noun, with the values beside it and what is said of it."""

from dataclasses import replace

from rehearsal.sql.reader import Reader, Unclear
from rehearsal.sql.synonyms import deeds
from rehearsal.sql.syntax import MONEY, Condition, Filter, Has, Noun
from rehearsal.sql.words import phrases

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
    """Nouns with their conditions; see Questions for whole questions."""

    one = False  # the values of one row are joined by “or” alone: `a Tent and a Kettle` are two

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
        found: list[Filter] = []
        joined = ""
        while value := self._value() or self._quoted():
            merged = _either(found[-1], value) if found and joined else None
            if joined == "or" and not merged:
                raise Unclear("“or” between values of different columns")
            found = [*found[:-1], merged] if merged else [*found, value]
            end = self.at
            joined = self.take("or", ", or") or ("" if self.one else self.take("and", ",", ", and"))
            joined = "or" if "or" in joined else joined
        self.at = end if found else start
        if negated and len(found) > 1:
            raise Unclear("“not” before several values")
        return tuple(replace(one, negated=negated) for one in found)

    def _value(self) -> Filter | None:
        """One value that some column has, which is not the name of a table as well."""
        start = self.at
        self.articles()
        meaning = self.term("values")
        if meaning is None or meaning.tables or meaning.columns:
            self.at = start
            return None
        return Filter(tuple((spot, (value,)) for spot, value in meaning.values))

    def _quoted(self) -> Filter | None:
        """An id, or a text in quotes, as the columns hold it."""
        if self.token.kind not in {"quoted", "id"} and not (self.token.kind == "number" and len(self.token.text) > 6):
            return None
        options = tuple((spot, (value,)) for spot, value in self.lexicon.like(self.token.text))
        self.at += bool(options)
        return Filter(options) if options else None

    # --- what is said of a noun

    def modifiers(self, *, verb: bool = False) -> Conditions:
        """All that is said after a noun; `verb`: the question's own verb may begin it."""
        found: list[Condition] = []
        while True:
            start = self.at
            self.skip(*_ADVERBS)
            joined = bool(found) and self.take(", and", ", but", "and", "but", ",")
            more = self.predicate() if self.take(*_WHO) or joined or verb else self.post()
            if not more:
                self.at = start
                self.skip(*_ADVERBS)
                return tuple(found)
            found += more
            verb = False

    def post(self) -> Conditions | None:
        """What stands after a noun without a verb of its own."""
        return self.first(self.without, self.amount, self.place, self.values, self.related, self.doing)

    def predicate(self) -> Conditions | None:
        """What stands after who or that, or as the verb of a question: `are pending`, `have no orders`."""
        self.skip(*_ADVERBS)
        start = self.at
        self.take("do", "does", "did", "have", "has", "had", *_BE)
        negated = bool(self.take("not", "never"))
        self.at = self.at if negated else start
        self.skip("ever", "yet", *_BE, *_ADVERBS)
        found = self.first(self.having, self.post)
        return _denied(found) if negated else found

    def amount(self) -> Conditions | None:
        """`over $500`, `that cost less than 20 dollars`, `with a fee of at least 200`."""
        self.skip("with", "a", "have", "has")
        verb = self.take("cost", "costing", "priced", "worth")
        spots = None if verb else self.column()
        self.skip("of")
        found = self.compare()
        self.skip("on them", "on it", "each")
        if found is None or (spots is None and not verb and not self.ended() and self._names_rows()):
            return None
        return (Filter(tuple((spot, found[1]) for spot in spots or MONEY), found[0]),)

    def _names_rows(self) -> bool:
        """True if what follows a number are things of which there are so many."""
        start = self.at
        found = self.term("tables") or self.term("values")
        self.at = start
        return found is not None

    def place(self) -> Conditions | None:
        """`in Boston`, `living in Texas or Ohio`, `going to Hawaii`, `not in Oregon`."""
        lives = self.take("live", "lives", "living", "located", "based", "come")
        goes = not lives and self.take(*_GO)
        negated = bool(self.take("not"))
        preposition = self.take("in", "to", "from", "at")
        if not preposition or (goes and preposition != "to"):
            return None
        self.skip("the")
        found = self.values()
        self.skip("district")
        places = all(set(spot.columns) & _PLACES for one in found for spot, _ in one.options)
        if not found or (not places and self._names_rows()) or ((lives or goes or len(found) > 1) and not places):
            return None
        kind = "lives" if places and (lives or preposition == "from") else "in"
        return tuple(replace(one, op=kind, negated=one.negated or negated) for one in found)

    def related(self) -> Conditions | None:
        """`of Ada Grant`, `in cancelled orders`, `to people living in Detroit`, `with paypal`."""
        self.take("appear", "show up")
        found = self.noun() if self.take(*_OF) else None
        return (Has(found),) if found and found.filters else None

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
        via = deeds(self.token.text.lower())
        if not via:
            return None
        self.at += 1
        self.skip("by", "with", "using", "for", "anything", "something")
        return self._some(via) or (Has(Noun(), via=via),)

    def _some(self, via: tuple[str, ...]) -> Conditions | None:
        """`no orders`, `a Tent`; numbers of rows are not compared."""
        negated = bool(self.take("no"))
        self.take("at least one")
        before, self.one = self.one, True
        noun = self.noun()
        self.one = before
        return (Has(noun, negated, via),) if noun else None


def _denied(found: Conditions | None) -> Conditions | None:
    if found and (len(found) > 1 or found[0].negated):
        raise Unclear("“not” before several things")
    return found and (replace(found[0], negated=True),)


def _either(left: Filter, right: Filter) -> Filter | None:
    """Both values of one column, None if no column has both."""
    theirs = dict(right.options)
    options = tuple((spot, (*values, *theirs[spot])) for spot, values in left.options if spot in theirs)
    return replace(left, options=options) if options else None
