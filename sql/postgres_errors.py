"""PostgreSQL's errors as kinds, by their codes."""

import asyncpg  # type: ignore[import-untyped]

from sql.outcome import Kind, QueryFailed, Refused, SqlError

TOO_LARGE = "a row"  # how the bound for rows begins what is no number
# The longest beginning of a code that is here decides. Of class 42 are the faults of a statement.
_REFUSED: dict[str, Kind] = {
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
_FAILED: dict[str, Kind] = {
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

# What asyncpg says of a connection that broke off; the second one of one that the server has ended a moment ago.
LOST = (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)


def failure(error: Exception, shown: str, seconds: float) -> SqlError:
    """The same in our words."""
    if not isinstance(error, asyncpg.PostgresError):
        return _of_the_driver(error, shown)
    code, words = error.sqlstate or "", _words(error)
    if f'"{TOO_LARGE} of ' in words:
        size = words.partition(f'"{TOO_LARGE} of ')[2].partition('"')[0]
        return QueryFailed("too_large", f"It has a row of {size}, far more than a result may have. Select less of it.")
    if "no binary output function" in words:  # a row is measured as it is sent
        return Refused("syntax", f"{words}. Cast it to text, like name::text.")
    if "multiple commands" in words:
        return Refused("several_statements", "There is more than one statement; only a single query may run here.")
    if (refused := _longest(_REFUSED, code)) is not None:
        return Refused("syntax" if words.startswith("operator") else refused, words)
    kind = _longest(_FAILED, code) or "database"
    if kind == "timeout":
        words = f"It was stopped after {seconds:g} seconds: {words}"
    return QueryFailed("too_large" if "memory" in words else kind, words)


def _of_the_driver(error: Exception, shown: str) -> SqlError:
    if isinstance(error, asyncpg.InterfaceError) and "expects" in str(error):
        return Refused("syntax", "It has parameters like $1, and there are no values for them. Write the values.")
    if isinstance(error, asyncpg.UnsupportedClientFeatureError):
        return QueryFailed(
            "database", "It gives whole rows that cannot be read. Name their columns, or use to_jsonb()."
        )
    if isinstance(error, LOST):
        return QueryFailed("unavailable", f"{shown} broke off: {error}")
    return QueryFailed("database", str(error))


def _longest(kinds: dict[str, Kind], code: str) -> Kind | None:
    return next((kinds[code[:length]] for length in (5, 2) if code[:length] in kinds), None)


def _words(error: asyncpg.PostgresError) -> str:
    words = str(getattr(error, "message", None) or error).partition("\n)")[0]  # what follows the text is not theirs
    hint = getattr(error, "hint", None)
    return f"{words}. {hint}" if hint else words
