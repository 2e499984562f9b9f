"""Authentication: tokens, API keys, JWTs, the cookie that a browser gets for one of them, and one-time tickets."""

import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jwt

from services.gateway.access.users import LOCAL_USER, User
from services.gateway.api_errors import ApiError
from services.gateway.ports import GatewayBus
from shared.login import MIN_SECRET, api_keys, is_name, login_problem
from shared.settings import Settings

COOKIE, TICKET = "parley-page", "parley-socket"  # also the audience of what is signed
PROOF, SESSION_ID = "parley-proof", "parley-session-id"
COOKIE_DAYS = 30
LEEWAY = 10  # seconds by which the clock of a JWT's issuer may be off
TICKET_SECONDS = 30
HINT = "POST /api/tickets gives a new one."


def derive_key(secret: bytes, purpose: str) -> bytes:
    """32 bytes by HKDF-SHA256 (RFC 5869) from `secret`, with no salt and `purpose` as the info."""
    extracted = hmac.digest(bytes(hashlib.sha256().digest_size), secret, "sha256")
    return hmac.digest(extracted, purpose.encode() + b"\x01", "sha256")


class ConfigurationError(Exception):
    """The gateway must not start with these settings; the message says what to set."""


class Login(NamedTuple):
    """An authenticated user. The login ends when the key that `proof` stands for changes, or at `expires_at`."""

    user: User
    proof: str
    expires_at: int | None = None  # seconds since 1970, from a JWT or a cookie
    id: str = ""  # of a cookie and of the tickets issued for it; a logout names it


class Authenticator:
    """Authenticates requests as the settings say. Secrets are compared in constant time."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        if wrong := login_problem(settings):
            raise ConfigurationError(wrong)
        secret = settings.parley_secret.get_secret_value().encode() or secrets.token_bytes(MIN_SECRET)
        self._key = partial(derive_key, secret)
        self._mode = settings.parley_auth
        self._token = settings.parley_token.get_secret_value()
        self._keys = api_keys(settings)
        self._jwt_key = settings.parley_jwt_secret.get_secret_value().encode() or secret
        # A token that changes at each start is left out, so that logins outlive restarts.
        self._lasting_token = "" if settings.parley_token_per_start else self._token
        self._settings = settings
        self._clock = clock

    @property
    def is_open(self) -> bool:
        """Whether everyone is let in without a login."""
        return self._mode == "none"

    def cookie_name(self, *, secure: bool) -> str:
        """The cookie's name, different for each Parley on a host.

        Over https it begins with `__Host-`: no other host and no plain http page can set such a cookie.
        """
        return f"{'__Host-' if secure else ''}parley_{self._settings.agent_port}"

    def login(self, *, bearer: str, cookie: str) -> Login:
        """The user with these credentials; "" stands for one that was not sent. Raises ApiError(unauthorized)."""
        if self.is_open:
            return Login(LOCAL_USER, "none")
        known = self.login_with_secret(bearer) if bearer else self._from_cookie(cookie) if cookie else None
        if known is None:
            raise ApiError(
                "unauthorized", "Please log in.", "Open the URL with ?token=, or send Authorization: Bearer."
            )
        return known

    def login_with_secret(self, secret: str) -> Login | None:
        """The login that a token, key or JWT stands for; None if it is not valid."""
        match self._mode:
            case "token":
                return Login(LOCAL_USER, self._credential_proof("")) if _are_same_secret(secret, self._token) else None
            case "keys":
                names = [name for name, key in self._keys.items() if _are_same_secret(secret, key)]
                return Login(User(names[0]), self._credential_proof(names[0])) if names else None
            case "jwt":
                return self._from_jwt(secret)
            case "none":
                return Login(LOCAL_USER, "none")

    def new_cookie(self, login: Login) -> str:
        """The value of a new cookie."""
        return self.sign_claims(login._replace(id=secrets.token_hex(16)), COOKIE, COOKIE_DAYS * 86_400)

    def sign_claims(self, login: Login, purpose: str, seconds: int, **more: object) -> str:
        """A signed token that names this login, valid for so many seconds and for this purpose only."""
        now = int(self._clock())
        ends = int(min(now + seconds, login.expires_at or math.inf))
        who = {"sub": login.user.id, "proof": login.proof, "login": login.id}
        when = {"aud": purpose, "iat": now, "exp": ends}
        return jwt.encode(who | when | more, self._key(purpose), algorithm="HS256")

    def verify_claims(self, text: str, purpose: str) -> Mapping[str, Any] | None:
        """The claims of a token from `sign_claims`; None once it has expired or the user's key has changed."""
        claims = self._decode(text, self._key(purpose), audience=purpose)
        if not claims or not _are_same_secret(str(claims.get("proof", "")), self._credential_proof(claims["sub"])):
            return None
        return claims

    def login_from_claims(self, claims: Mapping[str, Any], until: int | None) -> Login:
        """The login that these verified claims name."""
        user = User(claims["sub"]) if self._mode in ("keys", "jwt") else LOCAL_USER
        return Login(user, claims["proof"], until, claims["login"])

    def _from_cookie(self, cookie: str) -> Login | None:
        claims = self.verify_claims(cookie, COOKIE)
        return self.login_from_claims(claims, int(claims["exp"])) if claims else None

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
        return Login(User(claims["sub"]), self._credential_proof(claims["sub"]), ends)

    def _credential_proof(self, name: str) -> str:
        """A MAC of the secret that the user logs in with; "" for a user who no longer has one."""
        match self._mode:
            case "token":
                secret = f"token\n{self._lasting_token}"
            case "keys":
                secret = f"keys\n{self._keys[name]}" if name in self._keys else ""
            case "jwt":
                secret = "jwt\n" + self._jwt_key.hex()
            case "none":
                secret = ""
        return hmac.digest(self._key(PROOF), secret.encode(), "sha256").hex() if secret else ""

    @staticmethod
    def _decode(token: str, key: bytes, **expected: Any) -> Mapping[str, Any] | None:
        try:
            claims: Mapping[str, Any] = jwt.decode(
                token, key, algorithms=["HS256"], options={"require": ["sub", "exp"]}, **expected
            )
        except (jwt.PyJWTError, OverflowError):  # OverflowError: `exp` is too large
            return None
        return claims


