"""Predicates: what rows are, have, did, or what was done with them; with their negation."""

from collections.abc import Iterator
from dataclasses import replace

from rehearsal.sql.ask import (
    Best,
    Blank,
    Condition,
    Match,
    Measure,
    Not,
    Noun,
    Option,
    Related,
    Several,
    Spot,
    Sums,
)
from rehearsal.sql.clauses import after_noun, apart, has, money, prepositional, several_titled
from rehearsal.sql.dates import about, dated, when
from rehearsal.sql.measures import best_by, deed, spending
from rehearsal.sql.nouns import anything, either_name, related
from rehearsal.sql.text import Text, rule
from rehearsal.sql.thesaurus import PLACING, VERBS, stem
from rehearsal.sql.values import comparison, literal, titled, values
from rehearsal.sql.words import split

Part = Condition | Best
_BE = (
    "is|are|was|were|be|been|being|currently|still|already|ever|also|have|has|had|do|did|does|will|yet|now|"
    "having|all|there",
)
_NEVER = ("not", "never", "no longer", "not yet", "never ever", "not ever")
_LIVE = ("live|living|lived|reside|residing|located|based|come|coming|stay|situated",)
_SEND = ("shipped|shipping|ship|sent|going|go|addressed|mailed|destined|headed|went|delivered",)
_HOLD = (
    "contain", "containing", "contained", "include", "including", "included", "hold", "own", "owning", "list",
    "consist of", "carry", "appear in", "appear on", "occur in", "offer", "come in",
    "feature", "got", "share",
)  # fmt: skip
_TIMES = {"once": 1, "twice": 2}
_OFTEN = ("the most often", "most often", "most frequently", "the most", "most", "the most time", "the most frequently")
_RARELY = ("the least often", "least often", "least frequently", "the least", "least", "the fewest time")


@rule
def predicate(text: Text, at: int) -> Iterator[tuple[Part, int]]:
    """Verb phrases joined by `and`, `but`, `or`."""
    for first, end in _phrase(text, at):
        if isinstance(first, Best):
            yield first, end
            continue
        if begin := text.after(end, "and|but|or|, and|, but|and who|and that|but who|but that"):
            for rest, stop in predicate(text, begin) if text.word(begin) not in ("a", "an", "the") else ():
                if not isinstance(rest, Best) and not apart(first, rest):
                    yield Several((first, rest), either="or" in (text.word(end), text.word(end + 1))), stop
        yield first, end


@rule
def participle(text: Text, at: int) -> Iterator[tuple[Part, int]]:
    """A verb phrase right after its noun: `placed by Ada Grant`, `never ordered`, `not paid with paypal`."""
    for phrases, negative in ((_NEVER, True), ((), False)):
        begin = text.after(at, *phrases) if negative else at
        if text.token(begin).text.lower().endswith("s") and next(text.things(begin), None):
            continue  # the orders, not somebody who orders
        for part, end in _doing(text, text.skip(begin, "been", "yet")) if begin or not negative else ():
            yield (negate(part) if negative else part), end


def _phrase(text: Text, at: int) -> Iterator[tuple[Part, int]]:
    """With its helping verbs and its negation."""
    at = text.after(at, "that", "who", "which") or at
    begin = text.skip(at, *_BE)
    if end := text.after(begin, *_NEVER):
        end = text.skip(end, *_BE)
        for part, stop in _body(text, end):
            yield negate(part), text.skip(stop, "yet", "before")
    yield from _body(text, begin)


def _body(text: Text, at: int) -> Iterator[tuple[Part, int]]:
    begin = text.skip(at, "either", "currently", "in total", "a")
    for match, end in values(text, begin):
        for more, stop in after_noun(text, end):
            yield _all((match, *more)), stop
    for options, end in titled(text, begin) if text.word(at - 1) in ("are", "were") else ():
        yield Match((options,)), end
    yield from prepositional(text, at)
    yield from named_as(text, at)
    yield from _doing(text, at)
    yield from money(text, at)
    if text.word(at - 1) in ("have", "has", "had", "having", "there", "ever", "still", "be", "is", "are", "was", "not"):
        yield from has(text, at)


@rule
def named_as(text: Text, at: int) -> Iterator[tuple[Condition, int]]:
    """`(are) called Ada`: by the first name, the whole name or the title."""
    begin = text.after(at, "called", "named", "titled")
    for written, end in literal(text, begin) if begin else ():
        parts = tuple(written.split())
        options: list[Option] = []
        for table in text.lexicon.tables.by_name.values():
            if table.full_name and len(parts) == 1:
                yield either_name(table.name, table.full_name, written), end
            elif table.full_name:
                options += [(Spot(table.name, table.full_name), parts)] if len(parts) == 2 else []
            elif table.title:
                options.append((Spot(table.name, table.title), (written,)))
        if options:
            yield Match((tuple(options),)), end


