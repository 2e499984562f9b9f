"""The containers' privileges and users, and the distribution of secrets: each container gets only its own."""

import io
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.container_secrets import SECRET_NAMES, NoSuchSecret, distribute_secrets
from cli.entitlements import SECRETS_OF
from shared.bus.users import USERS
from shared.settings import Settings

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def distributed_files(home: Path, replace: str = "") -> dict[str, str]:
    """The distributed files by `container/name`."""
    distribute_secrets(Settings(parley_home=home), replace=replace, group=lambda _: os.getgid())
    return {
        f"{path.parent.name}/{path.name}": path.read_text()
        for path in sorted(home.glob("*/*"))
        if path.parent.name != "secrets"
    }


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty volume, without settings from the environment."""
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    return tmp_path


# --- docker-compose.yml


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_runs_without_privileges_and_with_limits(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"].split(":")[0] not in ("", "0", "root")
    assert service["mem_limit"]
    assert service["pids_limit"]
    assert service["restart"] == ("no" if name in ("secrets", "provision") else service["restart"])


def test_only_the_gateway_publishes_a_port_and_only_on_loopback() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert list(published) == ["gateway"]
    assert all(port.startswith("127.0.0.1:") for port in published["gateway"])


@pytest.mark.parametrize("name", SERVICES)
def test_no_containers_environment_contains_a_secret(name: str) -> None:
    # PARLEY_SQL_DATABASE_URL may be set there without a password; a URL with one belongs to `parley secrets`.
    secret = re.compile(
        r"password(?!_file)|token|secret(?!s_dir)|api_?key|nats_url|(?<!parley_sql_)database_url", re.IGNORECASE
    )
    assert [variable for variable in SERVICES[name].get("environment", {}) if secret.search(variable)] == []


def test_every_long_running_container_has_a_health_check() -> None:
    long_running = {name: service for name, service in SERVICES.items() if service["restart"] == "unless-stopped"}
    assert {"nats", "postgres", "gateway"} <= long_running.keys()
    assert [name for name, service in long_running.items() if "healthcheck" not in service] == []


# --- parley secrets


def test_every_nats_user_has_its_own_password(home: Path) -> None:
    files = distributed_files(home)
    assert set(SECRETS_OF) == set(USERS)
    exported = dict(line.split("=", 1) for line in files["nats/passwords"].splitlines())
    for user in USERS:
        password = exported[f"NATS_PASSWORD_{user.upper()}"].strip("'\"")
        assert files[f"{user}/nats_url"] == f"nats://{user}:{password}@nats:4222"
    assert len(set(exported.values())) == len(USERS)


def test_secrets_are_created_once(home: Path) -> None:
    assert distributed_files(home) == distributed_files(home)


def test_distributed_files_are_read_as_settings(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = distributed_files(home)
    monkeypatch.setenv("SECRETS_DIR", str(home / "gateway"))
    settings = Settings()
    assert settings.nats_url == files["gateway/nats_url"]
    assert settings.parley_token.get_secret_value() == files["gateway/parley_token"]
    assert len(settings.parley_secret.get_secret_value()) >= 32
    assert settings.database_url == ""


def test_only_owner_and_group_can_read_secrets(home: Path) -> None:
    distributed_files(home)
    assert stat.S_IMODE((home / "secrets").stat().st_mode) == 0o700
    for path in home.glob("*/*"):
        private = path.parent.name == "secrets"
        assert stat.S_IMODE(path.stat().st_mode) == (0o600 if private else 0o640), path
        assert stat.S_IMODE(path.parent.stat().st_mode) == (0o700 if private else 0o750), path


def test_an_operators_secret_replaces_the_default_and_can_be_removed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = distributed_files(home)
    monkeypatch.setattr("sys.stdin", io.StringIO("\ufeffsk-mine\n"))
    files = distributed_files(home, replace="openai_api_key")
    models = {name: text for name, text in files.items() if name.endswith("/openai_api_key")}
    assert set(models.values()) == {"sk-mine"}
    assert {name.split("/")[0] for name in models} == {"planner", "generator", "verifier", "executor"}
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert distributed_files(home, replace="openai_api_key") == before


def test_an_operators_password_is_in_every_url_that_needs_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("hunter/2"))
    files = distributed_files(home, replace="postgres")
    assert files["postgres/postgres"] == "hunter/2"
    assert files["plan_store/database_url"] == "postgresql://parley:hunter%2F2@postgres:5432/parley"


def test_an_unknown_secret_is_refused_with_a_list_of_names(home: Path) -> None:
    with pytest.raises(NoSuchSecret, match="parley_token") as refused:
        distributed_files(home, replace="nonsense")
    assert all(name in str(refused.value) for name in SECRET_NAMES)
