"""The process that reads an SQLite file: one JSON line in, one out. It ends with its input.

A process, because a thread inside one of SQLite's functions can neither be stopped nor held to a size: a clever LIKE
takes hours between two looks at the clock. This one can be ended, and the system keeps it to its share of memory.
"""

import json
import signal
import sys
from typing import Any

from sql.hidden import Hidden
from sql.look import look
from sql.outcome import BadDatabase, Limits, SqlError
from sql.sqlite import Reader
from sql.sqlite_schema import read_schema

MEMORY = 1_500_000_000  # bytes of addresses, of which Python and SQLite need a tenth
ALONE = 5.0  # seconds over the limit, after which it was not ended by whoever asked
FILE = 2_000_000_000  # bytes of a temporary file, as sorting makes


def main() -> int:
    """First line: the path, what is hidden, the limits. Then one request a line."""
    _stay_small()
    begin = json.loads(sys.stdin.readline())
    limits = Limits.model_validate(begin["limits"])
    try:
        reader = Reader(begin["path"], Hidden.model_validate(begin["hidden"]), limits)
    except BadDatabase as error:
        _say({"bad": str(error)})
        return 0
    _say({"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        _end_by_itself(0 if request["do"] == "schema" else limits.seconds + ALONE)
        try:
            _say({"answer": _answer(reader, limits, request)})
        except SqlError as error:
            _say({"error": error.message, "kind": error.kind, "of": type(error).__name__})
        _end_by_itself(0)
    return 0


def _answer(reader: Reader, limits: Limits, request: dict[str, Any]) -> Any:
    if request["do"] == "schema":
        return read_schema(reader).model_dump(mode="json")
    query = look(request["sql"], "sqlite", limits)
    done = reader.check(query) if request["do"] == "check" else reader.run(query)
    return done.model_dump(mode="json")


def _end_by_itself(seconds: float) -> None:
    """The system ends us then, in whatever function we are: whoever asked may be gone, and cannot. 0: never."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _stay_small() -> None:
    try:
        import resource  # noqa: PLC0415  not everywhere
    except ImportError:
        return
    for what, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, FILE), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(what)
        if hard == resource.RLIM_INFINITY or hard > most:
            resource.setrlimit(what, (most, hard))


if __name__ == "__main__":
    sys.exit(main())
