"""Checks of a drafted execution plan against the available tools: the problems that block it, and the notes."""

from typing import Any

import pytest
from pydantic import BaseModel

from parley import Context, tool
from parley.events.values import Check, Step
from parley.protocol.tools import ToolSpec
from shared.domain.steps.references import Unresolved
from shared.plan_checks.argument_kinds import argument_kind_of, fill_arguments, reference_problems
from shared.plan_checks.steps import CHECK_NAMES, check_plan
from shared.repair.reader import outline

ANY: dict[str, Any] = {"type": "object"}


class Parcel(BaseModel):
    code: str
    weight: float | None = None


class Order(BaseModel):
    """`by_item` has any names."""

    id: str
    parcels: list[Parcel]
    by_item: dict[str, Parcel]
    note: str | int = ""


class Wanted(BaseModel):
    id: str


@tool()
async def look(query: Wanted, context: Context) -> Order:
    """Look an order up."""
    return Order(id=query.id, parcels=[], by_item={})


def spec(name: str, returns: dict[str, Any] | None = None, effect: Any = "read", **parameters: Any) -> ToolSpec:
    schema = {"type": "object", "properties": parameters} if parameters else ANY
    return ToolSpec(name=name, description="", parameters=schema, effect=effect, returns=returns)


TOOLS = {
    tool_spec.name: tool_spec
    for tool_spec in (
        look.spec("shop"),
        spec("guess"),
        spec("pair", {"type": "array", "prefixItems": [{"type": "string"}], "items": False}),
        spec("looped", {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}),
        spec("pay", effect="write"),
        ToolSpec(name="burn", description="", parameters=ANY, effect="irreversible", policy="deny"),
    )
}
LOOK = Step(id="s1", text="Look order 1 up", tool="look", arguments={"id": "1"})


def step(name: str, value: Any, *, number: int = 2, each: str | None = None) -> Step:
    return Step(id=f"s{number}", text="Go on", tool=name, arguments={"x": value}, for_each=each)


def checks_of(*steps: Step, **more: Any) -> dict[str, Check]:
    return {check.name: check for check in check_plan(steps, TOOLS, **more).checks}


# --- references


@pytest.mark.parametrize("path", ["", ".id", ".parcels", ".parcels[3].code", ".by_item.a-1.weight", ".note"])
def test_a_reference_to_a_declared_output_passes(path: str) -> None:
    steps = (LOOK, step("guess", "{{steps.s1.output" + path + "}}"))
    assert check_plan(steps, TOOLS).problems == ()
    assert checks_of(*steps)["references"] == Check(name="references", ok=True)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (".colour", "step s1 (look) has no “colour”, only id, parcels, by_item, note."),
        (".parcels[0].size", "has no “size”, only code, weight."),
        (".id[0]", "has a text where [0] wants a list."),
        (".parcels.code", "has a list where “code” would be."),
        (".by_item.a.code.x", "has a text where “x” would be."),
        (".by_item[1]", "has an object where [1] wants a list."),
    ],
)
def test_a_reference_to_a_missing_output_names_the_step_and_its_outputs(path: str, words: str) -> None:
    reference = "{{steps.s1.output" + path + "}}"
    (problem,) = check_plan((LOOK, step("guess", reference)), TOOLS).problems
    assert problem.startswith(f"Step 2 (s2): {reference}")
    assert problem.endswith(words)


def test_a_reference_to_a_list_cannot_stand_within_a_text() -> None:
    (problem,) = check_plan((LOOK, step("guess", "All: {{steps.s1.output.parcels}}")), TOOLS).problems
    assert "stands for several values, which cannot be put into a text" in problem
    assert check_plan((LOOK, step("guess", "It is {{steps.s1.output.note}}")), TOOLS).problems == ()


