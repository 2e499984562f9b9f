"""Hints for a statement that names what is not there: the names that it probably means, as SQL has to write them."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from sql.schema import Dialect
from sql.tokens import Token

MAX_LISTED = 100  # names that a hint lists where none is close


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Spelling:
    """How names are written in a dialect. `keywords`: the words that are no names unless they are quoted."""

    def __init__(self, dialect: Dialect, keywords: Iterable[str]) -> None:
        self._folds = dialect == "sqlite"
        self._keywords = frozenset(keywords)

    def __call__(self, name: str) -> str:
        """The name as a statement has to write it."""
        return name if self._is_plain(name) else quoted(name)

    def other_than(self, name: str) -> str:
        """The name as a statement has to write it; "" if that is the name itself."""
        return "" if self._is_plain(name) else quoted(name)

    def hint(self, tokens: Iterable[Token], wrong: str, known: Iterable[str]) -> str:
        """A sentence with the `known` names that the statement means; "" if it seems to mean none.

        `wrong` is the name that the database does not know, "" if the database only tells of a syntax error.
        """
        names = {self(name): name for name in known}
        as_meant = {
            written
            for token in tokens
            for written, name in names.items()
            if token.identifier == name.lower() and wrong.lower() in ("", name.lower()) and not self._means(token, name)
        }
        if as_meant:
            return f"Write it as it is: {', '.join(sorted(as_meant))}"
        if not wrong:
            return ""
        letters = {_letters(name): written for written, name in names.items()}
        if near := get_close_matches(_letters(wrong), letters, n=3, cutoff=0.75):
            return f"Perhaps you mean {' or '.join(letters[name] for name in near)}"
        return f"There are: {', '.join(sorted(names)[:MAX_LISTED]) or 'none'}"

    def _means(self, token: Token, name: str) -> bool:
        return self._is_plain(name) if token.kind == "word" else self._folds or token.text == name

    def _is_plain(self, name: str) -> bool:
        folded = name.lower() if self._folds else name
        return bool(re.fullmatch(r"[a-z_][a-z0-9_$]*", folded)) and folded not in self._keywords


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold())
