"""Arguments as models write them: repaired if there is one way to read them, with every change reported."""

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
RIGHT = {
    "order_id": "#W1",
    "item_ids": ["1008292230"],
    "new_item_ids": ["1656367028"],
    "payment_method_id": "paypal_1",
}


def test_valid_arguments_are_not_changed() -> None:
    done = repair(RIGHT, EXCHANGE)  # type: ignore[arg-type]
    assert (done.arguments, done.fixes, done.problems) == (RIGHT, (), ())


@pytest.mark.parametrize(
    "sent",
    [
        json.dumps(RIGHT),
        json.dumps(json.dumps(RIGHT)),
        str(RIGHT),
        f"```json\n{json.dumps(RIGHT)}\n```",
        [RIGHT],
        {"arguments": RIGHT},
        {"kwargs": json.dumps(RIGHT)},
        RIGHT | {"item_ids": '["1008292230"]'},
        RIGHT | {"item_ids": "['1008292230']"},
        RIGHT | {"item_ids": "1008292230"},
        RIGHT | {"item_ids": 1008292230},
        RIGHT | {"item_ids": [1008292230]},
        RIGHT | {"item_ids": "[1008292230]"},
        RIGHT | {"order_id": ["#W1"]},
        RIGHT | {"order_id": " #W1 "},
        RIGHT | {"order_id": "'#W1'"},
        RIGHT | {"user_id": "ann_lee_1"},
        {"orderId": "#W1", "itemIds": ["1008292230"], "newItemIds": ["1656367028"], "paymentMethodId": "paypal_1"},
        {"order": "#W1", "item_id": "1008292230", "new_item_id": "1656367028", "payment_method": "paypal_1"},
    ],
)
def test_common_faults_of_models_are_repaired(sent: Any) -> None:
    done = repair(sent, EXCHANGE)
    assert done.problems == ()
    assert done.arguments == RIGHT
    assert list(done.arguments) == list(RIGHT)
    assert done.repairs


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
    done = repair({"item_ids": "the red one, and the lamp"}, schema(item_ids=ITEMS))
    assert done.problems == ('item_ids must be a list, not "the red one, and the lamp"',)


@pytest.mark.parametrize(
    "reason", ["No longer needed", "no_longer_needed", " no longer needed. ", ["no longer needed"]]
)
def test_allowed_values_with_another_spelling_are_repaired(reason: Any) -> None:
    done = repair({"order_id": "#W1", "reason": reason}, CANCEL)
    assert (done.arguments["reason"], done.problems) == ("no longer needed", ())


def test_a_value_that_is_not_allowed_is_a_problem_and_stays() -> None:
    done = repair({"order_id": "#W1", "reason": "found it cheaper"}, CANCEL)
    assert done.arguments["reason"] == "found it cheaper"
    assert done.problems == ('reason must be one of "no longer needed", "ordered by mistake", not "found it cheaper"',)


def test_a_missing_value_is_a_problem_and_never_invented() -> None:
    done = repair({"reason": "no longer needed"}, CANCEL)
    assert (done.arguments, done.problems) == ({"reason": "no longer needed"}, ("order_id is missing",))
    assert repair(None, CANCEL).problems == ("order_id is missing", "reason is missing")
    assert repair("cancel it", CANCEL).problems == (
        'the arguments must be an object, not "cancel it"',
        "order_id is missing",
        "reason is missing",
    )


def test_an_extra_word_in_the_name_of_the_only_missing_field_is_repaired() -> None:
    done = repair({"order_id": "#W1", "cancel_reason": "ordered by mistake"}, CANCEL)
    assert done.arguments == {"order_id": "#W1", "reason": "ordered by mistake"}
    assert done.repairs == ('reason: another spelling of the field ("cancel_reason")',)