def test_a_reference_to_an_undeclared_output_is_a_note() -> None:
    guess = Step(id="s1", text="Guess", tool="guess", arguments={})
    steps = (guess, step("guess", ["{{steps.s1.output.a}}", "{{steps.s1.output[0]}}", "{{steps.s1.output.a}}"]))
    assert check_plan(steps, TOOLS).problems == ()
    note = checks_of(*steps)["references"]
    assert note.ok is None
    assert note.detail == (
        "Step 2 (s2): {{steps.s1.output.a}}, {{steps.s1.output[0]}} can only be checked when the plan runs: "
        "no tool declares what is there."
    )
    assert checks_of(guess, step("guess", "{{steps.s1.output}}"))["references"].ok is True


def test_a_polling_steps_output_is_the_polled_tools() -> None:
    poll_tool = ToolSpec(name="poll", description="Polls", parameters={"type": "object"}, effect="read")
    tools = {**TOOLS, "poll": poll_tool.model_copy(update={"waits_for": "condition", "returns": {"type": "string"}})}
    arguments = {"tool": "look", "arguments": {"id": "p1"}, "condition": "note"}
    polling_step = Step(id="s1", text="Wait", tool="poll", arguments=arguments, waits_for="condition")
    assert check_plan((polling_step, step("guess", "{{steps.s1.output.parcels[0].code}}")), tools).problems == ()
    (wrong,) = check_plan((polling_step, step("guess", "{{steps.s1.output.colour}}")), tools).problems
    assert "has no “colour”, only id, parcels, by_item, note." in wrong
    (denied,) = check_plan((polling_step,), tools, allowed=("poll",)).problems
    assert denied == "Step 1 (s1): look is not among the tools that this plan may use: poll."


def test_a_for_each_step_is_checked_against_its_list() -> None:
    each = "{{steps.s1.output.parcels}}"
    assert check_plan((LOOK, step("guess", "{{item.code}}", each=each)), TOOLS).problems == ()
    (wrong,) = check_plan((LOOK, step("guess", "{{item.size}}", each=each)), TOOLS).problems
    assert wrong == "Step 2 (s2): {{item.size}}: the item has no “size”, only code, weight."
    (none,) = check_plan((LOOK, step("guess", "{{item}}", each="{{steps.s1.output.id}}")), TOOLS).problems
    assert none == "Step 2 (s2): {{steps.s1.output.id}} is a text, and no list."
    unknown = checks_of(step("guess", 1, number=1), step("guess", "{{item.a}}", each="{{steps.s1.output.list}}"))
    assert unknown["references"].ok is None


def test_a_for_each_steps_output_is_a_list() -> None:
    look_each = step("look", 1, each="{{steps.s1.output.parcels}}").model_copy(
        update={"arguments": {"id": "{{item.code}}"}}
    )
    assert check_plan((LOOK, look_each, step("guess", "{{steps.s2.output[0].id}}", number=3)), TOOLS).problems == ()
    (wrong,) = check_plan((LOOK, look_each, step("guess", "{{steps.s2.output.id}}", number=3)), TOOLS).problems
    assert wrong.endswith("step s2 (look) has a list where “id” would be.")
    guess_each = step("guess", "{{item}}", each="{{steps.s1.output.parcels}}")
    assert check_plan((LOOK, guess_each, step("guess", "{{steps.s2.output.x}}", number=3)), TOOLS).problems != ()


def test_lists_of_fixed_length_and_schemas_that_refer_to_themselves() -> None:
    pair = Step(id="s1", text="Two", tool="pair", arguments={})
    assert check_plan((pair, step("guess", "{{steps.s1.output[0]}}")), TOOLS).problems == ()
    (short,) = check_plan((pair, step("guess", "{{steps.s1.output[1]}}")), TOOLS).problems
    assert short.endswith("has a list that is too short for [1].")
    looped = Step(id="s1", text="Round", tool="looped", arguments={})
    assert check_plan((looped, step("guess", "{{steps.s1.output" + ".next" * 30 + "}}")), TOOLS).problems == ()
    assert check_plan((looped, step("guess", "{{steps.s1.output.next.last}}")), TOOLS).problems != ()


