"""The ids of actions: parsed and printed."""

import pytest

from shared.domain.turn.action_ids import ActionId


@pytest.mark.parametrize(
    ("text", "parts", "within", "whole"),
    [
        ("2.1", ("2", "1", ""), "1", "2.1"),
        ("t2.s1", ("t2", "s1", ""), "s1", "t2.s1"),
        ("t2.s1[3]", ("t2", "s1", "3"), "s1[3]", "t2.s1"),
        ("budget", ("", "budget", ""), "budget", "budget"),
    ],
)
def test_an_id_is_parsed_and_printed(text: str, parts: tuple[str, ...], within: str, whole: str) -> None:
    action = ActionId.parse(text)
    assert (str(action), tuple(action), action.within, action.whole) == (text, parts, within, whole)
