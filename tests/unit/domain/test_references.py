"""References of a step to what others gave: what is one, what it stands for, and what is refused."""

from typing import Any

import pytest

from shared.domain.references import Reference, Unresolved, malformed, references, resolved

OUTPUTS: dict[str, Any] = {
    "s1": {"orders": [{"id": "#W1", "price": 20.5, "paid": True, "note": None}], "name": "Ann"},
    "s2": "{{steps.s1.output.name}}",
    "s3": None,
}


def test_references_are_found_wherever_a_text_is() -> None:
    value: Any = {"a": ["{{steps.s1.output.orders[0].id}}", 7], "b": "for {{ steps.s2.output }}, {{steps.s2.output}}"}
    assert [(one.step, one.path) for one in references(value)] == [
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
        ("{{steps.s2.output}}", "{{steps.s1.output.name}}"),  # what was given is not read again
        ("x{{steps.s2.output}}", "x{{steps.s1.output.name}}"),
    ],
)
def test_a_reference_stands_for_what_was_given(text: str, value: object) -> None:
    assert resolved(text, OUTPUTS) == value
    assert resolved({"deep": [text, 1, None]}, OUTPUTS) == {"deep": [value, 1, None]}


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
def test_a_reference_that_stands_for_nothing_says_so(text: str, why: str) -> None:
    with pytest.raises(Unresolved, match=why):
        resolved([text], OUTPUTS)


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
def test_what_looks_like_a_reference_and_is_none_is_told(text: str) -> None:
    assert malformed({"a": [f"x {text}"]})


def test_a_name_is_no_place_for_a_reference() -> None:
    assert malformed({"a": {"{{steps.s1.output}}": 1}}) == ("{{steps.s1.output}}",)
    assert malformed({"a": ["{{steps.s1.output}} and {{ steps.s2.output.x[0] }}", "{ }", 1]}) == ()
