"""`parley up` as a process, with minimal services, the real supervisor and the real nats-server."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import nats
import pytest

from cli.operate.home import RunningParley, find_running
from cli.operate.nats_server import probe
from cli.operate.ports import free_port
from cli.operate.programs import http_get
from shared.services import SERVICES
from tests.support.timeouts import WAIT_TIMEOUT

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from cli.operate.up import up
from shared.settings import Settings
sys.exit(up(Settings()))
"""
WORKER = """
import json, os, signal
print(json.dumps({"level": "info", "event": "ready", "nats": os.environ["NATS_URL"]}), flush=True)
signal.pause()
"""
SERVER = """
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *args):
        pass

HTTPServer(("127.0.0.1", int(os.environ["%s"])), Handler).serve_forever()
"""


class Up:
    """Runs `parley up` on a home in this folder."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.home = folder / "home"
        self.port = free_port()
        for name in (*SERVICES, "rehearsal"):
            package = folder / "services" / name
            package.mkdir(parents=True, exist_ok=True)
            (package.parent / "__init__.py").touch()  # Python imports these services instead of the real ones
            port = {"gateway": "AGENT_PORT", "rehearsal": "REHEARSAL_PORT"}.get(name)
            (package / "app.py").write_text(SERVER % port if port else WORKER)
        overrides = {"PYTHONPATH": str(ROOT), "PARLEY_HOME": str(self.home), "AGENT_PORT": str(self.port)}
        inherited = {name: value for name, value in os.environ.items() if name not in ("NATS_URL", "OPENAI_BASE_URL")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            cwd=folder,
            env=inherited | overrides | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ready(self) -> str:
        """The line on stdout that programs wait for."""
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], 30)[0], "not ready in 30 s"
        return self.process.stdout.readline().strip()

    def line_with(self, words: str) -> str:
        """The next line on stderr with `words` in it."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if words in line:
                return line
        raise AssertionError(f"never said: {words}")

    def end(self) -> tuple[int, str, str]:
        """Stop it as Ctrl-C does. Returns the exit code and the rest of stdout and stderr."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=WAIT_TIMEOUT)
        return self.process.returncode, out, err

    def running(self) -> RunningParley:
        found_parley = find_running(self.home)
        assert found_parley is not None
        return found_parley


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    started = Up(tmp_path)
    yield started
    started.process.kill()
    started.process.communicate()


def test_parley_up_prints_ready_and_stops_what_it_started(up: Up) -> None:
    url, _, token = up.ready().removeprefix("ready ").partition("?token=")
    assert url == f"http://127.0.0.1:{up.port}/"
    assert len(token) >= 32
    assert http_get(f"{url}readyz").status == 200
    found_parley = up.running()
    assert found_parley.pid == up.process.pid
    assert found_parley.page.endswith(token)
    assert probe(found_parley.nats_url).jetstream
    code, out, err = up.end()
    assert (code, out) == (0, "")
    assert err.endswith("stopped: all that was started here has ended\n")
    assert "streams and consumers made" in err
    assert token not in err
    assert urlsplit(found_parley.nats_url).username not in err.split()
    assert find_running(up.home) is None
    assert http_get(f"{url}readyz").status == 0
    with pytest.raises(OSError, match="refused"):
        probe(found_parley.nats_url)


def test_a_second_instance_on_the_same_home_is_refused(up: Up, tmp_path: Path) -> None:
    up.ready()
    second = Up(tmp_path)
    out, err = second.process.communicate(timeout=WAIT_TIMEOUT)
    assert (second.process.returncode, out) == (1, "")
    assert f"{up.home} is in use by process {up.process.pid}:" in err
    assert http_get(f"http://127.0.0.1:{up.port}/readyz").status == 200


def test_two_homes_run_side_by_side(up: Up, tmp_path: Path) -> None:
    other = Up(tmp_path / "other")
    try:
        assert up.ready() != other.ready()
        assert other.end()[0] == 0
        assert http_get(f"http://127.0.0.1:{up.port}/readyz").status == 200
    finally:
        other.process.kill()
        other.process.communicate()


def children(pid: int) -> dict[str, int]:
    """The child processes of `pid`: command line and process id."""
    numbers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {Path(f"/proc/{number}/cmdline").read_text(): int(number) for number in numbers}


@pytest.mark.races
async def test_a_killed_broker_is_restarted_on_the_same_port(up: Up) -> None:
    await asyncio.to_thread(up.ready)
    url = up.running().nats_url
    server = next(pid for command, pid in children(up.process.pid).items() if "nats-server" in command)
    os.kill(server, signal.SIGKILL)
    assert "was ended by SIGKILL; starting it again" in await asyncio.to_thread(up.line_with, "SIGKILL")
    client = await nats.connect(url, max_reconnect_attempts=100, reconnect_time_wait=0.1)
    assert (await client.jetstream().stream_info("SESSIONS")).state.messages == 0
    await client.close()


def test_parley_up_reports_an_unreachable_configured_broker_and_keeps_waiting(tmp_path: Path) -> None:
    port = free_port()
    waiting = Up(tmp_path, NATS_URL=f"nats://hush@127.0.0.1:{port}")
    try:
        line = waiting.line_with("does not answer")
        assert f"nats://127.0.0.1:{port} does not answer" in line
        assert "hush" not in line
        assert waiting.end()[0] == 0
    finally:
        waiting.process.kill()
        waiting.process.communicate()
