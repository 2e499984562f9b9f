"""One example of each message of the WebSocket: a client's checked by the protocol, a server's made by the gateway."""

import json
from typing import Any

from parley.protocol import server as s
from parley.protocol.client import CLIENT_MESSAGES
from parley.protocol.server import SERVER_MESSAGES
from scripts.gen_story import ID, stories
from services.gateway.trouble import as_trouble, error_message
from services.gateway.views import derive, messages, screen
from shared.domain.errors import Stale
from shared.domain.workflows import WORKFLOWS

CLIENT: dict[str, dict[str, Any]] = {
    "user_message": {"content": "Help me create a simple calculator", "id": "m1"},
    "approval": {"approved": True, "version": 7, "hash": "…", "id": "m2"},
    "feedback": {"content": "Add a step to write a short help text"},
    "replan": {"plan_type": "text"},
    "edit": {"target": "plan", "version": 3, "steps": ["Read two numbers", "Add them", "Print the sum"]},
    "question": {"content": "No", "question_id": "request-29"},
    "answer": {"content": "No"},
    "continue": {"content": "Now make a to-do list"},
    "complete": {},
    "run": {"stdin": "1.5\n2\n"},
    "stop": {"reason": "changed my mind"},
    "pause": {},
    "unpause": {},
    "skip": {"action_id": "1.4"},
    "cancel": {},
    "delete_plan": {},
    "retry": {},
    "take_over": {
        "sub_goal": "Look it up",
        "actions": [{"tool": "get_order_details", "arguments": {"order_id": "#W1"}}],
    },
    "hand_back": {"content": "The order is #W1."},
    "edit_path": {"after": "1.1", "nodes": ["text_to_sql.execute_sql", "text_to_sql.format_final_response"]},
    "judge": {"accepted": True, "saved": True},
    "remember": {"tool": "find_order", "policy": "never"},
    "raise_budget": {"tokens": 5000},
    "rename": {"title": "Calculator"},
    "choose_workflow": {"workflow": "conversation"},
    "save_to_library": {},
    "fork": {"version": 8},
    "resume": {"session_id": ID, "after": 3},
    "close": {},
}


def client_examples() -> dict[str, dict[str, Any]]:
    """By type. Raises pydantic.ValidationError for one that the gateway would not read."""
    found = {kind: {"type": kind, **body} for kind, body in CLIENT.items()}
    for message in found.values():
        CLIENT_MESSAGES.validate_python(message)
    return found


def server_examples() -> dict[str, dict[str, Any]]:
    """By type; what the gateway tells about the sessions of the documents, and by hand what no event brings."""
    found: dict[str, s.ServerMessage] = {}
    for told in stories():
        for message in derive.told(told.before, told.event, told.after):
            found.setdefault(str(type(message).model_fields["type"].default), message)
        if told.event.type == "plan.drafted":
            found.setdefault("snapshot", messages.snapshot(told.after))
    for message in _by_hand():
        found.setdefault(str(type(message).model_fields["type"].default), message)
    return {kind: _checked(message) for kind, message in found.items()}


def screen_examples() -> dict[str, dict[str, Any]]:
    """By type: what only protocol 2 has."""
    found: dict[str, s.ServerMessage] = {}
    for told in stories():
        if told.event.type == "plan.drafted":
            found.setdefault("event", screen.happened(told.before, told.event, told.after))
            found.setdefault("snapshot", screen.snapshot(told.after))
    first = s.Delta(session_id=ID, draft_id="1-plan-3f2a91", kind="plan", offset=0, text="Goal: Write a simple")
    found["delta"] = screen.delta(first)
    return {kind: json.loads(message.model_dump_json(by_alias=True)) for kind, message in found.items()}


def _by_hand() -> tuple[s.ServerMessage, ...]:
    stale = as_trouble(Stale("Version 3 is not the one in review; version 6 is. Look at it and decide again."))
    if stale is None:
        raise TypeError("a refusal of the domain is no trouble of the gateway")
    return (
        s.Greeting(
            session_id=ID,
            message="What would you like to do? Describe it, and a plan comes back to approve or to argue with.",
            user="local",
            rehearsal=True,
            model="rehearsal",
            workflows=tuple(WORKFLOWS),
            can_run_code=True,
        ),
        s.Delta(session_id=ID, draft_id="1-plan-3f2a91", kind="plan", offset=0, text="Goal: Write a simple"),
        s.Forked(session_id=ID, fork_id="0f9e8d7c6b5a4433"),
        error_message(stale, ID, "m2"),
    )


def _checked(message: s.ServerMessage) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(message.model_dump_json(by_alias=True))
    SERVER_MESSAGES.validate_python(data)
    return data