def test_unusual_schemas_are_checked_cheaply_and_block_only_certain_errors() -> None:
    part = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    null: dict[str, Any] = {"type": "null"}
    deep: dict[str, Any] = {"$ref": "#/$defs/A"}
    schemas: list[tuple[dict[str, Any], int]] = [
        ({"allOf": [part]}, 1),
        ({"allOf": [part, {"required": ["a"]}]}, 1),
        ({"anyOf": [part, null]}, 1),
        ({"anyOf": [part, {}]}, 0),
        ({"anyOf": [part] * 101}, 0),
        (deep | {"$defs": {"A": {"anyOf": [deep, deep]}}}, 0),
        ({"$ref": "#/$defs/B"}, 0),
        ({"anyOf": [{"type": "object", "properties": {"b": {"$ref": "#"}}}] * 50}, 0),
        (null, 1),
    ]
    for schema, wrong in schemas:
        tools = TOOLS | {"guess": TOOLS["guess"].model_copy(update={"returns": schema})}
        first = Step(id="s1", text="Guess", tool="guess", arguments={})
        reference = "{{steps.s1.output.b" + ".b" * 20 + "}}"
        assert len(check_plan((first, step("guess", reference)), tools).problems) == wrong, schema


def test_the_prompt_outlines_a_results_shape() -> None:
    returns = TOOLS["look"].returns
    assert returns
    parcel = {"code": "string", "weight": "number"}
    assert outline(returns, returns) == {
        "id": "string",
        "parcels": [parcel],
        "by_item": {"*": parcel},
        "note": "string",
    }
    looped = TOOLS["looped"].returns or {}
    assert outline(looped, looped) == {"next": {"next": {"next": {"next": {"next": "object"}}}}}
    wide: dict[str, Any] = {"type": "object", "properties": {f"p{number}": {"$ref": "#"} for number in range(500)}}
    assert len(str(outline(wide, wide))) < 100_000
    assert outline({}, {}) == "any"


# --- where references are allowed


@pytest.mark.parametrize(
    ("name", "schema", "kind"),
    [
        ("sql", {}, "sql"),
        ("code", {}, "code"),
        ("url", {}, "url"),
        ("picture_url", {}, "url"),
        ("where", {"format": "uri"}, "url"),
        ("statement", {"x-kind": "sql"}, "sql"),
        ("script", {"contentMediaType": "text/x-python"}, "code"),
        ("code", {"x-kind": "text"}, "text"),
        ("code", {"x-kind": ["text"]}, "code"),
        ("text", {}, "text"),
    ],
)
def test_argument_kinds_are_declared_or_inferred_from_names(name: str, schema: dict[str, Any], kind: str) -> None:
    assert argument_kind_of(name, schema) == kind


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({"sql": "SELECT {{steps.s1.output}}"}, "sql"),
        ({"many": [{"statement": "{{steps.s1.output}}"}]}, "many[0].statement"),
        ({"url": "{{steps.s1.output.url}}"}, "url"),
        ({"url": "https://{{steps.s1.output}}/a"}, "url"),
        ({"url": "{{steps.s1.output}}://a.example/"}, "url"),
        ({"url": "https://a.example:{{steps.s1.output}}/"}, "url"),
        ({"url": "https://a.example\\{{steps.s1.output}}/"}, "url"),
        ({"url": "//{{steps.s1.output}}/x"}, "url"),
    ],
)
def test_references_are_refused_in_code_and_hosts(arguments: dict[str, Any], where: str) -> None:
    item_schema: dict[str, Any] = {"type": "object", "properties": {"statement": {"x-kind": "sql"}}}
    list_schema: dict[str, Any] = {"type": "array", "items": {"$ref": "#/$defs/One"}}
    schema: dict[str, Any] = {"type": "object", "properties": {"many": list_schema}, "$defs": {"One": item_schema}}
    (wrong,) = reference_problems(arguments, schema)
    assert wrong.startswith(where)
    with pytest.raises(Unresolved, match="reference may stand"):
        fill_arguments(arguments, schema, {"s1": {"url": "http://10.0.0.1"}})


