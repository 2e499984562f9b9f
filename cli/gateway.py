"""Finds the gateway that commands and browsers talk to, and explains its errors."""

from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from cli.operate.home import find_running
from parley.client.errors import ParleyError
from shared.settings import Settings

# Hints for authors of clients, which do not help at a terminal.
PROTOCOL_HINTS = frozenset(
    {
        "Look at the snapshot's `can`: it lists what the session accepts now.",
        "Correct the message and send it again.",
        "Check the id, and whose key you are logged in with; a user_message with an id of your own begins one.",
    }
)
ADVICE = {
    "unreachable": "Start Parley with `make up` (or `parley up`), or give the address with --url.",
    "not_ready": "`parley doctor` says more.",
    "unauthorized": "It wants a token: run this where `parley up` runs (the same PARLEY_HOME), or set PARLEY_TOKEN.",
}


class GatewayAddress(NamedTuple):
    """The URL of the gateway's WebSocket, and the login token ("" for none)."""

    url: str
    token: str


def find_gateway(settings: Settings, url: str = "") -> GatewayAddress:
    """The given URL, or that of the `parley up` running on this home, or that in the settings."""
    token = settings.parley_token.get_secret_value()
    running_parley = find_running(settings.parley_home)
    page = urlsplit(running_parley.page) if running_parley else None
    if page and (not url or urlsplit(url).netloc == page.netloc):
        token = token or parse_qs(page.query).get("token", [""])[0]
    if url:
        return GatewayAddress(url, token)
    is_configured = {"agent_host", "agent_port"} & settings.model_fields_set and settings.agent_port  # 0 names no port
    if page and not is_configured:
        return GatewayAddress(f"ws://{page.netloc}/ws", token)
    return GatewayAddress(f"ws://{urlsplit(page_url(settings, with_token=False)).netloc}/ws", token)


def page_url(settings: Settings, *, with_token: bool = True) -> str:
    """The page's URL for a browser on this machine, with the login token if needed and `with_token`."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.agent_host, settings.agent_host)  # noqa: S104
    base = f"http://{f'[{host}]' if ':' in host else host}:{settings.agent_port}/"
    token = settings.parley_token.get_secret_value()
    return f"{base}?token={token}" if with_token and settings.parley_auth == "token" and token else base


def explain(error: ParleyError) -> str:
    """The error, and what to type next."""
    advice = ADVICE.get(error.code)
    if advice is None and error.hint in PROTOCOL_HINTS:
        return error.message
    return f"{error.message}\n{advice}" if advice else str(error)
