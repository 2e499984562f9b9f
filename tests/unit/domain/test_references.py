"""References of a step to earlier outputs: which are valid, and what they resolve to."""

from typing import Any

import pytest

from shared.domain.steps.references import Reference, Unresolved, malformed_references, references, resolve

OUTPUTS: dict[str, Any] = {
    "s1": {"orders": [{"id": "#W1", "price": 20.5, "paid": True, "note": None}], "name": "Ann"},
    "s2": "{{steps.s1.output.name}}",
    "s3": None,
}


def test_references_are_found_in_all_strings() -> None:
    value: Any = {"a": ["{{steps.s1.output.orders[0].id}}", 7], "b": "for {{ steps.s2.output }}, {{steps.s2.output}}"}
    assert [(reference.step, reference.path) for reference in references(value)] == [
        ("s1", ("orders", 0, "id")),
        ("s2", ()),
        ("s2", ()),
    ]
    assert references(None) == references({"{{steps.s1.output}}": 1}) == ()
    assert references("{{steps.a-b_1.output.x-y_z}}") == (
        Reference("{{steps.a-b_1.output.x-y_z}}", "a-b_1", ("x-y_z",)),
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{steps.s1.output.orders}}", OUTPUTS["s1"]["orders"]),
        (" {{steps.s1.output.orders[0].price}} ", 20.5),
        ("{{steps.s1.output.orders[0].paid}}", True),
        ("order {{steps.s1.output.orders[0].id}} of {{steps.s1.output.name}}", "order #W1 of Ann"),
        ("{{steps.s1.output.orders[0].price}} / {{steps.s1.output.orders[0].paid}}", "20.5 / true"),
        ("no reference", "no reference"),
        ("{{steps.s2.output}}", "{{steps.s1.output.name}}"),  # a resolved value is not resolved again
        ("x{{steps.s2.output}}", "x{{steps.s1.output.name}}"),
    ],
)
def test_a_reference_resolves_to_the_output(text: str, value: object) -> None:
    assert resolve(text, OUTPUTS) == value
    assert resolve({"deep": [text, 1, None]}, OUTPUTS) == {"deep": [value, 1, None]}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{steps.s9.output}}", "step s9 gave nothing"),
        ("{{steps.s1.output.colour}}", "there is no colour in what step s1 gave"),
        ("{{steps.s1.output.orders[1]}}", "there is no 1"),
        ("{{steps.s1.output.name.first}}", "there is no first"),
        ("{{steps.s1.output[0]}}", "there is no 0"),
        ("{{steps.s1.output.orders[0].note}}", "stands for nothing"),
        ("{{steps.s3.output}}", "stands for nothing"),
        ("all of {{steps.s1.output.orders}}", "several values"),
    ],
)
def test_an_unresolvable_reference_raises_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(Unresolved, match=why):
        resolve([text], OUTPUTS)


@pytest.mark.parametrize(
    "text",
    [
        "{{s1.output}}",
        "{{steps.s1}}",
        "{{steps.s1.output | upper}}",
        "{{steps.s1.output.a b}}",
        "{{steps.s1.output[-1]}}",
        "{{steps.1a.output}}",
        "{{ }}",
        "{{steps.s1.output",
        "{{{{steps.s1.output}}}}",
    ],
)
def test_malformed_references_are_reported(text: str) -> None:
    assert malformed_references({"a": [f"x {text}"]})


def test_a_field_name_cannot_contain_a_reference() -> None:
    assert malformed_references({"a": {"{{steps.s1.output}}": 1}}) == ("{{steps.s1.output}}",)
    assert malformed_references({"a": ["{{steps.s1.output}} and {{ steps.s2.output.x[0] }}", "{ }", 1]}) == ()
