"""Faulty tool arguments of models: repaired where only one reading is possible, with every change reported."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.repair import repair

ITEMS: Any = {"type": "array", "items": {"type": "string"}}
TEXT: Any = {"type": "string"}


def schema(required: tuple[str, ...] | None = None, **properties: Any) -> dict[str, Any]:
    required_names = list(properties) if required is None else list(required)
    return {"type": "object", "properties": properties, "required": required_names, "additionalProperties": False}


EXCHANGE = schema(order_id=TEXT, item_ids=ITEMS, new_item_ids=ITEMS, payment_method_id=TEXT)
CANCEL = schema(order_id=TEXT, reason={"type": "string", "enum": ["no longer needed", "ordered by mistake"]})
VALID = {"order_id": "#W1", "item_ids": ["1008292230"], "new_item_ids": ["1656367028"], "payment_method_id": "paypal_1"}


@pytest.mark.parametrize(
    "sent",
    [
        json.dumps(VALID),
        json.dumps(json.dumps(VALID)),
        str(VALID),
        f"```json\n{json.dumps(VALID)}\n```",
        [VALID],
        {"arguments": VALID},
        {"kwargs": json.dumps(VALID)},
        VALID | {"item_ids": '["1008292230"]'},
        VALID | {"item_ids": "['1008292230']"},
        VALID | {"item_ids": "1008292230"},
        VALID | {"item_ids": 1008292230},
        VALID | {"item_ids": [1008292230]},
        VALID | {"item_ids": "[1008292230]"},
        VALID | {"order_id": ["#W1"]},
        VALID | {"order_id": " #W1 "},
        VALID | {"order_id": "'#W1'"},
        VALID | {"user_id": "ann_lee_1"},
        {"orderId": "#W1", "itemIds": ["1008292230"], "newItemIds": ["1656367028"], "paymentMethodId": "paypal_1"},
        {"order": "#W1", "item_id": "1008292230", "new_item_id": "1656367028", "payment_method": "paypal_1"},
    ],
)
def test_common_faults_of_models_are_repaired(sent: Any) -> None:
    result = repair(sent, EXCHANGE)
    assert result.problems == ()
    assert result.arguments == VALID
    assert list(result.arguments) == list(VALID)
    assert result.repairs


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("1008292230, 1656367028", ["1008292230", "1656367028"]),
        ("[1008292230, '1656367028']", ["1008292230", "1656367028"]),
        ("[abc, def]", ["abc", "def"]),
        ("('a', 'b',)", ["a", "b"]),
        ("[]", []),
        ("", []),
    ],
)
def test_lists_written_as_text_are_parsed(text: str, items: list[str]) -> None:
    assert repair({"item_ids": text}, schema(item_ids=ITEMS)).arguments == {"item_ids": items}


def test_prose_is_not_parsed_as_a_list() -> None:
    result = repair({"item_ids": "the red one, and the lamp"}, schema(item_ids=ITEMS))
    assert result.problems == ('item_ids must be a list, not "the red one, and the lamp"',)


def test_a_missing_value_is_a_problem_and_never_invented() -> None:
    result = repair({"reason": "no longer needed"}, CANCEL)
    assert (result.arguments, result.problems) == ({"reason": "no longer needed"}, ("order_id is missing",))
    assert repair(None, CANCEL).problems == ("order_id is missing", "reason is missing")
    assert repair("cancel it", CANCEL).problems == (
        'the arguments must be an object, not "cancel it"',
        "order_id is missing",
        "reason is missing",
    )


def test_an_extra_word_in_the_name_of_the_only_missing_field_is_repaired() -> None:
    result = repair({"order_id": "#W1", "cancel_reason": "ordered by mistake"}, CANCEL)
    assert result.arguments == {"order_id": "#W1", "reason": "ordered by mistake"}
    assert result.repairs == ('reason: another spelling of the field ("cancel_reason")',)


def test_an_ambiguous_name_is_not_guessed() -> None:
    result = repair({"order_id": "#W1", "replacement_item_ids": ["2"], "payment_method_id": "p"}, EXCHANGE)
    assert result.problems == ("item_ids is missing", "new_item_ids is missing")
    assert result.repairs == ('replacement_item_ids: no field of this tool, dropped (["2"])',)
    twice = repair({"orderId": "#W1", "OrderID": "#W2", "reason": "ordered by mistake"}, CANCEL)
    assert "order_id is missing" in twice.problems


@pytest.mark.parametrize(
    ("kind", "sent", "converted"),
    [
        ("integer", "12", 12),
        ("integer", 12.0, 12),
        ("number", " 1.5 ", 1.5),
        ("number", 3, 3),
        ("boolean", "True", True),
        ("boolean", "no", False),
        ("boolean", 1, True),
        ("string", 2134, "2134"),
        ("string", 12.0, "12"),
        ("object", "{'a': None}", {"a": None}),
        ("object", "{'a': true}", {"a": True}),
        (["integer", "null"], "None", None),
    ],
)
def test_values_are_converted_to_the_expected_type(kind: Any, sent: Any, converted: Any) -> None:
    result = repair({"x": sent}, schema(x={"type": kind}))
    assert (result.arguments, result.problems) == ({"x": converted}, ())
    assert type(result.arguments["x"]) is type(converted)


@pytest.mark.parametrize(
    ("kind", "sent"),
    [("integer", "1.5"), ("integer", "twelve"), ("boolean", "maybe"), ("string", True), ("string", ["a", "b"])],
)
def test_unreadable_arguments_are_a_problem(kind: str, sent: Any) -> None:
    result = repair({"x": sent}, schema(x={"type": kind}))
    assert result.arguments == {"x": sent}
    assert result.problems[0].startswith("x must be ")


def test_a_value_is_repaired_to_the_alternative_that_it_matches() -> None:
    nullable = schema((), limit={"anyOf": [{"type": "integer"}, {"type": "null"}]})
    assert repair({"limit": None}, nullable).fixes == ()
    assert repair({"limit": "7"}, nullable).arguments == {"limit": 7}
    assert repair({"limit": None}, schema((), limit={"type": "integer"})).arguments == {}


def test_nested_objects_are_repaired() -> None:
    inner = schema(rows={"type": "array", "items": schema(id=TEXT, count={"type": "integer"})})
    result = repair({"rows": [{"ID": 5, "count": "3", "more": 1}]}, inner)
    assert result.arguments == {"rows": [{"id": "5", "count": 3}]}
    assert [fix.field for fix in result.fixes] == ["rows[0].id", "rows[0].id", "rows[0].count", "rows[0].more"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=8,
)


@given(sent=JSON | st.dictionaries(st.sampled_from(["order_id", "itemIds", "new_item_ids", "x"]), JSON))
def test_any_input_gives_a_result_that_is_valid_unless_it_reports_problems(sent: Any) -> None:
    result = repair(sent, EXCHANGE)
    json.dumps(result.arguments, allow_nan=False)
    if not result.problems:
        jsonschema.validate(result.arguments, EXCHANGE)
    assert repair(result.arguments, EXCHANGE).arguments == result.arguments
    if result.arguments != sent:
        assert result.fixes or result.problems or sent in (None, "")
