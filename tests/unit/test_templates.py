"""Templates: parameters filled in, what is wrong with them in words, made from plans and learned from sessions."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec, Outcome, PathPlan, Step
from parley.protocol.templates import ChosenValue, Parameter, Template, TemplateStep
from parley.protocol.tools import ToolSpec
from shared.domain.errors import Invalid
from shared.plan_checks.steps import step_problems
from shared.templates.checks import fingerprints_of, form_problems, template_problems
from shared.templates.filling import filled
from shared.templates.learning import learned
from shared.templates.making import Wanted, candidates, made_from

AT = datetime(2026, 3, 1, tzinfo=UTC)


def tool(name: str, effect: Any = "read", **properties: Any) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return ToolSpec(name=name, description="", parameters=schema, effect=effect)


REASON = {"type": "string", "enum": ["no longer needed", "ordered by mistake"]}
TOOLS = {
    one.name: one
    for one in (
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


def arguments(made: Template, **values: Any) -> Any:
    return filled(made, values).steps[0].arguments  # type: ignore[union-attr]


def test_a_chosen_value_becomes_a_parameter_wherever_it_stands_and_in_the_words() -> None:
    chosen = (ChosenValue(name="order", value="#W1"), ChosenValue(name="why", value="no longer needed", required=True))
    made = made_from("Cancel #W1", STEPS, Wanted(parameters=chosen), TOOLS)
    assert made.goal == "Cancel {{params.order}}"
    assert made.steps[1].text == "Cancel {{params.order}}, not #W12"
    assert made.steps[1].arguments == {"order_id": "{{params.order}}", "reason": "{{params.why}}"}
    assert made.parameters == (
        Parameter(name="order", json_schema={"type": "string"}, default="#W1", required=False),
        Parameter(name="why", json_schema=REASON, required=True),
    )
    plan = filled(made, {"order": "#W2", "why": "ordered by mistake"})
    assert plan.goal == "Cancel #W2"
    assert [step.arguments for step in plan.steps if isinstance(step, Step)] == [
        {"order_id": "#W2"},
        {"order_id": "#W2", "reason": "ordered by mistake"},
    ]
    assert step_problems([one for one in plan.steps if isinstance(one, Step)], TOOLS) == ()
    assert template_problems(made, TOOLS, fingerprints_of(made, TOOLS)) == ()


def test_the_values_that_can_become_parameters_are_each_listed_once_with_a_name_of_its_own() -> None:
    steps = (
        *STEPS,
        Step(id="s3", text="Ask", tool="ask", arguments={"sql": "SELECT 1", "order_id": "{{steps.s1.output}}"}),
        Step(id="s4", text="Send", tool="send", arguments={"to": [{"order_id": "#W2", "2 lines": 5}], "note": ""}),
    )
    assert [(one.name, one.value, one.argument, one.steps) for one in candidates(steps, TOOLS)] == [
        ("order_id", "#W1", "order_id", ("s1", "s2")),
        ("reason", "no longer needed", "reason", ("s2",)),
        ("order_id_2", "#W2", "order_id", ("s4",)),
        ("lines", 5, "2 lines", ("s4",)),
    ]
    for one in candidates(STEPS, TOOLS):
        made = made_from("Do it", STEPS, Wanted(parameters=(ChosenValue(name=one.name, value=one.value),)), TOOLS)
        assert [parameter.name for parameter in made.parameters] == [one.name]


def test_a_value_can_be_chosen_in_one_step_or_argument_only() -> None:
    here = ChosenValue(name="order", value="#W1", step="s2", argument="order_id")
    made = made_from("Cancel #W1", STEPS, Wanted("Cancel", "For orders", (here,)), TOOLS)
    assert (made.name, made.description) == ("Cancel", "For orders")
    assert [step.arguments["order_id"] for step in made.steps] == ["#W1", "{{params.order}}"]
    assert [step.text for step in made.steps] == ["Look #W1 up", "Cancel {{params.order}}, not #W12"]


def test_a_value_that_may_be_null_has_the_type_that_it_has_otherwise() -> None:
    steps = (Step(id="s1", text="Count", tool="count", arguments={"n": 5}),)
    made = made_from("Count", steps, Wanted(parameters=(ChosenValue(name="n", value=5),)), TOOLS)
    assert made.parameters[0].json_schema == {"type": "integer", "maximum": 50}
    assert (arguments(made), arguments(made, n="7")) == ({"n": 5}, {"n": 7})


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        (ChosenValue(name="order", value="#W9"), "no argument of the plan is '#W9'"),
        (ChosenValue(name="order", value="#W1", step="s9"), "no argument of the plan"),
        (ChosenValue(name="n", value=True), "no argument of the plan"),
    ],
)
def test_what_is_no_value_of_the_plan_is_no_parameter(chosen: ChosenValue, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        made_from("Cancel", STEPS, Wanted(parameters=(chosen,)), TOOLS)


def test_sql_and_code_have_no_parameters() -> None:
    steps = (Step(id="s1", text="Ask", tool="query", arguments={"sql": "SELECT 1", "limit": 3}),)
    with pytest.raises(Invalid, match="no argument"):
        made_from("Ask", steps, Wanted(parameters=(ChosenValue(name="q", value="SELECT 1"),)), TOOLS)
    found = template_problems(
        template({"sql": "SELECT {{params.q}}", "limit": 1}, Parameter(name="q"), name="query"), TOOLS
    )
    assert found == ("Step 1 (s1): sql is run as it is written: no parameter may stand in it.",)


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (template({"order_id": "{{params.who}}"}), "There is no parameter who"),
        (template({"order_id": "{{params.}}"}), "which is no reference"),
        (template({"{{params.a}}": 1}, Parameter(name="a")), "which is no reference"),
        (template({"order_id": "x"}, name="lo{{params.a}}ok"), "no reference may stand in the name of a tool"),
        (template({"order_id": "x"}, Parameter(name="a"), Parameter(name="a")), "Two parameters have the name a"),
        (template({"order_id": "x"}, Parameter(name="a", json_schema={"type": "txt"})), "Parameter a: its schema"),
        (template({"order_id": "x"}, Parameter(name="a", json_schema={"type": "integer"}, default="b")), "its default"),
        (template({"order_id": "x"}, Parameter(name="a", default="{{steps.s1.output}}")), "its default: no reference"),
        (template({"url": "http://{{params.a}}/x"}, Parameter(name="a"), name="fetch_url"), "scheme or host"),
        (template({"url": "{{params.a}}/x"}, Parameter(name="a"), name="fetch_url"), "scheme or host"),
        (template({"order_id": "{{steps.s9.output}}"}), "depends on s9"),
    ],
)
def test_what_is_wrong_with_a_template_is_said(made: Template, problem: str) -> None:
    assert any(problem in one for one in form_problems(made)), form_problems(made)
    with pytest.raises(Invalid):
        filled(made, {"a": "b", "who": "c"} if "who" not in problem else {})


def test_a_tool_that_is_gone_or_takes_something_else_makes_a_draft_of_it() -> None:
    made = template({"order_id": "{{params.a}}"}, Parameter(name="a"))
    known = fingerprints_of(made, TOOLS)
    assert template_problems(made, {}, known) == ("Step 1 (s1): there is no tool “look” here.",)
    other = {"look": tool("look", order={"type": "string"})}
    found = template_problems(made, other, known)
    assert "Step 1 (s1): look has no argument order_id." in found
    assert "look has changed since the template was saved: look at its steps, and save the template again." in found
    assert template_problems(made, TOOLS, known) == ()
    assert "order_id must be" in template_problems(template({"order_id": [1, 2]}), TOOLS)[0]


def test_values_keep_their_types_and_are_spelled_in_texts() -> None:
    held = {"alone": "{{ params.a }}", "in": ["x {{params.b}}"], "deep": {"list": ["{{params.c}}"]}}
    made = template(held, *(Parameter(name=name) for name in "abc"))
    assert arguments(made, a=[1, {"x": None}], b=2.5, c=True) == {
        "alone": [1, {"x": None}],
        "in": ["x 2.5"],
        "deep": {"list": [True]},
    }
    with pytest.raises(Invalid, match="b stands inside a text"):
        arguments(made, a=1, b=[1], c=1)


def test_what_an_optional_parameter_would_be_is_left_out_and_a_missing_one_is_named() -> None:
    made = template(
        {"order_id": "{{params.a}}", "x": "{{params.b}}"}, Parameter(name="a"), Parameter(name="b", required=False)
    )
    assert arguments(made, a="1") == {"order_id": "1"}
    with pytest.raises(Invalid, match="a is missing"):
        arguments(made)
    with pytest.raises(Invalid, match=r"There is no parameter z\. This template's are: a, b\."):
        arguments(made, a="1", z=1)
    inside = template({"order_id": "# {{params.b}}"}, Parameter(name="b", required=False))
    with pytest.raises(Invalid, match="b has no value"):
        arguments(inside)


def test_a_value_is_no_reference_and_stays_in_its_place_of_a_url() -> None:
    made = template({"order_id": "{{params.a}}"}, Parameter(name="a"))
    for value in ("{{steps.s1.output}}", ["{{x"], {"{{y": 1}):
        with pytest.raises(Invalid, match="no reference may stand in it"):
            arguments(made, a=value)
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
def test_what_is_filled_with_the_defaults_is_the_plan_it_was_made_from(values: dict[str, Any]) -> None:
    steps = (Step(id="s1", text="Do it", tool="look", arguments=values),)
    chosen = [
        ChosenValue(name=f"p{number}", value=value, argument=name)
        for number, (name, value) in enumerate(values.items())
        if value is not None
    ]
    made = made_from("Do it", steps, Wanted(parameters=chosen), {})
    assert len(made.parameters) == len(chosen)
    assert arguments(made) == values


def turn(number: int, *specs: ActionSpec) -> SessionEvent:
    told: dict[str, Any] = {"id": f"x:{number}", "session_id": "x", "version": number, "at": AT, "actor": "planner"}
    return facts.TurnPlanned(**told, turn=number, sub_goal="Go on", actions=specs)


def ended(number: int, *outcomes: Outcome) -> SessionEvent:
    told: dict[str, Any] = {"id": f"x:{number}", "session_id": "x", "version": number, "at": AT, "actor": "executor"}
    return facts.ActionsFinished(**told, outcomes=outcomes)


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


def test_a_session_is_learned_as_a_plan_whose_values_refer_to_what_gave_them() -> None:
    wanted = Wanted("Cancel one", "", (ChosenValue(name="email", value="tara@example.com", required=True),))
    made = learned(JOURNAL, "Cancel the second order", wanted, TOOLS)
    assert [(step.id, step.tool, step.arguments, step.after) for step in made.steps] == [
        ("s1", "find", {"email": "{{params.email}}"}, ()),
        ("s2", "look", {"order_id": "{{steps.s1.output.orders[1]}}"}, ("s1",)),
        # what the tool lists is said, not found
        ("s3", "cancel", {"order_id": "{{steps.s1.output.orders[1]}}", "reason": "no longer needed"}, ("s2",)),
        ("s4", "find", {"email": "tara_foster_42"}, ("s3",)),  # three outputs have it
        ("s5", "count", {"n": 2}, ("s3",)),  # too little to be found again
    ]
    assert learned(JOURNAL, "Cancel the second order", wanted, TOOLS) == made
    assert template_problems(made, TOOLS) == ()
    assert filled(made, {"email": "a@b.c"}).goal == "Cancel the second order"


def test_nodes_of_a_path_are_not_learned_whoever_planned_it() -> None:
    path = PathPlan(nodes=("f.ask",))
    told: dict[str, Any] = {"session_id": "x", "at": AT, "actor": "planner"}
    steps = (Step(text="Ask", tool="f.ask"),)
    drafted = facts.PlanDrafted(id="x:1", version=1, **told, kind="path", goal="Ask", steps=steps, path=path)
    edited = facts.PlanEdited(id="x:2", version=2, **told, base_version=1, goal="Ask", steps=steps)
    approved: dict[str, Any] = {
        "id": "x:3",
        "version": 3,
        "plan_version": 2,
        "hash": "",
        "turn": 1,
        "actions": (spec("1.1", "f.ask"),),
    }
    walked = facts.PlanApproved(**told, **approved)
    planned = turn(2, spec("2.1", "f.ask")).model_copy(update={"path": path})
    over = ended(6, *(Outcome(action_id=one, ok=True) for one in ("1.1", "2.1")))
    call = (turn(3, spec("3.1", "look", order_id="#W1")), ended(8, Outcome(action_id="3.1", ok=True)))
    made = learned([drafted, edited, walked, planned, over, *call], "Look", Wanted(), TOOLS)
    assert [step.tool for step in made.steps] == ["look"]


def test_of_a_session_without_calls_nothing_is_learned() -> None:
    with pytest.raises(Invalid, match="nothing to learn"):
        learned([turn(1, spec("1.1", "find", email="x"))], "Ask", Wanted(), TOOLS)
    with pytest.raises(Invalid, match="a plan in words"):
        made_from("Ask", (Step(id="s1", text="Think"),), Wanted(), TOOLS)
