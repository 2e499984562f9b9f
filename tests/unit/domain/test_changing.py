"""The session's own `replace` does what the library's does."""

import dataclasses

import pytest

from shared.domain.changing import replace
from shared.domain.session import Session
from shared.domain.spent import Spent


def test_it_is_the_library_s_in_all_but_time() -> None:
    session = Session("s", version=3, spent=Spent(1, 2, 0, 3, 0.5), title="a")
    mine, theirs = (how(session, version=4, title="") for how in (replace, dataclasses.replace))
    assert mine == theirs
    assert vars(mine) == vars(theirs)
    assert (session.version, session.title) == (3, "a")


def test_nobody_gets_a_field_that_there_is_not() -> None:
    with pytest.raises(TypeError, match="Session has no verison"):
        replace(Session("s"), verison=2)  # type: ignore[call-arg]


def test_what_comes_of_it_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        replace(Session("s"), version=1).version = 2  # type: ignore[misc]
