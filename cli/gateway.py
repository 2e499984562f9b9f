"""Which gateway the commands talk to, and what to do when it does not answer."""

from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from cli.home import running
from parley.client.errors import ParleyError
from shared.settings import Settings

# Hints for those who write messages by themselves; at a terminal they say nothing.
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


class Gateway(NamedTuple):
    """Where the gateway's WebSocket is, and the token it lets us in with ("" for none)."""

    url: str
    token: str


def find_gateway(settings: Settings, url: str = "") -> Gateway:
    """The given one; else that of the `parley up` which runs on this home; else where the settings say."""
    token = settings.parley_token.get_secret_value()
    found = running(settings.parley_home)
    page = urlsplit(found.page) if found else None
    if page and (not url or urlsplit(url).netloc == page.netloc):
        token = token or parse_qs(page.query).get("token", [""])[0]
    if url:
        return Gateway(url, token)
    named = {"agent_host", "agent_port"} & settings.model_fields_set and settings.agent_port  # 0 names no port
    if page and not named:
        return Gateway(f"ws://{page.netloc}/ws", token)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.agent_host, settings.agent_host)  # noqa: S104
    return Gateway(f"ws://{f'[{host}]' if ':' in host else host}:{settings.agent_port}/ws", token)


def explained(error: ParleyError) -> str:
    """What went wrong, and what to type about it."""
    advice = ADVICE.get(error.code)
    if advice is None and error.hint in PROTOCOL_HINTS:
        return error.message
    return f"{error.message}\n{advice}" if advice else str(error)
