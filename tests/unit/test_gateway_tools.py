"""A person's own actions: what the tools say about them, what is refused, and where the answers end up."""

import time

import pytest
from pydantic import JsonValue

from parley.events.values import ToolPolicy
from parley.protocol.bounds import OwnAction
from parley.protocol.tools import ToolSpec
from services.gateway.tools import own_actions
from shared.domain.errors import Invalid
from shared.domain.session import Counts, Session

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
HERE = Session("s", counts=Counts(turns=3))


def _own(tool: str, **more: object) -> OwnAction:
    return OwnAction.model_validate({"tool": tool, "arguments": {"order_id": "#W1"}} | more)


def test_effect_and_policy_are_the_tools() -> None:
    (spec,) = own_actions([_own("cancel_order", text="Cancel it")], HERE, TOOLS)
    assert (spec.effect, spec.policy, spec.approval_reason, spec.description) == ("write", "always", None, "Cancel it")


def test_ids_are_made_where_there_are_none_and_never_twice() -> None:
    asked = [_own("find_order"), _own("find_order", id="4.1"), _own("cancel_order", depends_on=["4.1"])]
    specs = own_actions(asked, HERE, TOOLS)
    assert [spec.id for spec in specs] == ["4.2", "4.1", "4.3"]
    assert specs[2].depends_on == ("4.1",)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (_own("find_ordre"), "There is no tool find_ordre. Do you mean find_order"),
        (_own("find_order", arguments={}), "order_id"),
        (_own("find_order", arguments={"order_id": 1}), "order_id"),
        (_own("find_order", arguments={"order_id": "#W1", "colour": "red"}), "colour"),
        (_own("cancel_order", arguments={"order_id": "#W1", "reason": "Ordered by mistake"}), "reason"),
        (_own("cancel_all"), "must not be used"),
    ],
)
def test_nothing_else_than_what_was_sent_is_done(action: OwnAction, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        own_actions([action], HERE, TOOLS)


def test_a_tool_that_the_person_denied_in_this_session() -> None:
    with pytest.raises(Invalid, match="must not be used"):
        own_actions([_own("find_order")], Session("s", policies={"find_order": "deny"}), TOOLS)


def test_a_name_that_is_not_there_is_not_compared_with_all_that_a_server_can_think_of() -> None:
    """Five hundred long and similar names take three seconds to compare: there is no hint then."""
    many = {name: _tool(name) for name in (f"{'abc' * 30}{number}" for number in range(500))}
    began = time.process_time()
    with pytest.raises(Invalid, match=r"There is no tool [abc]+\.$"):
        own_actions([_own("abc" * 30)], HERE, many)
    assert time.process_time() - began < 0.5