def _are_same_secret(secret: str, other: str) -> bool:
    return bool(other) and hmac.compare_digest(secret.encode(), other.encode())


class Tickets:
    """Any gateway with the same PARLEY_SECRET accepts a ticket. The broker makes sure that only one does."""

    def __init__(self, authenticator: Authenticator, bus: GatewayBus) -> None:
        self._authenticator, self._bus = authenticator, bus

    def issue(self, login: Login) -> str:
        """A new ticket for this login."""
        return self._authenticator.sign_claims(
            login, TICKET, TICKET_SECONDS, jti=secrets.token_hex(16), until=login.expires_at
        )

    async def redeem(self, ticket: str, other_login: Login | None) -> Login:
        """The login that the ticket was issued to. `other_login`: that of the request's own credentials, if any.

        Raises ApiError(unauthorized), or BusUnavailable: then it may have been used, and another one is needed.
        """
        claims = self._authenticator.verify_claims(ticket, TICKET)
        if claims is None:
            raise _ticket_error("This ticket is not valid or has expired.")
        login = self._authenticator.login_from_claims(claims, _expiry(claims))
        if other_login is not None and other_login.user != login.user:
            raise _ticket_error("This ticket was issued to another user.")
        if not await self._bus.redeem(str(claims["jti"])):
            raise _ticket_error("This ticket has been used.")
        return login


def _expiry(claims: Any) -> int | None:
    return claims["until"] if isinstance(claims.get("until"), int) else None


def _ticket_error(message: str) -> ApiError:
    return ApiError("unauthorized", message, HINT)
