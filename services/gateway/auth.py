"""Who is at the door: tokens, API keys, JWTs and the cookie that a browser gets for one of them."""

import hashlib
import hmac
import ipaddress
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jwt

from services.gateway.trouble import Trouble
from services.gateway.users import LOCAL, User
from shared.settings import Settings

COOKIE_DAYS = 30
COOKIE_AUDIENCE = "parley-page"
MAX_NAME = 150  # characters of a user's id
MIN_SECRET = 32  # bytes


class ConfigurationError(Exception):
    """The gateway must not start like this; the message says what to set."""


class Login(NamedTuple):
    """A user, and what their browser's cookie is bound to: it ends when the key it came from does, or at `until`."""

    user: User
    proof: str
    until: int | None = None  # seconds since 1970, where a JWT says so


class Door:
    """Decides by the settings who comes in. Every comparison of secrets takes the same time."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        _check(settings)
        self._mode = settings.parley_auth
        self._token = settings.parley_token.get_secret_value()
        self._secret = settings.parley_secret.get_secret_value()
        self._keys = _keys(settings.parley_api_keys.get_secret_value())
        self._clock = clock
        self.cookie = f"parley_{settings.agent_port}"  # several Parleys on one host do not share a login

    @property
    def open(self) -> bool:
        """Nobody has to say who they are."""
        return self._mode == "none"

    def user(self, *, bearer: str, cookie: str) -> User:
        """Whoever shows these ("" for what they do not have). Raises Trouble(unauthorized)."""
        if self.open:
            return LOCAL
        known = self.credential(bearer) if bearer else self._from_cookie(cookie) if cookie else None
        if known is None:
            raise Trouble("unauthorized", "Please log in.", "Open the URL with ?token=, or send Authorization: Bearer.")
        return known.user

    def credential(self, secret: str) -> Login | None:
        """The user that a token, key or JWT stands for."""
        match self._mode:
            case "token":
                return Login(LOCAL, "token") if _same(secret, self._token) else None
            case "keys":
                names = [name for name, key in self._keys.items() if _same(secret, key)]
                return Login(User(names[0]), self._proof(names[0])) if names else None
            case "jwt":
                claims = self._decode(secret)
                if claims is None or not 0 < len(claims["sub"]) <= MAX_NAME:
                    return None
                return Login(User(claims["sub"]), "jwt", int(claims["exp"]) if "exp" in claims else None)
            case "none":
                return Login(LOCAL, "none")

    def sign(self, login: Login) -> str:
        """The cookie's value."""
        now = int(self._clock())
        ends = min(now + COOKIE_DAYS * 86_400, login.until or math.inf)
        claims = {"sub": login.user.id, "aud": COOKIE_AUDIENCE, "iat": now, "exp": int(ends)}
        return jwt.encode(claims | {"proof": login.proof}, self._secret, algorithm="HS256")

    def _from_cookie(self, cookie: str) -> Login | None:
        claims = self._decode(cookie, audience=COOKIE_AUDIENCE)
        if not claims or not _same(str(claims.get("proof", "")), self._proof(claims["sub"])):
            return None
        return Login(LOCAL if self._mode == "token" else User(claims["sub"]), claims["proof"])

    def _proof(self, name: str) -> str:
        """Changes with the user's API key; "" for a user who no longer has one."""
        if self._mode != "keys":
            return self._mode
        key = self._keys.get(name)
        return hmac.new(self._secret.encode(), key.encode(), hashlib.sha256).hexdigest() if key else ""

    def _decode(self, token: str, audience: str | None = None) -> Mapping[str, Any] | None:
        try:
            claims = jwt.decode(
                token, self._secret, algorithms=["HS256"], audience=audience, options={"require": ["sub"]}
            )
        except jwt.PyJWTError:
            return None
        return claims


def _same(one: str, other: str) -> bool:
    return bool(other) and hmac.compare_digest(one.encode(), other.encode())


def _keys(text: str) -> dict[str, str]:
    """`alice=key1,bob=key2`"""
    pairs = [part.strip().partition("=") for part in text.split(",") if part.strip()]
    if any(not name or not key for name, _, key in pairs):
        raise ConfigurationError("PARLEY_API_KEYS reads: alice=key1,bob=key2")
    return {name: key for name, _, key in pairs}


def _check(settings: Settings) -> None:
    """Raises ConfigurationError for settings that would let in everybody, or nobody."""
    mode = settings.parley_auth
    if mode == "none":
        if not is_loopback(settings.agent_host):
            raise ConfigurationError(
                f"PARLEY_AUTH=none lets everybody in, and AGENT_HOST={settings.agent_host} can be reached from other "
                "machines: use AGENT_HOST=127.0.0.1, or PARLEY_AUTH=token, keys or jwt."
            )
        return
    if len(settings.parley_secret.get_secret_value().encode()) < MIN_SECRET:
        raise ConfigurationError(f"PARLEY_AUTH={mode} needs PARLEY_SECRET: at least {MIN_SECRET} random bytes.")
    if mode == "token" and not settings.parley_token.get_secret_value():
        raise ConfigurationError("PARLEY_AUTH=token needs PARLEY_TOKEN: what people log in with.")
    if mode == "keys" and not settings.parley_api_keys.get_secret_value():
        raise ConfigurationError("PARLEY_AUTH=keys needs PARLEY_API_KEYS: alice=key1,bob=key2")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach (or name) this host."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
