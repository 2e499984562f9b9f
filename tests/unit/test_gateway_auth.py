"""The authenticator: unsafe settings, logins, cookies, JWTs and permissions."""

import time
from typing import Any

import jwt
import pytest

from parley.events.values import Role
from services.gateway.access.auth import (
    COOKIE,
    PROOF,
    SESSION_ID,
    TICKET,
    Authenticator,
    ConfigurationError,
    derive_key,
)
from services.gateway.access.users import LOCAL_USER, User, check_can_read, check_can_write
from services.gateway.api_errors import ApiError
from shared.domain.kernel.session import Session
from tests.support.gateway import SECRET, TOKEN, gateway_settings


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"agent_host": "0.0.0.0"}, "PARLEY_AUTH=none"),
        ({"agent_host": "192.168.1.5"}, "AGENT_HOST"),
        ({"agent_host": "example.org"}, "AGENT_HOST"),
        ({"parley_auth": "token", "parley_token": TOKEN}, "PARLEY_SECRET"),
        ({"parley_auth": "token", "parley_token": TOKEN, "parley_secret": "short"}, "PARLEY_SECRET"),
        ({"parley_auth": "token", "parley_secret": SECRET}, "PARLEY_TOKEN"),
        ({"parley_auth": "keys", "parley_secret": SECRET}, "PARLEY_API_KEYS"),
        ({"parley_auth": "keys", "parley_secret": SECRET, "parley_api_keys": "alice"}, "PARLEY_API_KEYS"),
        ({"parley_auth": "keys", "parley_secret": SECRET, "parley_api_keys": "al\u202eice=one"}, "PARLEY_API_KEYS"),
        ({"parley_auth": "jwt"}, "PARLEY_SECRET"),
        ({"parley_auth": "jwt", "parley_secret": SECRET, "parley_jwt_secret": "short"}, "PARLEY_JWT_SECRET"),
    ],
)
def test_the_gateway_does_not_start_with_unsafe_settings(settings: dict[str, Any], names: str) -> None:
    with pytest.raises(ConfigurationError, match=names):
        Authenticator(gateway_settings(**settings))


GUESSABLE: list[tuple[dict[str, Any], str]] = [
    ({"parley_auth": "token", "parley_token": "fifteen-letters"}, "PARLEY_TOKEN"),
    ({"parley_auth": "keys", "parley_api_keys": f"alice={'a' * 16},bob=short"}, "the key of bob in PARLEY_API_KEYS"),
    ({"parley_auth": "jwt", "parley_metrics_token": "short"}, "PARLEY_METRICS_TOKEN"),
]


@pytest.mark.parametrize(("settings", "names"), GUESSABLE)
def test_short_secrets_are_accepted_on_loopback_only(settings: dict[str, Any], names: str) -> None:
    Authenticator(gateway_settings(parley_secret=SECRET, **settings))
    with pytest.raises(ConfigurationError, match=f"{names} has fewer than 16 characters.*openssl rand -hex 24"):
        Authenticator(gateway_settings(parley_secret=SECRET, agent_host="0.0.0.0", **settings))


def test_long_secrets_are_accepted_on_every_address() -> None:
    settings = {"parley_token": "t" * 16, "parley_metrics_token": "m" * 16, "parley_secret": SECRET}
    Authenticator(gateway_settings(parley_auth="token", agent_host="0.0.0.0", **settings))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.9"])
def test_no_login_is_accepted_on_loopback_only(host: str) -> None:
    assert Authenticator(gateway_settings(agent_host=host)).login(bearer="", cookie="").user == LOCAL_USER


def test_a_cookie_ends_with_the_key_it_came_from() -> None:
    keys: dict[str, Any] = {"parley_auth": "keys", "parley_secret": SECRET}
    authenticator = Authenticator(gateway_settings(parley_api_keys="alice=one", **keys))
    login = authenticator.login_with_secret("one")
    assert login is not None
    cookie = authenticator.new_cookie(login)
    assert authenticator.login(bearer="", cookie=cookie).user == User("alice")
    for changed in ("alice=two", "bob=one"):
        with pytest.raises(ApiError, match="log in"):
            Authenticator(gateway_settings(parley_api_keys=changed, **keys)).login(bearer="", cookie=cookie)


