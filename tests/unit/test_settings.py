"""Settings: sources and their order, derived addresses, and errors that name a setting without its value."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from pydantic_settings import SettingsError

from shared.settings import Settings

SECRET = "hunter2hunter2"


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove settings from the environment of the machine."""
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
        monkeypatch.delenv(name, raising=False)


def test_the_defaults_are_for_one_machine() -> None:
    settings = Settings()
    assert settings.nats_url == "nats://127.0.0.1:4222"
    assert (settings.agent_host, settings.agent_port) == ("127.0.0.1", 8001)
    assert settings.parley_auth == "token"
    assert (settings.model_url, settings.model_key) == ("", "none")


def test_trusted_proxies_must_be_addresses_or_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUSTED_PROXIES", "127.0.0.1, 10.0.0.0/8, 2001:db8::/32")
    assert Settings().trusted_proxies == ("127.0.0.1", "10.0.0.0/8", "2001:db8::/32")
    for wrong in ("*", "proxy.internal", "10.0.0.1/8"):
        monkeypatch.setenv("TRUSTED_PROXIES", wrong)
        with pytest.raises(ValidationError):
            Settings()


def test_the_environment_is_read_and_empty_values_count_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_PORT", "9001")
    monkeypatch.setenv("NATS_URL", "")
    monkeypatch.setenv("PARLEY_ALLOWED_ORIGINS", "https://a.example, https://b.example,")
    monkeypatch.setenv("PARLEY_MODELS", '{"planner": "big"}')
    monkeypatch.setenv("PARLEY_PRICES", '{"big": [1, 0.1, 4]}')
    settings = Settings()
    assert settings.agent_port == 9001
    assert settings.nats_url == "nats://127.0.0.1:4222"
    assert settings.parley_allowed_origins == ("https://a.example", "https://b.example")
    assert settings.parley_models == {"planner": "big"}
    assert settings.parley_prices == {"big": (1, 0.1, 4)}


def test_a_file_of_the_settings_name_is_read_and_the_environment_wins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "parley_secret").write_text(f" {SECRET}\n")
    (tmp_path / "openai_api_key").write_text("sk-1\n", encoding="utf-8-sig")  # as an editor on Windows saves it
    (tmp_path / "parley_models").write_text('{"planner": "big"}', encoding="utf-8-sig")
    (tmp_path / "NATS_URL").write_text("nats://user:password@nats:4222")
    (tmp_path / "agent_port").write_text("9001")
    (tmp_path / "no-setting").write_text("anything")
    monkeypatch.setenv("SECRETS_DIR", str(tmp_path))
    monkeypatch.setenv("AGENT_PORT", "9002")
    monkeypatch.setenv("NATS_URL", "")
    settings = Settings()
    assert settings.parley_secret.get_secret_value() == SECRET
    assert settings.nats_url == "nats://user:password@nats:4222"
    assert settings.agent_port == 9002
    assert settings.openai_api_key.get_secret_value() == "sk-1"
    assert settings.parley_models == {"planner": "big"}


def test_an_unreadable_secrets_folder_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SECRETS_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(ValidationError, match="no folder that this user may read"):
        Settings()


@pytest.mark.parametrize(
    ("environment", "url", "key"),
    [
        ({"OPENAI_BASE_URL": "http://h:1/v1"}, "http://h:1/v1", "none"),
        ({"OPENAI_API_KEY": "k"}, "https://api.openai.com/v1", "k"),
        ({"OPENAI_BASE_URL": "http://h:1/v1", "OPENAI_API_KEY": "k"}, "http://h:1/v1", "k"),
        ({"INTERNLM_API_URL": "http://h:2"}, "http://h:2/v1", "none"),
        ({"INTERNLM_API_URL": "http://h:2/"}, "http://h:2/v1", "none"),
        ({"INTERNLM_API_URL": "http://h:2/v1"}, "http://h:2/v1", "none"),
        ({"INTERNLM_API_URL": "http://h:2/v1/"}, "http://h:2/v1", "none"),
        ({"INTERNLM_API_KEY": "i"}, "http://localhost:23333/v1", "i"),
        ({"OPENAI_API_KEY": "k", "INTERNLM_API_URL": "http://h:2"}, "https://api.openai.com/v1", "k"),
    ],
)
def test_the_model_address_and_key_follow_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], url: str, key: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (Settings().model_url, Settings().model_key) == (url, key)


@pytest.mark.parametrize(
    ("url", "used"),
    [
        ("postgresql://u:p@h/d", "postgresql+asyncpg://u:p@h/d"),
        ("postgres://u:p@h/d", "postgresql+asyncpg://u:p@h/d"),
        ("postgresql+asyncpg://h/d", "postgresql+asyncpg://h/d"),
        ("sqlite:////data/x.db", "sqlite+aiosqlite:////data/x.db"),
        ("sqlite+aiosqlite:////data/x.db", "sqlite+aiosqlite:////data/x.db"),
    ],
)
def test_the_database_gets_its_driver(url: str, used: str) -> None:
    assert Settings(database_url=url).sql_url == used


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AGENT_PORT", SECRET),
        ("AGENT_PORT", "70000"),
        ("PARLEY_AUTH", SECRET),
        ("NATS_REPLICAS", "0"),
        ("DATABASE_URL", f"mysql://user:{SECRET}@db/parley"),
        ("DATABASE_URL", SECRET),
        ("ACK_WAIT", "0"),
        ("MODEL_MAX_ATTEMPTS", "99"),
        ("PARLEY_TEMPERATURES", f'{{"planner": "{SECRET}"}}'),
    ],
)
def test_an_error_names_the_setting_but_hides_its_value(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError) as refused:
        Settings()
    assert name.lower() in str(refused.value)
    assert SECRET not in str(refused.value)


def test_an_error_about_invalid_json_hides_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_MODELS", SECRET)
    with pytest.raises(SettingsError, match="parley_models") as refused:
        Settings()
    assert SECRET not in str(refused.value) + str(refused.value.__cause__)


def test_settings_are_frozen_and_hide_secrets_in_their_text() -> None:
    settings = Settings(openai_api_key=SECRET, parley_secret=SECRET, parley_token=SECRET, parley_api_keys=SECRET)
    with pytest.raises(ValidationError):
        settings.agent_port = 1  # type: ignore[misc]
    assert SECRET not in repr(settings) + str(settings)
