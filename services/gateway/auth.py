"""Who is at the door: tokens, API keys, JWTs and the cookie that a browser gets for one of them."""

import hashlib
import hmac
import ipaddress
import math
import secrets
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
    until: int | None = None  # seconds since 1970, where a JWT or a cookie says so


class Door:
    """Decides by the settings who comes in. Every comparison of secrets takes the same time."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        _check(settings)
        self._mode = settings.parley_auth
        self._token = settings.parley_token.get_secret_value()
        self._secret = settings.parley_secret.get_secret_value() or secrets.token_hex(MIN_SECRET)
        self._keys = _keys(settings.parley_api_keys.get_secret_value())
        self._clock = clock
        self._port = settings.agent_port

    @property
    def open(self) -> bool:
        """Nobody has to say who they are."""
        return self._mode == "none"

    def cookie(self, *, secure: bool) -> str:
        """The cookie's name, of its own for each Parley on a host. Over https no other host, and no page of plain
        http, can set one that begins with `__Host-`."""
        return f"{'__Host-' if secure else ''}parley_{self._port}"

    def login(self, *, bearer: str, cookie: str) -> Login:
        """Whoever shows these ("" for what they do not have). Raises Trouble(unauthorized)."""
        if self.open:
            return Login(LOCAL, "none")
        known = self.credential(bearer) if bearer else self._from_cookie(cookie) if cookie else None
        if known is None:
            raise Trouble("unauthorized", "Please log in.", "Open the URL with ?token=, or send Authorization: Bearer.")
        return known

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
        return self.seal(login, COOKIE_AUDIENCE, COOKIE_DAYS * 86_400)

    def seal(self, login: Login, audience: str, seconds: int, **more: object) -> str:
        """Signed words that say who this is, to be shown again within these seconds, and for this purpose only."""
        now = int(self._clock())
        ends = int(min(now + seconds, login.until or math.inf))
        claims = {"sub": login.user.id, "aud": audience, "iat": now, "exp": ends, "proof": login.proof}
        return jwt.encode(claims | more, self._secret, algorithm="HS256")

    def unseal(self, text: str, audience: str) -> Mapping[str, Any] | None:
        """The claims of `seal`, while they hold, and the key they came from does."""
        claims = self._decode(text, audience=audience)
        if not claims or not _same(str(claims.get("proof", "")), self._proof(claims["sub"])):
            return None
        return claims

    def login_of(self, claims: Mapping[str, Any], until: int | None) -> Login:
        """Whom `unseal` has told of."""
        return Login(User(claims["sub"]) if self._mode in ("keys", "jwt") else LOCAL, claims["proof"], until)

    def _from_cookie(self, cookie: str) -> Login | None:
        claims = self.unseal(cookie, COOKIE_AUDIENCE)
        return self.login_of(claims, int(claims["exp"])) if claims else None

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
