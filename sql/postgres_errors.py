"""Maps PostgreSQL errors to kinds, by their codes."""

import asyncpg  # type: ignore[import-untyped]

from sql.outcome import ErrorKind, QueryFailed, QueryRefused, SqlError

TOO_LARGE = "a row"  # the beginning of the row limit's error text
# The longest matching prefix of a code decides. Class 42 has the errors of the statement itself.
_REFUSED: dict[str, ErrorKind] = {
    "42": "syntax",
    "42P01": "table",
    "42501": "table",
    "3F": "table",
    "42703": "column",
    "42702": "column",
    "42P10": "column",
    "42883": "function",
    "42725": "function",
    "25006": "writes",
    "0A": "syntax",
    "54001": "syntax",
    "54011": "too_large",
}
_FAILED: dict[str, ErrorKind] = {
    "57014": "timeout",
    "55P03": "timeout",
    "25P03": "timeout",
    "53": "too_large",
    "54": "too_large",
    "53300": "unavailable",
    "57": "unavailable",
    "08": "unavailable",
    "XX": "unavailable",
}

# asyncpg's errors for a lost connection; the second for one that the server has just closed.
LOST = (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)


def failure(error: Exception, database: str, seconds: float) -> SqlError:
    """The error as an SqlError. `database` is its URL without the password."""
    if not isinstance(error, asyncpg.PostgresError):
        return _of_the_driver(error, database)
    code, words = error.sqlstate or "", _words(error)
    if f'"{TOO_LARGE} of ' in words:
        size = words.partition(f'"{TOO_LARGE} of ')[2].partition('"')[0]
        return QueryFailed("too_large", f"It has a row of {size}, far more than a result may have. Select less of it.")
    if "no binary output function" in words:  # the row limit serializes the row
        return QueryRefused("syntax", f"{words}. Cast it to text, like name::text.")
    if "multiple commands" in words:
        return QueryRefused("several_statements", "There is more than one statement; only a single query may run here.")
    if (refused := _longest(_REFUSED, code)) is not None:
        return QueryRefused("syntax" if words.startswith("operator") else refused, words)
    kind = _longest(_FAILED, code) or "database"
    if kind == "timeout":
        words = f"It was stopped after {seconds:g} seconds: {words}"
    is_alloc = code == "XX000" and "memory" in words  # "invalid memory alloc request size"
    return QueryFailed("too_large" if is_alloc else kind, words)


def _of_the_driver(error: Exception, database: str) -> SqlError:
    if isinstance(error, asyncpg.InterfaceError) and "expects" in str(error):
        return QueryRefused("syntax", "It has parameters like $1, and there are no values for them. Write the values.")
    if isinstance(error, asyncpg.UnsupportedClientFeatureError | UnicodeDecodeError):
        return QueryFailed(
            "database", "It gives whole rows that cannot be read. Name their columns, or use to_jsonb()."
        )
    if isinstance(error, LOST):
        return QueryFailed("unavailable", f"{database} broke off: {error}")
    return QueryFailed("database", str(error))


def _longest(kinds: dict[str, ErrorKind], code: str) -> ErrorKind | None:
    return next((kinds[code[:length]] for length in (5, 2) if code[:length] in kinds), None)


def _words(error: asyncpg.PostgresError) -> str:
    words = str(getattr(error, "message", None) or error).partition("\n)")[0]  # the rest belongs to the wrapper
    hint = getattr(error, "hint", None)
    # PostgreSQL's own suggestion writes "Order.Name" for a column of another spelling; ours follows
    return f"{words}. {hint}" if hint and not hint.startswith("Perhaps you meant to reference") else words
