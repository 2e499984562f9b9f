"""Who is at the door: tokens, API keys, JWTs and the cookie that a browser gets for one of them."""

import hmac
import math
import secrets
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jwt

from services.gateway.access.keys import COOKIE, PROOF, derive
from services.gateway.access.users import LOCAL, User
from services.gateway.trouble import Trouble
from shared.login import MIN_SECRET, api_keys, is_name, login_problem
from shared.settings import Settings

COOKIE_DAYS = 30
LEEWAY = 10  # seconds that the clock of a JWT's issuer may be off


class ConfigurationError(Exception):
    """The gateway must not start like this; the message says what to set."""


class Login(NamedTuple):
    """A user, and what their browser's cookie is bound to: it ends when the key it came from does, or at `until`."""

    user: User
    proof: str
    until: int | None = None  # seconds since 1970, where a JWT or a cookie says so
    id: str = ""  # of a cookie, and of tickets that were asked for with it: by this it can be ended


class Door:
    """Decides by the settings who comes in. Every comparison of secrets takes the same time."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        if wrong := login_problem(settings):
            raise ConfigurationError(wrong)
        secret = settings.parley_secret.get_secret_value().encode() or secrets.token_bytes(MIN_SECRET)
        self._key = partial(derive, secret)
        self._mode = settings.parley_auth
        self._token = settings.parley_token.get_secret_value()
        self._keys = api_keys(settings)
        self._jwt_key = settings.parley_jwt_secret.get_secret_value().encode() or secret
        # Of a token that is new at each start the logins shall not be: they outlive restarts.
        self._rotates = "" if settings.parley_token_per_start else self._token
        self._settings = settings
        self._clock = clock

    @property
    def open(self) -> bool:
        """Nobody has to say who they are."""
        return self._mode == "none"

    def cookie(self, *, secure: bool) -> str:
        """The cookie's name, of its own for each Parley on a host. Over https no other host, and no page of plain
        http, can set one that begins with `__Host-`."""
        return f"{'__Host-' if secure else ''}parley_{self._settings.agent_port}"

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
                return Login(LOCAL, self._proof("")) if _same(secret, self._token) else None
            case "keys":
                names = [name for name, key in self._keys.items() if _same(secret, key)]
                return Login(User(names[0]), self._proof(names[0])) if names else None
            case "jwt":
                return self._from_jwt(secret)
            case "none":
                return Login(LOCAL, "none")

    def sign(self, login: Login) -> str:
        """The value of a new cookie."""
        return self.seal(login._replace(id=secrets.token_hex(16)), COOKIE, COOKIE_DAYS * 86_400)

    def seal(self, login: Login, purpose: str, seconds: int, **more: object) -> str:
        """Signed words that say who this is, to be shown again within these seconds, and for this purpose only."""
        now = int(self._clock())
        ends = int(min(now + seconds, login.until or math.inf))
        who = {"sub": login.user.id, "proof": login.proof, "login": login.id}
        when = {"aud": purpose, "iat": now, "exp": ends}
        return jwt.encode(who | when | more, self._key(purpose), algorithm="HS256")

    def unseal(self, text: str, purpose: str) -> Mapping[str, Any] | None:
        """The claims of `seal`, while they hold, and the key they came from does."""
        claims = self._decode(text, self._key(purpose), audience=purpose)
        if not claims or not _same(str(claims.get("proof", "")), self._proof(claims["sub"])):
            return None
        return claims

    def login_of(self, claims: Mapping[str, Any], until: int | None) -> Login:
        """Whom `unseal` has told of."""
        user = User(claims["sub"]) if self._mode in ("keys", "jwt") else LOCAL
        return Login(user, claims["proof"], until, claims["login"])

    def _from_cookie(self, cookie: str) -> Login | None:
        claims = self.unseal(cookie, COOKIE)
        return self.login_of(claims, int(claims["exp"])) if claims else None

    def _from_jwt(self, token: str) -> Login | None:
        chosen = self._settings
        claims = self._decode(
            token,
            self._jwt_key,
            audience=chosen.parley_jwt_audience or None,
            issuer=chosen.parley_jwt_issuer or None,
            leeway=LEEWAY,
        )
        if not claims or not is_name(claims["sub"]):
            return None
        ends = int(claims["exp"])
        if chosen.parley_jwt_max_lifetime and ends > self._clock() + chosen.parley_jwt_max_lifetime + LEEWAY:
            return None
        return Login(User(claims["sub"]), self._proof(claims["sub"]), ends)

    def _proof(self, name: str) -> str:
        """Changes with the secret that let the user in; "" for a user who no longer has one."""
        match self._mode:
            case "token":
                secret = f"token\n{self._rotates}"
            case "keys":
                secret = f"keys\n{self._keys[name]}" if name in self._keys else ""
            case "jwt":
                secret = "jwt\n" + self._jwt_key.hex()
            case "none":
                secret = ""
        return hmac.digest(self._key(PROOF), secret.encode(), "sha256").hex() if secret else ""

    @staticmethod
    def _decode(token: str, key: bytes, **wanted: Any) -> Mapping[str, Any] | None:
        try:
            claims: Mapping[str, Any] = jwt.decode(
                token, key, algorithms=["HS256"], options={"require": ["sub", "exp"]}, **wanted
            )
        except (jwt.PyJWTError, OverflowError):  # the latter: an `exp` beyond all numbers
            return None
        return claims


def _same(one: str, other: str) -> bool:
    return bool(other) and hmac.compare_digest(one.encode(), other.encode())