def test_values_in_a_url_stay_within_its_path_or_query() -> None:
    url = "https://a.example/orders/{{steps.s1.output.id}}/x?q={{steps.s1.output.q}}#{{steps.s1.output.n}}"
    outputs: dict[str, Any] = {"s1": {"id": "#W1/../../admin?x", "q": "a&b=ü", "n": 7}}
    assert reference_problems({"url": url}, ANY) == ()
    assert fill_arguments({"url": url, "text": "{{steps.s1.output.id}}"}, ANY, outputs) == {
        "url": "https://a.example/orders/%23W1%2F..%2F..%2Fadmin%3Fx/x?q=a%26b%3D%C3%BC#7",
        "text": "#W1/../../admin?x",
    }


@pytest.mark.parametrize(
    ("segment", "value"), [("{{item}}", ".."), ("{{item}}", "."), (".{{item}}", "."), ("%2{{item}}%2e", "e")]
)
def test_a_value_that_would_change_a_url_s_path_is_refused(segment: str, value: str) -> None:
    with pytest.raises(Unresolved, match="would lead to another path"):
        fill_arguments({"url": f"https://a.example/x/{segment}/y"}, ANY, {"": value})


# --- all checks of a draft


def test_a_valid_plan_passes_every_check() -> None:
    plan = check_plan((LOOK,), TOOLS)
    assert plan.checks == tuple(Check(name=name, ok=True) for name in CHECK_NAMES)
    assert (plan.steps[0].effect, plan.steps[0].fingerprint) == ("read", TOOLS["look"].fingerprint)


def test_an_invalid_plan_has_blocking_problems_and_notes() -> None:
    steps = (
        Step(id="s1", text="look", tool="look", arguments={}),
        Step(id="s2", text="Pay", tool="pay", arguments={"sum": 1}),
        Step(id="s3", text="P" * 301, tool="pay", arguments={"sum": 1}, after=("s9",)),
        Step(id="s4", text="Fly", tool="fly"),
        Step(id="s5", text="Burn it", tool="burn"),
    )
    checks = checks_of(*steps)
    assert {name: check.ok for name, check in checks.items()} == {
        "steps": False,
        "tools": False,
        "arguments": False,
        "references": True,
        "changes": None,
        "descriptions": None,
    }
    assert checks["steps"].detail == "Step 3 (s3) depends on s9, which is not a step of the plan."
    assert checks["tools"].detail.splitlines() == [
        "Step 4 (s4): there is no tool “fly” here.",
        "Step 5 (s5): burn must not be used here.",
    ]
    assert checks["arguments"].detail == "Step 1 (s1): the tool look needs the argument “id”."
    assert checks["changes"].detail == "Step 3 (s3): it makes the very change that s2 makes, once more."
    assert checks["descriptions"].detail.splitlines() == [
        "Step 1 (s1): no words say what it is for.",
        "Step 3 (s3): it takes 301 characters to say what it is for: is it one step?",
    ]
    assert len(check_plan(steps, TOOLS).problems) == 4


def test_long_plans_get_a_note_and_long_lists_of_findings_are_cut() -> None:
    steps = [LOOK.model_copy(update={"id": f"n{number}"}) for number in range(31)]
    assert checks_of(*steps)["steps"].ok is None
    assert checks_of(*steps[:30])["steps"].ok is True
    unknown_tools = [LOOK.model_copy(update={"id": f"n{number}", "tool": "x" * 400}) for number in range(100)]
    limited = checks_of(*unknown_tools, allowed=[f"{number}{'y' * 400}" for number in range(30)])["tools"]
    assert len(limited.detail) <= 20_000
    assert limited.detail.splitlines()[-1].startswith("… and ")


def test_a_fingerprint_covers_what_a_call_does() -> None:
    same = TOOLS["look"].model_copy(update={"description": "Other words", "returns": None, "policy": "always"})
    assert same.fingerprint == TOOLS["look"].fingerprint
    assert TOOLS["look"].model_copy(update={"effect": "write"}).fingerprint != same.fingerprint
    assert TOOLS["look"].model_copy(update={"parameters": ANY}).fingerprint != same.fingerprint
