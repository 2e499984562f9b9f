"""Parley's programs: the secrets and settings that each gets, how `parley up` starts them, and whether they are ready.

Each gets only what it uses: `shared.services` declares what a service needs, `parley up` and `parley secrets` apply it.
"""

import asyncio
import json
import secrets
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import NamedTuple
from urllib.parse import urlsplit

from pydantic import SecretStr

from cli.gateway import page_url
from cli.operate.home import secret
from cli.operate.ports import free_port, is_free, who_listens
from cli.operate.supervisor import ProcessSpec, SupervisedProgram
from shared.environment import with_secret_files
from shared.login import login_problem
from shared.services import MODEL_KEYS, OPERATOR, OPERATOR_SECRETS, SERVICES
from shared.settings import Settings

REHEARSAL_MODEL = "rehearsal"
STARTUP_INTERVAL, INTERVAL = 0.05, 2.0  # seconds between two checks, until everything is ready and afterwards
REPORT_AFTER = 60.0  # seconds until missing programs are reported


SECRETS_OF: dict[str, tuple[str, ...]] = {  # NATS user: the secret settings that it reads
    **{name: ("nats_url", *spec.secrets) for name, spec in SERVICES.items()},
    OPERATOR: ("nats_url", *OPERATOR_SECRETS),
}
# A URL may contain a password.
MODEL_URLS = ("openai_base_url", "internlm_api_url")
TRACES_URL = "otel_exporter_otlp_endpoint"
CONFIDENTIAL = {
    *(name for names in SECRETS_OF.values() for name in names),
    *(name for name, field in Settings.model_fields.items() if field.annotation is SecretStr),
    *(*MODEL_URLS, TRACES_URL, "secrets_dir"),
}

