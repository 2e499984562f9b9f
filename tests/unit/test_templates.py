"""Templates: filling them with values, checking them, and making them from plans and sessions."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec, Outcome, PathPlan, Step
from parley.protocol.templates import ChosenValue, Parameter, Template, TemplateStep
from parley.protocol.tools import ToolSpec
from shared.domain.kernel.errors import Invalid
from shared.plan_checks.steps import check_plan
from shared.templates.checks import fill_template, fingerprints_of, template_form_problems, template_problems
from shared.templates.from_session import steps_from_session
from shared.templates.from_steps import parameter_candidates, template_from_steps

AT = datetime(2026, 3, 1, tzinfo=UTC)


def tool(name: str, effect: Any = "read", **properties: Any) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return ToolSpec(name=name, description="", parameters=schema, effect=effect)


REASON = {"type": "string", "enum": ["no longer needed", "ordered by mistake"]}
TOOLS = {
    item.name: item
    for item in (
        tool("find", email={"type": "string", "description": "As they wrote it"}),
        tool("look", order_id={"type": "string"}),
        tool("cancel", "write", order_id={"type": "string"}, reason=REASON),
        tool("count", n={"anyOf": [{"type": "integer", "maximum": 50}, {"type": "null"}]}),
        tool("query", sql={"type": "string"}, limit={"type": "integer"}),
        tool("fetch_url", url={"type": "string"}),
    )
}
STEPS = (
    Step(id="s1", text="Look #W1 up", tool="look", arguments={"order_id": "#W1"}),
    Step(
        id="s2", text="Cancel #W1, not #W12", tool="cancel", arguments={"order_id": "#W1", "reason": "no longer needed"}
    ),
)


def template(arguments: dict[str, Any], *parameters: Parameter, name: str = "look", **more: Any) -> Template:
    step = TemplateStep(id="s1", text="Do it", tool=name, arguments=arguments)
    return Template(name="Mine", goal="Do it", parameters=parameters, steps=(step,), **more)


def arguments(subject: Template, **values: Any) -> Any:
    return fill_template(subject, values).steps[0].arguments  # type: ignore[union-attr]


def test_a_chosen_value_becomes_a_parameter_in_arguments_and_texts() -> None:
    chosen = (ChosenValue(name="order", value="#W1"), ChosenValue(name="why", value="no longer needed", required=True))
    result = template_from_steps("Cancel #W1", STEPS, TOOLS, parameters=chosen)
    assert result.goal == "Cancel {{params.order}}"
    assert result.steps[1].text == "Cancel {{params.order}}, not #W12"
    assert result.steps[1].arguments == {"order_id": "{{params.order}}", "reason": "{{params.why}}"}
    assert result.parameters == (
        Parameter(name="order", json_schema={"type": "string"}, default="#W1", required=False),
        Parameter(name="why", json_schema=REASON, required=True),
    )
    plan = fill_template(result, {"order": "#W2", "why": "ordered by mistake"})
    assert plan.goal == "Cancel #W2"
    assert [step.arguments for step in plan.steps if isinstance(step, Step)] == [
        {"order_id": "#W2"},
        {"order_id": "#W2", "reason": "ordered by mistake"},
    ]
    assert check_plan([step for step in plan.steps if isinstance(step, Step)], TOOLS).problems == ()
    assert template_problems(result, TOOLS, fingerprints_of(result, TOOLS)) == ()


def test_parameter_candidates_are_listed_once_with_unique_names() -> None:
    steps = (
        *STEPS,
        Step(id="s3", text="Ask", tool="ask", arguments={"sql": "SELECT 1", "order_id": "{{steps.s1.output}}"}),
        Step(id="s4", text="Send", tool="send", arguments={"to": [{"order_id": "#W2", "2 lines": 5}], "note": ""}),
    )
    assert [
        (candidate.name, candidate.value, candidate.argument, candidate.steps)
        for candidate in parameter_candidates(steps, TOOLS)
    ] == [
        ("order_id", "#W1", "order_id", ("s1", "s2")),
        ("reason", "no longer needed", "reason", ("s2",)),
        ("order_id_2", "#W2", "order_id", ("s4",)),
        ("lines", 5, "2 lines", ("s4",)),
    ]
    for candidate in parameter_candidates(STEPS, TOOLS):
        result = template_from_steps(
            "Do it", STEPS, TOOLS, parameters=(ChosenValue(name=candidate.name, value=candidate.value),)
        )
        assert [parameter.name for parameter in result.parameters] == [candidate.name]


def test_a_value_can_be_chosen_in_one_step_or_argument_only() -> None:
    chosen = ChosenValue(name="order", value="#W1", step="s2", argument="order_id")
    result = template_from_steps(
        "Cancel #W1", STEPS, TOOLS, name="Cancel", description="For orders", parameters=(chosen,)
    )
    assert (result.name, result.description) == ("Cancel", "For orders")
    assert [step.arguments["order_id"] for step in result.steps] == ["#W1", "{{params.order}}"]
    assert [step.text for step in result.steps] == ["Look #W1 up", "Cancel {{params.order}}, not #W12"]


def test_a_nullable_value_keeps_its_other_type() -> None:
    steps = (Step(id="s1", text="Count", tool="count", arguments={"n": 5}),)
    result = template_from_steps("Count", steps, TOOLS, parameters=(ChosenValue(name="n", value=5),))
    assert result.parameters[0].json_schema == {"type": "integer", "maximum": 50}
    assert (arguments(result), arguments(result, n="7")) == ({"n": 5}, {"n": 7})


@pytest.mark.parametrize(
    ("chosen", "reason"),
    [
        (ChosenValue(name="order", value="#W9"), "no argument of the plan is '#W9'"),
        (ChosenValue(name="order", value="#W1", step="s9"), "no argument of the plan"),
        (ChosenValue(name="n", value=True), "no argument of the plan"),
    ],
)
def test_only_values_of_the_plan_become_parameters(chosen: ChosenValue, reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        template_from_steps("Cancel", STEPS, TOOLS, parameters=(chosen,))


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        (template({"order_id": "{{params.who}}"}), "There is no parameter who"),
        (template({"order_id": "{{params.}}"}), "which is not a reference"),
        (template({"{{params.a}}": 1}, Parameter(name="a")), "which is not a reference"),
        (template({"order_id": "x"}, name="lo{{params.a}}ok"), "the name of a tool cannot contain a reference"),
        (template({"order_id": "x"}, Parameter(name="a"), Parameter(name="a")), "Two parameters have the name a"),
        (template({"order_id": "x"}, Parameter(name="a", json_schema={"type": "txt"})), "Parameter a: its schema"),
        (template({"order_id": "x"}, Parameter(name="a", json_schema={"type": "integer"}, default="b")), "its default"),
        (
            template({"order_id": "x"}, Parameter(name="a", default="{{steps.s1.output}}")),
            "its default: it cannot contain a reference",
        ),
        (template({"url": "http://{{params.a}}/x"}, Parameter(name="a"), name="fetch_url"), "scheme or host"),
        (template({"url": "{{params.a}}/x"}, Parameter(name="a"), name="fetch_url"), "scheme or host"),
        (template({"order_id": "{{steps.s9.output}}"}), "depends on s9"),
    ],
)
def test_problems_of_a_template_are_reported(subject: Template, problem: str) -> None:
    assert any(problem in text for text in template_form_problems(subject)), template_form_problems(subject)
    with pytest.raises(Invalid):
        fill_template(subject, {"a": "b", "who": "c"} if "who" not in problem else {})


def test_a_missing_or_changed_tool_is_reported() -> None:
    result = template({"order_id": "{{params.a}}"}, Parameter(name="a"))
    fingerprints = fingerprints_of(result, TOOLS)
    assert template_problems(result, {}, fingerprints) == ("Step 1 (s1): there is no tool “look” here.",)
    changed_tools = {"look": tool("look", order={"type": "string"})}
    problems = template_problems(result, changed_tools, fingerprints)
    assert "Step 1 (s1): the tool look has no argument “order_id”." in problems
    assert "look has changed since the template was saved: look at its steps, and save the template again." in problems
    assert template_problems(result, TOOLS, fingerprints) == ()
    assert "argument order_id: it must be a text" in template_problems(template({"order_id": [1, 2]}), TOOLS)[0]


def test_values_keep_their_types_and_are_converted_in_texts() -> None:
    used_parameters = {"alone": "{{ params.a }}", "in": ["x {{params.b}}"], "deep": {"list": ["{{params.c}}"]}}
    result = template(used_parameters, *(Parameter(name=name) for name in "abc"))
    assert arguments(result, a=[1, {"x": None}], b=2.5, c=True) == {
        "alone": [1, {"x": None}],
        "in": ["x 2.5"],
        "deep": {"list": [True]},
    }
    with pytest.raises(Invalid, match="b is used inside a text"):
        arguments(result, a=1, b=[1], c=1)


def test_an_unset_optional_parameter_is_omitted_and_a_missing_one_is_an_error() -> None:
    result = template(
        {"order_id": "{{params.a}}", "x": "{{params.b}}"}, Parameter(name="a"), Parameter(name="b", required=False)
    )
    assert arguments(result, a="1") == {"order_id": "1"}
    with pytest.raises(Invalid, match="a is missing"):
        arguments(result)
    with pytest.raises(Invalid, match=r"There is no parameter z\. This template's are: a, b\."):
        arguments(result, a="1", z=1)
    inside_text = template({"order_id": "# {{params.b}}"}, Parameter(name="b", required=False))
    with pytest.raises(Invalid, match="b has no value"):
        arguments(inside_text)


def test_a_value_cannot_contain_references_or_change_other_parts_of_a_url() -> None:
    result = template({"order_id": "{{params.a}}"}, Parameter(name="a"))
    for value in ("{{steps.s1.output}}", ["{{x"], {"{{y": 1}):
        with pytest.raises(Invalid, match="cannot contain a reference"):
            arguments(result, a=value)
    address = template({"url": "https://a.example/orders/{{params.a}}?n=1"}, Parameter(name="a"), name="fetch_url")
    assert arguments(address, a="../x?y#z") == {"url": "https://a.example/orders/..%2Fx%3Fy%23z?n=1"}
    whole = template({"url": "{{params.a}}"}, Parameter(name="a"), name="fetch_url")
    assert arguments(whole, a="https://b.example/") == {"url": "https://b.example/"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["order_id", "x", "y"]), JSON.filter(lambda v: "{{" not in str(v)), min_size=1))
def test_filling_with_the_defaults_gives_the_original_plan(values: dict[str, Any]) -> None:
    steps = (Step(id="s1", text="Do it", tool="look", arguments=values),)
    chosen = [
        ChosenValue(name=f"p{number}", value=value, argument=name)
        for number, (name, value) in enumerate(values.items())
        if value is not None
    ]
    result = template_from_steps("Do it", steps, {}, parameters=chosen)
    assert len(result.parameters) == len(chosen)
    assert arguments(result) == values


def turn(number: int, *specs: ActionSpec) -> SessionEvent:
    fields: dict[str, Any] = {"id": f"x:{number}", "session_id": "x", "version": number, "at": AT, "actor": "planner"}
    return facts.TurnPlanned(**fields, turn=number, sub_goal="Go on", actions=specs)


def ended(number: int, *outcomes: Outcome) -> SessionEvent:
    fields: dict[str, Any] = {"id": f"x:{number}", "session_id": "x", "version": number, "at": AT, "actor": "executor"}
    return facts.ActionsFinished(**fields, outcomes=outcomes)


def spec(id_: str, name: str, effect: Any = "read", **given: Any) -> ActionSpec:
    return ActionSpec(id=id_, tool=name, arguments=given, effect=effect, description=f"Call {name}")


JOURNAL = [
    turn(1, spec("1.1", "find", email="tara@example.com")),
    ended(2, Outcome(action_id="1.1", ok=True, result={"user": "tara_foster_42", "orders": ["#W1", "#W2"], "n": 2})),
    turn(2, spec("2.1", "look", order_id="#W2"), spec("2.2", "look", order_id="#W9")),
    ended(4, Outcome(action_id="2.2", ok=False, error="no such order")),
    ended(
        5, Outcome(action_id="2.1", ok=True, result={"id": "x", "reason": "no longer needed", "user": "tara_foster_42"})
    ),
    turn(3, spec("3.1", "cancel", "write", order_id="#W2", reason="no longer needed")),
    ended(7, Outcome(action_id="3.1", ok=True, result={"user": "tara_foster_42"})),
    turn(4, spec("4.1", "find", email="tara_foster_42"), spec("4.2", "count", n=2)),
    ended(9, Outcome(action_id="4.1", ok=True, result=[]), Outcome(action_id="4.2", ok=True, result=None)),
]


def test_a_session_becomes_a_template_with_references_to_outputs() -> None:
    email = ChosenValue(name="email", value="tara@example.com", required=True)
    steps = steps_from_session(JOURNAL, TOOLS, [email.value])
    result = template_from_steps("Cancel the second order", steps, TOOLS, parameters=(email,))
    assert [(step.id, step.tool, step.arguments, step.after) for step in result.steps] == [
        ("s1", "find", {"email": "{{params.email}}"}, ()),
        ("s2", "look", {"order_id": "{{steps.s1.output.orders[1]}}"}, ("s1",)),
        # "reason" stays: it is a listed choice of the tool, not a result of an earlier step
        ("s3", "cancel", {"order_id": "{{steps.s1.output.orders[1]}}", "reason": "no longer needed"}, ("s2",)),
        ("s4", "find", {"email": "tara_foster_42"}, ("s3",)),  # three outputs contain the value: none is chosen
        ("s5", "count", {"n": 2}, ("s3",)),  # too small a number to match with an output
    ]
    assert template_problems(result, TOOLS) == ()
    assert fill_template(result, {"email": "a@b.c"}).goal == "Cancel the second order"


def test_the_nodes_of_a_path_do_not_become_steps_of_a_template() -> None:
    path = PathPlan(nodes=("f.ask",))
    fields: dict[str, Any] = {"session_id": "x", "at": AT, "actor": "planner"}
    ask = (Step(text="Ask", tool="f.ask"),)
    drafted = facts.PlanDrafted(id="x:1", version=1, **fields, kind="path", goal="Ask", steps=ask, path=path)
    edited = facts.PlanEdited(id="x:2", version=2, **fields, base_version=1, goal="Ask", steps=ask)
    approval: dict[str, Any] = {
        "id": "x:3",
        "version": 3,
        "plan_version": 2,
        "hash": "",
        "turn": 1,
        "actions": (spec("1.1", "f.ask"),),
    }
    plan_approved = facts.PlanApproved(**fields, **approval)
    planned = turn(2, spec("2.1", "f.ask")).model_copy(update={"path": path})
    finished = ended(6, *(Outcome(action_id=action_id, ok=True) for action_id in ("1.1", "2.1")))
    call = (turn(3, spec("3.1", "look", order_id="#W1")), ended(8, Outcome(action_id="3.1", ok=True)))
    steps = steps_from_session([drafted, edited, plan_approved, planned, finished, *call], TOOLS)
    assert [step.tool for step in steps] == ["look"]


def test_a_session_without_calls_gives_no_template() -> None:
    with pytest.raises(Invalid, match="nothing to learn"):
        steps_from_session([turn(1, spec("1.1", "find", email="x"))], TOOLS)
    with pytest.raises(Invalid, match="a text plan has none"):
        template_from_steps("Ask", (Step(id="s1", text="Think"),), TOOLS)
