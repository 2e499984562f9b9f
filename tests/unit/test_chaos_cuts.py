"""Where a service is cut: what the file says, which appends count, and that every cut drawn means something."""

from pathlib import Path
from typing import get_args

import pytest

from chaos.cut_service import Cut, When
from chaos.schedule import AMBUSHES, CUTS
from parley.events import EVENT_CLASSES, dump_event
from shared.services import SERVICES
from tests.unit.test_chaos_invariants import acted


@pytest.mark.parametrize("cut", [Cut(3, "before"), Cut(1, "after", "actions.finished noted")])
def test_what_is_wanted_is_read_as_it_was_written(tmp_path: Path, cut: Cut) -> None:
    cut.arm(tmp_path / "cut")
    assert Cut.read(tmp_path / "cut") == cut


def test_without_a_file_or_with_nonsense_nothing_is_cut(tmp_path: Path) -> None:
    assert Cut.read(tmp_path / "none") is None
    (tmp_path / "cut").write_text("soon\n")
    assert Cut.read(tmp_path / "cut") is None


def test_only_events_with_all_the_words_count() -> None:
    told = [dump_event(event).decode() for event in acted().events[2:5]]
    assert [Cut(1, "before", "actions.finished noted").means(one) for one in told] == [False, False, True]
    assert all(Cut(1, "before").means(one) for one in told)


@pytest.mark.parametrize("told", [*CUTS, *AMBUSHES])
def test_what_is_drawn_names_a_service_and_an_event(told: str) -> None:
    service, *rest = told.split()
    assert service.removesuffix("-writes") in SERVICES
    when, kind = rest[:2] if told in CUTS else ("before", rest[0])
    assert when in get_args(When)
    assert kind in {event.model_fields["type"].default for event in EVENT_CLASSES}
