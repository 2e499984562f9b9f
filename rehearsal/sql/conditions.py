"""What is said of a noun: values, amounts, times, places, and rows of other tables."""

from dataclasses import replace

from rehearsal.sql.nouns import Nouns
from rehearsal.sql.reader import Unclear
from rehearsal.sql.synonyms import deeds
from rehearsal.sql.syntax import MONEY, Condition, Filter, Has, Noun, Spots
from rehearsal.sql.words import phrases

Conditions = tuple[Condition, ...]
_BE = phrases("is, are, was, were, be, been, being, get, got")
_HAVE = phrases("has, have, had, having, own, contain, containing, include, including, hold, with, is there")
_LIVE = phrases("live, living, lives, reside, residing, located, based, come, coming")
_GO = phrases("go, going, went, sent, shipped, addressed, headed, being sent")
_OF = phrases("of, by, from, for, in, on, to, at, with, belonging to, owned by, made by, placed by")
_ADVERBS = phrases(
    "currently, now, still, ever, already, also, either, both, so far, at least once, on file, right now, at the moment"
)
_WHO = phrases("that, who, which, whose")
_PLACES = phrases("zip, country, state, county, town, city, district, region")


class Phrases(Nouns):
    """Nouns with their conditions; see Grammar for whole questions."""

    def noun(self) -> Noun | None:
        """Rows: a table's name, with values before it and conditions after it."""
        head = self.head()
        return replace(head, filters=(*head.filters, *self.modifiers())) if head else None

    def modifiers(self) -> Conditions:
        """All that is said after a noun."""
        found: list[Condition] = []
        while True:
            start = self.at
            self.skip(*_ADVERBS)
            joined = bool(found) and self.take(", and", ", but", "and", "but", ",")
            relative = self.take(*_WHO)
            more = self.predicate() if relative or joined else self.post()
            if not more:
                self.at = start
                self.skip(*_ADVERBS)
                return tuple(found)
            found += more

    def has(self, noun: Noun, via: tuple[str, ...] = ()) -> Has:
        return Has(noun, via=tuple(word for word in via if word))

    def post(self) -> Conditions | None:
        """What stands after a noun without a verb of its own."""
        readers = (self.without, self.amount, self.timed, self.place, self.bare_values)
        return self.first(*readers, self.related, self.doing, self.called)

    def predicate(self) -> Conditions | None:
        """What stands after who or that, or as the verb of a question: `are pending`, `have no orders`."""
        self.skip(*_ADVERBS)
        negated = self.negation()
        found = self.first(self.having, self.being, self.post) or (self.nullable() if negated else None)
        return _denied(found) if negated else found

    def negation(self) -> bool:
        """`do not`, `have never`, `has not been`; the verb itself is left to be read, if it says something."""
        start = self.at
        self.skip("do", "does", "did", "have", "has", "had", "can", *_BE)
        if self.take("not", "never"):
            self.skip("ever", "yet", "been", "be")
            return True
        self.at = start
        return False

    def being(self) -> Conditions | None:
        """`are pending`, `is not available`, `were made in 2024`."""
        if not self.take(*_BE):
            return None
        self.skip(*_ADVERBS)
        negated = self.take("not", "never")
        self.skip(*_ADVERBS)
        if self.take("called", "named"):
            found: Conditions | None = self.values() or None
        else:
            found = self.first(
                self.bare_values, self.amount, self.timed, self.place, self.related, self.doing, self.nullable
            )
        return _denied(found) if negated else found

    def bare_values(self) -> Conditions | None:
        return self.values() or None

    def called(self) -> Conditions | None:
        """`named Ada`, `whose name contains "Bag"`, `with zip 97279`, `whose city is Boston`."""
        if self.take("called", "named"):
            return self.values() or None
        spots = self.column()
        return self._compared(spots) if spots else None

    def _compared(self, spots: Spots) -> Conditions | None:
        """A column is followed by what it contains, is, or is compared with."""
        if self.take("contain", "containing") and self.token.kind == "quoted":
            self.at += 1
            return (Filter(tuple((spot, (self.tokens[self.at - 1].text,)) for spot in spots), "like"),)
        be = self.take("is", "are", "of")
        negated = be and self.take("not")
        if found := self.values():
            wanted = {spot.columns for spot in spots}
            kept = tuple(option for option in found[0].options if option[0].columns in wanted)
            return (replace(found[0], options=kept, negated=negated),) if kept and len(found) == 1 else None
        if amount := self.compare(bare=be):
            return (Filter(tuple((spot, amount[1]) for spot in spots), amount[0], negated),)
        if self.token.kind in {"number", "id", "quoted"}:
            self.at += 1
            return (Filter(tuple((spot, (self.tokens[self.at - 1].text,)) for spot in spots), "in", negated),)
        return None

    def amount(self) -> Conditions | None:
        """`over $500`, `that cost less than 20 dollars`, `with a fee of at least 200`."""
        self.skip("with", "a", "have", "has")
        verb = self.take("cost", "costing", "priced", "priced at", "worth")
        spots = None if verb else self.column()
        self.skip("of")
        found = self.compare(bare=spots is not None)
        self.skip("on them", "on it", "each")
        if found is None or (spots is None and not verb and not self.ended() and self.term() is not None):
            return None
        return (Filter(tuple((spot, found[1]) for spot in spots or MONEY), found[0]),)

    def timed(self) -> Conditions | None:
        self.skip("made", "placed")
        found = self.when()
        return (found,) if found else None

    def place(self) -> Conditions | None:
        """`in Boston`, `living in Texas or Ohio`, `going to Hawaii`, `not in Oregon`."""
        lives = self.take(*_LIVE)
        goes = not lives and self.take(*_GO)
        negated = self.take("not")
        preposition = next((word for word in ("in", "to", "from", "at") if self.take(word)), "")
        if not preposition or (goes and preposition != "to"):
            return None
        self.skip("the state of", "the city of", "either", "the")
        found = self.values()
        self.skip("district", "state", "city") if found else None
        places = all(set(spot.columns) & set(_PLACES) for one in found for spot, _ in one.options)
        if not found or ((lives or goes or len(found) > 1) and not places):
            return None
        kind = "lives" if places and (lives or preposition == "from") else "in"
        return tuple(replace(one, op=kind, negated=one.negated or negated) for one in found)

    def related(self) -> Conditions | None:
        """`of Ada Grant`, `in cancelled orders`, `to people living in Detroit`, `with paypal`."""
        self.take("appear", "show up", "occur")
        found = self.noun() if self.take(*_OF) else None
        return (Has(found),) if found and found.filters else None

    def having(self) -> Conditions | None:
        """`have no orders`, `with more than three items`, `contain a Tent and a Kettle`, `with a phone`."""
        if not self.take("consist of", *_HAVE):
            return None
        return self.counted(())

    def without(self) -> Conditions | None:
        """`without a phone`, `lacking orders`."""
        if not self.take("without", "lacking"):
            return None
        self.articles()
        return _denied(self.filled() or self.counted(()))

    def filled(self) -> Conditions | None:
        """A column that holds something."""
        spots = self.column()
        return (Filter(tuple((spot, ()) for spot in spots), "null", negated=True),) if spots else None

    def nullable(self) -> Conditions | None:
        """`returned`: the date of that verb is known."""
        spots = self.dated()
        return (Filter(tuple((spot, ()) for spot in spots), "null", negated=True),) if spots else None

    def doing(self) -> Conditions | None:
        """`ordered a Tent`, `bought by customers in Ohio`, `paid with paypal`, `never lent`."""
        self.skip("has", "have", "had", "been")
        negated = self.take("not", "never")
        self.skip("been", "ever")
        if self.take("placed", "made", "place", "make"):
            found = self.counted(())
        else:
            verb = self.token.word
            via = deeds(verb)
            if not via:
                return _denied(self.nullable()) if negated else None
            self.at += 1
            self.skip("by", "with", "using", "for", "anything", "something")
            found = self.counted(via) or (Has(Noun((), (), via), via=via),)
        return _denied(found) if negated else found

    def counted(self, via: tuple[str, ...]) -> Conditions | None:
        """`no orders`, `at least one Tent`, `two or more payments`, `a Tent and a Kettle`."""
        found: list[Condition] = []
        while True:
            start, self.apart = self.at, True
            op, count = ("=", 0) if self.take("no", "not any", "not a single", "not a") else (">=", 1)
            if op == ">=" and (amount := self.compare(bare=True)):
                op, count = amount[0], int(float(amount[1][0]))
                if op == "between":
                    raise Unclear("a range of numbers of rows")
            if self.take("anything", "something"):
                noun: Noun | None = Noun((), (), via) if via else None
            else:
                noun = self.noun()
            self.apart = False
            if noun is None:
                self.at = start
                break
            found.append(Has(noun, op, count, via))
            start = self.at
            if not self.take("and", "but", "as well as"):
                break
        if found:
            self.at = start
        return tuple(found) or None


def _denied(found: Conditions | None) -> Conditions | None:
    if found and len(found) > 1:
        raise Unclear("“not” before several things")
    return tuple(_not(one) for one in found) if found else None


def _not(condition: Condition) -> Condition:
    if isinstance(condition, Filter):
        return replace(condition, negated=not condition.negated)
    if (condition.op, condition.count) in {(">=", 1), ("=", 0)}:
        return replace(condition, op="=" if condition.op == ">=" else ">=", count=1 - condition.count)
    raise Unclear("“not” before a number of rows")
