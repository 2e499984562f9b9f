"""Checks of the login settings, by `parley up` before it starts anything and by the gateway."""

import ipaddress

from shared.settings import Settings

MIN_SECRET = 32  # bytes of a key that signs
MIN_TOKEN = 16  # characters of a login token or API key
MAX_NAME = 150  # characters of a user's id
GENERATE_HINT = "`openssl rand -hex 24` makes one"


def login_problem(settings: Settings) -> str:
    """Why these settings would admit everybody or nobody, and what to set; "" if they are fine."""
    mode, host = settings.parley_auth, settings.agent_host
    if mode == "none":
        return "" if is_loopback(host) else _no_login_problem(host)
    for name, secret in (("PARLEY_SECRET", settings.parley_secret), ("PARLEY_JWT_SECRET", settings.parley_jwt_secret)):
        size = len(secret.get_secret_value().encode())
        if size < MIN_SECRET and (size or name == "PARLEY_SECRET"):
            return f"PARLEY_AUTH={mode} needs {name}: at least {MIN_SECRET} random bytes; {GENERATE_HINT}."
    if mode == "token" and not settings.parley_token.get_secret_value():
        return "PARLEY_AUTH=token needs PARLEY_TOKEN: what people log in with."
    if mode == "keys" and not _well_formed(api_keys(settings)):
        return "PARLEY_AUTH=keys needs PARLEY_API_KEYS, which reads: alice=key1,bob=key2"
    return "" if is_loopback(host) else _short_secret_problem(settings)


def api_keys(settings: Settings) -> dict[str, str]:
    """The users of PARLEY_API_KEYS, each with their key."""
    pairs = [part.strip().partition("=") for part in settings.parley_api_keys.get_secret_value().split(",")]
    return {name: key for name, separator, key in pairs if name or separator}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach this host."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_name(text: str) -> bool:
    """Whether this can be a user's id: not empty, not too long, and printable."""
    return 0 < len(text) <= MAX_NAME and text.isprintable()


def _no_login_problem(host: str) -> str:
    return (
        f"PARLEY_AUTH=none lets everybody in, and AGENT_HOST={host} can be reached from other machines: "
        "use AGENT_HOST=127.0.0.1, or PARLEY_AUTH=token, keys or jwt."
    )


def _well_formed(keys: dict[str, str]) -> bool:
    return bool(keys) and all(is_name(name) and key for name, key in keys.items())


def _short_secret_problem(settings: Settings) -> str:
    """The problem of a short secret on a reachable host, where others could guess it; "" if there is none."""
    used = {"PARLEY_METRICS_TOKEN": settings.parley_metrics_token.get_secret_value()}
    if settings.parley_auth == "token":
        used["PARLEY_TOKEN"] = settings.parley_token.get_secret_value()
    if settings.parley_auth == "keys":
        used |= {f"the key of {name} in PARLEY_API_KEYS": key for name, key in api_keys(settings).items()}
    short = [name for name, secret in used.items() if 0 < len(secret) < MIN_TOKEN]
    if not short:
        return ""
    return (
        f"AGENT_HOST={settings.agent_host} can be reached from other machines, and {short[0]} has fewer than "
        f"{MIN_TOKEN} characters: choose a longer one; {GENERATE_HINT}."
    )
