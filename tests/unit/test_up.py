"""What `parley up` decides before it starts anything, and what it says: no process, no server but a taken port."""

import asyncio
import json
import os
from pathlib import Path
from socket import create_server
from typing import Any

import pytest
from pydantic import SecretStr

from cli.console import compact, says_ready
from cli.home import HomeUnusable, Running, announce, attached, hold, running, secret
from cli.nats_server import version_of, without_secrets
from cli.readiness import Reply, in_words, watch
from cli.services import CannotStart, check_address, check_login, complete, health_urls, page_url, programs
from cli.supervisor import Program
from shared.settings import Settings


def settings(home: Path, **given: Any) -> Settings:
    return Settings(parley_home=home, **given)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_open_door_is_refused_where_others_could_come_in(tmp_path: Path, host: str) -> None:
    with pytest.raises(CannotStart, match="PARLEY_AUTH=none lets everybody in"):
        check_login(settings(tmp_path, agent_host=host, parley_auth="none"))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1.2.3"])
def test_an_open_door_is_allowed_on_loopback(tmp_path: Path, host: str) -> None:
    check_login(settings(tmp_path, agent_host=host, parley_auth="none"))


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"parley_auth": "keys"}, "PARLEY_API_KEYS"),
        ({"parley_auth": "jwt", "parley_secret": "short"}, "PARLEY_SECRET"),
        ({"agent_host": "0.0.0.0", "parley_token": "guess me"}, "PARLEY_TOKEN has fewer than 16 characters"),
    ],
)
def test_a_login_that_lets_nobody_in_is_refused_before_anything_starts(
    tmp_path: Path, given: dict[str, str], names: str
) -> None:
    with pytest.raises(CannotStart, match=names):
        check_login(complete(settings(tmp_path, **given)))


@pytest.mark.parametrize("given", [{}, {"parley_auth": "jwt"}, {"parley_auth": "none", "parley_secret": "short"}])
def test_a_login_that_works_or_is_made_to_work_is_not(tmp_path: Path, given: dict[str, str]) -> None:
    check_login(complete(settings(tmp_path, **given)))


def test_a_taken_port_is_said_with_who_has_it(tmp_path: Path) -> None:
    with create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(CannotStart, match=f"port {port} on 127.0.0.1 is taken by process {os.getpid()} "):
            check_address(settings(tmp_path, agent_port=port))


def test_an_address_of_another_machine_is_said(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"AGENT_HOST=192\.0\.2\.1 is not an address of this machine"):
        check_address(settings(tmp_path, agent_host="192.0.2.1"))


def started_with(found: Settings, *, rehearsal: bool = False) -> list[Program]:
    return programs(found, rehearsal=rehearsal, nats_url_of=lambda name: f"nats://{name}:secret@127.0.0.1:4222")


def test_without_a_model_the_rehearsal_model_is_started_on_a_free_port(tmp_path: Path) -> None:
    with create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        found = complete(settings(tmp_path, rehearsal_port=taken))
    assert found.rehearsal_port != taken
    assert found.model_url == f"http://127.0.0.1:{found.rehearsal_port}/v1"
    started = {program.name: program for program in started_with(found, rehearsal=True)}
    assert started["planner"].env["OPENAI_BASE_URL"] == found.model_url
    assert started["planner"].env["OPENAI_MODEL"] == "rehearsal"
    assert started["rehearsal"].env["AGENT_HOST"] == "127.0.0.1"
    assert set(health_urls(found, rehearsal=True)) == {"gateway", "rehearsal"}


def test_two_that_start_at_once_are_not_given_the_same_port(tmp_path: Path) -> None:
    first = complete(settings(tmp_path))
    second = complete(settings(tmp_path, rehearsal_port=first.rehearsal_port))
    assert first.rehearsal_port != second.rehearsal_port


@pytest.mark.parametrize(
    "model", [{"openai_base_url": "http://127.0.0.1:23333/v1"}, {"internlm_api_url": "http://127.0.0.1:23333"}]
)
def test_a_configured_model_is_left_as_it_is(tmp_path: Path, model: dict[str, str]) -> None:
    found = complete(settings(tmp_path, **model))
    assert found.model_url == "http://127.0.0.1:23333/v1"
    assert found.openai_model == ""
    assert "rehearsal" not in {program.name for program in started_with(found)}


def test_what_is_chosen_reaches_every_service(tmp_path: Path) -> None:
    found = complete(settings(tmp_path, agent_port=0, agent_host="::"))
    for program in started_with(found):
        assert program.env["AGENT_PORT"] == str(found.agent_port) != "0"
        assert program.env["AGENT_HOST"] == "::"
        assert program.env["PARLEY_HOME"] == str(tmp_path)
        assert program.env["NATS_URL"] == f"nats://{program.name}:secret@127.0.0.1:4222"
    started = {program.name: program.env for program in started_with(found)}
    assert started["plan_store"]["DATABASE_URL"] == f"sqlite+aiosqlite:///{tmp_path}/parley.db"
    assert started["gateway"]["PARLEY_TOKEN"] == found.parley_token.get_secret_value() != ""
    assert len(started["gateway"]["PARLEY_SECRET"]) >= 32
    assert page_url(found) == f"http://[::1]:{found.agent_port}/?token={found.parley_token.get_secret_value()}"
    assert health_urls(found, rehearsal=False) == {"gateway": f"http://[::1]:{found.agent_port}/readyz"}


