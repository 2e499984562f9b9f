"""Parts of the model client: parsing, schemas, estimates and costs, the scripted model."""

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from parley.events.values import ModelCall
from shared.domain.storable import storable
from shared.llm import Message, ModelFailed, ModelRequest, ScriptedModel
from shared.llm.completion import Tokens, cost, estimate
from shared.llm.faults import InvalidReply, shorten
from shared.llm.parsing import parse_reply
from shared.llm.schema import strict_schema
from shared.llm.text_objects import partial_object


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str
    kind: Literal["a", "b"] = "a"


class Nested(BaseModel):
    model_config = ConfigDict(extra="forbid")
    items: list[Item]
    best: Item | None = None


class Open(BaseModel):
    anything: dict[str, Any]


@pytest.mark.parametrize(
    "text",
    [
        '{"title": "x"}',
        'Here you are:\n```json\n{"title": "x"}\n```\nIs {this} right?',
        '<think>maybe {"title": "y"}?</think>{"title": "x"}',
        'I use {braces} first. {"title": "x"} And more.',
        "{'title': 'x',}",
        '```\n{"title": "x", // the title\n}\n```',
    ],
)
def test_the_json_object_is_extracted_from_the_reply(text: str) -> None:
    assert parse_reply(text, Item) == Item(title="x")


def test_an_object_may_have_fences_and_line_breaks_within_its_texts() -> None:
    code = "```python\nprint({'a': 1})\n```"
    assert parse_reply(f"```json\n{json.dumps({'title': code})}\n```", Item).title == code
    assert parse_reply('{"title": "two\nlines"}', Item).title == "two\nlines"


@pytest.mark.parametrize(
    ("text", "no_object"),
    [
        ("", True),
        ("no object here", True),
        ("[1, 2]", True),
        ('{"title": "x', False),
        ('{"title": "print({})\\n', False),
        ('{"title": ' * 100_000, False),
        ('{"a":' + "[" * 50_000 + "}", False),
    ],
    ids=range(7),
)
def test_text_without_an_object_is_refused(text: str, no_object: bool) -> None:
    with pytest.raises(InvalidReply) as bad:
        parse_reply(text, Item)
    assert bad.value.no_object is no_object
    assert bad.value.raw == text


def test_errors_name_the_place_and_hide_the_value() -> None:
    with pytest.raises(InvalidReply) as bad:
        parse_reply('{"items": [{"title": 7777}], "extra": 1}', Nested)
    assert "items.0.title" in bad.value.reason
    assert "extra" in bad.value.reason
    assert "7777" not in bad.value.reason


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


def test_a_partial_object_has_unfinished_texts() -> None:
    assert partial_object('Sure:\n```json\n{"goal": "Write a calc') == {"goal": "Write a calc"}
    assert partial_object("Sure:") is None
    assert partial_object('<think>{"goal": 1}') is None


def test_a_strict_schema_is_closed_and_requires_every_field() -> None:
    schema, closed = strict_schema(Nested)
    assert closed
    item = schema["properties"]["items"]["items"]
    assert item["required"] == ["title", "kind"]
    assert item["additionalProperties"] is False
    assert "title" in item["properties"], "a field called title is not removed"
    assert "default" not in json.dumps(schema)
    assert "$" not in json.dumps(schema), "references are replaced by what they refer to"


def test_a_schema_with_an_open_object_is_not_strict() -> None:
    assert strict_schema(Open)[1] is False


def test_estimates_and_costs() -> None:
    assert (estimate([]), estimate(["abc", "de"]), estimate(["abcd"])) == (0, 2, 1)
    assert cost({}, "m", Tokens(1000, 0, 1000)) == 0
    assert cost({"m": (1, 0.5, 2)}, "m", Tokens(1_000_000, 500_000, 1_000_000)) == pytest.approx(0.5 + 0.25 + 2)
    assert shorten("a\n b", 10) == "a b"
    assert len(shorten("x" * 500)) == 300


async def test_the_scripted_model_follows_its_script_and_fails_at_its_end() -> None:
    calls: list[ModelCall] = []
    partials: list[Any] = []
    messages: list[Message] = [{"role": "user", "content": "hello"}]

    async def on_call(call: ModelCall) -> None:
        calls.append(call)

    async def on_partial(partial: Any) -> None:
        partials.append(partial)

    model = ScriptedModel(Item(title="x"), ModelFailed("tired"), Item(title="y"))
    assert await model.ask(ModelRequest("planner", messages, Item, on_call=on_call, on_partial=on_partial)) == Item(
        title="x"
    )
    with pytest.raises(ModelFailed, match="tired"):
        await model.ask(ModelRequest("planner", messages, Item, on_call=on_call))
    with pytest.raises(AssertionError, match="Nested"):
        await model.ask(ModelRequest("verifier", messages, Nested, on_call=on_call))
    with pytest.raises(AssertionError, match="no reply left"):
        await model.ask(ModelRequest("generator", messages, Item, on_call=on_call))
    assert [call.outcome for call in calls] == ["ok", "failed"]
    assert partials == [{"title": "x", "kind": "a"}]
    assert [prompt.role for prompt in model.prompts] == ["planner", "planner", "verifier", "generator"]
    assert model.prompts[0].text == "hello"