def _all(parts: tuple[Part, ...]) -> Part:
    conditions = tuple(part for part in parts if not isinstance(part, Best))
    return conditions[0] if len(conditions) == 1 else Several(conditions)


def negate(part: Part) -> Part:
    """What is not so. A best one has no opposite: it stays and fails later, as no rule takes it."""
    if isinstance(part, Related):
        return Related(part.noun, "=", (0,)) if part.exists else Not(part)
    return part if isinstance(part, Best) else Not(part)


def _living(part: Part) -> Part:
    if isinstance(part, Several):
        return Several(tuple(one for one in map(_living, part.parts) if not isinstance(one, Best)), part.either)
    return replace(part, lives=True) if isinstance(part, Match) else part


@rule
def doing(text: Text, at: int) -> Iterator[tuple[Part, int]]:
    yield from _doing(text, at)


def _doing(text: Text, at: int) -> Iterator[tuple[Part, int]]:
    word = text.word(at)
    if end := text.after(at, *_LIVE, "belong", "belonging", "for"):
        lives = stem(word) in ("liv", "live", "resid", "stay")
        for part, stop in prepositional(text, end):
            yield (_living(part) if lives else part), stop
    if end := text.after(at, *_SEND):
        for part, stop in prepositional(text, end):
            yield (replace(part, sent=True) if isinstance(part, Match) else part), stop
    if word in VERBS:
        yield from _deed(text, at)
    if word in PLACING:
        yield from _placing(text, at + 1)
    if end := text.after(at, *_HOLD):
        yield from has(text, end)
    yield from _timed(text, at)


def _placing(text: Text, at: int) -> Iterator[tuple[Part, int]]:
    """`placed by Ada Grant`, `placed no orders`, `made the most payments`, `placed in 2024`."""
    yield from has(text, at)
    yield from prepositional(text, at)
    if (end := text.after(at, "an order|order|a order|any order|order at all")) and not list(text.things(at)):
        yield from ((Related(done), end) for done in deed(text, at))


def _deed(text: Text, at: int) -> Iterator[tuple[Part, int]]:
    """A verb that some table tells about: actively with what was bought, passively with who bought it, how often."""
    for paid in spending(text.lexicon.tables, text) if text.word(at) in ("spent", "spend", "paid", "pay") else ():
        for against, stop in comparison(text, text.skip(at + 1, "a", "total", "of", "in")):
            end = text.after(stop, "in total", "overall", "altogether", "total") or stop
            yield from ((Sums(money_paid, *against), last) for money_paid, last in _paid_with(text, end, paid))
        for words, descending in ((_OFTEN, True), (_RARELY, False)):
            if stop := text.after(at + 1, *words):
                end = text.after(stop, "money", "in total", "overall", "money in total") or stop
                yield from ((Best(by, descending, 1), last) for by, last in _paid_with(text, end, paid))
    for done in deed(text, at):
        yield from _often(text, at + 1, done)
        summed = text.word(at) in ("paid", "pay") and comparison(text, at + 1)
        if text.word(at) not in ("spent", "spend") and not summed:
            yield from _with_object(text, at + 1, done)


def _paid_with(text: Text, at: int, paid: Measure) -> Iterator[tuple[Measure, int]]:
    """`(spent the most) with PayPal`: that money alone. What it was spent on is no matter of a payment alone."""
    if text.word(at) not in ("on", "for", "with", "by", "using", "via", "through"):
        yield paid, at
    elif text.word(at) not in ("on", "for") and paid.noun:
        for match, end in values(text, text.skip(at + 1, "a", "an", "the", "their")):
            yield replace(paid, noun=paid.noun.having(match)), end


def _with_object(text: Text, at: int, done: Noun) -> Iterator[tuple[Part, int]]:
    yield from best_by(text, at)
    yield from related(text, at)
    for match, end in (*values(text, text.skip(at, "a", "an", "the")), *several_titled(text, at)):
        for more, stop in after_noun(text, end, human=False):
            every = match.every and len(match.values) > 1
            each = (Match((one,)) for one in match.values) if every else (match,)
            rest = tuple(one for one in more if not isinstance(one, Best))
            parts = tuple(Related(done.having(one, *rest)) for one in each)
            yield (parts[0] if len(parts) == 1 else Several(parts)), stop
    yield from _but_not(text, at, done)
    if text.word(at) == "nothing":
        yield Related(done, "=", (0,)), at + 1
    for _, end in anything(text, at) if text.word(at) not in ("that", "which", "who", "whose") else ():
        for conditions, stop in after_noun(text, end, human=False):
            rest = tuple(one for one in conditions if not isinstance(one, Best))
            apart = any(isinstance(one, Match) and one.every and len(one.values) > 1 for one in rest)
            said = bool(rest) or text.word(stop) not in ("with", "by", "using", "via", "through")
            if said and len(rest) == len(conditions) and not apart:  # paid with one and another: not in one deed
                yield Related(done.having(*rest)), stop


