"""Checks of a plan's arguments at every depth: fields, types, references, and texts that run as written."""

from typing import Any

import pytest

from parley.events.values import Step
from parley.protocol.templates import Parameter, Template, TemplateStep
from parley.protocol.tools import ToolSpec
from shared.plan_checks.argument_kinds import fill_arguments, reference_problems, without_weaker_kinds
from shared.plan_checks.argument_values import value_problems
from shared.plan_checks.steps import check_plan
from shared.templates.checks import template_problems

TICKET: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "priority": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "kind": {"enum": ["bug", "wish"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "address": {"$ref": "#/$defs/Address"},
        "more": {"type": "object"},
        "order_id": {"type": "string"},
    },
    "required": ["title"],
    "additionalProperties": False,
    "$defs": {"Address": {"type": "object", "properties": {"zip": {"type": "string"}}, "required": ["zip"]}},
}
TRIP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "currency": {"type": "string"},
        "price": {"type": "number"},
        "days": {"type": "integer"},
        "hotel": {"type": "object", "properties": {"name": {"type": "string"}}},
        "maybe": {"anyOf": [{"type": "object"}, {"type": "string"}]},
        "stops": {"type": "array", "items": {"type": "object", "properties": {"city": {"type": "string"}}}},
        "nothing": {"type": "null"},
        "anything": {},
    },
    "additionalProperties": False,
}
POLLS = {
    "type": "object",
    "properties": {
        "tool": {"type": "string"},
        "arguments": {"type": "object"},
        "condition": {"type": "string"},
        "every": {"type": "integer"},
        "at_most": {"type": "integer"},
    },
    "required": ["tool", "condition"],
    "additionalProperties": False,
}


def spec(name: str, parameters: dict[str, Any], **more: Any) -> ToolSpec:
    return ToolSpec(name=name, description="", parameters=parameters, effect=more.pop("effect", "read"), **more)


SQL: dict[str, Any] = {"type": "object", "properties": {"sql": {"type": "string"}, "limit": {"type": "integer"}}}
TOOLS = {
    each.name: each
    for each in (
        spec("open_ticket", TICKET, effect="write"),
        spec("trip", {"type": "object"}, returns=TRIP),
        spec("guess", {"type": "object"}),
        spec("poll", POLLS, waits_for="condition"),
        spec("query", SQL),
        spec("fetch", {"type": "object", "properties": {"where": {"format": "uri", "type": "string"}}}),
        spec("free", {"type": "object", "properties": {"query": {"type": "object"}}}),
        spec("put_away", {"type": "object"}, effect="write"),
    )
}
A = Step(id="a", text="Plan the trip", tool="trip", arguments={})
G = Step(id="g", text="Guess", tool="guess", arguments={})


def output(path: str, step: str = "a") -> str:
    return "{{steps." + step + ".output" + path + "}}"


def problems(arguments: dict[str, Any], *, each: str | None = None, tool: str = "open_ticket") -> tuple[str, ...]:
    step = Step(id="t", text="Do it", tool=tool, arguments=arguments, for_each=each)
    return check_plan((A, G, step), TOOLS).problems


