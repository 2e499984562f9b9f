"""Parts of the model client: parsing, schemas, estimates and costs, the scripted model."""

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from shared.domain.kernel.storable import storable
from shared.llm.completion import Tokens, cost, estimate
from shared.llm.faults import shorten
from shared.llm.parsing import parse_reply
from shared.llm.text_objects import partial_object


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str
    kind: Literal["a", "b"] = "a"


def test_a_lone_half_of_a_character_becomes_a_replacement_character() -> None:
    assert parse_reply('{"title": "a\\ud800b"}', Item).title == "a\ufffdb"
    assert partial_object('{"title": "a\\ud800b"}') == {"title": "a\ufffdb"}


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text()), min_size=1), st.data())
def test_any_prefix_of_an_object_can_be_parsed(content: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(content)
    cut = data.draw(st.integers(0, len(text)))
    partial = storable(partial_object(text[:cut]))
    assert partial is None or set(partial) <= set(storable(content))
    assert partial_object(text) == storable(content)


def test_estimates_and_costs() -> None:
    assert (estimate([]), estimate(["abc", "de"]), estimate(["abcd"])) == (0, 2, 1)
    assert cost({}, "m", Tokens(1000, 0, 1000)) == 0
    assert cost({"m": (1, 0.5, 2)}, "m", Tokens(1_000_000, 500_000, 1_000_000)) == pytest.approx(0.5 + 0.25 + 2)
    assert shorten("a\n b", 10) == "a b"
    assert len(shorten("x" * 500)) == 300
