"""Secrets from the settings are hidden wherever their values occur in logs and events."""

import pytest
from pydantic import SecretStr

from shared import logging
from shared.domain import commands as c
from shared.logging import conceal, hide_secrets, keep_secret
from shared.settings import Settings
from shared.story import finish_action
from shared.worker.context import _without_secrets

KEY, PASSWORD = "plainlookingkey", "p@ssw0rd-of-nats"


@pytest.fixture(autouse=True)
def _no_known_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "_known", set())


def test_the_settings_list_every_secret() -> None:
    named = {
        name: SecretStr(f"value-of-{name}")
        for name, field in Settings.model_fields.items()
        if field.annotation is SecretStr
    }
    settings = Settings().model_copy(
        update=named
        | {
            "parley_api_keys": SecretStr("alice=alices-own-key, bob=bobs-own-key"),
            "nats_url": "nats://a-token-alone@h:1,nats://planner:p%40ssw0rd-of-nats@h:2",
            "database_url": "postgresql://postgres:of-the-database@db/x",
            "retail_database_url": "sqlite:///somewhere.db",
        }
    )
    secrets = set(settings.secrets)
    assert secrets >= {value.get_secret_value() for name, value in named.items() if name != "parley_api_keys"}
    assert secrets >= {"alices-own-key", "bobs-own-key", "a-token-alone", PASSWORD, "p%40ssw0rd-of-nats"}
    assert "of-the-database" in secrets
    assert "postgres" not in secrets  # a user name is no secret, and logs need it


def test_a_known_secret_is_hidden_in_every_value_of_a_log_line() -> None:
    keep_secret([KEY, "short", ""])
    event = hide_secrets(
        None, "", {"event": f"said {KEY}", "deep": [{"x": KEY}], "other": "short", "error": OSError(KEY)}
    )
    assert KEY not in str(event)
    assert (event["event"], event["other"]) == ("said ***", "short")


def test_a_known_secret_is_hidden_in_recorded_events() -> None:
    keep_secret([KEY])
    failure = _without_secrets(c.Fail(reason=f"refused: {KEY}", raw=f"{{{KEY}"))
    assert isinstance(failure, c.Fail)
    assert (failure.reason, failure.raw) == ("refused: ***", "{***")
    finish = _without_secrets(finish_action(action_id="1", ok=True, result={KEY: [KEY, 1, None]}, error=KEY, seconds=1))
    assert isinstance(finish, c.Finish)
    (outcome,) = finish.outcomes
    assert (outcome.result, outcome.error) == ({"***": ["***", 1, None]}, "***")
    harmless = c.Stop(reason="nothing of it")
    assert _without_secrets(harmless) == harmless
    assert conceal(("a", KEY)) == ("a", "***")