LOGINS: dict[str, tuple[dict[str, Any], str]] = {
    "token": ({"parley_auth": "token", "parley_token": TOKEN, "parley_secret": SECRET}, TOKEN),
    "keys": ({"parley_auth": "keys", "parley_api_keys": "alice=one", "parley_secret": SECRET}, "one"),
    "jwt": ({"parley_auth": "jwt", "parley_jwt_secret": "j" * 32, "parley_secret": SECRET}, ""),
}


@pytest.mark.parametrize(
    ("mode", "changed"),
    [
        ("token", {"parley_token": "another"}),
        ("token", {"parley_secret": "x" * 40}),
        ("keys", {"parley_api_keys": "alice=two"}),
        ("keys", {"parley_secret": "x" * 40}),
        ("jwt", {"parley_jwt_secret": "k" * 32}),
        ("jwt", {"parley_secret": "x" * 40}),
    ],
)
def test_a_login_ends_when_any_of_its_secrets_changes(mode: str, changed: dict[str, Any]) -> None:
    settings, secret = LOGINS[mode]
    authenticator = Authenticator(gateway_settings(**settings))
    login = authenticator.login_with_secret(secret or token(key="j" * 32))
    assert login is not None
    cookie, ticket = authenticator.new_cookie(login), authenticator.sign_claims(login, TICKET, 30)
    restarted = Authenticator(gateway_settings(**settings))  # as after a restart
    assert restarted.login(bearer="", cookie=cookie).user == login.user
    assert restarted.verify_claims(ticket, TICKET)
    rotated = Authenticator(gateway_settings(**settings | changed))
    assert rotated.verify_claims(cookie, COOKIE) is None
    assert rotated.verify_claims(ticket, TICKET) is None


def test_a_token_generated_per_start_ends_no_logins() -> None:
    settings: dict[str, Any] = {"parley_auth": "token", "parley_secret": SECRET, "parley_token_per_start": True}
    authenticator = Authenticator(gateway_settings(parley_token=TOKEN, **settings))
    login = authenticator.login_with_secret(TOKEN)
    assert login is not None
    assert Authenticator(gateway_settings(parley_token="another", **settings)).verify_claims(
        authenticator.new_cookie(login), COOKIE
    )


def test_each_purpose_has_its_own_key() -> None:
    # test case 3 of RFC 5869: no salt, no info; the first block of 32 bytes
    assert derive_key(b"\x0b" * 22, "").hex() == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
    keys = {derive_key(SECRET.encode(), purpose) for purpose in (COOKIE, TICKET, PROOF, SESSION_ID)}
    assert len(keys | {SECRET.encode()}) == 5
    authenticator = Authenticator(gateway_settings(parley_auth="jwt", parley_secret=SECRET))
    good = {"sub": "carol", "aud": COOKIE, "exp": int(time.time()) + 60, "login": ""}
    login = authenticator.login_with_secret(token())
    assert login is not None
    claims = good | {"proof": login.proof}
    assert authenticator.verify_claims(jwt.encode(claims, derive_key(SECRET.encode(), COOKIE)), COOKIE)
    for key in (SECRET.encode(), derive_key(SECRET.encode(), TICKET)):
        assert authenticator.verify_claims(jwt.encode(claims, key), COOKIE) is None


def token(*, key: str = SECRET, **claims: Any) -> str:
    """A JWT like that of an issuer; claims that are None are left out."""
    all_claims = {"sub": "carol", "exp": int(time.time()) + 60} | claims
    return jwt.encode({name: value for name, value in all_claims.items() if value is not None}, key, algorithm="HS256")


NOW = int(time.time())


