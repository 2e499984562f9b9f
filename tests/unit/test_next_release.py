"""The next release that rolling upgrades are tried with: what it changes of this one is still there to be changed."""

import pytest

from chaos.process import ROOT
from tests.support.releases import NEXT


@pytest.mark.parametrize("name", NEXT)
def test_the_next_release_can_be_made_of_this_one(name: str) -> None:
    old, new = NEXT[name]
    assert (ROOT / name).read_text(encoding="utf-8").count(old) == 1
    assert old != new
