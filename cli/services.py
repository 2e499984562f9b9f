"""What `parley up` starts and with which environment: the settings, completed for one machine."""

import secrets
import sys
from collections.abc import Callable

from pydantic import SecretStr

from cli.entitlements import environment_for
from cli.home import secret
from cli.ports import free_port, is_free, who_listens
from cli.supervisor import Program
from shared.login import login_problem
from shared.services import SERVICES
from shared.settings import Settings

REHEARSAL_MODEL = "rehearsal"


class CannotStart(Exception):
    """Something that waiting would not mend; the message says what to do."""


def check_address(settings: Settings) -> None:
    """Raises CannotStart where the page cannot be served."""
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
    """Raises CannotStart where everybody could log in, or nobody: the gateway would end again and again."""
    if wrong := login_problem(settings):
        raise CannotStart(wrong)


def complete(settings: Settings) -> Settings:
    """`settings` with what nobody chose chosen: port, secrets, database and, where none is configured, the model."""
    home = settings.parley_home
    chosen: dict[str, object] = {
        "agent_port": settings.agent_port or free_port(settings.agent_host),
        "database_url": settings.sql_url,
    }
    if not settings.parley_secret.get_secret_value():
        chosen["parley_secret"] = SecretStr(secret(home, "signing-secret"))
    if settings.parley_auth == "token" and not settings.parley_token.get_secret_value():
        chosen |= {"parley_token": SecretStr(secrets.token_urlsafe(24)), "parley_token_per_start": True}
    if not settings.model_url:
        port = free_port(preferred=settings.rehearsal_port)
        chosen |= {
            "rehearsal_port": port,
            "openai_base_url": f"http://127.0.0.1:{port}/v1",
            "openai_model": REHEARSAL_MODEL,
        }
    return settings.model_copy(update=chosen)


async def check_database(settings: Settings) -> None:
    """The database that questions are asked to: better said now than at the first question. Raises CannotStart."""
    if not settings.parley_sql_database_url:
        return
    from sql.database import BadDatabase, open_database  # noqa: PLC0415  it takes long to load, and few configure one

    try:
        await open_database(settings.parley_sql_database_url).aclose()
    except BadDatabase as error:
        raise CannotStart(f"the database for questions: {error}") from error


def programs(settings: Settings, *, rehearsal: bool, nats_url_of: Callable[[str], str]) -> list[Program]:
    """The services, each with the whole of its environment; `settings` are complete.

    `nats_url_of` names the URL with which a service comes to NATS: on a server of our own each is a user of its own.
    """
    chosen = {
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
        "HEALTH_PORT": "0",  # side by side they cannot all have the one that a container would be given
    }
    services = [
        _program(name, spec.module, chosen | {"NATS_URL": nats_url_of(name)}) for name, spec in SERVICES.items()
    ]
    if rehearsal:  # for this machine only, wherever the page is served
        services.insert(0, _program(REHEARSAL_MODEL, "rehearsal.app", chosen | {"AGENT_HOST": "127.0.0.1"}))
    return services


def health_urls(settings: Settings, *, rehearsal: bool) -> dict[str, str]:
    """Where the programs that speak HTTP say, with a 200, that they are up; the others write it into their logs."""
    urls = {"gateway": f"{page_url(settings, with_token=False)}readyz"}
    if rehearsal:
        urls[REHEARSAL_MODEL] = f"http://127.0.0.1:{settings.rehearsal_port}/healthz"
    return urls


def _program(name: str, module: str, chosen: dict[str, str]) -> Program:
    return Program(name, (sys.executable, "-m", module), environment_for(name, **chosen))


def page_url(settings: Settings, *, with_token: bool = True) -> str:
    """Where a browser on this machine finds the page; with the login token, if one is needed and wanted."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.agent_host, settings.agent_host)  # noqa: S104
    base = f"http://{f'[{host}]' if ':' in host else host}:{settings.agent_port}/"
    token = settings.parley_token.get_secret_value()
    return f"{base}?token={token}" if with_token and settings.parley_auth == "token" and token else base
