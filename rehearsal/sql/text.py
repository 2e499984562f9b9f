"""A question under the grammar's eyes: tokens with what they may mean, and rules that remember what they found."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Concatenate

from rehearsal.sql.ask import Spot
from rehearsal.sql.lexicon import Entry, Lexicon, Words
from rehearsal.sql.vocabulary import FUNCTION
from rehearsal.sql.words import NUMBERS, Token, near, number, split, tokens

MOST = 24  # results of one rule at one place; more would only be stranger


class Text:
    """The tokens of one question over one lexicon. `choice`: the table that an ambiguous noun stands for."""

    def __init__(self, question: str, lexicon: Lexicon, choice: Mapping[Words, str] | None = None) -> None:
        self.lexicon = lexicon
        self.tokens = _corrected(tokens(question), lexicon)
        self.choice = choice or {}
        self.memo: dict[Any, list[Any]] = {}
        self.furthest = 0

    def __len__(self) -> int:
        return len(self.tokens)

    def word(self, at: int) -> str:
        """The word there, "" at the end and for a quoted text."""
        if not 0 <= at < len(self.tokens):
            return ""
        self.furthest = max(self.furthest, at)
        return "" if self.tokens[at].kind == "quoted" else self.tokens[at].word

    def token(self, at: int) -> Token:
        return self.tokens[at] if at < len(self.tokens) else Token("end", "", "")

    def number(self, at: int) -> float | int | None:
        return number(self.token(at))

    def skip(self, at: int, *words: str) -> int:
        """The place after these words, any of them, any number of times."""
        wanted = _told(words)
        while self.word(at) in wanted:
            at += 1
        return at

    def after(self, at: int, *phrases: str) -> int:
        """The place after the longest of these phrases (one text may hold several, parted by |); 0 if there is none."""
        for words in _told(phrases):
            if all(self.word(at + place) == word for place, word in enumerate(words.split())):
                return at + len(words.split())
        return 0

    def meanings(self, at: int) -> Iterator[tuple[Entry, Words, int]]:
        """What the phrases that begin here mean, the longest first."""
        for size in range(min(7, len(self.tokens) - at), 0, -1):
            part = self.tokens[at : at + size]
            if any(token.kind not in ("word", "id", "quoted") for token in part):
                continue
            words = tuple(word for one in part for word in ((one.word,) if one.kind == "word" else split(one.text)))
            entry = self.lexicon.look_up(words, " ".join(token.text for token in part))
            if entry is not None:
                yield entry, words, at + size

    def parse(self, name: str, at: int, **options: Any) -> list[tuple[Any, int]]:
        """What the rule of this name finds here."""
        return RULES[name](self, at, **options)

    def things(self, at: int) -> Iterator[tuple[str, int]]:
        """The tables that are named here, the best name first."""
        for entry, words, end in self.meanings(at):
            best = min(entry.things.values(), default=0)
            for table, rank in entry.things.items():
                if rank == best and self.choice.get(words, table) == table:
                    yield table, end

    def attributes(self, at: int) -> Iterator[tuple[tuple[Spot, ...], int]]:
        """The columns that are named here."""
        for entry, _, end in self.meanings(at):
            best = min(entry.spots.values(), default=0)
            if entry.spots:
                yield tuple(spot for spot, rank in entry.spots.items() if rank <= max(best, 1)), end


RULES: dict[str, Callable[..., list[tuple[Any, int]]]] = {}  # by name: rules call each other in circles


def rule[T, **P](
    parse: Callable[Concatenate[Text, int, P], Iterator[tuple[T, int]]],
) -> Callable[Concatenate[Text, int, P], list[tuple[T, int]]]:
    """A rule of the grammar: all it can make of the text from a place on, with where each ends; found once."""

    def remembered(text: Text, at: int, /, *args: P.args, **kwargs: P.kwargs) -> list[tuple[T, int]]:
        key = (parse, at, args, tuple(kwargs.items()))
        if key not in text.memo:
            text.memo[key] = []  # a rule that comes back to itself finds nothing
            found: list[tuple[T, int]] = []
            for one in parse(text, at, *args, **kwargs):
                if one not in found:
                    found.append(one)
                if len(found) >= MOST:
                    break
            text.memo[key] = found
        return list(text.memo[key])

    RULES[parse.__name__] = remembered
    return remembered


@lru_cache(maxsize=1024)
def _told(phrases: tuple[str, ...]) -> tuple[str, ...]:
    """All phrases, the longest first."""
    return tuple(sorted({one for phrase in phrases for one in phrase.split("|")}, key=len, reverse=True))


def _corrected(found: list[Token], lexicon: Lexicon) -> list[Token]:
    """Slips of the pen in long words put right, where only one word is near."""
    known = lexicon.words() | FUNCTION | set(NUMBERS)
    values = lexicon.value_words()
    result = []
    for place, token in enumerate(found):
        long = token.kind == "word" and len(token.word) >= 5 and token.word not in known
        named = place > 0 and found[place - 1].word in ("named", "called", "name", "is")
        if long and not (token.capital and named):
            pool = values if token.capital and place else known
            close = {word for word in pool if len(word) >= 4 and near(token.word, word)}
            result.append(Token("word", token.text, close.pop()) if len(close) == 1 else token)
        else:
            result.append(token)
    return result