# --- fields and types


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"title": "x", "nope": 1}, "Step 3 (t): the tool open_ticket has no argument “nope”."),
        ({"title": "x", "nope": output(".currency")}, "Step 3 (t): the tool open_ticket has no argument “nope”."),
        (
            {"titel": "x", "Title": output(".currency")},
            "Step 3 (t): the tool open_ticket has no argument “titel”. "
            "Step 3 (t): the tool open_ticket has no argument “Title”. Do you mean “title”?",
        ),
        ({}, "Step 3 (t): the tool open_ticket needs the argument “title”."),
        ({"title": 5}, "Step 3 (t), argument title: it must be a text, not 5."),
        ({"title": None}, "Step 3 (t), argument title: it must be a text, not null."),
        (
            {"title": output(".hotel")},
            f"Step 3 (t), argument title: it must be a text, and {output('.hotel')} is an object.",
        ),
        ({"title": output("")}, f"Step 3 (t), argument title: it must be a text, and {output('')} is an object."),
        (
            {"title": output(".stops")},
            f"Step 3 (t), argument title: it must be a text, and {output('.stops')} is a list.",
        ),
        (
            {"title": output(".days")},
            f"Step 3 (t), argument title: it must be a text, and {output('.days')} is a whole number.",
        ),
        (
            {"title": "x", "tags": [output(".currency"), output(".hotel")]},
            f"Step 3 (t), argument tags[1]: it must be a text, and {output('.hotel')} is an object.",
        ),
        (
            {"title": "x", "tags": output(".currency")},
            f"Step 3 (t), argument tags: it must be a list, and {output('.currency')} is a text.",
        ),
        (
            {"title": "x", "address": {"zip": output(".hotel")}},
            f"Step 3 (t), argument address.zip: it must be a text, and {output('.hotel')} is an object.",
        ),
        (
            {"title": "x", "address": {"zap": output(".currency")}},
            "Step 3 (t), argument address: it has no field “zap”. "
            "Step 3 (t), argument address: the field “zip” is missing.",
        ),
        (
            {"title": "x", "priority": output(".hotel")},
            f"Step 3 (t), argument priority: it must be a whole number, and {output('.hotel')} is an object.",
        ),
        ({"title": "x", "kind": "Bug"}, 'Step 3 (t), argument kind: it must be one of "bug", "wish", not "Bug".'),
        ({"title": "x", "order_id": " 'W1' "}, 'Step 3 (t), argument order_id: write "W1", without what is around it.'),
        (
            {"title": output(".nothing")},
            f"Step 3 (t), argument title: it must be a text, and {output('.nothing')} is null. "
            f"Step 3 (t): {output('.nothing')} is always null.",
        ),
    ],
)
def test_arguments_that_cannot_fit_are_refused_with_their_place(arguments: dict[str, Any], problem: str) -> None:
    assert " ".join(problems(arguments)) == problem


@pytest.mark.parametrize(
    "arguments",
    [
        {"title": output(".currency")},
        {"title": output(".maybe")},
        {"title": output(".anything")},
        {"title": output("", "g")},
        {"title": output(".x", "g")},
        {"title": f"In {output('.currency')} for {output('.days')} days"},
        {"title": "x", "priority": output(".days")},
        {"title": "x", "priority": output(".price")},
        {"title": "x", "priority": None},
        {"title": "x", "priority": output(".currency")},
        {"title": "x", "kind": output(".currency")},
        {"title": "x", "tags": [output(".currency")]},
        {"title": "x", "tags": output(".anything")},
        {"title": "x", "address": {"zip": output(".currency")}},
        {"title": "x", "address": output(".hotel")},
        {"title": "x", "more": {"a": {"b": [output("")]}}},
    ],
)
def test_arguments_that_may_fit_pass(arguments: dict[str, Any]) -> None:
    assert problems(arguments) == ()


def test_items_of_a_list_are_checked_as_what_they_are() -> None:
    stops = output(".stops")
    assert problems({"title": "{{item.city}}"}, each=stops) == ()
    (wrong,) = problems({"title": "{{item}}"}, each=stops)
    assert wrong == "Step 3 (t), argument title: it must be a text, and {{item}} is an object."


def test_a_schema_that_branches_at_every_level_is_checked_within_bounds() -> None:
    deep: dict[str, Any] = {
        "anyOf": [{"type": "object", "properties": {"next": {"$ref": "#"}, str(at): {}}} for at in range(50)]
    }
    value: dict[str, Any] = {}
    for _ in range(40):
        value = {"next": value, "x": 1}
    assert isinstance(value_problems({"next": value}, deep | {"properties": {"next": deep}}, "t"), tuple)


# --- texts that run as written


@pytest.mark.parametrize("name", ["SQL", "Sql", "sqlQuery", "SQLQuery", "raw-sql", "sql_text", "Code", "CODE"])
def test_names_of_sql_and_code_are_known_in_any_spelling(name: str) -> None:
    (wrong,) = reference_problems({"query": {name: output("")}}, TOOLS["free"].parameters)
    assert wrong.startswith(f"query.{name} is run as it is written")


@pytest.mark.parametrize("name", ["country_code", "codes", "sqlite_file", "url_path", "curl", "mysql"])
def test_names_of_other_words_are_those_of_texts(name: str) -> None:
    assert reference_problems({"query": {name: output("")}}, TOOLS["free"].parameters) == ()


