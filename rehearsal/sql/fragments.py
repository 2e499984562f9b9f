"""What follows a question and goes on from it: `Only in Oregon.`, `and by state?`, `highest first`, `with email`."""

from dataclasses import replace

from rehearsal.sql.conditions import Conditions
from rehearsal.sql.grammar import Grammar
from rehearsal.sql.synonyms import ADJECTIVES
from rehearsal.sql.syntax import DATE, LABEL, Condition, Filter, Has, Measure, Query, Spots
from rehearsal.sql.words import phrases

_LEAD = phrases(
    "and, but, now, only, just, please, ok, then, also, show me, show, give me, i need, list, what about, how "
    "about, the same for, same for, same thing for, make it, with, including, the, i want, one, give, split, "
    "broken down, group, grouped, along with, together with, plus, what is, want"
)
_TAIL = phrases("please, instead, one, thank you, thank, only, too, as well, now, of them, first, dollar")
_ONCE = phrases(
    "each once, every one once, each of them once, no duplicate, without duplicate, without repeat, no repeat"
)
_THEM = phrases("are they, are there, of them, of those, are those, is that, was that, in total")
_BACK = phrases("of those, of them, of these, of the")
_FIRST = dict.fromkeys(phrases("highest first, largest first, biggest first, most first, from most to least"), True)
_FIRST |= dict.fromkeys(phrases("lowest first, smallest first, fewest first"), False)
_COUNT = (Measure(),)


