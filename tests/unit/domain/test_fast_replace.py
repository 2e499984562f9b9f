"""The faster `replace` behaves like `dataclasses.replace`."""

import dataclasses

import pytest

from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.domain.rules.usage_totals import UsageTotals


def test_replace_gives_the_same_copy_as_the_library() -> None:
    session = Session("s", version=3, spent=UsageTotals(1, 2, 0, 3, 0.5), title="a")
    fast, standard = (copy(session, version=4, title="") for copy in (replace, dataclasses.replace))
    assert fast == standard
    assert vars(fast) == vars(standard)
    assert (session.version, session.title) == (3, "a")


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError, match="Session has no verison"):
        replace(Session("s"), verison=2)  # type: ignore[call-arg]


def test_the_copy_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        replace(Session("s"), version=1).version = 2  # type: ignore[misc]
