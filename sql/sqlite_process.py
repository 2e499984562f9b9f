"""The child process that reads an SQLite file: one JSON line in, one out, until its input ends.

A thread inside an SQLite function can neither be stopped nor limited in memory: a crafted LIKE can run for hours
between two checks of the deadline. A process can be killed, and the system limits its memory.
"""

import json
import signal
import sys
from typing import Any

from sql.outcome import BadDatabase, QueryLimits, SqlError
from sql.query_parser import parse_query
from sql.schema import Hidden
from sql.sqlite import SqliteReader
from sql.sqlite_schema import read_schema

MAX_MEMORY = 1_500_000_000  # bytes of address space; Python and SQLite need a tenth of it
ORPHAN_GRACE = 5.0  # seconds over the limit after which the parent must be gone
MAX_FILE = 2_000_000_000  # bytes of a temporary file, as used for sorting


def main() -> int:
    """Read the configuration (path, hidden names, limits) from the first line, then one request per line."""
    _limit_resources()
    begin = json.loads(sys.stdin.readline())
    limits = QueryLimits.model_validate(begin["limits"])
    try:
        reader = SqliteReader(begin["path"], Hidden.model_validate(begin["hidden"]), limits)
    except BadDatabase as error:
        _send({"bad": str(error)})
        return 0
    _send({"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        _set_alarm(0 if request["do"] == "schema" else limits.seconds + ORPHAN_GRACE)
        try:
            _send({"answer": _answer(reader, limits, request)})
        except SqlError as error:
            _send({"error": error.message, "kind": error.kind, "of": type(error).__name__})
        _set_alarm(0)
    return 0


def _answer(reader: SqliteReader, limits: QueryLimits, request: dict[str, Any]) -> Any:
    if request["do"] == "schema":
        return read_schema(reader).model_dump(mode="json")
    query = parse_query(request["sql"], "sqlite", limits)
    outcome = reader.check(query) if request["do"] == "check" else reader.run(query)
    return outcome.model_dump(mode="json")


def _set_alarm(seconds: float) -> None:
    """Let the system end this process after so many seconds, in case the parent is gone. 0 cancels the alarm."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _send(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _limit_resources() -> None:
    try:
        import resource  # noqa: PLC0415  not on every platform
    except ImportError:
        return
    for what, most in ((resource.RLIMIT_AS, MAX_MEMORY), (resource.RLIMIT_FSIZE, MAX_FILE), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(what)
        if hard == resource.RLIM_INFINITY or hard > most:
            resource.setrlimit(what, (most, hard))


if __name__ == "__main__":
    sys.exit(main())
