"""Whole sentences: every word must have its place in one of the forms."""

from collections.abc import Callable
from dataclasses import replace

from rehearsal.sql.ranks import Ranks
from rehearsal.sql.syntax import Measure, Noun, Query
from rehearsal.sql.words import phrases

_LEAD = phrases(
    "please, can you, could you, tell me, show me, show us, show, give me, list, find, get me, i need, i want, i "
    "would like, to know, to see, what is, what are, what was, what were, hi, i want, gimme, which of, are there, "
    "calculate, compute, find out, me, display, return, let me know, do you know, us, and"
)
_ASK = phrases("which, what, who, whose")
_DONE = phrases("are there, there are, exist, do we have, are, is there, we have")
_GOING_ON = phrases("ordered, along, with, sorted, but, only, together, where, including")


class Grammar(Ranks):
    """Reads one sentence; Fragments reads what goes on from it."""

    def sentence(self) -> Query | None:
        self.skip(*_LEAD, "all", "every")
        self.articles()
        return self.first(
            *(lambda form=form: self._whole(form) for form in (
                self.cost, self.share, self.ranked, self.most, self.count, self.deed_sum, self.measure,
                self.superlative, self.owned, self.values_of, self.rows)),
        )  # fmt: skip

    def _whole(self, form: Callable[[], Query | None]) -> Query | None:
        """The form, if it and its groups reach to the end of the sentence."""
        query = form()
        query = query and self.closed(query)
        return query if query and (self.ended() or self.token.word in _GOING_ON) else None

    def closed(self, query: Query) -> Query:
        """`by state`, `are there`, and conditions after them."""
        while True:
            start = self.at
            self.skip(*_DONE, "please")
            grouped = self.group(replace(query, measures=query.measures or (Measure(),))) if not query.columns else None
            if grouped is None:
                self.at = start if not self.ended() else self.at
                more = self.modifiers() if query.groups else ()
                return replace(query, noun=replace(query.noun, filters=(*query.noun.filters, *more)))
            query = grouped

    def owned(self) -> Query | None:
        """`Quinn Horvat's email`, `order #W1's status`."""
        self.take(*_ASK)
        noun = self.head()
        columns = self.columns() if noun and self.token.kind == "possessive" and self._pass() else ()
        return Query(noun, columns=columns) if noun and columns else None

    def _pass(self) -> bool:
        self.at += 1
        return True

    def values_of(self) -> Query | None:
        """`names and emails of owners of cats`, `which states do we have customers in`, `the different kinds of …`."""
        self.take(*_ASK)
        self.articles()
        distinct = self.take("different", "distinct")
        columns = self.columns()
        if not columns:
            return None
        if self.take("do we have", "are there"):
            noun = self.head()
            return Query(noun, columns=columns, distinct=True) if noun and self.take("in") else None
        if self.take("of", "for", "from"):
            noun = self.noun()
            return Query(noun, columns=columns, distinct=distinct) if noun else None
        if self.take("exist") or distinct:
            rows = Noun(tuple({spot.table: 0 for spot in columns[0]}.items()))
            return Query(rows, columns=columns, distinct=True)
        return None

    def rows(self) -> Query | None:
        """`pending orders`, `which customers have never ordered anything`, `who lives in Boston`."""
        if self.take("who"):
            noun: Noun | None = Noun(self._people())
        else:
            self.take(*_ASK)
            noun = self.head()
        if noun is None:
            return None
        if (
            not noun.tables
            and self.at == len(noun.filters)
            and self.tokens[self.at - 1].text.lower() == self.tokens[self.at - 1].word
        ):
            return None  # a value alone goes on from another question
        if acted := self.acted(noun):
            return Query(acted)
        said = (*self.modifiers(), *self.predicates())
        return Query(replace(noun, filters=(*noun.filters, *said)))
