"""Parses elliptical follow-ups after a question: `Only in Oregon.`, `and by state?`, `how many are they?`."""

from dataclasses import replace

from rehearsal.sql.conditions import Conditions
from rehearsal.sql.questions import Questions
from rehearsal.sql.reader import Unclear
from rehearsal.sql.syntax import LABEL, Condition, Filter, Has, Measure, QuestionTree
from rehearsal.sql.tokenizer import phrases

_LEAD = phrases(
    "and, but, now, only, just, please, ok, then, also, show me, show, give me, i need, list, what about, how about, "
    "the same for, same for, make it, with, including, the, i want, one, along with, together with, plus, what is"
)
_TAIL = phrases("please, instead, one, thank you, thank, only, too, as well, now, of them")
_ONCE = phrases("each once, every one once, each of them once, no duplicate, without duplicate")
_THEM = phrases("are they, are there, of them, of those, are those, is that, was that, in total")


class Fragments(Questions):
    """Parses a question with its follow-ups to the last word."""

    def question(self) -> QuestionTree | None:
        """The whole question; None if the grammar cannot place every word."""
        query = self.sentence()
        while query is not None and self.token.kind != "end":
            while self.token.kind == "mark":
                self.at += 1
            self.skip("please", "thank you", "thank")
            if self.token.kind != "end":
                query = self._fragment(query)
        return query

    def _fragment(self, query: QuestionTree) -> QuestionTree | None:
        """The question modified by the next words."""
        start = self.at
        for skipped in (True, False):
            for read in (self._shape, self._columns, self._group, self._filter):
                self.at = start
                if skipped:
                    self.skip(*_LEAD)
                if changed := read(query):
                    self.skip(*_TAIL)
                    if self.ended():
                        return changed
        return None

    def _shape(self, query: QuestionTree) -> QuestionTree | None:
        """`how many are they`, `how many of them are pending`, `list them`, `each once`."""
        if self.take(*_ONCE):
            return replace(query, distinct=query.measure is None)
        if self.take("them", "those", "which", "who are they"):
            return replace(query, measure=None, groups=()) if query.measure else None
        if not self.take("how many"):
            return None
        if self.take("of those", "of them", "of these"):
            query = replace(query, noun=self.narrowed(query.noun, verb=True))
        else:
            noun = self.head() or query.noun
            known = set(noun.filters) <= set(query.noun.filters) and noun.tables in {(), query.noun.tables}
            if not known or not (self.take(*_THEM) or self.ended()):
                return None
        return replace(query, measure=Measure(), columns=(), most=None, limit=None)

    def _columns(self, query: QuestionTree) -> QuestionTree | None:
        """`item id and price`, `with the customer's last name`, `their emails too`."""
        beside = self.tokens[self.at - 1].word in {"with", "also", "including", "plus"}
        columns = self.columns()
        if not columns or query.groups or query.measure:
            return None
        return replace(query, columns=(*(query.columns or ((LABEL,) if beside else ())), *columns))

    def _group(self, query: QuestionTree) -> QuestionTree | None:
        """`and by state`, instead of other groups."""
        return self.grouped(replace(query, measure=query.measure or Measure(), groups=()))

    def _filter(self, query: QuestionTree) -> QuestionTree | None:
        """`in Oregon`, `delivered ones`, `without refunds`, `mastercard`, `above 100 dollars`."""
        self.skip("those", "that", "where")
        denied = bool(self.take("no", "not", "not the"))
        self.take("for")
        start = self.at
        added: Conditions = self.values()
        if not added or not (self.take("one") or self.ended()):
            self.at = start
            added = self.modifiers(verb=True)
        if not added or (denied and (len(added) > 1 or added[0].negated)):
            return None
        if denied:
            added = (replace(added[0], negated=True),)
        if any(
            _overlap(new, condition)
            for new in added
            for has in query.noun.filters
            if isinstance(has, Has)
            for condition in has.noun.filters
        ):
            raise Unclear("It is not clear what that takes the place of")
        remaining = [
            condition for condition in query.noun.filters if not any(_overlap(new, condition) for new in added)
        ]
        return replace(query, noun=replace(query.noun, filters=(*remaining, *added)))


def _overlap(new: Condition, old: Condition) -> bool:
    """Whether both are values of the same column, so that the new one replaces the old one."""
    if not (isinstance(new, Filter) and isinstance(old, Filter)) or new.negated or old.negated:
        return False
    return {new.op, old.op} <= {"in", "lives"} and bool(
        {spot for spot, _ in new.options} & {spot for spot, _ in old.options}
    )
