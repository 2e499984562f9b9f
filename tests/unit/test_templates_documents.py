"""Templates as JSON and YAML: Parley reads back what it writes, and refuses ambiguous documents."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from parley.protocol.templates import Parameter, Template, TemplateStep
from shared.domain.kernel.errors import Invalid
from shared.templates.documents import read_template, write_template
from shared.templates.shipped import shipped_templates

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
    lambda arguments, words, default: Template(
        name="Mine",
        goal="Do " + words,
        description=words,
        parameters=(Parameter(name="a", default=default, json_schema={"description": words}),),
        steps=(TemplateStep(id="s1", text="x" + words, tool="look", arguments=arguments),),
    ),
    st.dictionaries(TEXTS, JSON, max_size=4),
    TEXTS,
    JSON,
)
WORDS = "at: 12:30:45, on: no, n: 010, m: -1.5e3, v: 1.10, l: [1, null]"
STEP = f"steps: [{{id: s1, text: x, tool: look, arguments: {{{WORDS}}}}}]"


@given(TEMPLATES)
def test_documents_are_read_back_by_parley_and_by_other_readers(subject: Template) -> None:
    expected = json.loads(subject.model_dump_json(exclude_defaults=True))
    text = write_template(subject, "yaml")
    assert read_template(text, "yaml") == subject
    assert yaml.safe_load(text) == expected
    text = write_template(subject, "json")
    assert read_template(text, "json") == subject
    assert json.loads(text) == expected


def test_the_shipped_templates_are_read_whole() -> None:
    template = shipped_templates()["parley-cancel-order"]
    descriptions = {parameter.name: parameter.description for parameter in template.parameters}
    assert descriptions["order_id"] == 'The order\'s id with its leading #, like "#W0000000".'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"name: a\nname: b\ngoal: c\n{STEP}", "This YAML cannot be read: “name” occurs twice"),
        ("- 1", "not a template"),
        ("name: x", "`goal` is missing"),
        (f"name: x\ngoal: y\nmore: z\n{STEP}", "`more` is not known here"),
        ("x" * 200_001, "200000 are allowed"),
    ],
)
def test_what_is_no_template_is_refused(text: str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        read_template(text, "yaml")
