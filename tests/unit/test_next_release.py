"""The simulated next release for rolling upgrades: every change it makes still applies to this release."""

import pytest

from chaos.process import ROOT
from tests.support.releases import NEXT


@pytest.mark.parametrize("name", NEXT)
def test_the_next_release_can_be_made_from_this_one(name: str) -> None:
    old, new = NEXT[name]
    assert (ROOT / name).read_text(encoding="utf-8").count(old) == 1
    assert old != new
