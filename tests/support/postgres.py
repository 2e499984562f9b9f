"""A throw-away PostgreSQL for tests: the one of PARLEY_TEST_POSTGRES, or one of our own from installed binaries.

Use it with `pytest_plugins = ("tests.support.postgres",)` and the fixture `postgres_url` (an empty database for each
test) or `own_postgres` (a server for one test). Where there is none the test is skipped, or fails if
PARLEY_REQUIRE_ALL is 1.
"""

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import asyncpg  # type: ignore[import-untyped]
import pytest

from cli.ports import free_port
from tests.support.needs import lacking


def find_binaries() -> Path | None:
    """The folder of the newest installed server (Debian keeps them out of PATH)."""
    on_path = shutil.which("initdb")
    found = [Path(on_path).parent] if on_path else []
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name), reverse=True)
    return next((folder for folder in found if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


def _account() -> pwd.struct_passwd | None:
    """Whom the server runs as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    names = {account.pw_name: account for account in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


def _as(account: pwd.struct_passwd | None, *command: str) -> list[str]:
    """The command as this account, ended by the kernel when we end (where setpriv is installed)."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return list(command)
    who = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"] if account else []
    return [setpriv, "--pdeathsig=QUIT", *who, "--", *command]


class PostgresServer:
    """A server on 127.0.0.1 that trusts everybody who reaches it; it can be stopped and started again."""

    def __init__(self, binaries: Path, folder: Path, account: pwd.struct_passwd | None) -> None:
        self._binaries, self._folder, self._account = binaries, folder, account
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://parley@127.0.0.1:{self.port}/postgres"

    def make(self) -> None:
        initdb = (str(self._binaries / "initdb"), "-D", str(self._folder), "-U", "parley", "-A", "trust")
        command = _as(self._account, *initdb, "--no-sync", "--no-instructions", "-E", "UTF8", "--locale=C")
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True, cwd="/", timeout=60)

    def start(self) -> None:
        """Ready on return."""
        options = ("listen_addresses=127.0.0.1", f"port={self.port}", "unix_socket_directories=", "fsync=off")
        flags = [part for option in options for part in ("-c", option)]
        command = _as(self._account, str(self._binaries / "postgres"), "-D", str(self._folder), *flags)
        log = self._folder.with_name("server.log")
        with log.open("ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output, cwd="/")
        deadline = time.monotonic() + 20
        while self._process.poll() is None and time.monotonic() < deadline:
            with suppress(OSError, asyncpg.PostgresError):
                asyncio.run(_execute(self.url, "SELECT 1"))
                return
            time.sleep(0.02)
        raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text()[-2000:]}")

    @property
    def pid(self) -> int:
        """Of the first of its processes; 0 where it does not run."""
        return self._process.pid if self._process else 0

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """A SIGTERM would wait for its clients."""
        if self._process:
            self._process.send_signal(how)
            self._process.wait(20)
            self._process = None


@contextmanager
def postgres() -> Iterator[PostgresServer | None]:
    """A fresh server of our own (about 1.5 s); None where PostgreSQL is not installed."""
    binaries = find_binaries()
    if binaries is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="parley-postgres-"))
    account = _account()
    if account:
        os.chown(folder, account.pw_uid, account.pw_gid)
    server = PostgresServer(binaries, folder / "data", account)
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


EMPTIED = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
    EXECUTE format('DELETE FROM %I', name);
  END LOOP;
END $$
"""


def emptied(url: str) -> None:
    """Take all rows away, but not the tables; whoever is still connected is thrown out."""
    asyncio.run(_execute(url, EMPTIED))


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url, timeout=5)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def missing() -> None:
    """End the test that needs PostgreSQL where there is none."""
    lacking("PostgreSQL is not installed, and PARLEY_TEST_POSTGRES is not set")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of a server on which databases may be made."""
    if given := os.environ.get("PARLEY_TEST_POSTGRES"):
        yield given
        return
    with postgres() as server:
        if server is None:
            missing()
        else:
            yield server.url


@contextmanager
def database_on(server: str) -> Iterator[str]:
    """URL of a new, empty database on this server, dropped at the end."""
    name = f"parley_test_{uuid4().hex[:12]}"
    asyncio.run(_execute(server, f"CREATE DATABASE {name}"))
    place, _, query = server.partition("?")
    try:
        yield f"{place.rpartition('/')[0]}/{name}" + (f"?{query}" if query else "")
    finally:
        asyncio.run(_execute(server, f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """URL of an empty database, dropped after the test."""
    with database_on(postgres_server) as url:
        yield url


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A server for one test alone, which may stop it and start it again (from a thread: it blocks)."""
    with postgres() as server:
        if server is None:
            missing()
        else:
            yield server