def test_the_signing_secret_stays_and_the_login_token_is_new_each_time(tmp_path: Path) -> None:
    first, second = complete(settings(tmp_path)), complete(settings(tmp_path))
    assert first.parley_secret == second.parley_secret
    assert first.parley_token != second.parley_token
    assert first.parley_token_per_start
    assert not complete(settings(tmp_path, parley_token=SecretStr("mine"))).parley_token_per_start
    assert complete(settings(tmp_path, parley_token=SecretStr("mine"))).parley_token.get_secret_value() == "mine"


@pytest.mark.parametrize("auth", ["none", "keys", "jwt"])
def test_only_the_login_by_token_puts_one_into_the_url(tmp_path: Path, auth: str) -> None:
    assert page_url(complete(settings(tmp_path, parley_auth=auth))) == "http://127.0.0.1:8001/"


def test_a_home_is_held_once_and_says_by_whom(tmp_path: Path) -> None:
    with hold(tmp_path), pytest.raises(HomeUnusable, match=f"in use by process {os.getpid()}:"), hold(tmp_path):
        pass
    with hold(tmp_path):
        pass


def test_a_home_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HomeUnusable, match="cannot be used"), hold(tmp_path / "file" / "home"):
        pass


def test_other_commands_find_the_one_that_runs_and_not_the_one_that_was_killed(tmp_path: Path) -> None:
    here = Running(pid=1, page="p", nats_url="nats://t@127.0.0.1:1")
    assert running(tmp_path) is None
    with hold(tmp_path), announce(tmp_path, here):
        assert running(tmp_path) == here
        assert attached(settings(tmp_path)).nats_url == here.nats_url
        assert attached(settings(tmp_path, nats_url="nats://mine:4222")).nats_url == "nats://mine:4222"
    assert running(tmp_path) is None
    with announce(tmp_path, here):  # as a killed one leaves it: the file, without the lock
        assert running(tmp_path) is None
        assert attached(settings(tmp_path)) == settings(tmp_path)


def test_secrets_differ_by_name_and_stay(tmp_path: Path) -> None:
    assert secret(tmp_path, "a") == secret(tmp_path, "a") != secret(tmp_path, "b")


@pytest.mark.parametrize(
    ("line", "shown"),
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
def test_the_terminal_shows_what_a_person_should_see(line: str, shown: str) -> None:
    assert compact(line) == shown


def test_only_the_event_says_ready() -> None:
    assert says_ready('{"level": "info", "event": "ready"}')
    assert not says_ready('{"level": "info", "event": "other", "state": "ready"}')
    assert not says_ready('"ready"')


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"ready": False, "missing": {"nats": "refused", "planner": "silent"}}, "nats: refused, planner: silent"),
        ({"missing": ["nats", "planner"]}, "nats, planner"),
        ({"database": "locked"}, "database: locked"),
        ("starting", "starting"),
    ],
)
def test_what_the_gateway_misses_is_said_on_one_line(body: object, words: str) -> None:
    assert in_words(Reply(503, json.dumps(body))) == words


def test_an_answer_that_is_no_json_is_shown_as_it_is() -> None:
    assert in_words(Reply(0, "Connection refused")) == "Connection refused"


async def test_ready_is_said_once_and_what_goes_away_later_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.readiness.EVERY_LATER", 0)
    seen = iter([["nats"], [], [], ["planner"], ["planner"], [], []])
    said: list[str] = []

    async def look() -> list[str]:
        if (now := next(seen, None)) is None:
            raise asyncio.CancelledError
        return now

    with pytest.raises(asyncio.CancelledError):
        await watch(look, ready=lambda: said.append("ready"), say=said.append)
    assert said == ["ready", "not ready: planner; waiting", "ready again"]


async def test_what_is_missing_for_long_at_the_start_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.readiness.PATIENCE", 0)
    seen = iter([["nats", "gateway (refused)"], []])
    said: list[str] = []

    async def look() -> list[str]:
        if (now := next(seen, None)) is None:
            raise asyncio.CancelledError
        return now

    monkeypatch.setattr("cli.readiness.EVERY_LATER", 0)
    with pytest.raises(asyncio.CancelledError):
        await watch(look, ready=lambda: said.append("ready"), say=said.append)
    assert said == ["not ready: nats, gateway (refused); waiting", "ready"]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("nats://token@127.0.0.1:4222", "nats://127.0.0.1:4222"),
        ("nats://me:secret@a:1,nats://me:secret@b:2", "nats://a:1,nats://b:2"),
        ("postgresql+asyncpg://me:p@ss@db/parley", "postgresql+asyncpg://db/parley"),
        ("sqlite:////tmp/x.db", "sqlite:////tmp/x.db"),
        ("localhost:4222", "localhost:4222"),
    ],
)
def test_urls_are_shown_without_their_secrets(url: str, shown: str) -> None:
    assert without_secrets(url) == shown


def test_a_version_is_found_in_what_a_program_prints() -> None:
    assert version_of("nats-server: v2.15.0-RC.1") == (2, 15, 0)
    assert version_of("no idea") == ()