def _but_not(text: Text, at: int, done: Noun) -> Iterator[tuple[Part, int]]:
    """`(bought) a Tent but not a Kettle`: two deeds, not one."""
    for match, end in several_titled(text, text.skip(at, "a", "an", "the")):
        again = text.after(end, "but not|but never|and not|but no|and never")
        for other, stop in several_titled(text, text.skip(again, *VERBS, "a", "an", "the")) if again else ():
            less = Related(done.having(replace(other, every=False)), "=", (0,))
            yield Several((Related(done.having(match)), less)), stop


def _often(text: Text, at: int, done: Noun) -> Iterator[tuple[Part, int]]:
    """`more than 3 times`, `twice`, `the most often`."""
    for against, end in comparison(text, at):
        if text.word(end) == "time":
            yield Related(done, *against, rows=True), end + 1
    for phrase, op in (("more than", ">"), ("at least", ">="), ("only|exactly", "="), ("", "=")):
        begin = text.after(at, phrase) if phrase else at
        if text.word(begin) in _TIMES and (begin or not phrase):
            yield Related(done, op, (_TIMES[text.word(begin)],), rows=True), begin + 1
    for words, descending in ((_OFTEN, True), (_RARELY, False)):
        if end := text.after(at, *words):
            yield Best(Measure("count", done, rows=True), descending, 1), end


def _timed(text: Text, at: int) -> Iterator[tuple[Part, int]]:
    """`published in 1999`, `born before 1980`; `returned` where a day tells when."""
    word, tables = text.word(at), text.lexicon.tables
    spots = dated(tables, word, born=word == "born") if len(word) > 3 else ()
    named = tuple(spot for spot in spots if stem(word) in map(stem, split(spot.columns[0])) or word == "born")
    chosen = named or (spots if word in VERBS or word in PLACING else ())
    for days, end in when(text, at + 1) if chosen else ():
        yield about(chosen, days), end
    for words, descending in (
        (("first", "earliest", "before all others"), False),
        (("last", "latest", "most recently"), True),
    ):
        if chosen and (end := text.after(at + 1, *words)):
            yield Best(chosen, descending, 1), end
    filled = tuple(spot for spot in named if tables.column(spot.table, spot.columns[0]).date and word.endswith("ed"))
    if filled:
        yield Blank(filled, filled=True), at + 1


@rule
def done_by(text: Text, at: int, table: str) -> Iterator[tuple[tuple[Condition, ...], int]]:
    """`Ada Grant order`, `customers in Texas ever bought`: rows of this table that somebody did something with."""
    for owner, end in text.parse("subject", at):
        verb = text.skip(end, "have|has|had|ever|already|so|far|all")
        if verb > end and text.token(verb).kind in ("end", "mark") and text.word(verb - 1) in PLACING:
            verb -= 1  # "have" tells it alone
        word = text.word(verb)
        stop = (
            text.after(verb + 1, "with", "in") or verb + 1
            if word in (*PLACING, *_HOLD, "contain", "include", "pay")
            else verb + 1
        )
        if word in VERBS and word != "rate":
            parts: list[Condition] = [
                Related(done.having(owner)) if done.table != table else owner for done in deed(text, verb)
            ]
        else:
            parts = [owner] if word in (*PLACING, *_HOLD, "placed", "write", "written", "wrote", "go", "send") else []
        for entry, _, after in text.meanings(verb) if not parts else ():
            if entry.options and after == verb + 1:
                parts, stop = [Several((owner, Match((tuple(entry.options),))))], after
        for part in parts:
            for more, last in after_noun(text, stop):
                rest = tuple(one for one in more if not isinstance(one, Best))
                if len(rest) == len(more):
                    if rest and isinstance(part, Related) and word in VERBS:
                        yield (replace(part, noun=part.noun.having(*rest)),), last
                    yield (part, *rest), last


@rule
def object_clause(text: Text, at: int, table: str = "") -> Iterator[tuple[Condition, int]]:
    """`(desks) people have ordered`: a clause whose object is the noun before it."""
    for parts, end in done_by(text, text.after(at, "that", "which") or at, table):
        yield (parts[0] if len(parts) == 1 else Several(parts)), end
