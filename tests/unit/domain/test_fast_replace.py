"""The faster `replace` behaves like the library's."""

import dataclasses

import pytest

from shared.domain.fast_replace import replace
from shared.domain.session import Session
from shared.domain.usage_totals import UsageTotals


def test_it_behaves_like_the_librarys_replace() -> None:
    session = Session("s", version=3, spent=UsageTotals(1, 2, 0, 3, 0.5), title="a")
    mine, theirs = (how(session, version=4, title="") for how in (replace, dataclasses.replace))
    assert mine == theirs
    assert vars(mine) == vars(theirs)
    assert (session.version, session.title) == (3, "a")


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError, match="Session has no verison"):
        replace(Session("s"), verison=2)  # type: ignore[call-arg]


def test_the_copy_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        replace(Session("s"), version=1).version = 2  # type: ignore[misc]