class Fragments(Grammar):
    """Reads a question to its last word."""

    fresh, start = False, 0

    def question(self) -> Query | None:
        """The whole question, None if a word has no place in it."""
        query = self.sentence()
        while query is not None and self.token.kind != "end":
            fresh = False
            while self.token.kind == "mark":
                fresh = fresh or self.token.text in {"?", ".", "!"}
                self.at += 1
            self.skip("please", "thank you", "thank")
            if self.token.kind != "end":
                query = self.fragment(query, fresh=fresh)
        return query

    def fragment(self, query: Query, *, fresh: bool) -> Query | None:
        """The question as the next words change it; `fresh`: after the end of a sentence they may replace a value."""
        self.start = start = self.at
        for skipped in (True, False):
            for read in (self._order, self._shape, self._columns, self._group, self._limit, self._filter):
                self.at = start
                if skipped:
                    self.skip(*_LEAD)
                self.fresh = fresh
                changed = read(query)
                if changed is not None:
                    self.skip(*_TAIL)
                    if self.ended():
                        return changed
        return None

    def _order(self, query: Query) -> Query | None:
        """`highest first`, `most expensive first`, `sorted by price`."""
        for phrase, descending in _FIRST.items():
            if self.take(phrase):
                by: Spots = () if query.groups or query.order is None else query.order[0]
                if query.order and query.order[1] != descending:
                    return None
                return replace(query, order=(by, descending)) if query.measures or query.order else None
        for phrase, (words, descending) in ADJECTIVES.items():
            if self.take(f"{phrase} first"):
                rows = self.best(phrase, query.noun, 0).order
                return (
                    replace(query, order=((), descending) if query.groups else rows)
                    if words or not query.order
                    else query
                )
        if not self.take("sorted by", "sort by", "ordered by", "order by", "sorted", "sort them by"):
            return None
        if self.take("alphabetically"):
            return replace(query, order=((), False))
        spots = self.column()
        descending = self.take("descending", "from high to low")
        self.skip("ascending", "from low to high")
        return replace(query, order=(spots, descending)) if spots and not query.measures else None

    def _shape(self, query: Query) -> Query | None:
        """`how many are they`, `list them`, `as an average`, `and the cheapest one`, `each once`."""
        if query.share and self.take("in percent", "in %", "in"):
            return query
        if self.take(*_ONCE) or (self.take("every", "each") and self.column() and self.take("once")):
            return replace(query, distinct=not query.measures)
        if self.take("how many"):
            return self._counted(query)
        if self.take("them", "those", "which", "who are they", "which one"):
            return replace(query, measures=(), groups=(), share=()) if query.measures and not query.share else None
        self.skip("as an", "as the", "the", "an", "take the")
        if len(query.measures) == 1 and query.measures[0].function != "count" and (wanted := self.function()):
            return replace(query, measures=(replace(query.measures[0], function=wanted),))
        return None

    def _counted(self, query: Query) -> Query | None:
        """`how many of them are pending`, `how many are they`, `how many refunds was that`."""
        start = self.at
        if self.take(*_BACK) and (said := self.predicates()):
            query = self._narrowed(query, said)
        else:
            self.at = start
            noun = self.head() or query.noun
            known = set(noun.filters) <= set(query.noun.filters) and noun.tables in {(), query.noun.tables}
            if not known or not (self.take(*_THEM) or self.ended()):
                return None
        return replace(query, measures=_COUNT, columns=(), order=None, limit=None)

    def _columns(self, query: Query) -> Query | None:
        """`item id and price`, `with the customer's last name`, `their emails too`."""
        beside = {"with", "also", "including", "along", "together", "plus"} & {
            one.word for one in self.tokens[self.start : self.at]
        }
        keep = query.columns or ((LABEL,) if beside else ())
        columns = self.columns()
        if not columns or query.groups:
            return None
        if len(query.measures) == 1 and query.measures[0].function in {"min", "max"}:  # the cheapest Tent: its item id
            measure = query.measures[0]
            return replace(query, measures=(), columns=columns, order=(measure.of, measure.function == "max"), limit=1)
        if query.measures:
            return None
        return replace(query, columns=(*keep, *columns))

    def _group(self, query: Query) -> Query | None:
        if not query.measures:
            query = replace(query, measures=_COUNT)
        return self.group(replace(query, groups=()) if self.fresh else query)

    def _limit(self, query: Query) -> Query | None:
        self.skip("top", "first", "best")
        number = self.number()
        self.skip("of them", "row")
        if number is None or not (query.order or query.groups):
            return None
        return replace(query, limit=int(number), order=query.order or ((), True))

    def _filter(self, query: Query) -> Query | None:
        """`in Oregon`, `delivered ones`, `without refunds`, `mastercard`, `above 100 dollars`."""
        self.skip("those", "that", "where that is", "where", "for", "no", "not") if not self.fresh else None
        denied = self.tokens[self.at - 1].word in {"no", "not"} if self.at else False
        if query.groups and (amount := self.compare()):
            return replace(query, having=amount)
        said = self.first(self.without, self.related_value, lambda: self.modifiers() or None, self.predicate)
        if not said:
            return None
        self.skip("excluded", "left out", "order")
        if denied:
            said = tuple(replace(one, negated=True) if isinstance(one, Filter) else one for one in said)
        return self._narrowed(query, said)

    def related_value(self) -> Conditions | None:
        """`for nebraska`, `to California`: a value whose column the question has already."""
        self.take("for", "to", "in", "with")
        found = self.values()
        self.skip("one", "order")
        return found if found and self.ended() else None

    def _narrowed(self, query: Query, said: Conditions) -> Query:
        """With these conditions, in the place of an earlier value of the same column."""
        noun = query.noun
        for condition in said:
            swapped, done = _swapped(noun.filters, condition) if self.fresh else (noun.filters, False)
            noun = replace(noun, filters=swapped if done else (*noun.filters, condition))
        return replace(query, noun=noun)


def _swapped(filters: tuple[Condition, ...], new: Condition) -> tuple[tuple[Condition, ...], bool]:
    """The filters with the new value in the place of one of the same columns."""
    if not isinstance(new, Filter) or new.negated:
        return filters, False
    found: list[Condition] = []
    done = False
    for one in filters:
        if isinstance(one, Has):
            inner, inside = _swapped(one.noun.filters, new)
            found.append(replace(one, noun=replace(one.noun, filters=inner)) if inside else one)
            done = done or inside
        elif isinstance(one, Filter) and not one.negated and _same(one, new):
            found.append(replace(new, op=one.op))
            done = True
        else:
            found.append(one)
    return tuple(found), done


def _same(old: Filter, new: Filter) -> bool:
    if DATE in ((old.options[0][0],), (new.options[0][0],)):
        return old.op == new.op == "date"
    return bool({spot for spot, _ in old.options} & {spot for spot, _ in new.options}) and new.op in {
        "in",
        "lives",
        "date",
    }
