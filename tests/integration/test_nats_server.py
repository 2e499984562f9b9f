"""Parley's own NATS server: finding the binary, start, kill, restart on the same store, and end with its parent."""

import os
import re
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from socket import create_connection, create_server
from urllib.parse import urlsplit

import nats
import pytest

from cli.operate.doctor import check_nats, check_streams
from cli.operate.home import secret
from cli.operate.nats_server import MINIMUM, NatsMissing, find_binary, prepare, probe, version_of
from cli.operate.up import _STORE, Console, _provision
from shared.bus import provision as provisioning
from shared.bus.provision import provision
from shared.settings import Settings
from tests.support.nats import NatsServer, kill9, nats_server
from tests.support.timeouts import WAIT_TIMEOUT


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with nats_server(tmp_path) as running:
        yield running


def get(url: str) -> int:
    parts = urlsplit(url)
    with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=WAIT_TIMEOUT)) as client:
        client.request("GET", parts.path)
        return client.getresponse().status


async def test_the_server_has_jetstream_and_monitoring(server: NatsServer) -> None:
    info = probe(server.url)
    assert info.jetstream
    assert version_of(info.version) >= MINIMUM
    assert get(f"{server.monitoring_url}/healthz") == 200
    client = await nats.connect(server.url)
    assert client.max_payload == 4 * 1024 * 1024
    await client.close()


def test_a_connection_without_a_password_is_refused(server: NatsServer) -> None:
    with create_connection(("127.0.0.1", urlsplit(server.url).port or 0), timeout=WAIT_TIMEOUT) as connection:
        connection.sendall(b"CONNECT {}\r\nPING\r\n")
        assert b"Authorization Violation" in connection.makefile("rb").read()


@pytest.mark.races
async def test_acknowledged_messages_survive_a_kill_and_the_url_stays(server: NatsServer) -> None:
    url, first = server.url, server.pid
    client = await nats.connect(url)
    await client.jetstream().add_stream(name="KEPT", subjects=["kept.>"])
    for number in range(20):
        await client.jetstream().publish("kept.it", str(number).encode())
    await client.close()
    kill9(server)
    with pytest.raises(OSError, match="refused"):
        probe(url)
    server.restart()
    assert server.url == url
    assert server.pid != first
    client = await nats.connect(url)
    assert (await client.jetstream().stream_info("KEPT")).state.messages == 20
    await client.close()


def test_parleys_server_flushes_each_event_and_a_tests_server_does_not(tmp_path: Path) -> None:
    assert "sync_interval: always" in prepare(tmp_path).config.read_text()
    assert "sync_interval" not in prepare(tmp_path, durable=False).config.read_text()


def test_a_home_may_have_any_characters_in_its_name(tmp_path: Path) -> None:
    with nats_server(tmp_path / "josé „q“") as server:
        assert probe(server.url).jetstream
        assert server.monitoring_url


async def test_a_home_with_a_token_of_a_previous_version_keeps_its_log(tmp_path: Path) -> None:
    """Previous versions of Parley created a home with one token for all services."""
    token = secret(tmp_path, "nats-token")
    prepared = prepare(tmp_path)
    authorization = re.compile(r"authorization \{\n.*?^\}\n", re.DOTALL | re.MULTILINE)
    token_config = authorization.sub(f'authorization {{ token: "{token}" }}\n', prepared.config.read_text())
    prepared.config.write_text(token_config)
    with subprocess.Popen(prepared.command(find_binary()[0])) as process:  # noqa: ASYNC220  it ends in this block
        client = await nats.connect(f"nats://{token}@127.0.0.1:{prepared.port}", max_reconnect_attempts=50)
        await client.jetstream().add_stream(name="KEPT", subjects=["kept.>"])
        await client.jetstream().publish("kept.it", b"1")
        await client.close()
        process.terminate()
    with nats_server(tmp_path) as server:
        client = await nats.connect(server.url)
        assert (await client.jetstream().stream_info("KEPT")).state.messages == 1
        await client.close()


