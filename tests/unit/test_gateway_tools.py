"""Actions that a user adds: effects and policies of their tools, ids, and refusals."""

import pytest
from pydantic import JsonValue

from parley.events.values import ToolPolicy
from parley.protocol.bounds import OwnAction
from parley.protocol.tools import ToolSpec
from services.gateway.messages.tools import own_actions
from shared.domain.kernel.errors import Invalid
from shared.domain.kernel.session import Counts, Session
from tests.support.cpu_time import takes_at_most

ORDER: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "reason": {"type": "string", "enum": ["ordered by mistake"]}},
    "required": ["order_id"],
    "additionalProperties": False,
}


def _tool(name: str, policy: ToolPolicy | None = None) -> ToolSpec:
    effect = "write" if name.startswith("cancel") else "read"
    return ToolSpec.model_validate(
        {"name": name, "description": "", "parameters": ORDER, "effect": effect, "policy": policy}
    )


TOOLS = {
    tool.name: tool for tool in (_tool("find_order"), _tool("cancel_order", "always"), _tool("cancel_all", "deny"))
}
SESSION = Session("s", counts=Counts(turns=3))


def _own_action(tool: str, **more: object) -> OwnAction:
    return OwnAction.model_validate({"tool": tool, "arguments": {"order_id": "#W1"}} | more)


def test_effect_and_policy_come_from_the_tool() -> None:
    (spec,) = own_actions([_own_action("cancel_order", text="Cancel it")], SESSION, TOOLS)
    assert (spec.effect, spec.policy, spec.approval_reason, spec.description) == ("write", "always", None, "Cancel it")


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (_own_action("find_ordre"), "There is no tool find_ordre. Do you mean find_order"),
        (_own_action("find_order", arguments={}), "order_id"),
        (_own_action("find_order", arguments={"order_id": 1}), "order_id"),
        (_own_action("find_order", arguments={"order_id": "#W1", "colour": "red"}), "colour"),
        (_own_action("cancel_order", arguments={"order_id": "#W1", "reason": "Ordered by mistake"}), "reason"),
        (_own_action("cancel_all"), "must not be used"),
    ],
)
def test_unknown_tools_and_invalid_arguments_are_refused(action: OwnAction, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        own_actions([action], SESSION, TOOLS)


def test_an_unknown_name_gets_no_suggestion_if_there_are_too_many_names() -> None:
    """Comparing five hundred long and similar names would take three seconds."""
    similar_tools = {name: _tool(name) for name in (f"{'abc' * 30}{number}" for number in range(500))}

    def refuse() -> None:
        with pytest.raises(Invalid, match=r"There is no tool [abc]+\.$"):
            own_actions([_own_action("abc" * 30)], SESSION, similar_tools)

    assert takes_at_most(1.5, refuse)
