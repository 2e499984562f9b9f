"""Groups, and what has the most of something: `by state`, `top 5 customers`, `the cheapest variants`."""

from dataclasses import replace

from rehearsal.sql.numbers import Numbers
from rehearsal.sql.synonyms import ADJECTIVES, deeds
from rehearsal.sql.syntax import DATE, MONEY, Measure, Noun, Query, Spot, Spots
from rehearsal.sql.words import phrases

_ASK = phrases("which, what, who, whose")
_EACH = phrases("per, for each, in each, for every, in every, by each, each, of each")
_GOING_ON = phrases("ordered, along, with, sorted, but, only, together, where, including")
_DO = phrases("do, does, did, has, have, had, is, are, was, were")


class Ranks(Numbers):
    """Reads groups and superlatives."""

    def group(self, query: Query) -> Query | None:
        """`by state`, `per customer`, `for each status and city`, `per month`."""
        self.take(",")
        self.take("split", "grouped", "broken down")
        each = self.take(*_EACH)
        if not each and not self.take("by"):
            return None
        if self.take("month", "year"):
            return replace(query, groups=(*query.groups, DATE), unit=self.tokens[self.at - 1].word)
        subject = self.subject()
        if subject is None:
            return None
        groups = [*query.groups, subject]
        while self.take("and") and (further := self.subject()):
            groups.append(further)
        return replace(query, groups=tuple(groups))

    def subject(self) -> Spots | Noun | None:
        """What groups are made of: a column, or a table without conditions."""
        if spots := self.column():
            return spots
        self.articles()
        head = self.head()
        return head if head and head.tables and not head.filters else None

    def ranked(self) -> Query | None:
        """`top 5 customers by number of orders`, `the 3 products with the most variants`."""
        self.take(*_ASK)
        self.articles()
        best = self.take("top", "best")
        limit = self.number()
        if not best and limit is None:
            return None
        subject = self.subject()
        if subject is None:
            return None
        if best and self.take("by", "with the most", "by the"):
            counted = self.count() or self.measure() or self._counted_rows()
            if counted is None or len(counted.measures) != 1:
                return None
            return replace(counted, groups=(subject,), order=((), True), limit=int(limit or 1))
        return self._most(subject, int(limit or 1))

    def _counted_rows(self) -> Query | None:
        noun = self.noun()
        return Query(noun, (Measure(),)) if noun else None

    def most(self) -> Query | None:
        """`which state has the most customers`, `who ordered the most`, `which species is the most common`."""
        who = self.take("who")
        self.take(*_ASK)
        self.articles()
        subject = Noun(self._people()) if who else self.subject()
        return self._most(subject, 1) if subject else None

    def _most(self, subject: Spots | Noun, limit: int) -> Query | None:
        if isinstance(subject, tuple) and self.take("is the most common", "is most common", "occur most often"):
            rows = Noun(tuple({spot.table: 0 for spot in subject}.items()))
            return Query(rows, (Measure(),), groups=(subject,), order=((), True), limit=limit)
        start = self.at
        self.skip(*_DO, "with", "been", "get", "there", "placed", "made")
        via = deeds(self.token.word)
        self.at += bool(via)
        self.take("the")
        ranks = {"most often": True, "most": True, "fewest": False, "least often": False, "highest number of": True}
        rank = next((word for word in ranks if self.take(word)), "")
        if not rank and not via and isinstance(subject, Noun) and (function := self.function()) in {"min", "max"}:
            spots = self.column()
            return Query(subject, order=(spots, function == "max"), limit=limit) if spots else None
        if not rank:
            self.at = start
            return self._having(subject)
        counted = self.noun()
        if counted is None and via:
            counted = Noun((), (), via)
        if counted is None or (via and counted.tables):
            return None
        grouped = Query(counted, (Measure(),), groups=(subject,))
        return replace(grouped, order=((), ranks[rank]), limit=limit)

    def _having(self, subject: Spots | Noun) -> Query | None:
        """`states with more than 30 customers`."""
        if isinstance(subject, Noun) or not self.take("have", "with", "has", "having", "there are"):
            return None
        amount = self.compare(bare=True)
        counted = self.noun() if amount else None
        return Query(counted, (Measure(),), groups=(subject,), having=amount) if counted else None

    def superlative(self) -> Query | None:
        """`the five most expensive variants`, `the latest visit`, `longest books`."""
        self.take(*_ASK)
        self.articles()
        limit = self.number()
        adjective = next((one for one in ADJECTIVES if self.take(one)), "")
        if not adjective:
            return None
        noun = self.noun()
        return self.best(adjective, noun, int(limit or 1)) if noun else None

    def best(self, adjective: str, noun: Noun, limit: int) -> Query:
        words, descending = ADJECTIVES[adjective]
        tables = self.lexicon.tables.by_name.values()
        spots: Spots = MONEY if not words else DATE if words == ("date",) else tuple(
            Spot(table.name, (one.name,)) for table in tables for one in table.columns if set(one.words) & set(words)
        )  # fmt: skip
        return Query(noun, order=(spots, descending), limit=limit)
