"""An SQLite file, read by processes of our own that are ended when they take too long."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any

from sql.database import Database
from sql.hidden import Hidden
from sql.outcome import Checked, Limits, QueryFailed, Refused, Table
from sql.schema import Dialect, Schema
from sql.sqlite import Reader

READERS = 4  # at most; as many as are asked at the same time
GRACE = 1.0  # seconds in which a process may still say itself that the time is over
READING = 120.0  # seconds for a schema, at most: each of its parts has a limit of its own
LINE = 2**28  # bytes; what a row limit of our own lets through, and a schema, is far smaller
ROOT = Path(__file__).parents[1]


class SqliteDatabase(Database):
    """Raises BadDatabase at once when the file is none."""

    dialect: Dialect = "sqlite"

    def __init__(self, path: Path, limits: Limits, hidden: Hidden) -> None:
        super().__init__(limits, hidden)
        Reader(str(path), hidden, limits).close()
        self._path, self._file = path.absolute(), _identity(path)
        begin = {"path": str(self._path), "limits": limits.model_dump(), "hidden": hidden.model_dump()}
        self._begin = json.dumps(begin).encode() + b"\n"
        self._idle: list[Process] = []
        self._free = asyncio.Semaphore(READERS)

    async def run(self, sql: str) -> Table:
        return Table.model_validate(await self._ask("run", sql))

    async def _check(self, sql: str) -> Checked:
        return Checked.model_validate(await self._ask("check", sql))

    async def _read_schema(self) -> Schema:
        return Schema.model_validate(await self._ask("schema"))

    async def aclose(self) -> None:
        while self._idle:
            await _end(self._idle.pop())

    async def _ask(self, what: str, sql: str = "") -> Any:
        seconds = READING if what == "schema" else self.limits.seconds + GRACE
        async with self._free:
            process = await self._process()
            try:
                async with asyncio.timeout(seconds):
                    answer = await _exchange(process, json.dumps({"do": what, "sql": sql}).encode() + b"\n")
            except TimeoutError:
                await _end(process)
                why = f"It was stopped after {self.limits.seconds:g} seconds. Ask for less, or more narrowly."
                raise QueryFailed("timeout", why) from None
            except _Gone:
                await _end(process)
                why = "SQLite broke off: most likely it took more memory than it is given. Ask for less."
                raise QueryFailed("too_large", why) from None
            except BaseException:  # given up by the caller: an answer to come would be taken for the next one's
                await _end(process)
                raise
            self._idle.append(process)
        return _result(answer)

    async def _process(self) -> Process:
        if (now := _identity(self._path)) != self._file:  # another file has its name: the old one is open in them
            await self.aclose()
            self._file = now
        while self._idle:
            process = self._idle.pop()
            if process.returncode is None:
                return process
            await _end(process)
        return await self._start()

    async def _start(self) -> Process:
        """With nothing of our own environment: there may be secrets in it."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "sql.sqlite_process"),
            stdin=PIPE,
            stdout=PIPE,
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
            limit=LINE,
            start_new_session=True,  # Ctrl-C is for us
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


class _Gone(Exception):
    pass


def _identity(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_dev, status.st_ino)


async def _exchange(process: Process, line: bytes) -> Any:
    """Raises _Gone when the process is no more."""
    assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018  both are PIPE
    try:
        process.stdin.write(line)
        await process.stdin.drain()
        answer = await process.stdout.readline()
    except (ConnectionError, ValueError) as error:
        raise _Gone from error
    if not answer.endswith(b"\n"):
        raise _Gone
    return json.loads(answer)


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.communicate()


def _result(answer: Any) -> Any:
    if "answer" in answer:
        return answer["answer"]
    kind = Refused if answer["of"] == "Refused" else QueryFailed
    raise kind(answer["kind"], answer["error"])
