"""An SQLite file, read by child processes that are killed on timeout."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any

from sql.database import ReadOnlyDatabase
from sql.outcome import QueryCheck, QueryFailed, QueryLimits, QueryRefused, QueryResult
from sql.schema import Dialect, Hidden, Schema
from sql.sqlite import SqliteReader

MAX_READERS = 4  # concurrent processes
GRACE_PERIOD = 1.0  # seconds for a process's own timeout error to arrive
SCHEMA_TIMEOUT = 120.0  # seconds for the whole schema; each of its queries has its own limit
MAX_LINE = 2**28  # bytes; results within the limits, and schemas, are far smaller
ROOT = Path(__file__).parents[1]


class SqliteDatabase(ReadOnlyDatabase):
    """Raises BadDatabase in the constructor if the file is not a database. `zone` is TZ for what reads the file."""

    dialect: Dialect = "sqlite"

    def __init__(self, path: Path, limits: QueryLimits, hidden: Hidden, zone: str | None) -> None:
        super().__init__(limits, hidden)
        self._zone = {} if zone is None else {"TZ": zone}
        SqliteReader(str(path), hidden, limits).close()
        self._path, self._file = path.absolute(), _identity(path)
        begin = {"path": str(self._path), "limits": limits.model_dump(), "hidden": hidden.model_dump()}
        self._begin = json.dumps(begin).encode() + b"\n"
        self._idle: list[Process] = []
        self._free = asyncio.Semaphore(MAX_READERS)

    async def run(self, sql: str) -> QueryResult:
        return QueryResult.model_validate(await self._ask("run", sql))

    async def _check(self, sql: str) -> QueryCheck:
        return QueryCheck.model_validate(await self._ask("check", sql))

    async def _read_schema(self) -> Schema:
        return Schema.model_validate(await self._ask("schema"))

    async def aclose(self) -> None:
        while self._idle:
            await _end(self._idle.pop())

    async def _ask(self, what: str, sql: str = "") -> Any:
        seconds = SCHEMA_TIMEOUT if what == "schema" else self.limits.seconds + GRACE_PERIOD
        async with self._free:
            process = await self._process()
            try:
                async with asyncio.timeout(seconds):
                    answer = await _exchange(process, json.dumps({"do": what, "sql": sql}).encode() + b"\n")
            except TimeoutError:
                await _end(process)
                why = f"It was stopped after {self.limits.seconds:g} seconds. Ask for less, or more narrowly."
                raise QueryFailed("timeout", why) from None
            except _ProcessEnded:
                await _end(process)
                why = "SQLite broke off: most likely it took more memory than it is given. Ask for less."
                raise QueryFailed("too_large", why) from None
            except BaseException:  # cancelled: a late answer would be taken for the next request's
                await _end(process)
                raise
            self._idle.append(process)
        return _result(answer)

    async def _process(self) -> Process:
        if (
            now := _identity(self._path)
        ) != self._file:  # the file was replaced, and the processes have the old one open
            await self.aclose()
            self._file = now
        while self._idle:
            process = self._idle.pop()
            if process.returncode is None:
                return process
            await _end(process)
        return await self._start()

    async def _start(self) -> Process:
        """Start a process without Parley's environment, which may contain secrets."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "sql.sqlite_process"),
            stdin=PIPE,
            stdout=PIPE,
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"} | self._zone,
            limit=MAX_LINE,
            start_new_session=True,  # Ctrl-C must not reach it
        )
        try:
            answer = await _exchange(process, self._begin)
        except BaseException:
            await _end(process)
            raise
        if "bad" in answer:
            await _end(process)
            raise QueryFailed("unavailable", answer["bad"])
        return process


class _ProcessEnded(Exception):
    pass


def _identity(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_dev, status.st_ino)


async def _exchange(process: Process, line: bytes) -> Any:
    """Send a line and read the answer. Raises _ProcessEnded."""
    assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018  both are PIPE
    try:
        process.stdin.write(line)
        await process.stdin.drain()
        answer = await process.stdout.readline()
    except (ConnectionError, ValueError) as error:
        raise _ProcessEnded from error
    if not answer.endswith(b"\n"):
        raise _ProcessEnded
    return json.loads(answer)


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.communicate()


def _result(answer: Any) -> Any:
    if "answer" in answer:
        return answer["answer"]
    kind = QueryRefused if answer["of"] == QueryRefused.__name__ else QueryFailed
    raise kind(answer["kind"], answer["error"])
