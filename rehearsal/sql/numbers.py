"""Questions for numbers: counts, sums, averages, what something costs, shares."""

from dataclasses import replace

from rehearsal.sql.conditions import Conditions, Phrases
from rehearsal.sql.synonyms import deeds
from rehearsal.sql.syntax import MONEY, Measure, Noun, Query
from rehearsal.sql.words import phrases

_COUNT = phrases(
    "how many, number of, the number of, count, count of, count the, how many of, total number of, in how many, "
    "to how many"
)
_FUNCTIONS = {
    "sum": ("total", "sum of", "sum", "combined", "overall", "total of", "add up", "sum up"),
    "avg": ("average", "avg", "mean", "average of"),
    "max": ("highest", "largest", "biggest", "maximum", "greatest", "most expensive"),
    "min": ("lowest", "smallest", "minimum", "cheapest"),
}
_SHARE = phrases(
    "percentage of, percent of, share of, fraction of, proportion of, portion of, percentage, % of, proportion"
)
_DO = phrases("do, does, did, has, have, had, is, are, was, were")


class Numbers(Phrases):
    """Reads questions that begin with how many, how much, or a measure."""

    def count(self) -> Query | None:
        """`how many pending orders`, `number of customers in Texas`, `how many different cities`."""
        if not self.take(*_COUNT):
            return None
        self.articles()
        different = self.take("different", "distinct", "unique")
        start = self.at
        if different and (query := self._different()):
            return query
        self.at = start
        self.skip("all")
        head = self.head()
        if head is None:
            return None
        self.skip("of them")
        if self.take("does each", "does every", "do each", "has each"):  # how many pets does each owner have
            group = self.head()
            return Query(head, (Measure(),), groups=(group,)) if group and self.take("have", "place", "own") else None
        if acted := self.acted(head):
            return Query(acted, (Measure(),), distinct=different)
        self.take("are there", "do we have", "there are", "were there", "have there been")
        noun = replace(head, filters=(*head.filters, *self.modifiers(), *(self.predicates() or ())))
        return Query(noun, (Measure(),), distinct=different)

    def _different(self) -> Query | None:
        """A column's different values; or rows, of which none is counted twice anyway."""
        spots = self.column()
        if spots is None:
            return None
        if self.take("do", "does", "are there", "are there among", "do we have", "of"):
            self.take("of", "among")
        tables = tuple({spot.table: 0 for spot in spots}.items())
        noun = self.noun() or Noun(tables)
        self.take("live", "live in", "come from", "go to", "exist")
        return Query(noun, (Measure("count", spots),), distinct=True)

    def acted(self, head: Noun) -> Noun | None:
        """`how many orders did customers from Ohio place`, `which books has Mina Park borrowed`."""
        start = self.at
        if self.take(*_DO) and (subject := self.noun()):
            word = self.token.word
            via = deeds(word) or (("",) if word in {"place", "placed", "have", "make", "own", "get"} else ())
            if via:
                self.at += 1
                self.skip("so far")
                has = self.has(subject, via)
                return replace(head, filters=(*head.filters, has, *self.modifiers()))
        self.at = start
        return None

    def predicates(self) -> Conditions:
        """The verb of the question and what follows it."""
        found = list(self.predicate() or ())
        while found:
            start = self.at
            more = self.predicate() if self.take(", and", ", but", "and", "but") else None
            if not more:
                self.at = start
                break
            found += more
        return (*found, *self.modifiers()) if found else ()

    def function(self) -> str:
        return next((one for one, phrases in _FUNCTIONS.items() if self.take(*phrases)), "")

    def measure(self) -> Query | None:
        """`average price of Tent variants`, `total gift card balance`, `largest payment`."""
        self.articles()
        functions = [self.function()]
        self.articles()
        start = self.at
        if self.take("and"):
            self.articles()
            functions.append(self.function())
        self.at = self.at if functions[-1] else start
        functions = [one for one in functions if one]
        if not functions:
            return None
        self.articles()
        start = self.at
        numbered = self.take("number of")
        if (spots := self.column()) is not None:  # average price of variants
            noun = (
                self.noun()
                if self.take("of", "for", "on", "in", "of all", "on all", "among the", "left on all")
                else None
            )
            noun = noun or Noun(tuple({spot.table: 1 for spot in spots}.items()))
        else:
            self.at = start
            noun = None if numbered else self.head()
            if noun is None:
                return None
            spots = self.column() or MONEY  # average gift card balance, largest payment
            more = self.noun() if self.take("of") else None
            noun = replace(noun, filters=(*noun.filters, *((self.has(more),) if more else ()), *self.modifiers()))
        return Query(noun, tuple(Measure(one, spots) for one in functions))

    def cost(self) -> Query | None:
        """`what do Monitor variants cost on average`, `how much is the cheapest Tent`."""
        if not self.take("what", "how much") or not self.take(*_DO):
            return None
        self.articles()
        function = self.function()
        noun = self.noun()
        if noun is None or (not function and not self.take("cost")) or function in {"sum", "avg"}:
            return None
        if self.take("on average"):
            function = "avg"
        elif self.take("together", "in total", "altogether"):
            function = "sum"
        return Query(noun, (Measure(function, MONEY),)) if function else Query(noun, columns=(MONEY,))

    def deed_sum(self) -> Query | None:
        """`how much did customers in Ohio spend`, `how much was refunded`, `how much did we pay`."""
        if not self.take("how much money", "how much", "what") or not self.take(*_DO):
            return None
        self.skip("been")
        subject = self.noun()
        if subject is None:
            self.take("we")
        word = self.token.word
        nouns = deeds(word)
        self.at += bool(nouns)
        rows = next((one for noun in nouns if (one := self.named(noun))), None)
        if rows is None:
            return None
        self.skip("in total", "altogether", "so far", "u")
        filters = (*rows.filters, *((self.has(subject),) if subject else ()), *self.modifiers())
        return Query(replace(rows, filters=filters), (Measure("sum", MONEY),))

    def named(self, word: str) -> Noun | None:
        """The rows that this word alone stands for, as if it were read."""
        reader = type(self)([replace(self.tokens[0], kind="word", text=word, word=word)], self.lexicon)
        return reader.head()

    def share(self) -> Query | None:
        """`what percentage of orders is cancelled`, `share of customers who live in Ohio`."""
        self.take("what", "which")
        self.articles()
        if not self.take(*_SHARE):
            return None
        head = self.head()
        if head is None:
            return None
        more = self.modifiers()
        if said := self.predicates():
            return Query(replace(head, filters=(*head.filters, *more)), (Measure(),), share=said)
        if more:
            return Query(head, (Measure(),), share=more)
        return Query(replace(head, filters=()), (Measure(),), share=head.filters) if head.filters else None
