"""One reading or none: a repair never turns a value into another one that the schema also allows."""

from typing import Any

import pytest

from shared.plan_checks.argument_values import value_problems
from shared.repair import repair
from shared.repair.schema import without_blanks


def one(**schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize(
    ("allowed", "sent"),
    [
        (["eq", "=", "in"], ">="),
        (["=", "in", "like"], "!="),
        (["contains", ">"], "<"),
        (["name", "date"], "-date"),
        (["UTC+1", "UTC+2"], "UTC-1"),
        (["UTC", "UTC+5"], "UTC-5"),
        ([1, 7, 30], -7),
        ([0, 1, 2], "-1"),
        ([15, 30], 1.5),
        (["1.0", "2.0"], "10"),
        (["10", "20"], "1.0"),
        (["C", "Java"], "C++"),
        (["C++", "Java"], "C"),
        (["A", "B"], "A-"),
        (["да", "no"], "нет"),
        (["完了"], "未完了"),
        (["上海", "other"], "北京"),
    ],
)
def test_a_value_that_is_none_of_the_allowed_ones_is_a_problem(allowed: list[Any], sent: Any) -> None:
    result = repair({"a": sent}, one(enum=allowed))
    assert (result.arguments["a"], len(result.problems)) == (sent, 1)


@pytest.mark.parametrize(
    ("allowed", "sent"),
    [
        ("no longer needed", "No longer needed."),
        ("no longer needed", "no_longer_needed"),
        ("no longer needed", "NoLongerNeeded"),
        ("V-1", "v1"),
        ("credit_card", "creditCard"),
        ("publié", "PUBLIÉ"),
        ("hoch", " Hoch "),
    ],
)
def test_another_spelling_of_an_allowed_value_is_that_value(allowed: str, sent: str) -> None:
    assert repair({"a": sent}, one(enum=["x", allowed])).arguments == {"a": allowed}


@pytest.mark.parametrize(
    "text", ['echo "hi"', 'grep -n "foo"', "[dbo].[orders]", "[bug] crash on start", "it's, 'he' said, \"x"]
)
def test_a_text_for_a_list_of_texts_keeps_its_brackets_and_quotes(text: str) -> None:
    items = repair({"a": text}, one(type="array", items={"type": "string"})).arguments["a"]
    assert items in ([text], text)


@pytest.mark.parametrize(
    ("form", "text"), [("password", " secret "), ("regex", '"[a-z]+"'), ("markdown", "# T\n\n"), ("sql", "SELECT 'x'")]
)
def test_only_formats_without_blanks_or_quotes_are_stripped(form: str, text: str) -> None:
    schema = one(type="string", format=form)
    assert repair({"a": text}, schema).arguments == {"a": text}
    assert value_problems({"a": text}, schema, "t") == ()
    assert repair({"a": " x@y.z "}, one(type="string", format="email")).arguments == {"a": "x@y.z"}


def test_the_field_itself_decides_whether_a_text_is_an_id() -> None:
    note = one(type="object", properties={"ids": {"type": "array", "items": one(type="string")}})
    sent: Any = {"a": {"ids": [{"a": "'quoted' "}]}}
    assert repair(sent, note).arguments == sent
    rows = {"type": "array", "items": {"type": "object", "properties": {"order_id": {"type": "string"}}}}
    assert repair({"a": [{"order_id": " #W1 "}]}, one(**rows)).arguments == {"a": [{"order_id": "#W1"}]}


DELETE = {"type": "object", "properties": {"kind": {"const": "delete"}, "path": {"type": "string"}}}
WRITE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"const": "write"},
        "path": {"type": "string"},
        "content": {"type": "array", "items": {"type": "string"}},
        "note": {"type": ["string", "null"]},
    },
}
WRITE_WITHOUT_NULL = {**WRITE, "properties": {**WRITE["properties"], "note": {"type": "string"}}}


@pytest.mark.parametrize("forms", [[DELETE, WRITE], [WRITE, DELETE]])
def test_the_constant_of_a_union_decides_its_form(forms: list[Any]) -> None:
    ops = {"type": "array", "items": {"anyOf": forms}}
    sent: Any = {"a": [{"kind": "write", "path": "p", "content": "one line"}]}
    assert repair(sent, one(**ops)).arguments == {"a": [{"kind": "write", "path": "p", "content": ["one line"]}]}


@pytest.mark.parametrize("schema", [{"const": "fast"}, {"oneOf": [{"const": "asc", "title": "up"}, {"const": "desc"}]}])
def test_a_constant_takes_nothing_else(schema: Any) -> None:
    assert repair({"a": None}, one(**schema)).arguments == {}
    assert value_problems({"a": "slow"}, one(**schema), "t")
    assert value_problems({"a": None}, one(enum=["x", "y"]), "t")


def test_the_form_of_a_constant_decides_about_null() -> None:
    other = {"type": "object", "properties": {"kind": {"const": "b"}, "note": {"type": ["string", "null"]}}}
    either = one(anyOf=[other, WRITE_WITHOUT_NULL])
    assert repair({"a": {"kind": "write", "note": None}}, either).arguments == {"a": {"kind": "write"}}
    assert repair({"a": {"kind": "b", "note": None}}, either).arguments == {"a": {"kind": "b", "note": None}}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"properties": {"kind": {}}, "if": {}, "then": {"properties": {"iban": {}}}}, {"kind": "iban", "iban": "DE1"}),
        ({"properties": {"kind": {}}, "dependentSchemas": {"kind": {}}}, {"kind": "x", "more": 1}),
        ({"type": "object"}, {"params": {"a": 1}}),
        ({"type": "object", "additionalProperties": True}, {"input": {"a": 1}}),
        ({"properties": {"tag": {}}, "additionalProperties": {"type": "string"}}, {"tags": "x"}),
        (one(type="array", prefixItems=[{"type": "string"}], items={"type": "number"}), {"a": ["5", 1]}),
        (one(type="array", prefixItems=[{"enum": ["and"]}], items={"type": "object"}), {"a": ["and", {"b": 1}]}),
        ({**one(type="string", nullable=True), "required": ["a"]}, {"a": None}),
        (without_blanks(one(type="string", enum=[])), {"a": "x"}),
    ],
)
def test_what_a_schema_allows_stays(schema: Any, arguments: Any) -> None:
    assert value_problems(arguments, schema, "t") == ()
    result = repair(arguments, schema)
    assert (result.arguments, result.problems) == (arguments, ())
