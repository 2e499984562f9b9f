"""Flows in YAML: the four kinds of nodes, error messages for invalid files, and the flow that ships."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from flows.graph_checks import BadFlow
from flows.loading import SHIPPED
from flows.yaml_flow import YamlFlow
from parley.flow import NodeFailed, Outputs, ToolAnswer
from shared.flows import full_path
from tests.support.flows import Walker

GARDEN = """
name: garden
description: What to do in the garden.
starts: [request]
nodes:
  read_bed:
    description: Reads which bed is meant, and whether it is dry.
    inputs: [request]
    optional: [feedback]
    prompt: Which bed does the <request> mean?
    outputs: {bed: text, dry: boolean, plants: list, litres: number, kind: "one of [roses, herbs]"}
    next: [look, ask_bed]
    conditions: {ask_bed: not bed}
  ask_bed:
    description: Asks which bed.
    ask: Which bed?
    options: [north, south]
    otherwise: north
    outputs: {bed: text}
    next: [look]
  look:
    description: Looks the bed up.
    inputs: [bed]
    optional: [kind]
    tool:
      - {tool: by_bed, arguments: {bed: $bed}}
      - {tool: by_kind, arguments: {kind: $kind, price: $$5}}
    outputs: {found: any, first: text, problem: text}
    takes: {first: plants.0.name}
    trouble: problem
    next: [water, done]
    conditions: {done: problem}
  water:
    description: Waters the bed.
    inputs: [bed, found]
    tool: water_bed
    arguments: {bed: $bed, names: $found.plants.name, deep: {twice: $found.plants.1.name}}
    outputs: {watered: any}
    effect: write
    confirm: water is dear
    next: [done]
  done:
    description: Is done.
    set: {answer: Done., count: 3}
