"""docs/settings.md: the settings that its template describes, with their defaults."""

import json
from typing import Any

from pydantic import SecretStr

from scripts.gen_tables import fill
from shared.settings import Settings


def settings_md() -> str:
    """Raises LookupError for a setting without a description, or a description without a setting."""
    return fill("settings", **{name: f"`{name.upper()}` | {_default(name)}" for name in Settings.model_fields})


def _default(name: str) -> str:
    value: Any = Settings.model_fields[name].get_default(call_default_factory=True)
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value in ("", (), {}, None):
        return "empty"
    return f"`{json.dumps(value)}`" if isinstance(value, bool | int | float | tuple) else f"`{value}`"
