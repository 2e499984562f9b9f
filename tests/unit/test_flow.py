"""Flows as classes: which methods are nodes, and what an approval is bound to."""

import pytest

from parley.flow import Flow, Node, NodeFailed, NodeRun, Outputs, State, node
from parley.protocol.flows import NodeSpec

VALUES: State = {"order": "#W1", "note": "ring twice", "weather": "fine"}


async def _nothing(_: NodeRun) -> Outputs:
    return {}


def described(effect: str) -> Node:
    spec = {"name": "send", "description": "Sends.", "inputs": ("order",), "optional": ("note", "card")}
    return Node(NodeSpec.model_validate(spec | {"effect": effect}), _nothing)


def test_a_yes_to_a_change_is_bound_to_every_value_that_the_node_takes() -> None:
    assert described("write").resolved(VALUES) == {"order": "#W1", "note": "ring twice"}


def test_of_a_node_that_reads_its_inputs_are_shown() -> None:
    assert described("read").resolved(VALUES) == {"order": "#W1"}


def test_a_node_without_an_input_cannot_be_shown() -> None:
    with pytest.raises(NodeFailed, match="send needs order"):
        described("write").resolved({"note": "ring twice"})


class Post(Flow):
    """Sends a letter."""

    name = "post"

    @node("Sends.", outputs=("sent",))
    async def send(self, run: NodeRun) -> Outputs:
        return {"sent": run.text("request")}


def test_a_subclass_s_node_takes_the_place_of_its_base_s() -> None:
    class Express(Post):
        @node("Sends fast.", outputs=("sent",))
        async def send(self, run: NodeRun) -> Outputs:
            return {"sent": f"fast: {run.text('request')}"}

    assert [one.spec.description for one in Express().nodes()] == ["Sends fast."]


def test_a_method_that_hides_a_node_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Express\.send takes the place of a node: put @node"):

        class Express(Post):
            async def send(self, run: NodeRun) -> Outputs:  # type: ignore[override]
                return {}


def test_a_node_cannot_have_the_name_of_something_that_every_flow_has() -> None:
    with pytest.raises(TypeError, match=r"Odd\.spec cannot be a node"):

        class Odd(Flow):
            @node("Specifies.")
            async def spec(self, run: NodeRun) -> Outputs:  # type: ignore[override]
                return {}


def test_a_node_can_say_that_it_has_no_proposal_of_its_own() -> None:
    class Shy(Flow):
        @node("Asks.", proposes=False)
        async def ask(self, run: NodeRun) -> Outputs:
            return {}

    assert [one.proposes for one in Shy().nodes()] == [False]