"""


@pytest.fixture
def garden(tmp_path: Path) -> YamlFlow:
    return written(tmp_path, GARDEN)


def written(folder: Path, text: str) -> YamlFlow:
    path = folder / "garden.yaml"
    path.write_text(text)
    return YamlFlow(path)


def test_a_valid_file_becomes_a_flow(garden: YamlFlow) -> None:
    spec = garden.spec()
    assert full_path(spec) == ("read_bed", "look", "water", "done")
    ask_bed, water = spec.node("ask_bed"), spec.node("water")
    assert ask_bed
    assert ask_bed.asks
    assert water
    assert (water.effect, water.confirm, water.outputs) == ("write", "water is dear", ("watered",))


async def test_a_prompt_node_calls_the_model_with_its_inputs_and_rules(garden: YamlFlow) -> None:
    reply = {"bed": "north", "dry": True, "plants": ["a", 1], "litres": 2, "kind": "roses"}
    walker = Walker(garden, {"outputs": reply})
    assert await walker.run("read_bed", {"request": "Water it"}) == reply
    [prompt] = walker.prompts
    assert prompt.task == "garden.read_bed"
    assert prompt.sections == {"request": "Water it", "feedback": None}
    assert "Which bed does the <request> mean?" in prompt.rules
    assert (
        "Reply with the kind outputs: analysis (one or two sentences), outputs (an object of bed (text), dry (boolean)"
        in prompt.rules
    )


@pytest.mark.parametrize(
    "wrong", [{"kind": "trees"}, {"bed": 1}, {"dry": "perhaps"}, {"plants": "a"}, {"litres": "two"}, {"more": 1}]
)
async def test_a_reply_that_does_not_match_the_outputs_is_refused(garden: YamlFlow, wrong: dict[str, Any]) -> None:
    reply = {"bed": "north", "dry": True, "plants": [], "litres": 2, "kind": "roses"} | wrong
    with pytest.raises(ValidationError):
        await Walker(garden, reply).run("read_bed", {"request": "x"})


async def test_the_answer_to_a_question_is_the_node_s_output(garden: YamlFlow) -> None:
    ask_bed = garden.node("ask_bed")
    assert ask_bed
    assert ask_bed.asks
    assert ask_bed.proposes
    assert await ask_bed.asks({}) == ("Which bed?", ("north", "south"), None)
    assert await Walker(garden).run("ask_bed", {}, answer="south") == {"bed": "south"}
    assert await Walker(garden).run("ask_bed", {}) == {"bed": "north"}


async def test_a_node_uses_the_first_tool_that_has_its_arguments_and_succeeds(garden: YamlFlow) -> None:
    bed = '{"plants": [{"name": "rose"}, {"name": "mint"}]}'

    async def look(state: Outputs, **answers: ToolAnswer) -> tuple[Outputs, list[str]]:
        walker = Walker(garden, tools={name: lambda _=name, **__: answers[_] for name in answers})
        return await walker.run("look", state), [name for name, _, _ in walker.calls]

    good, bad = ToolAnswer(ok=True, value=bed), ToolAnswer(ok=False, error="Error: none")
    result, calls = await look({"bed": "north", "kind": "roses"}, by_bed=good)
    assert calls == ["by_bed"]
    assert result["first"] == "rose"
    assert isinstance(result["found"], dict)
    assert (await look({"bed": "north", "kind": "roses"}, by_bed=bad, by_kind=good))[1] == ["by_bed", "by_kind"]
    assert (await look({"bed": "", "kind": "roses"}, by_kind=good))[1] == ["by_kind"]
    none = {"found": None, "first": None, "problem": "Error: none"}
    assert await look({"bed": "north"}, by_bed=bad) == (none, ["by_bed"])
    assert (await look({"bed": ""}))[1] == []


async def test_each_of_several_tools_gets_only_its_own_of_the_approved_arguments(garden: YamlFlow) -> None:
    node = garden.node("look")
    assert node
    state: Outputs = {"bed": "north", "kind": "roses"}
    walker = Walker(garden, tools={"by_bed": lambda **_: ToolAnswer(ok=True, value="[]")})
    await walker.run("look", state, arguments=node.resolved(state) | {"more": 1})
    assert walker.calls == [("by_bed", {"bed": "north"}, "")]


async def test_a_write_runs_with_the_approved_arguments(garden: YamlFlow) -> None:
    water = garden.node("water")
    assert water
    state: Outputs = {"bed": "north", "found": {"plants": [{"name": "rose"}, {"name": "mint"}]}}
    resolved = water.resolved(state)
    assert resolved == {"bed": "north", "names": ["rose", "mint"], "deep": {"twice": "mint"}}
    walker = Walker(garden, tools={"water_bed": lambda **_: ToolAnswer(ok=True, value="wet")})
    assert await walker.run("water", state | {"bed": "south"}, arguments=resolved) == {"watered": "wet"}
    assert walker.calls == [("water_bed", resolved, "")]
    with pytest.raises(NodeFailed, match="nothing says what its names is"):
        water.resolved({"bed": "north", "found": None})


async def test_a_refused_write_fails_its_node(garden: YamlFlow) -> None:
    tools = {"water_bed": lambda **_: ToolAnswer(ok=False, error="The tap is shut.", unknown=True)}
    with pytest.raises(NodeFailed, match="The tap is shut") as failed:
        await Walker(garden, tools=tools).run("water", {}, arguments={"bed": "north"})
    assert failed.value.unknown


NODE = "name: g\ndescription: G.\nnodes:\n  a:\n    description: A.\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [", "cannot be read as YAML"),
        ("- a", "Write name, description and nodes at the left margin."),
        ("name: g\nname: h", "“name” occurs twice, in line 2"),
        ("description: G.\nnodes: {}", "name: this is missing."),
        ("name: g\ndescription: G.\nnodes: {}", "nodes: Dictionary should have at least 1 item"),
        ("name: g\nmood: good\ndescription: G.\nnodes: {a: {description: A., set: {}}}", "mood: there is no such key"),
        (NODE, "node a: give exactly one of prompt, tool, ask, set; it has none."),
        (NODE + "    prompt: x\n    ask: y", "it has prompt and ask."),
        (
            NODE + "    set: {}\n    promt: x",
            "node a, promt: there is no such key; the keys are description, title, inputs",
        ),
        (NODE + "    prompt: x", "node a: say under “outputs” what the model is to reply."),
        (NODE + "    prompt: x\n    outputs: {b: string}", "b is “string”; say text, number, boolean, list, any"),
        (NODE + "    prompt: x\n    outputs: [b]", "node a, outputs: Input should be a valid dictionary."),
        (NODE + "    prompt: x\n    next: b\n    outputs: {b: text}", "node a, next: Input should be a valid list."),
        (
            NODE + "    prompt: 3\n    outputs: {b: text}",
            "node a, prompt: Input should be a valid string: put it in quotes.",
        ),
        (NODE + "    ask: x\n    outputs: {b: text, c: text}", "the answer goes to exactly one output, a text."),
        (NODE + "    set: {b: 1}\n    outputs: {b: number}", "what is set are its outputs"),
        (NODE + "    set: {b: 1}\n    arguments: {}", "“arguments” belongs to a node with “tool”."),
        (NODE + "    set: {b: 1}\n    effect: write", "only a node with “tool” can have the effect write."),
        (
            NODE + "    set: {b: 1}\n    effect: big",
            "node a, effect: Input should be 'read', 'write' or 'irreversible'.",
        ),
        (NODE + "    tool: t", "the tool's result goes to exactly one output"),
        (NODE + "    tool: t\n    outputs: {b: any}\n    trouble: c", "c must be among the outputs."),
        (NODE + "    tool: t\n    outputs: {b: any}\n    arguments: {x: $y}", "its arguments use y: name them under"),
        (NODE + "    tool: []\n    outputs: {b: any}", "there is at least one."),
        (NODE + "    tool: [{tol: t}]\n    outputs: {b: any}", "there is no such key"),
        (NODE + "    tool: t\n    outputs: {b: any, c: text}\n    trouble: c\n    effect: write", "no “trouble”"),
        (NODE + "    set: {b: 1}\n    next: [z]", "a leads to “z”, which is no node."),
        ("name: g\ndescription: G.\nnodes: {a.b: {description: A., set: {}}}", "“a.b” is no name for a node"),
    ],
)
def test_the_error_for_an_invalid_file_says_what_to_do(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadFlow) as bad:
        written(tmp_path, text)
    assert message in str(bad.value)
    assert len(str(bad.value)) < 800


LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{after}: &{after} [{','.join([f'*{name}'] * 10)}]\n" for name, after in pairwise("abcdefghi")
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "more than 5,000 values, each alias counted as what it stands for, in line 4"),
        ("a:\n  b: &b [*b]", "“b” is inside of itself, in line 2"),
        ("a: &a {<<: *a}", "“a” is inside of itself"),
        ("\n" + "[" * 5_000, "more than 40 levels of lists and objects, in line 2"),
        (f"a: [{'x,' * 6_000}]", "more than 5,000 values"),
        (f"a: {'x' * 250_000}", "more than 200,000 bytes"),
        (f"name: {'1' * 6_000}", "this number cannot be kept exactly: round it, or put it in quotes, in line 1"),
    ],
)
def test_a_file_that_expands_beyond_the_limits_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """The error names the line. The loader checks before it builds any value: LAUGHS stands for a billion."""
    (tmp_path / "broken.yaml").write_text(text)
    with pytest.raises(BadFlow, match=f"“broken.yaml” cannot be used: .*{message}"):
        YamlFlow(tmp_path / "broken.yaml")


def test_a_small_alias_is_allowed(tmp_path: Path) -> None:
    shared = GARDEN.replace("starts: [request]", "starts: [&r request]").replace("inputs: [request]", "inputs: [*r]")
    (tmp_path / "f.yaml").write_text(shared)
    assert YamlFlow(tmp_path / "f.yaml").name == "garden"


def test_a_small_mapping_can_be_merged(tmp_path: Path) -> None:
    flow = written(
        tmp_path,
        "name: g\ndescription: G.\nnodes:\n  a: &a {description: A., set: {b: 1}, next: [c]}\n"
        "  c: {<<: *a, title: C, next: []}",
    )
    [_, merged] = flow.spec().nodes
    assert (merged.title, merged.description, merged.outputs) == ("C", "A.", ("b",))


def test_the_flow_that_ships_is_triage_of_complaints() -> None:
    flow = YamlFlow(SHIPPED / "complaint_triage.yaml")
    path = ("classify_complaint", "find_customer", "read_order", "assess", "cancel_order", "write_reply")
    assert full_path(flow.spec()) == path
    writes = [node.name for node in flow.spec().nodes if node.effect != "read"]
    assert writes == ["cancel_order", "return_items"]
    order: Any = {"items": [{"item_id": "1"}, {"item_id": "2"}], "payment_history": [{"payment_method_id": "card_1"}]}
    return_items = flow.node("return_items")
    assert return_items
    resolved = return_items.resolved({"order_id": "#W1", "order": order, "item_ids": ["2"]})
    assert resolved == {"order_id": "#W1", "item_ids": ["2"], "payment_method_id": "card_1"}
