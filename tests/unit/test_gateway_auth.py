"""Settings a gateway must not start with, and the door's decisions."""

import time
from typing import Any

import jwt
import pytest

from services.gateway.auth import COOKIE_AUDIENCE, ConfigurationError, Door
from services.gateway.trouble import Trouble
from services.gateway.users import LOCAL, User, may_read, may_write
from shared.domain.session import Session
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
        ({"parley_auth": "jwt"}, "PARLEY_SECRET"),
    ],
)
def test_it_does_not_start(settings: dict[str, Any], names: str) -> None:
    with pytest.raises(ConfigurationError, match=names):
        Door(gateway_settings(**settings))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.9"])
def test_without_login_on_this_machine_only(host: str) -> None:
    assert Door(gateway_settings(agent_host=host)).login(bearer="", cookie="").user == LOCAL


def test_a_cookie_ends_with_the_key_it_came_from() -> None:
    keys: dict[str, Any] = {"parley_auth": "keys", "parley_secret": SECRET}
    door = Door(gateway_settings(parley_api_keys="alice=one", **keys))
    login = door.credential("one")
    assert login is not None
    cookie = door.sign(login)
    assert door.login(bearer="", cookie=cookie).user == User("alice")
    for changed in ("alice=two", "bob=one"):
        with pytest.raises(Trouble, match="log in"):
            Door(gateway_settings(parley_api_keys=changed, **keys)).login(bearer="", cookie=cookie)


def test_a_cookie_is_no_bearer_token() -> None:
    door = Door(gateway_settings(parley_auth="jwt", parley_secret=SECRET))
    login = door.credential(jwt.encode({"sub": "carol"}, SECRET, algorithm="HS256"))
    assert login is not None
    assert door.credential(door.sign(login)) is None


def test_a_cookie_does_not_outlive_the_jwt_it_came_from() -> None:
    door = Door(gateway_settings(parley_auth="jwt", parley_secret=SECRET))
    ends = int(time.time()) + 3600
    login = door.credential(jwt.encode({"sub": "carol", "exp": ends}, SECRET, algorithm="HS256"))
    assert login is not None
    assert door.login(bearer="", cookie=door.sign(login)).user == User("carol")
    with pytest.raises(Trouble, match="log in"):
        door.login(bearer="", cookie=door.sign(login._replace(until=ends - 3660)))
    assert jwt.decode(door.sign(login), SECRET, algorithms=["HS256"], audience=COOKIE_AUDIENCE)["exp"] == ends


def test_a_wrong_bearer_is_not_helped_by_a_good_cookie() -> None:
    door = Door(gateway_settings(parley_auth="token", parley_token=TOKEN, parley_secret=SECRET))
    login = door.credential(TOKEN)
    assert login is not None
    with pytest.raises(Trouble):
        door.login(bearer="wrong", cookie=door.sign(login))
    assert door.credential("") is None


def test_sharing() -> None:
    session = Session("s", version=1, owner="alice", shared_with={"bob": False, "carol": True})
    may_write(User("alice"), session)
    may_write(User("carol"), session)
    may_write(LOCAL, session)
    may_write(User("dave"), Session("new"))
    may_read(User("bob"), session)
    for refuses, user, code in ((may_write, User("bob"), "forbidden"), (may_read, User("dave"), "not_found")):
        with pytest.raises(Trouble) as caught:
            refuses(user, session)
        assert caught.value.code == code
