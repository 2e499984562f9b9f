"""What follows a question and goes on from it: `Only in Oregon.`, `and by state?`, `how many are they?`."""

from dataclasses import replace

from rehearsal.sql.conditions import Conditions
from rehearsal.sql.questions import Questions
from rehearsal.sql.reader import Unclear
from rehearsal.sql.syntax import LABEL, Condition, Filter, Has, Measure, Query
from rehearsal.sql.words import phrases

_LEAD = phrases(
    "and, but, now, only, just, please, ok, then, also, show me, show, give me, i need, list, what about, how about, "
    "the same for, same for, make it, with, including, the, i want, one, along with, together with, plus, what is"
)
_TAIL = phrases("please, instead, one, thank you, thank, only, too, as well, now, of them")
_ONCE = phrases("each once, every one once, each of them once, no duplicate, without duplicate")
_THEM = phrases("are they, are there, of them, of those, are those, is that, was that, in total")


class Fragments(Questions):
    """Reads a question to its last word."""

    def question(self) -> Query | None:
        """The whole question, None if a word has no place in it."""
        query = self.sentence()
        while query is not None and self.token.kind != "end":
            while self.token.kind == "mark":
                self.at += 1
            self.skip("please", "thank you", "thank")
            if self.token.kind != "end":
                query = self._fragment(query)
        return query

    def _fragment(self, query: Query) -> Query | None:
        """The question as the next words change it."""
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

    def _shape(self, query: Query) -> Query | None:
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

    def _columns(self, query: Query) -> Query | None:
        """`item id and price`, `with the customer's last name`, `their emails too`."""
        beside = self.tokens[self.at - 1].word in {"with", "also", "including", "plus"}
        columns = self.columns()
        if not columns or query.groups or query.measure:
            return None
        return replace(query, columns=(*(query.columns or ((LABEL,) if beside else ())), *columns))

    def _group(self, query: Query) -> Query | None:
        """`and by state`, instead of other groups."""
        return self.grouped(replace(query, measure=query.measure or Measure(), groups=()))

    def _filter(self, query: Query) -> Query | None:
        """`in Oregon`, `delivered ones`, `without refunds`, `mastercard`, `above 100 dollars`."""
        self.skip("those", "that", "where")
        denied = bool(self.take("no", "not", "not the"))
        self.take("for")
        start = self.at
        said: Conditions = self.values()
        if not said or not (self.take("one") or self.ended()):
            self.at = start
            said = self.modifiers(verb=True)
        if not said or (denied and (len(said) > 1 or said[0].negated)):
            return None
        if denied:
            said = (replace(said[0], negated=True),)
        if any(
            _overlap(new, one)
            for new in said
            for has in query.noun.filters
            if isinstance(has, Has)
            for one in has.noun.filters
        ):
            raise Unclear("It is not clear what that takes the place of")
        kept = [one for one in query.noun.filters if not any(_overlap(new, one) for new in said)]
        return replace(query, noun=replace(query.noun, filters=(*kept, *said)))


def _overlap(new: Condition, old: Condition) -> bool:
    """True if both are values of one column, so that the new one takes the place of the old one."""
    if not (isinstance(new, Filter) and isinstance(old, Filter)) or new.negated or old.negated:
        return False
    return {new.op, old.op} <= {"in", "lives"} and bool(
        {spot for spot, _ in new.options} & {spot for spot, _ in old.options}
    )