def test_an_ambiguous_name_is_not_guessed() -> None:
    done = repair({"order_id": "#W1", "replacement_item_ids": ["2"], "payment_method_id": "p"}, EXCHANGE)
    assert done.problems == ("item_ids is missing", "new_item_ids is missing")
    assert done.repairs == ('replacement_item_ids: no field of this tool, dropped (["2"])',)
    twice = repair({"orderId": "#W1", "OrderID": "#W2", "reason": "ordered by mistake"}, CANCEL)
    assert "order_id is missing" in twice.problems


def test_bare_text_becomes_the_only_field() -> None:
    assert repair("1 + 1", schema(expression=TEXT)).arguments == {"expression": "1 + 1"}


@pytest.mark.parametrize(
    ("kind", "sent", "read"),
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
def test_values_are_converted_to_the_expected_type(kind: Any, sent: Any, read: Any) -> None:
    done = repair({"x": sent}, schema(x={"type": kind}))
    assert (done.arguments, done.problems) == ({"x": read}, ())
    assert type(done.arguments["x"]) is type(read)


@pytest.mark.parametrize(
    ("kind", "sent"),
    [("integer", "1.5"), ("integer", "twelve"), ("boolean", "maybe"), ("string", True), ("string", ["a", "b"])],
)
def test_unreadable_arguments_are_a_problem(kind: str, sent: Any) -> None:
    done = repair({"x": sent}, schema(x={"type": kind}))
    assert done.arguments == {"x": sent}
    assert done.problems[0].startswith("x must be ")


def test_free_text_keeps_its_blanks_and_quotes() -> None:
    sent: Any = {"content": "    pass\n", "query": '"exactly this"'}
    assert repair(sent, schema(content=TEXT, query=TEXT)).arguments == sent


def test_a_pattern_is_not_evaluated() -> None:
    """Even one with catastrophic backtracking."""
    done = repair({"order": "a" * 60 + "!"}, schema(order={"type": "string", "pattern": "^(a+)+$"}))
    assert (done.arguments, done.problems, done.fixes) == ({"order": "a" * 60 + "!"}, (), ())


def test_of_alternatives_the_matching_one_is_used() -> None:
    either = schema((), limit={"anyOf": [{"type": "integer"}, {"type": "null"}]})
    assert repair({"limit": None}, either).fixes == ()
    assert repair({"limit": "7"}, either).arguments == {"limit": 7}
    assert repair({"limit": None}, schema((), limit={"type": "integer"})).arguments == {}


def test_nested_objects_are_repaired() -> None:
    inner = schema(rows={"type": "array", "items": schema(id=TEXT, count={"type": "integer"})})
    done = repair({"rows": [{"ID": 5, "count": "3", "more": 1}]}, inner)
    assert done.arguments == {"rows": [{"id": "5", "count": 3}]}
    assert [fix.field for fix in done.fixes] == ["rows[0].id", "rows[0].id", "rows[0].count", "rows[0].more"]


def test_a_tool_without_a_schema_gets_all_arguments() -> None:
    assert repair({"a": 1}, {"type": "object"}).arguments == {"a": 1}
    assert repair({"a": 1}, schema((), b=TEXT) | {"additionalProperties": True}).arguments == {"a": 1}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=8,
)


@given(sent=JSON | st.dictionaries(st.sampled_from(["order_id", "itemIds", "new_item_ids", "x"]), JSON))
def test_any_input_has_a_result_and_without_problems_it_is_valid(sent: Any) -> None:
    done = repair(sent, EXCHANGE)
    json.dumps(done.arguments, allow_nan=False)
    if not done.problems:
        jsonschema.validate(done.arguments, EXCHANGE)
    assert repair(done.arguments, EXCHANGE).arguments == done.arguments
    if done.arguments != sent:
        assert done.fixes or done.problems or sent in (None, "")


@given(right=st.fixed_dictionaries({"order_id": st.from_regex(r"#W\d+", fullmatch=True), "reason": st.just("x")}))
def test_arguments_that_fit_the_schema_are_never_changed(right: Any) -> None:
    assert repair(right, schema(order_id=TEXT, reason=TEXT)).fixes == ()
