"""Compares our SQL scanner with the databases' own, over generated texts.

    python -m tests.support.sql_scanner --texts 1000000

PostgreSQL's scanner (in pglast and in a server) and SQLite's must split every text that we accept into the same tokens.
Prints how many texts were compared, and each difference; exit status 1 if there is one. `--server URL` names the
PostgreSQL server; without it, one is started.
"""

import argparse
import asyncio
import random
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import batched

import asyncpg  # type: ignore[import-untyped]
from pglast import scan
from pglast.parser import ParseError, get_postgresql_version

from sql.outcome import QueryRefused
from sql.query_parser import check_unambiguous
from sql.schema import Dialect
from sql.tokens import Token, tokenize

WORDS = "select from e E b x n u U uescape canary a$1 é e5 _1 İ \N{KELVIN SIGN} \N{NO-BREAK SPACE}"
NUMBERS = "0 12 1.5 .5 1. 1e5 1.e5 .5E-3 2 3"
ODD_NUMBERS = "1e+ 1e 0x1F 0b1 1_000 1e5e 1..2 1.2.3 1a $1 $1e ?1 @a :a #1 $a("
STRINGS = r"""'a' '' 'a''b' 'a\' '\' '\\' '\\\' '--' '/*' '*/' '(' ');' '$$' 'é' '$a$' '"' '`]['"""
QUOTED = r""""a" "a""b" "'" "--" `a` `a``b` `'` [a] ['] ["] [a[b]"""
DOLLARS = "$$a$$ $$'$$ $a$;$a$ $a$$b$$a$ $é$(;$é$ $a$$$a$ $a$$b$a$ $$ $a $a$b$ $a$"
OPERATORS = "+ - * / < = > != ~ ^ & | :: . , , , ( ) ( ) ( ) -> ->> || <- *- /-"
ODD_OPERATORS = r"; ! @ # ` ? [ ] -- /* */ @- +/* -/* \ { } $ % ' " " "
KINDS = [kind.split() for kind in (WORDS, NUMBERS, STRINGS, STRINGS, OPERATORS, OPERATORS, QUOTED, DOLLARS)]
ODD_KINDS = [kind.split() for kind in (ODD_NUMBERS, ODD_OPERATORS, DOLLARS)]
SPACES = (" ", " ", " ", "", "", "\n", "\r", "\t", "\f", " \n", "--x\n", "--'\n", "/**/", "/*'*/", "/*/*'*/*/")
ODD_SPACES = ("\v", "--x\r", "/*/*/", "\ufeff", "\u2028", "\x7f", "\x01", "\x85")
PREFIXES = ("", "", "", "E", "e", "B", "x", "N")
ODD_PREFIXES = ("X", "n", "U&", "u&", "1", "1e", "a", "_", "$", ".", "$1", "é")


def texts(seed: int, count: int) -> Iterator[str]:
    """Random sequences of ordinary and odd lexemes, intact or damaged, with or without spaces; none contains a NUL."""
    chance = random.Random(seed)
    for _ in range(count):
        odd = chance.choice((0.0, 0.0, 0.1, 0.3))
        parts: list[str] = []
        for _ in range(chance.randint(1, 9)):
            kind = chance.choice(ODD_KINDS if chance.random() < odd else KINDS)
            parts.append(chance.choice(ODD_PREFIXES if chance.random() < odd else PREFIXES) if "'" in kind[0] else "")
            parts += chance.choice(kind), chance.choice(ODD_SPACES if chance.random() < odd else SPACES)
        text = "".join(parts)
        if chance.random() < odd:
            place = chance.randint(0, len(text))
            text = text[:place] + chance.choice("'\"`\\$eE()[];*/-\n1._") + text[place + chance.randint(0, 2) :]
        yield text


def accepted(text: str, dialect: Dialect) -> list[Token] | None:
    """Our tokens; None if we refuse the text."""
    ours = tokenize(text, dialect)
    try:
        check_unambiguous(ours, dialect)
    except QueryRefused:
        return None
    return ours


# --- PostgreSQL's scanner, from a package


def pglast_difference(text: str, scanned: list[Token]) -> str:
    """PostgreSQL's tokens if they differ from ours; "" if they agree or PostgreSQL cannot scan the text."""
    try:
        theirs = [token for token in scan(text) if token.name not in ("C_COMMENT", "SQL_COMMENT")]
    except ParseError:
        return ""
    ours = [(token.start, token.end, token.kind in ("word", "name"), token.kind == "string") for token in scanned]
    cut = []
    for token in theirs:
        start, end = token.start, token.end + 1
        name, string = token.name == "IDENT" or token.kind != "NO_KEYWORD", token.name in ("SCONST", "BCONST", "XCONST")
        if name or string or token.name in ("ICONST", "FCONST"):
            cut.append((start, end, name, string))
        else:  # an operator of several characters
            cut += [(place, place + 1, False, False) for place in range(start, end)]
    return "" if ours == cut else str([text[start:end] for start, end, *_ in cut])


# --- the databases' scanners, observed from outside


