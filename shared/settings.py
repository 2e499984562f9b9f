"""All settings, from the environment or from files that it names.

Besides this module only shared/environment.py reads `os.environ`, for child processes.
"""

import os
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from pydantic import Field, SecretStr, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SecretsSettingsSource,
    SettingsConfigDict,
)

from shared.watchdog import MIN_TIMEOUT

Auth = Literal["none", "token", "keys", "jwt"]
MODEL = "model"  # the name of Parley's own plan generator, which asks a model
DATABASES = ("postgres://", "postgresql://", "postgresql+asyncpg://", "sqlite://", "sqlite+aiosqlite://")


class _SecretFiles(SecretsSettingsSource):
    """Skips the byte order mark that some editors write before the text."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        value, key, is_complex = super().get_field_value(field, field_name)
        return value.removeprefix("\ufeff").strip() if isinstance(value, str) else value, key, is_complex


class Settings(BaseSettings):
    """A frozen object that each program reads once at its start. docs/settings.md describes every setting.

    Times are in seconds, sizes in bytes, money in US dollars.
    """

    model_config = SettingsConfigDict(frozen=True, env_ignore_empty=True, extra="ignore", hide_input_in_errors=True)

    secrets_dir: Path | None = None  # a file in it sets the setting of its name; the environment takes precedence

    # services and files
    nats_url: str = "nats://127.0.0.1:4222"
    nats_replicas: int = Field(1, ge=1, le=5)
    database_url: str = ""  # empty: SQLite under parley_home
    parley_home: Path = Path(".parley")
    retail_database_url: str = ""  # empty: the sessions' database, or a SQLite file of its own
    parley_retail_data_dir: Path | None = None  # users.json, orders.json, products.json; None: generated data
    agent_host: str = "127.0.0.1"
    agent_port: int = Field(8001, ge=0, le=65535)
    agent_root_path: str = Field("", pattern=r"^(/[\w.~-]+)*/?$")  # of a proxy that leaves its path in requests
    rehearsal_port: int = Field(23333, ge=0, le=65535)
    health_port: int = Field(0, ge=0, le=65535)  # of a worker; 0: no health server

    # authentication
    parley_auth: Auth = "token"
    parley_token: SecretStr = SecretStr("")  # auth "token": the login token; `parley up` makes one
    parley_token_per_start: bool = False  # `parley up` made the token for this start only; logins outlive it
    parley_secret: SecretStr = SecretStr("")  # keys for cookies and tickets derive from it; at least 32 bytes
    parley_api_keys: SecretStr = SecretStr("")  # auth "keys": "alice=key1,bob=key2"
    parley_jwt_secret: SecretStr = SecretStr("")  # auth "jwt": the issuer's signing key; empty: parley_secret
    parley_jwt_issuer: str = ""  # the required `iss`; empty: not checked
    parley_jwt_audience: str = ""  # the required `aud`; empty: a token must have none
    parley_jwt_max_lifetime: float = Field(0, ge=0)  # the longest remaining lifetime of a token; 0: no limit
    parley_allowed_origins: Annotated[tuple[str, ...], NoDecode] = ()  # in addition to the gateway's own
    max_failed_logins_per_minute: float = Field(20, ge=0)  # per address; 0: no limit
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = ()  # their X-Forwarded-For and -Proto are trusted
    request_timeout: float = Field(30, gt=0)  # for a request's head, then for its body
    max_idle_connections: int = Field(500, ge=1)  # of one gateway, between two requests or before the first

    # limits of one user at one gateway; 0: no limit
    max_requests_per_second: float = Field(100, ge=0)  # includes socket messages; bursts of three times as many
    max_sockets_per_user: int = Field(50, ge=0)
    max_open_sessions_per_user: int = Field(200, ge=0)  # on all sockets of the user
    max_running_sessions_per_user: int = Field(8, ge=0)
    max_pending_requests_per_user: int = Field(25, ge=0)
    max_pending_requests: int = Field(500, ge=0)  # of all users
    max_stored_bytes_per_day: int = Field(256 * 1024**2, ge=0)
    max_send_buffer_bytes_per_user: int = Field(32 * 1024**2, ge=0)
    max_send_buffer_bytes: int = Field(128 * 1024**2, ge=0)  # of all users

    # the model
    openai_base_url: str = ""
    openai_api_key: SecretStr = SecretStr("")
    openai_model: str = ""
    internlm_api_url: str = ""
    internlm_api_key: SecretStr = SecretStr("")
    parley_models: dict[str, str] = Field(
        default_factory=dict
    )  # per role, or role and quality, JSON: {"planner": "big", "planner.economy": "small"}
    parley_temperatures: dict[str, float] = Field(default_factory=dict)
    parley_prices: dict[str, tuple[float, float, float]] = Field(
        default_factory=dict
    )  # model: $ per 1M prompt, cached, completion
    parley_embedding_model: str = ""  # empty: recall searches by words only
    model_timeout: float = Field(1800, gt=0)  # for a whole call, even while the reply keeps coming
    model_silence_timeout: float = Field(120, gt=0)  # without data, also keep-alives
    model_transcript_limit: int = Field(12_000, ge=500)  # tokens of the conversation in a prompt, at 4 bytes each
    model_max_attempts: int = Field(3, ge=1, le=10)
    model_max_wait: float = Field(300, ge=0)  # the longest wait that the server may ask for
    model_outage_timeout: float = Field(300, ge=0)  # until an unreachable endpoint fails the session
    model_concurrency: int = Field(4, ge=1)
    model_max_message_bytes: int = Field(
        8 * 1024 * 1024, ge=64 * 1024
    )  # of one event of a stream, or of an unstreamed reply
    model_max_response_bytes: int = Field(64 * 1024 * 1024, ge=64 * 1024)  # of everything sent for one call

    # tools
    parley_mcp_config: Path | None = None  # a JSON file that names MCP servers
    mcp_max_message_bytes: int = Field(32 * 1024 * 1024, ge=64 * 1024)  # of one message from a server
    parley_http_allow: str = ""  # JSON: servers that the HTTP tools may call; empty: no HTTP tools

    # packs of tools, and flows
    parley_packs_dir: Path | None = None  # a folder with your own packs: modules and packages
    parley_step_executors: Annotated[tuple[str, ...], NoDecode] = ()  # entry points that run steps of plans
    parley_plan_generators: Annotated[tuple[str, ...], NoDecode] = (MODEL,)  # the first one is the default
    parley_flows_dir: Path | None = None  # a folder with your own flows: *.yaml and *.py
    parley_sql_database_url: str = ""  # the database that flows query; empty: the retail store's tables
    parley_sql_hidden: str = ""  # tables and columns that no query can read: "users.email, secrets, *.password"
    parley_sql_max_rows: int = Field(1000, ge=1, le=100_000)
    parley_sql_timeout: float = Field(10, gt=0, le=600)
    path_cache_size: int = Field(256, ge=0)  # planned paths, for the same request in the same state; 0: no cache

    # the bus
    ack_wait: float = Field(12, gt=0)
    max_deliver: int = Field(6, ge=1)
    worker_concurrency: int = Field(8, ge=1)
    stuck_work_timeout: float = Field(120, gt=0)  # plan_store fails older work that no consumer is processing
    graceful_timeout: float = Field(10, ge=0)
    watchdog_timeout: float = Field(10, ge=0)  # a blocked event loop ends its process after this time; 0: never

    # observability
    log_level: str = "INFO"
    otel_exporter_otlp_endpoint: str = ""  # a collector of traces, OTLP over HTTP; empty: no traces
    parley_metrics_token: SecretStr = SecretStr("")  # grants access to /metrics, like the operator's login

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        folder = os.environ.get("SECRETS_DIR", "")
        files = _SecretFiles(settings_cls, folder) if folder and _readable(Path(folder)) else None
        return (init_settings, env_settings, files) if files else (init_settings, env_settings)

    @field_validator("secrets_dir")
    @classmethod
    def _is_readable(cls, folder: Path | None) -> Path | None:
        if folder and not _readable(folder):
            raise ValueError(f"{folder} is no folder that this user may read")
        return folder

    @field_validator("watchdog_timeout")
    @classmethod
    def _is_long_enough(cls, seconds: float) -> float:
        if 0 < seconds < MIN_TIMEOUT:
            raise ValueError(f"an idle service beats once a second: 0 (off), or {MIN_TIMEOUT:g} and more")
        return seconds

    @field_validator(
        *("parley_allowed_origins", "trusted_proxies", "parley_step_executors", "parley_plan_generators"), mode="before"
    )
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("parley_plan_generators")
    @classmethod
    def _is_not_empty(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names:
            raise ValueError(f"name at least one: {MODEL} is Parley's own")
        return names

    @field_validator("trusted_proxies")
    @classmethod
    def _are_addresses(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        for proxy in proxies:
            ip_network(proxy)
        return proxies

    @field_validator("database_url", "retail_database_url", "parley_sql_database_url")
    @classmethod
    def _is_a_database(cls, url: str) -> str:
        if url and not url.startswith(DATABASES):
            raise ValueError("it reads postgresql://… or sqlite:///…")
        return url

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that must not appear in logs, events or responses: tokens, keys, and the passwords in URLs."""
        named = [value.get_secret_value() for _, value in self if isinstance(value, SecretStr)]
        keys = [part.partition("=")[2].strip() for part in self.parley_api_keys.get_secret_value().split(",")]
        urls = (
            *(self.nats_url, self.database_url, self.retail_database_url, self.parley_sql_database_url),
            *(self.openai_base_url, self.internlm_api_url, self.otel_exporter_otlp_endpoint),
        )
        secrets = {*named, *keys, *(word for url in urls for word in _passwords(url))}
        return tuple(sorted(secrets - {""}, key=len, reverse=True))

    @property
    def sql_url(self) -> str:
        """The database's URL for SQLAlchemy, with an async driver."""
        return _with_driver(self.database_url or f"sqlite:///{self.parley_home.resolve() / 'parley.db'}")

    @property
    def retail_url(self) -> str:
        """The URL of the retail store's database: the sessions' if that is PostgreSQL, else a file of its own."""
        same = self.database_url if self.database_url.startswith("postgres") else ""
        own = f"sqlite:///{self.parley_home.resolve() / 'retail.db'}"
        return _with_driver(self.retail_database_url or same or own)

    @property
    def model_url(self) -> str:
        """The base URL of the OpenAI-compatible endpoint, "" if none is configured. InternLM's setting has no /v1."""
        if self.openai_base_url or self.openai_api_key.get_secret_value():
            return self.openai_base_url or "https://api.openai.com/v1"
        if self.internlm_api_url or self.internlm_api_key.get_secret_value():
            url = (self.internlm_api_url or "http://localhost:23333").rstrip("/")
            return url if url.endswith("/v1") else f"{url}/v1"
        return ""

    @property
    def model_key(self) -> str:
        """The endpoint's API key; a dummy for a server without one, because the client requires a key."""
        return self.openai_api_key.get_secret_value() or self.internlm_api_key.get_secret_value() or "none"


def _passwords(urls: str) -> Iterator[str]:
    """The password in each of these URLs, or NATS's token, which has no user; encoded and decoded."""
    for url in urls.split(","):
        scheme, _, rest = url.partition("://")
        user, _, password = rest.rpartition("@")[0].partition(":")
        secret = password or (user if scheme in ("nats", "tls") else "")
        yield from (secret, unquote(secret))


def _readable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)


def _with_driver(url: str) -> str:
    for plain, driver in (("postgres://", "postgresql+asyncpg://"), ("postgresql://", "postgresql+asyncpg://")):
        if url.startswith(plain):
            return driver + url.removeprefix(plain)
    return url.replace("sqlite://", "sqlite+aiosqlite://", 1) if url.startswith("sqlite://") else url