# Variables that are not settings, but that the interpreter and libraries read.
_PLAIN = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP"),
    *("HOSTNAME", "VIRTUAL_ENV", "NO_COLOR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "LOCALE_ARCHIVE"),
)
_PLAIN_PREFIXES = ("LC_", "LD_", "DYLD_", "PYTHON", "SSL_", "XDG_", "MALLOC_", "COVERAGE_")
_TRACES = ("OTEL_",)
_DATABASE = ("PG",)  # asyncpg
_MODEL = ("OPENAI_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


class CannotStart(Exception):
    """`parley up` cannot start, and waiting would not help; the message says what to do."""


def check_address(settings: Settings) -> None:
    """Raises CannotStart if the gateway cannot listen on its address."""
    host, port = settings.agent_host, settings.agent_port
    try:
        free = not port or is_free(host, port)
    except OSError as error:
        raise CannotStart(f"AGENT_HOST={host} is not an address of this machine ({error.strerror})") from error
    if not free:
        raise CannotStart(
            f"port {port} on {host} is taken by {who_listens(port) or 'another program'}: "
            "stop it, or choose another port with AGENT_PORT (and, beside another Parley, another PARLEY_HOME)"
        )


def check_login(settings: Settings) -> None:
    """Raises CannotStart if the login settings would make the gateway exit at every start."""
    if problem := login_problem(settings):
        raise CannotStart(problem)


def with_defaults(settings: Settings) -> Settings:
    """`settings` with defaults for port, secrets, database and, if none is configured, the model."""
    home = settings.parley_home
    overrides: dict[str, object] = {
        "agent_port": settings.agent_port or free_port(settings.agent_host),
        "database_url": settings.sql_url,
    }
    if not settings.parley_secret.get_secret_value():
        overrides["parley_secret"] = SecretStr(secret(home, "signing-secret"))
    if settings.parley_auth == "token" and not settings.parley_token.get_secret_value():
        overrides |= {"parley_token": SecretStr(secrets.token_urlsafe(24)), "parley_token_per_start": True}
    if not settings.model_url:
        port = free_port(preferred=settings.rehearsal_port)
        overrides |= {
            "rehearsal_port": port,
            "openai_base_url": f"http://127.0.0.1:{port}/v1",
            "openai_model": REHEARSAL_MODEL,
        }
    return settings.model_copy(update=overrides)


async def check_database(settings: Settings) -> None:
    """Check the database for questions before the first question needs it. Raises CannotStart."""
    if not settings.parley_sql_database_url:
        return
    from sql.database import BadDatabase, open_database  # noqa: PLC0415  slow to import, and rarely needed

    try:
        await open_database(settings.parley_sql_database_url).aclose()
    except BadDatabase as error:
        raise CannotStart(f"the database for questions: {error}") from error


def program_specs(settings: Settings, *, rehearsal: bool, nats_url_of: Callable[[str], str]) -> list[ProcessSpec]:
    """The services, each with its complete environment. `settings` must be complete.

    `nats_url_of` returns a service's NATS URL: on Parley's own server, each service is a separate user.
    """
    overrides = {
        "DATABASE_URL": settings.database_url,
        "PARLEY_HOME": str(settings.parley_home),
        "AGENT_HOST": settings.agent_host,
        "AGENT_PORT": str(settings.agent_port),
        "PARLEY_AUTH": settings.parley_auth,
        "REHEARSAL_PORT": str(settings.rehearsal_port),
        "PARLEY_TOKEN": settings.parley_token.get_secret_value(),
        "PARLEY_TOKEN_PER_START": str(settings.parley_token_per_start),
        "PARLEY_SECRET": settings.parley_secret.get_secret_value(),
        "OPENAI_BASE_URL": settings.openai_base_url,
        "OPENAI_MODEL": settings.openai_model,
        "PARLEY_SQL_DATABASE_URL": settings.parley_sql_database_url,
        "GRACEFUL_TIMEOUT": str(settings.graceful_timeout),
        "HEALTH_PORT": "0",  # none: on one machine they cannot share a container's default
    }
    services = [
        _program(name, spec.module, overrides | {"NATS_URL": nats_url_of(name)}) for name, spec in SERVICES.items()
    ]
    if rehearsal:  # on loopback only, whatever address the gateway has
        services.insert(0, _program(REHEARSAL_MODEL, "rehearsal.app", overrides | {"AGENT_HOST": "127.0.0.1"}))
    return services


def environment_for(program: str, **overrides: str) -> dict[str, str]:
    """The complete environment of `program`: the variables that it may know, with `overrides` applied.

    Only the executor also gets variables that Parley does not know, as the file of MCP servers and user-defined flows
    may name any. It does not get another service's secrets.
    """
    names = SECRETS_OF.get(program, ())
    prefixes = (
        *_PLAIN_PREFIXES,
        *(_TRACES if names else ()),
        *(_DATABASE if "database_url" in names else ()),
        *(_MODEL if MODEL_KEYS[0] in names else ()),
    )
    permitted = {*names, *(MODEL_URLS if MODEL_KEYS[0] in names else ()), *([TRACES_URL] if names else ())}

    def may_know(variable: str) -> bool:
        setting = variable.lower()
        if setting in Settings.model_fields:
            return setting in permitted or setting not in CONFIDENTIAL
        return program == "executor" or variable in _PLAIN or variable.upper().startswith(prefixes)

    environment = with_secret_files(Settings.model_fields) | {"PYTHONUNBUFFERED": "1"} | overrides
    return {name: value for name, value in environment.items() if may_know(name)}


def health_urls(settings: Settings, *, rehearsal: bool) -> dict[str, str]:
    """The health URLs of the programs that serve HTTP. The others report readiness in their logs."""
    urls = {"gateway": f"{page_url(settings, with_token=False)}readyz"}
    if rehearsal:
        urls[REHEARSAL_MODEL] = f"http://127.0.0.1:{settings.rehearsal_port}/healthz"
    return urls


def _program(name: str, module: str, overrides: dict[str, str]) -> ProcessSpec:
    return ProcessSpec(name, (sys.executable, "-m", module), environment_for(name, **overrides))


class HttpReply(NamedTuple):
    """An HTTP response; status 0 and the reason if there was none."""

    status: int
    text: str


def http_get(url: str, *, timeout: float = 2.0, headers: Mapping[str, str] | None = None) -> HttpReply:
    """GET `url`. Blocks for at most `timeout` seconds per socket operation. Never raises for network errors."""
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    with closing(kind(parts.hostname or "", parts.port, timeout=timeout)) as client:
        try:
            client.request("GET", parts.path or "/", headers=headers or {})
            answer = client.getresponse()
            return HttpReply(answer.status, answer.read(100_000).decode(errors="replace"))
        except (OSError, HTTPException) as error:
            return HttpReply(0, str(error) or type(error).__name__)


def describe_reply(reply: HttpReply) -> str:
    """What a response other than 200 reports as missing, on one line."""
    try:
        body = json.loads(reply.text)
    except ValueError:
        return reply.text.strip()[:200]
    parts = body.get("checks", body.get("missing", body)) if isinstance(body, dict) else body
    if isinstance(parts, dict):
        return ", ".join(f"{name}: {why}" for name, why in parts.items() if why != "ok")
    return ", ".join(map(str, parts)) if isinstance(parts, list) else str(parts)


async def missing_programs(children: Iterable[SupervisedProgram], urls: Mapping[str, str]) -> list[str]:
    """The programs that are not ready, each in a few words.

    A program with a URL in `urls` is ready when that answers 200, any other when its log says so.
    """
    not_ready = [
        child.program.name for child in children if child.program.name not in urls and not child.ready.is_set()
    ]
    replies = await asyncio.gather(*(asyncio.to_thread(http_get, url) for url in urls.values()))
    return not_ready + [
        f"{name} ({describe_reply(reply)})" for name, reply in zip(urls, replies, strict=True) if reply.status != 200
    ]


async def watch(
    look: Callable[[], Awaitable[list[str]]], *, ready: Callable[[], None], say: Callable[[str], None]
) -> None:
    """Call `ready` once nothing is missing. `say` what is missing after a minute, and whenever it changes later."""
    loop = asyncio.get_running_loop()
    say_at, was_up, last_said = loop.time() + REPORT_AFTER, False, ""
    while True:
        absent = ", ".join(await look())
        if not absent and not was_up:
            was_up, last_said = True, ""
            ready()
        elif (was_up or loop.time() >= say_at) and absent != last_said:
            last_said = absent
            say(f"not ready: {absent}; waiting" if absent else "ready again")
        await asyncio.sleep(INTERVAL if was_up else STARTUP_INTERVAL)
