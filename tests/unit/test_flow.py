"""Flows as classes: which methods are nodes, and what an approval is bound to."""

import pytest

from parley.flow import Flow, Node, NodeFailed, NodeRun, Outputs, State, node
from parley.protocol.flows import NodeSpec

VALUES: State = {"order": "#W1", "note": "ring twice", "weather": "fine"}


async def _nothing(_: NodeRun) -> Outputs:
    return {}


def send_node(effect: str) -> Node:
    spec = {"name": "send", "description": "Sends.", "inputs": ("order",), "optional": ("note", "card")}
    return Node(NodeSpec.model_validate(spec | {"effect": effect}), _nothing)


def test_the_approval_of_a_write_node_covers_its_inputs_and_optional_values() -> None:
    assert send_node("write").resolved(VALUES) == {"order": "#W1", "note": "ring twice"}


def test_a_node_whose_input_is_missing_fails() -> None:
    with pytest.raises(NodeFailed, match="send needs order"):
        send_node("write").resolved({"note": "ring twice"})


class Post(Flow):
    """Sends a letter."""

    name = "post"

    @node("Sends.", outputs=("sent",))
    async def send(self, run: NodeRun) -> Outputs:
        return {"sent": run.text("request")}


def test_a_subclass_can_override_a_node_of_its_base() -> None:
    class Express(Post):
        @node("Sends fast.", outputs=("sent",))
        async def send(self, run: NodeRun) -> Outputs:
            return {"sent": f"fast: {run.text('request')}"}

    assert [each.spec.description for each in Express().nodes()] == ["Sends fast."]


def test_a_method_that_overrides_a_node_without_the_decorator_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Express\.send takes the place of a node: put @node"):

        class Express(Post):
            async def send(self, run: NodeRun) -> Outputs:  # type: ignore[override]
                return {}
