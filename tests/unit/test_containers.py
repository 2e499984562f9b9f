"""The containers' privileges and users, and the distribution of secrets: each container gets only its own."""

import io
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.operate.container_secrets import SECRET_NAMES, NoSuchSecret, distribute_secrets
from cli.operate.programs import SECRETS_OF
from shared.bus.users import USERS
from shared.services import MODEL_KEYS
from shared.services import SERVICES as CATALOGUE
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
def test_no_containers_environment_contains_a_secret_but_the_key_of_the_operators_shell(name: str) -> None:
    # PARLEY_SQL_DATABASE_URL may be set there without a password; a URL with one belongs to `parley secrets`.
    secret = re.compile(
        r"password(?!_file)|token|secret(?!s_dir)|api_?key|nats_url|(?<!parley_sql_)database_url", re.IGNORECASE
    )
    asks_models = name == "secrets" or (name in CATALOGUE and MODEL_KEYS[0] in CATALOGUE[name].secrets)
    keys = {key.upper(): f"${{{key.upper()}:-}}" for key in MODEL_KEYS} if asks_models else {}
    environment = SERVICES[name].get("environment", {})
    assert {variable: value for variable, value in environment.items() if secret.search(variable)} == keys


def test_every_long_running_container_has_a_health_check() -> None:
    long_running = {name: service for name, service in SERVICES.items() if service["restart"] == "unless-stopped"}
    assert {"nats", "postgres", "gateway"} <= long_running.keys()
    assert [name for name, service in long_running.items() if "healthcheck" not in service] == []


# --- the model of docker-compose.yml


def effective_settings(home: Path, monkeypatch: pytest.MonkeyPatch, shell: dict[str, str]) -> dict[str, Settings]:
    """The settings of each of Parley's containers if `docker compose up` runs in a shell with these variables."""

    def enter(container: str, **overrides: str) -> Settings:
        for name in Settings.model_fields:
            monkeypatch.delenv(name.upper(), raising=False)
        for name, value in SERVICES[container]["environment"].items():
            text = re.sub(r"\$\{(\w+):-([^}]*)\}", lambda match: shell.get(match[1]) or match[2], value)
            assert "$" not in text, f"{name}: {value}"  # the only form that both versions of compose read
            monkeypatch.setenv(name, text)
        for name, value in overrides.items():
            monkeypatch.setenv(name, value)
        return Settings()

    distribute_secrets(enter("secrets", PARLEY_HOME=str(home)), group=lambda _: os.getgid())
    return {name: enter(name, SECRETS_DIR=str(home / name)) for name in CATALOGUE}


OPENAI, REHEARSAL_URL = "https://api.openai.com/v1", "http://rehearsal:23333/v1"


@pytest.mark.parametrize(
    ("shell", "url", "key", "model"),
    [
        ({}, REHEARSAL_URL, "none", "rehearsal"),
        ({"OPENAI_API_KEY": "", "OPENAI_MODEL": ""}, REHEARSAL_URL, "none", "rehearsal"),
        ({"OPENAI_API_KEY": "sk-1"}, OPENAI, "sk-1", ""),
        ({"OPENAI_API_KEY": "sk-1", "OPENAI_MODEL": "gpt-5-mini"}, OPENAI, "sk-1", "gpt-5-mini"),
        ({"OPENAI_BASE_URL": "http://m:1/v1"}, "http://m:1/v1", "none", ""),
        ({"OPENAI_BASE_URL": "http://m:1/v1", "OPENAI_API_KEY": "sk-1"}, "http://m:1/v1", "sk-1", ""),
        ({"INTERNLM_API_URL": "http://m:2"}, "http://m:2/v1", "none", ""),
        ({"INTERNLM_API_URL": "http://m:2", "INTERNLM_API_KEY": "il"}, "http://m:2/v1", "il", ""),
        ({"INTERNLM_API_KEY": "il"}, "http://localhost:23333/v1", "il", ""),
    ],
)
def test_the_containers_use_the_model_of_the_shell_or_else_the_rehearsal_model(
    home: Path, monkeypatch: pytest.MonkeyPatch, shell: dict[str, str], url: str, key: str, model: str
) -> None:
    containers = effective_settings(home, monkeypatch, shell)
    for name, settings in containers.items():
        assert settings.openai_model == model, name
        if MODEL_KEYS[0] in CATALOGUE[name].secrets:
            assert (settings.model_url, settings.model_key) == (url, key), name
        else:
            assert settings.model_key == "none", name


def test_a_stored_key_counts_as_a_model_too_and_its_removal_ends_that(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("sk-stored"))
    distributed_files(home, replace="openai_api_key")
    planner = effective_settings(home, monkeypatch, {})["planner"]
    assert (planner.model_url, planner.model_key, planner.openai_model) == (OPENAI, "sk-stored", "")
    assert effective_settings(home, monkeypatch, {"OPENAI_API_KEY": "sk-1"})["planner"].model_key == "sk-1"
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    monkeypatch.delenv("SECRETS_DIR")
    distributed_files(home, replace="openai_api_key")
    assert effective_settings(home, monkeypatch, {})["gateway"].openai_model == "rehearsal"


def test_the_other_settings_of_the_model_are_passed_on(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [name for name in Settings.model_fields if name.startswith("model_")]
    shell = {name.upper(): "70000" for name in names} | {"MODEL_MAX_ATTEMPTS": "7"}
    shell |= {"PARLEY_MODELS": '{"planner": "big"}', "PARLEY_PRICES": '{"big": [1, 0.1, 10]}'}
    shell |= {"PARLEY_EMBEDDING_MODEL": "vectors", "PARLEY_TEMPERATURES": '{"planner": 0.7}'}
    planner = effective_settings(home, monkeypatch, shell)["planner"]
    assert [getattr(planner, name) for name in names if name != "model_max_attempts"] == [70000] * (len(names) - 1)
    assert planner.model_max_attempts == 7
    assert (planner.parley_models, planner.parley_temperatures) == ({"planner": "big"}, {"planner": 0.7})
    assert (planner.parley_prices, planner.parley_embedding_model) == ({"big": (1, 0.1, 10)}, "vectors")


# --- parley secrets


def test_every_nats_user_has_its_own_password(home: Path) -> None:
    files = distributed_files(home)
    assert set(SECRETS_OF) == set(USERS)
    exported = dict(line.split("=", 1) for line in files["nats/passwords"].splitlines())
    for user in USERS:
        password = exported[f"NATS_PASSWORD_{user.upper()}"].strip("'\"")
        assert files[f"{user}/nats_url"] == f"nats://{user}:{password}@nats:4222"
    assert len(set(exported.values())) == len(USERS)


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
