"""Parses whole sentences: every word must have a place in one of the forms."""

from collections.abc import Callable
from dataclasses import replace

from rehearsal.sql.conditions import Phrases
from rehearsal.sql.syntax import MONEY, Measure, Noun, QuestionTree, Spots
from rehearsal.sql.tokenizer import phrases

_LEAD = phrases(
    "please, can you, could you, tell me, show me, show, give me, list, find, get me, i need, i want, i would like, "
    "to know, to see, what is, what are, what was, what were, hi, gimme, which of, calculate, me, display, return"
)
_COUNT = phrases("how many, number of, the number of, count, count of, count the, total number of, in how many")
_FUNCTIONS = {
    "sum": ("total", "sum of", "sum", "combined", "overall", "total of", "add up"),
    "avg": ("average", "avg", "mean", "average of"),
    "max": ("highest", "largest", "biggest", "maximum", "most expensive"),
    "min": ("lowest", "smallest", "minimum", "cheapest"),
}
_ASK = phrases("which, what, who, whose")
_DO = phrases("do, does, did, has, have, had, is, are, was, were, with, been, there, placed, made")
_EACH = phrases("per, by, for each, in each, for every, by each, each")
_DONE = phrases("are there, there are, exist, do we have, are, is there, we have, were there")
_GOING_ON = phrases("along, with, but, only, together, where, including")


class Questions(Phrases):
    """Parses one sentence. `Fragments` parses follow-ups."""

    def sentence(self) -> QuestionTree | None:
        self.skip(*_LEAD, "all", "every")
        self.articles()
        forms = (self.ranked, self.count, self.measured, self.values_of, self.rows)
        return self.first(*(lambda form=form: self._whole(form) for form in forms))

    def _whole(self, form: Callable[[], QuestionTree | None]) -> QuestionTree | None:
        """The form, if it and its groups reach the end of the sentence."""
        query = form()
        query = query and self._closed(query)
        return query if query and (self.ended() or self.token.word in _GOING_ON) else None

    def _closed(self, query: QuestionTree) -> QuestionTree:
        """`by state`, `are there`, and conditions after them."""
        start = self.at
        self.skip(*_DONE)
        grouped = None if query.columns else self.grouped(replace(query, measure=query.measure or Measure()))
        if grouped is None:
            self.at = self.at if self.ended() else start
            return query
        return replace(grouped, noun=self.narrowed(grouped.noun))

    def narrowed(self, noun: Noun, *, verb: bool = False) -> Noun:
        return replace(noun, filters=(*noun.filters, *self.modifiers(verb=verb)))

    def grouped(self, query: QuestionTree) -> QuestionTree | None:
        """`by state`, `per customer`, `for each status and city`."""
        self.take(",")
        self.take("split", "grouped", "broken down")
        subject = self.subject() if self.take(*_EACH) else None
        if subject is None:
            return None
        groups = [*query.groups, subject]
        while self.take("and") and (further := self.subject()):
            groups.append(further)
        return replace(query, groups=tuple(groups))

    def subject(self) -> Spots | Noun | None:
        """What to group by: a column, or a table without conditions."""
        if spots := self.column():
            return spots
        head = self.head()
        return head if head and head.tables and not head.filters else None

    # --- numbers

    def count(self) -> QuestionTree | None:
        """`how many pending orders`, `number of customers in Texas`, `how many different cities`."""
        if not self.take(*_COUNT):
            return None
        self.articles()
        different = bool(self.take("different", "distinct", "unique"))
        if different and (spots := self.column()):
            self.take("do", "does", "are there", "are there among", "do we have", "of")
            noun = self.noun() or self._holders(spots)
            self.take("live", "live in", "come from", "go to", "exist")
            return QuestionTree(noun, Measure("count", spots))
        self.skip("all")
        head = self.head()
        if head is None:
            return None
        self.take("are there", "do we have", "there are", "were there", "have there been")
        return QuestionTree(self.narrowed(self.narrowed(head), verb=True), Measure(), distinct=different)

    def function(self) -> str:
        return next((name for name, words in _FUNCTIONS.items() if self.take(*words)), "")

    def measured(self) -> QuestionTree | None:
        """`average price of Tent variants`, `total gift card balance`, `largest payment`."""
        self.articles()
        function = self.function()
        if not function:
            return None
        counted = self.take("number of")
        if spots := self.column():  # average price of variants
            noun = self.noun() if self.take("of", "for", "on", "in", "of all", "on all", "left on all") else None
            return QuestionTree(noun or self._holders(spots), Measure(function, spots))
        head = None if counted else self.head()
        if head is None:
            return None
        spots = self.column() or MONEY  # average gift card balance, largest payment
        return QuestionTree(self.narrowed(head), Measure(function, spots))

    def _holders(self, spots: Spots) -> Noun:
        return Noun(tuple({spot.table: 0 for spot in spots}.items()))

    # --- ranks

    def ranked(self) -> QuestionTree | None:
        """`top 5 customers by number of orders`, `which state has the most customers`."""
        who = self.token.word == "who"
        self.take(*_ASK)
        self.articles()
        best = self.take("top")
        limit = int(self.number() or 1)
        subject = Noun(self.people()) if who else self.subject()
        if subject is None:
            return None
        if best and self.take("by"):
            counted = self.count() or self.measured()
            return counted and replace(counted, groups=(subject,), most=True, limit=limit)
        self.skip(*_DO)
        self.take("the")
        rank = self.take("most", "fewest")
        if not rank:
            return None
        noun = self.noun()
        if noun is None:
            return None
        return QuestionTree(noun, Measure(), groups=(subject,), most=rank == "most", limit=limit)

    # --- lists

    def values_of(self) -> QuestionTree | None:
        """`names and emails of owners of cats`, `which states do we have customers in`, `the different genres`."""
        self.take(*_ASK)
        self.articles()
        distinct = bool(self.take("different", "distinct"))
        columns = self.columns()
        if columns and self.take("do we have", "are there"):
            noun = self.head()
            return QuestionTree(noun, columns=columns, distinct=True) if noun and self.take("in") else None
        if columns and self.take("of", "for", "from"):
            noun = self.noun()
            return QuestionTree(noun, columns=columns, distinct=distinct) if noun else None
        if columns and (self.take("exist") or distinct):
            return QuestionTree(self._holders(columns[0]), columns=columns, distinct=True)
        return None

    def rows(self) -> QuestionTree | None:
        """`pending orders`, `which customers have never ordered anything`, `who lives in Boston`."""
        word = self.token.word
        self.take(*_ASK)
        noun = Noun(self.people()) if word == "who" else self.head()
        last = self.tokens[self.at - 1]
        if noun is None or not (noun.tables or last.text.lower() != last.word):
            return None  # a value alone follows up another question
        return QuestionTree(self.narrowed(self.narrowed(noun), verb=True))