def test_an_argument_that_is_declared_as_text_is_data_at_every_depth() -> None:
    schema: dict[str, Any] = {"properties": {"inputs": {"type": "object", "x-kind": "text"}}}
    arguments: dict[str, Any] = {"inputs": {"code": output(""), "sql": [output("")], "url": output("")}}
    assert reference_problems(arguments, schema) == ()
    assert fill_arguments(arguments, schema, {"a": "x"}) == {"inputs": {"code": "x", "sql": ["x"], "url": "x"}}
    external: Any = without_weaker_kinds(schema)
    assert len(reference_problems(arguments, external)) == 3


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"sql": {"$ref": "#/$defs/T"}}, "$defs": {"T": {"type": "string", "x-kind": "text"}}},
        {"properties": {"query": {"type": "object", "additionalProperties": {"x-kind": "text"}}}},
        {"properties": {"query": {"type": "object", "additionalProperties": {"x-kind": "url"}}}},
        {"properties": {"query": {"type": "object", "x-kind": "url"}}},
        {"properties": {"query": {"anyOf": [{"type": "object", "x-kind": "text"}]}}},
    ],
)
def test_an_external_schema_cannot_make_sql_data(schema: dict[str, Any]) -> None:
    safe: Any = without_weaker_kinds(schema)
    calls: tuple[dict[str, Any], ...] = ({"sql": output("")}, {"query": {"sql": output("")}})
    for arguments in calls:
        (wrong,) = reference_problems(arguments, safe)
        assert "run as it is written" in wrong


# --- parameters of templates


def template(tool: str, arguments: dict[str, Any]) -> Template:
    step = TemplateStep(id="s1", text="Do it", tool=tool, arguments=arguments)
    used = [Parameter(name="x")]
    return Template(name="T", goal="Do {{params.x}}", parameters=tuple(used), steps=(step,))


def polling(tool: str = "query", condition: str = "output == 1", **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments, "condition": condition}


X = "{{params.x}}"
AS_WRITTEN = "Step 1 (s1): {} runs exactly as written: it cannot contain a parameter."


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("query", {"sql": f"SELECT '{X}'"}, AS_WRITTEN.format("sql")),
        ("poll", polling(sql=f"SELECT '{X}'"), AS_WRITTEN.format("sql")),
        ("poll", polling(sql=X), AS_WRITTEN.format("sql")),
        ("poll", polling("guess", code=f"print('{X}')"), AS_WRITTEN.format("code")),
        ("poll", polling("guess", deep={"all": [{"sql": X}]}), AS_WRITTEN.format("deep.all[0].sql")),
        ("poll", polling("query", f"output == {X}"), AS_WRITTEN.format("condition")),
        ("poll", polling() | {"arguments": X}, AS_WRITTEN.format("arguments")),
        ("poll", polling(X), AS_WRITTEN.format("tool")),
        (
            "poll",
            polling("fetch", where=f"http://{X}/"),
            "Step 1 (s1): where: a parameter may not be a part of a URL's scheme or host.",
        ),
        ("poll", polling("query", nope=X), "Step 1 (s1): the tool query has no argument “nope”."),
        ("poll", polling("query", "output.x", limit=X), "is more than a condition may hold"),
        ("poll", polling("put_away", a=X), "Step 1 (s1): put_away does more than read: it cannot be polled."),
        ("free", {"query": {"sql": f"SELECT '{X}'"}}, AS_WRITTEN.format("query.sql")),
        (
            "fetch",
            {"where": f"http://{X}/"},
            "Step 1 (s1): where: a parameter may not be a part of a URL's scheme or host.",
        ),
    ],
)
def test_parameters_are_refused_where_a_direct_call_refuses_them(
    tool: str, arguments: dict[str, Any], problem: str
) -> None:
    (wrong,) = template_problems(template(tool, arguments), TOOLS)
    assert problem in wrong


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("poll", polling(sql="SELECT 1", limit=X)),
        ("poll", polling("fetch", where=f"http://a.example/{X}")),
        ("poll", polling("guess", a={"b": [X]}) | {"every": X}),
        ("free", {"query": {"name": X}}),
    ],
)
def test_parameters_may_stand_in_data(tool: str, arguments: dict[str, Any]) -> None:
    assert template_problems(template(tool, arguments), TOOLS) == ()


# --- policies of steps that poll


@pytest.mark.parametrize(
    ("own", "polled", "expected"),
    [
        (None, None, None),
        (None, "always", "always"),
        ("always", "never", "always"),
        (None, "never", None),
        ("deny", None, "deny"),
        ("writes", None, None),
    ],
)
def test_a_step_that_polls_has_the_stricter_policy(own: Any, polled: Any, expected: Any) -> None:
    tools = {
        "poll": TOOLS["poll"].model_copy(update={"policy": own}),
        "guess": TOOLS["guess"].model_copy(update={"policy": polled}),
    }
    (step,) = check_plan((Step(id="s1", text="Wait", tool="poll", arguments=polling("guess")),), tools).steps
    assert step.policy == expected