def is_balanced(ours: list[Token], opening: str, closing: str, lowest: int = 0) -> bool:
    """Whether the parentheses match, so that a database that counts them reads the whole text."""
    depth = 0
    for token in ours:
        if token.kind == "mark":
            depth += (token.text in opening) - (token.text in closing)
        if depth < lowest:
            return False
    return depth == 0


class SqliteScanner:
    """SQLite's scanner: a virtual table takes any tokens as arguments, and an authorizer sees the columns read."""

    def __init__(self) -> None:
        self._read: set[str] = set()
        self.connection = sqlite3.connect(":memory:", cached_statements=0)
        self.connection.execute("CREATE TABLE t (canary, a, e, x)")
        self.connection.set_authorizer(self._authorize)

    def _authorize(self, action: int, _: str | None, column: str | None, *__: object) -> int:
        if action == sqlite3.SQLITE_READ:
            self._read.add((column or "").lower())
        return sqlite3.SQLITE_OK

    def difference(self, text: str, ours: list[Token]) -> str:
        error = self._error(f"EXPLAIN CREATE VIRTUAL TABLE v USING missing ({text}\n)")
        if error.startswith("unrecognized token"):
            return ""
        if (not error) is not is_balanced(ours, "(", ")"):
            return error or "parses"
        self._read.clear()
        if not (error := self._error(f"EXPLAIN SELECT {text}\n FROM t")):
            names = {token.text.lower().strip("'") for token in ours}
            if "*" not in names and not self._read <= names | {""}:
                return f"reads {self._read}"
        return ""

    def _error(self, sql: str) -> str:
        try:
            self.connection.execute(sql).close()
        except (sqlite3.Error, sqlite3.Warning) as error:
            return str(error)
        return ""


PARSES_FUNCTION = """
SET check_function_bodies = off;
CREATE FUNCTION pg_temp.parses(body text) RETURNS boolean LANGUAGE plpgsql AS $parses$
BEGIN
    EXECUTE format('DO %L', 'BEGIN RETURN; PERFORM (' || body || E'\\n); END');
    RETURN true;
EXCEPTION WHEN OTHERS THEN RETURN false;
END $parses$;
"""


class PostgresScanner:
    """The server's scanner: PL/pgSQL scans any tokens up to the closing parenthesis without interpreting them."""

    def __init__(self, url: str) -> None:
        self._runner = asyncio.Runner()
        self._connection = self._runner.run(asyncpg.connect(url))
        self._runner.run(self._connection.execute(PARSES_FUNCTION))

    def differences(self, accepted: list[tuple[str, list[Token]]]) -> Iterator[tuple[str, str]]:
        checked = [(text, ours) for text, ours in accepted if not any(token.text == ";" for token in ours)]
        ask = "SELECT pg_temp.parses(body) FROM unnest($1::text[]) WITH ORDINALITY AS o (body, place) ORDER BY place"
        rows = self._runner.run(self._connection.fetch(ask, [text for text, _ in checked]))
        for (text, ours), (parses,) in zip(checked, rows, strict=True):
            if parses is not is_balanced(ours, "([", ")]", -1):
                yield text, f"it {'parses' if parses else 'does not parse'}"

    def close(self) -> None:
        self._runner.run(self._connection.close())
        self._runner.close()


# --- all of them


def compare(seed: int, count: int, server: PostgresScanner) -> tuple[Counter[str], list[tuple[str, str, str]]]:
    """The number of texts accepted by dialect, and all differences: which scanner, which text, and how."""
    sqlite, through = SqliteScanner(), Counter[str]()
    wrong: list[tuple[str, str, str]] = []
    with closing(sqlite.connection):
        for batch in batched(texts(seed, count), 2000):
            for_sqlite = [(text, ours) for text in batch if (ours := accepted(text, "sqlite"))]
            for_postgres = [(text, ours) for text in batch if (ours := accepted(text, "postgres"))]
            through.update({"SQLite": len(for_sqlite), "PostgreSQL": len(for_postgres)})
            wrong += [
                ("SQLite", text, reason) for text, ours in for_sqlite if (reason := sqlite.difference(text, ours))
            ]
            wrong += [
                ("package", text, reason) for text, ours in for_postgres if (reason := pglast_difference(text, ours))
            ]
            wrong += [("server", text, reason) for text, reason in server.differences(for_postgres)]
    return through, wrong


def main() -> None:
    from tests.support.postgres import postgres  # noqa: PLC0415  pytest loads it first, in a test that loads us

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--server", default="")
    args = parser.parse_args()
    began = time.monotonic()
    with ExitStack() as stack:
        server = stack.enter_context(closing(PostgresScanner(args.server or stack.enter_context(postgres()).url)))
        through, wrong = compare(args.seed, args.texts, server)
    for name, text, reason in wrong[:40]:
        print(f"WRONG: {name}: {text!r}: {reason[:200]}")
    version = ".".join(map(str, get_postgresql_version()))
    print(f"{args.texts} texts in {time.monotonic() - began:.0f} s, seed {args.seed}; {dict(through)} let through")
    print(f"package {version}, SQLite {sqlite3.sqlite_version}: {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
