"""Each program gets only the secrets that it uses from the operator's environment."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import SecretStr

from cli.operate.programs import CONFIDENTIAL, SECRETS_OF, environment_for, program_specs, with_defaults
from shared.services import SERVICES
from shared.settings import Settings

URLS = (
    "nats_url",
    "database_url",
    "retail_database_url",
    "parley_sql_database_url",
    "openai_base_url",
    "internlm_api_url",
)
FOREIGN = ("GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "SHOP_PASSWORD", "SOMETHING")
NEEDED = {
    "plan_store": {"DATABASE_URL", "PGPASSWORD"},
    "planner": {"OPENAI_API_KEY", "INTERNLM_API_KEY", "OPENAI_BASE_URL", "INTERNLM_API_URL", "HTTPS_PROXY"},
    "executor": {"DATABASE_URL", "RETAIL_DATABASE_URL", "PARLEY_SQL_DATABASE_URL", "PGPASSWORD", *FOREIGN},
    "gateway": {"PARLEY_TOKEN", "PARLEY_SECRET", "PARLEY_JWT_SECRET", "PARLEY_API_KEYS", "PARLEY_METRICS_TOKEN"},
    "rehearsal": set(),
    "nats": set(),
}
NEEDED["generator"] = NEEDED["verifier"] = NEEDED["planner"]
NEEDED["executor"] |= NEEDED["planner"]


def mark(name: str) -> str:
    return f"mark-{name.lower()}-0123456789"


def value(name: str) -> str:
    scheme = {"nats_url": "nats", "openai_base_url": "http", "internlm_api_url": "http"}.get(name, "postgresql")
    return f"{scheme}://user:{mark(name)}@127.0.0.1:1/x" if name in URLS else mark(name)


def secrets_in(environment: Mapping[str, str]) -> set[str]:
    """The variables that contain a marked secret."""
    return {name for name, text in environment.items() if "mark-" in text}


@pytest.fixture
def _everything_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set every secret in the environment of `parley up`."""
    names = {name for name in CONFIDENTIAL if name not in ("secrets_dir", "otel_exporter_otlp_endpoint")}
    for name in (*(name.upper() for name in names), *FOREIGN, "PGPASSWORD", "HTTPS_PROXY"):
        monkeypatch.setenv(name, value(name.lower()))


def test_the_table_lists_every_secret_setting() -> None:
    listed = {name for names in SECRETS_OF.values() for name in names}
    typed = {name for name, field in Settings.model_fields.items() if field.annotation is SecretStr}
    assert typed <= listed
    assert listed <= CONFIDENTIAL <= Settings.model_fields.keys()


@pytest.mark.usefixtures("_everything_is_set")
@pytest.mark.parametrize("name", NEEDED)
def test_a_program_gets_only_the_secrets_it_uses(name: str) -> None:
    expected = NEEDED[name] | ({"NATS_URL"} if name in SECRETS_OF else set())
    assert secrets_in(environment_for(name)) == expected


@pytest.mark.usefixtures("_everything_is_set")
def test_parley_up_passes_each_child_its_own_secrets(tmp_path: Path) -> None:
    settings = with_defaults(Settings(parley_home=tmp_path))
    started = program_specs(
        settings, rehearsal=True, nats_url_of=lambda name: f"nats://{name}:{mark('nats')}@127.0.0.1:1"
    )
    assert {program.name for program in started} == {*SERVICES, "rehearsal"}
    for program in started:
        expected = NEEDED.get(program.name, set()) | ({"NATS_URL"} if program.name in SECRETS_OF else set())
        assert secrets_in(program.env) == expected, program.name
        assert "PATH" in program.env


def test_secret_files_are_passed_as_variables_without_their_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("OPENAI_API_KEY", "PARLEY_SECRET", "PARLEY_SQL_MAX_ROWS"):
        monkeypatch.delenv(name, raising=False)
        (tmp_path / name.lower()).write_text(f"{mark(name)}\n")
    (tmp_path / "unknown").write_text(mark("unknown"))
    monkeypatch.setenv("SECRETS_DIR", str(tmp_path))
    monkeypatch.setenv("PARLEY_SECRET", mark("environment"))
    planner, gateway = environment_for("planner"), environment_for("gateway")
    assert planner["OPENAI_API_KEY"] == mark("OPENAI_API_KEY")
    assert planner["PARLEY_SQL_MAX_ROWS"] == mark("PARLEY_SQL_MAX_ROWS")
    assert gateway["PARLEY_SECRET"] == mark("environment")
    assert "PARLEY_SECRET" not in planner
    assert "OPENAI_API_KEY" not in gateway
    assert not {"SECRETS_DIR", "UNKNOWN"} & {*planner, *gateway}
