"""Checks of flows when they are loaded: each kind of mistake is reported, and all of a flow's at once."""

from typing import Any

import pytest

from flows.graph_checks import BadFlow, check
from flows.loading import Flows
from parley.flow import Flow, NodeRun, Outputs, node
from parley.protocol.flows import FlowSpec, NodeSpec
from shared.flows import full_path


def step(name: str, *following: str, **more: Any) -> NodeSpec:
    return NodeSpec(**{"name": name, "description": f"Does {name}.", "possible_next_nodes": following} | more)


def flow(*nodes: NodeSpec, **more: Any) -> FlowSpec:
    return FlowSpec(**{"name": "shop", "description": "A shop.", "nodes": nodes} | more)


def problems(spec: FlowSpec) -> str:
    with pytest.raises(BadFlow) as bad:
        check(spec)
    return str(bad.value)


def test_a_valid_flow_passes() -> None:
    look = step("look", "buy", "leave", inputs=("request",), outputs=("price",), conditions={"leave": "price > 10"})
    check(flow(look, step("buy", inputs=("price",)), step("leave", "look")))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (flow(), "It has 0 nodes"),
        (flow(*(step(f"n{k}") for k in range(61))), "It has 61 nodes"),
        (flow(step("a", "b")), "a leads to “b”, which is no node."),
        (
            flow(step("a", conditions={"b": "x"})),
            "a has a condition for “b”, which is not among its possible next nodes.",
        ),
        (flow(step("a", "b"), step("a"), step("b")), "Two nodes are named “a”: rename one."),
        (flow(step("a"), step("b")), "No way leads from a to b."),
        (flow(step("a", inputs=("price",))), "a needs price, which neither a node before it makes"),
        (flow(step("a", "b", inputs=("price",)), step("b", outputs=("price",))), "a needs price"),
        (flow(step("a", optional=("price",))), "a would take price, which no node makes."),
        (flow(step("a", "b"), step("b", "a")), "It has no end"),
        (flow(step("a", "b", "c"), step("b"), step("c", "d"), step("d", "c")), "No way leads out of c, d to an end."),
        (
            flow(step("a", "b", conditions={"b": "len(x)"}), step("b")),
            "The condition of a for b cannot be used: “len(x)”",
        ),
        (
            flow(step("a", "b", conditions={"b": "mood"}), step("b")),
            "The condition of a for b uses mood, which no node",
        ),
        (flow(step("a.b")), "“a.b” is no name for a node"),
        (flow(step("a"), name="shop.two"), "“shop.two” is no name for a flow"),
        (flow(step("person")), "“person” cannot name a node: it stands for what a person sets."),
        (flow(step("a", outputs=("next",))), "“next” cannot name a value"),
        (flow(step("a", outputs=("not-a-name",))), "“not-a-name” is no name for a value"),
        (flow(step("a", description=" ")), "a has no description"),
        (flow(step("a"), description=""), "It has no description"),
        (flow(step("a", asks=True, effect="write")), "a asks, so it can neither be confirmed nor change anything"),
        (flow(step("a", asks=True, confirm="look")), "a asks, so it can neither"),
    ],
)
def test_each_kind_of_mistake_is_reported(spec: FlowSpec, message: str) -> None:
    assert message in problems(spec)


def test_all_mistakes_are_reported_at_once() -> None:
    result = problems(flow(step("a", "nowhere", inputs=("x",)), step("b", optional=("y",))))
    assert all(part in result for part in ("nowhere", "a needs x", "b would take y", "No way leads from a to b"))
    assert result.startswith("The flow “shop” cannot be used: ")


class Base(Flow):
    name = "greet"
    description = "Greets."

    @node("Greets.", inputs=("request",), outputs=("greeting",), possible_next_nodes=("part",))
    async def greet(self, run: NodeRun) -> Outputs:
        return {"greeting": f"Hello {run.text('request')}"}

    @node("Says good-bye.", outputs=("answer",))
    async def part(self, run: NodeRun) -> Outputs:
        return {"answer": f"{run.text('greeting')}, bye"}


class Polite(Base):
    @node("Greets politely.", inputs=("request",), outputs=("greeting",), possible_next_nodes=("part",))
    async def greet(self, run: NodeRun) -> Outputs:
        return {"greeting": "Good day"}


def test_the_nodes_of_a_python_flow_are_its_methods() -> None:
    check(Polite().spec())
    assert [node.name for node in Polite().spec().nodes] == ["greet", "part"]
    assert full_path(Polite().spec()) == ("greet", "part")
    result = Polite().node("greet")
    assert result
    assert result.spec.description == "Greets politely."
    assert Polite().node("none") is None


MODULE = """
from parley.flow import Flow
from parley.flow import node

class Mine(Flow):
    name = "mine"
    description = "Mine."

    @node("Answers.", outputs=("answer",))
    async def answer(self, run):
        return {"answer": "42"}
"""
YAML = "name: small\ndescription: Small.\nnodes:\n  a: {description: A., set: {answer: ready}}\n"


def test_a_broken_file_in_the_folder_does_not_affect_other_flows(tmp_path: Any) -> None:
    (tmp_path / "a_broken.yaml").write_text("name: [")
    (tmp_path / "b_mine.py").write_text(MODULE)
    (tmp_path / "c_raises.py").write_text("raise OSError('no disk')")
    (tmp_path / "d_exits.py").write_text("raise SystemExit(3)")
    (tmp_path / "d_small.yml").write_text(YAML)
    (tmp_path / "e_again.yaml").write_text(YAML)
    (tmp_path / "f_empty.py").write_text("x = 1\n")
    (tmp_path / "notes.txt").write_text("no flow")
    flows = Flows([Base()], tmp_path)
    assert [item.name for item in flows.all()] == ["greet", "complaint_triage", "mine", "small"]
    broken, raises, exits, again, empty = flows.troubles
    assert "a_broken.yaml" in broken
    assert "cannot be read as YAML" in broken
    assert "c_raises.py: OSError: no disk" in raises
    assert "d_exits.py: SystemExit: 3" in exits
    assert "There is a flow of this name already" in again
    assert "f_empty.py" in empty
    assert "defines no subclass" in empty


def test_a_missing_folder_is_reported(tmp_path: Any) -> None:
    flows = Flows([], tmp_path / "none")
    assert [item.name for item in flows.all()] == ["complaint_triage"]
    assert "PARLEY_FLOWS_DIR" in flows.troubles[0]


def test_the_full_path_visits_each_node_of_a_loop_once() -> None:
    nodes = (("round", ("again",)), ("again", ("round", "out")), ("out", ()))
    flow = FlowSpec(
        name="loopy",
        description="Goes round.",
        nodes=tuple(NodeSpec(name=name, description=name, possible_next_nodes=after) for name, after in nodes),
    )
    assert full_path(flow) == ("round", "again", "out")
    assert full_path(flow, "again") == ("again", "out")
    endless = flow.model_copy(update={"nodes": flow.nodes[:1]})
    assert full_path(endless) == ("round",)
