"""Templates as JSON and YAML: what is written is read again, by others too; what could be read in two ways is not."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from parley.protocol.templates import Parameter, Template, TemplateStep
from shared.domain.errors import Invalid
from shared.templates.documents import read_template, written

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20) | st.sampled_from(
    [
        "12:30:45",
        "no",
        "null",
        "1e3",
        "0x10",
        "007",
        "1_000",
        "2026-01-01",
        "<<",
        "=",
        "- x",
        "a: b",
        "#x",
        "~",
        "y",
        "",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)
TEMPLATES = st.builds(
    lambda held, words, default: Template(
        name="Mine",
        goal="Do " + words,
        description=words,
        parameters=(Parameter(name="a", default=default, json_schema={"description": words}),),
        steps=(TemplateStep(id="s1", text="x" + words, tool="look", arguments=held),),
    ),
    st.dictionaries(TEXTS, JSON, max_size=4),
    TEXTS,
    JSON,
)
STEP = "steps: [{id: s1, text: x, tool: look, arguments: {at: 12:30:45, on: no, n: 010, m: -1.5e3, l: [1, null]}}]"


@given(TEMPLATES)
def test_what_is_written_is_read_again_also_by_any_other_reader(made: Template) -> None:
    whole = json.loads(made.model_dump_json(exclude_defaults=True))
    text = written(made, "yaml")
    assert read_template(text, "yaml") == made
    assert yaml.safe_load(text) == whole
    text = written(made, "json")
    assert read_template(text, "json") == made
    assert json.loads(text) == whole


def test_plain_words_of_yaml_are_texts_unless_json_spells_them_so() -> None:
    made = read_template(f"name: on\ngoal: 2026-01-01\n{STEP}", "yaml")
    assert (made.name, made.goal) == ("on", "2026-01-01")
    assert made.steps[0].arguments == {"at": "12:30:45", "on": "no", "n": "010", "m": -1500.0, "l": [1, None]}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"name: a\nname: b\ngoal: c\n{STEP}", "“name” stands twice"),
        (f"name: a\ngoal: c\n{STEP[:-2]}, id: s2}}]", "“id” stands twice"),
        (f"name: &a x\ngoal: *a\n{STEP}", "&a is an anchor"),
        (f"name: x\ngoal: *a\n{STEP}", r"\*a is an alias"),
        (f"name: !!python/object/apply:os.system [ls]\n{STEP}", "the tag .* is not read"),
        (f"name: !!binary eA==\n{STEP}", "the tag .* is not read"),
        (f"? [1]\n: x\n{STEP}", "a name is a text"),
        ("a: " + "[" * 60 + "]" * 60, "more than 40 levels"),
        ("name: [", "cannot be read"),
        ("- 1", "no template"),
        ("name: x", "goal: Field required"),
        (f"name: x\ngoal: y\nmore: z\n{STEP}", "more: Extra inputs"),
        ("x" * 200_001, "200000 are allowed"),
        ("a: \x00", "cannot be read"),
    ],
)
def test_what_yaml_could_mean_in_two_ways_is_refused(text: str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        read_template(text, "yaml")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"name": "a", "name": "b"}', "“name” stands twice"),
        ('{"name": "a", "x": {"b": 1, "b": 2}}', "“b” stands twice"),
        ('{"name": "a\\u0000"}', "NUL character"),
        ('{"name": 1e999}', "too large"),
        ('{"name": NaN}', "NaN is no number"),
        ("{", "no JSON"),
        ("[" * 100_000, "nested too deep|levels"),
        ("[]", "no template"),
        ('{"name": ' + "9" * 5_000 + "}", "number without end"),
    ],
)
def test_what_json_could_mean_in_two_ways_is_refused(text: str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        read_template(text, "json")


def test_it_looks_as_one_would_write_it_with_every_text_in_quotes() -> None:
    held: dict[str, Any] = {"at": "12:30:45", "on": True}
    made = Template(name="Mine", goal="Go", steps=(TemplateStep(id="s1", text="Go", tool="look", arguments=held),))
    assert written(made, "yaml") == (
        'name: "Mine"\ngoal: "Go"\nsteps:\n- id: "s1"\n  text: "Go"\n  tool: "look"\n'
        '  arguments:\n    at: "12:30:45"\n    "on": true\n'
    )