@pytest.mark.parametrize(
    ("settings", "claims", "accepted"),
    [
        ({}, {}, True),
        ({}, {"exp": None}, False),
        ({}, {"exp": NOW - 60}, False),
        ({}, {"exp": float("inf")}, False),
        ({}, {"exp": "soon"}, False),
        ({}, {"sub": None}, False),
        ({}, {"sub": ""}, False),
        ({}, {"sub": "a" * 151}, False),
        ({}, {"sub": "a\0b"}, False),
        ({}, {"sub": "\u202ealice"}, False),
        ({}, {"aud": "parley"}, False),
        ({}, {"iss": "https://id.example"}, True),
        ({"parley_jwt_audience": "parley"}, {"aud": "parley"}, True),
        ({"parley_jwt_audience": "parley"}, {"aud": "other"}, False),
        ({"parley_jwt_audience": "parley"}, {}, False),
        ({"parley_jwt_issuer": "https://id.example"}, {"iss": "https://id.example"}, True),
        ({"parley_jwt_issuer": "https://id.example"}, {"iss": "https://evil.example"}, False),
        ({"parley_jwt_issuer": "https://id.example"}, {}, False),
        ({"parley_jwt_max_lifetime": 3600}, {}, True),
        ({"parley_jwt_max_lifetime": 3600}, {"exp": NOW + 90_000}, False),
        ({"parley_jwt_secret": "j" * 32}, {}, False),
        ({"parley_jwt_secret": "j" * 32}, {"key": "j" * 32}, True),
    ],
)
def test_jwts_are_validated(settings: dict[str, Any], claims: dict[str, Any], accepted: bool) -> None:
    authenticator = Authenticator(gateway_settings(parley_auth="jwt", parley_secret=SECRET, **settings))
    assert (authenticator.login_with_secret(token(**claims)) is not None) is accepted


def test_a_cookie_is_not_accepted_as_a_bearer_token() -> None:
    authenticator = Authenticator(gateway_settings(parley_auth="jwt", parley_secret=SECRET))
    login = authenticator.login_with_secret(token())
    assert login is not None
    assert authenticator.login_with_secret(authenticator.new_cookie(login)) is None


def test_a_cookie_does_not_outlive_the_jwt_it_came_from() -> None:
    authenticator = Authenticator(gateway_settings(parley_auth="jwt", parley_secret=SECRET))
    ends = int(time.time()) + 3600
    login = authenticator.login_with_secret(token(exp=ends))
    assert login is not None
    assert authenticator.login(bearer="", cookie=authenticator.new_cookie(login)).user == User("carol")
    with pytest.raises(ApiError, match="log in"):
        authenticator.login(bearer="", cookie=authenticator.new_cookie(login._replace(expires_at=ends - 3660)))
    key = derive_key(SECRET.encode(), COOKIE)
    assert jwt.decode(authenticator.new_cookie(login), key, algorithms=["HS256"], audience=COOKIE)["exp"] == ends


def test_a_valid_cookie_does_not_excuse_a_wrong_bearer_token() -> None:
    authenticator = Authenticator(gateway_settings(parley_auth="token", parley_token=TOKEN, parley_secret=SECRET))
    login = authenticator.login_with_secret(TOKEN)
    assert login is not None
    with pytest.raises(ApiError):
        authenticator.login(bearer="wrong", cookie=authenticator.new_cookie(login))
    assert authenticator.login_with_secret("") is None


def test_permissions_of_shared_sessions() -> None:
    roles: dict[str, Role] = {"bob": "viewer", "eve": "editor", "carol": "approver"}
    session = Session("s", version=1, owner="alice", shared_with=roles)
    check_can_write(User("alice"), session)
    check_can_write(User("carol"), session)
    check_can_write(User("eve"), session)
    check_can_write(LOCAL_USER, session)
    check_can_write(User("dave"), Session("new"))
    check_can_read(User("bob"), session)
    check_can_read(User("eve"), session)
    refusals = (
        (check_can_write, User("bob"), "forbidden"),
        (check_can_read, User("dave"), "not_found"),
        (check_can_write, User("local"), "not_found"),  # of a Parley with accounts: no operator
    )
    for check, user, code in refusals:
        with pytest.raises(ApiError) as caught:
            check(user, session)
        assert caught.value.code == code