def test_two_homes_have_separate_servers(server: NatsServer, tmp_path: Path) -> None:
    with nats_server(tmp_path / "other") as other:
        assert urlsplit(other.url).port != urlsplit(server.url).port
        assert urlsplit(other.url).password != urlsplit(server.url).password


@pytest.mark.races
def test_the_port_used_last_is_used_again_unless_it_is_taken(tmp_path: Path) -> None:
    def port_of_a_new_process() -> int:
        program = "import sys, pathlib, cli.operate.nats_server as n; print(n.prepare(pathlib.Path(sys.argv[1])).port)"
        command = [sys.executable, "-c", program, str(tmp_path)]
        return int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)

    first = port_of_a_new_process()
    assert port_of_a_new_process() == first
    with create_server(("127.0.0.1", first)):
        assert port_of_a_new_process() != first


@pytest.mark.races
def test_the_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        import signal
        from pathlib import Path
        from tests.support.nats import NatsServer
        print(NatsServer(Path({str(tmp_path)!r})).pid, flush=True)
        signal.pause()
    """)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        server = os.pidfd_open(int(owner.stdout.readline()))
        owner.send_signal(signal.SIGKILL)
        assert wait_for_exit(server)


def wait_for_exit(pidfd: int) -> bool:
    """Wait for the end of a process that is not a child: its descriptor becomes readable then."""
    try:
        return bool(select.select([pidfd], [], [], WAIT_TIMEOUT)[0])
    finally:
        os.close(pidfd)


def put_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> Path:
    fake = folder / "nats-server"
    fake.write_text(f"#!/bin/sh\necho nats-server: v{version}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return fake


@pytest.mark.parametrize(("version", "from_path"), [("2.12.0", True), ("2.9.10", False), ("3.0.1", True)])
def test_a_server_on_path_is_used_if_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, from_path: bool
) -> None:
    fake = put_on_path(tmp_path, monkeypatch, version)
    assert (find_binary()[0] == fake) is from_path


def test_the_reason_of_a_failed_start_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = put_on_path(tmp_path, monkeypatch, "9.9.9")
    fake.write_text('#!/bin/sh\n[ "$1" = --version ] && echo v9.9.9 && exit\necho "disk is on fire"; exit 1\n')
    with pytest.raises(NatsMissing, match="disk is on fire"):
        NatsServer(tmp_path / "home")


def test_another_protocol_on_the_port_is_not_a_nats_server() -> None:
    with create_server(("127.0.0.1", 0)) as other, pytest.raises(OSError, match="timed out"):
        probe(f"nats://127.0.0.1:{other.getsockname()[1]}", timeout=0.1)


async def test_the_doctor_distinguishes_missing_streams_from_correct_ones(server: NatsServer) -> None:
    settings = Settings(nats_url=server.url)
    broker = check_nats(settings, is_up=False)
    before = await check_streams(settings, broker)
    assert (before.outcome, "stream SESSIONS: missing" in before.finding) == ("warn", True)
    await provision(settings)
    assert (await check_streams(settings, broker)).outcome == "ok"


@pytest.mark.parametrize(
    ("file", "content"), [("o.dat", b"garbage" * 9), ("meta.inf", b""), ("meta.sum", b"garbage" * 9)]
)
async def test_a_damaged_consumer_is_moved_aside_and_made_again(
    tmp_path: Path, file: str, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    with nats_server(tmp_path) as server:
        settings = Settings(nats_url=server.url, parley_home=tmp_path)
        await provision(settings)
        server.stop()
        folder = tmp_path / "nats" / _STORE.removeprefix("nats/") / "streams/SESSIONS/obs/planner"
        (folder / file).write_bytes(content)
        server.restart()
        await _provision(settings, Console(), store=_STORE)
        assert await provisioning.check(settings) == []
        if (file, bool(content)) == ("o.dat", True):
            assert "The stored state of the consumer planner is damaged" in capsys.readouterr().err
            [kept] = (tmp_path / "nats").glob("damaged-planner-*")
            assert (kept / file).read_bytes() == content
