"""An example of each WebSocket message: client messages are validated, server messages are made by the gateway."""

import json
from typing import Any

from parley.protocol import server as s
from parley.protocol.client import CLIENT_MESSAGES
from parley.protocol.server import SERVER_MESSAGES
from scripts.gen_story import ID, stories
from services.gateway.api_errors import as_api_error, error_message
from services.gateway.views import event_messages, messages, screen_messages
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
    "take_offer": {"version": 9},
    "keep_offer": {"version": 9},
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
    """By type. Raises pydantic.ValidationError for a message that the gateway would refuse."""
    examples = {kind: {"type": kind, **body} for kind, body in CLIENT.items()}
    for message in examples.values():
        CLIENT_MESSAGES.validate_python(message)
    return examples


def server_examples() -> dict[str, dict[str, Any]]:
    """By type: the gateway's messages about the example sessions, and hand-written ones that no event causes."""
    examples: dict[str, s.ServerMessage] = {}
    for transition in stories():
        for message in event_messages.messages_for(transition.before, transition.event, transition.after):
            examples.setdefault(str(type(message).model_fields["type"].default), message)
        if transition.event.type == "plan.drafted":
            examples.setdefault("snapshot", messages.snapshot(transition.after))
    for message in _by_hand():
        examples.setdefault(str(type(message).model_fields["type"].default), message)
    return {kind: _checked(message) for kind, message in examples.items()}


def screen_examples() -> dict[str, dict[str, Any]]:
    """By type: the messages of protocol 2 only."""
    examples: dict[str, s.ServerMessage] = {}
    for transition in stories():
        if transition.event.type == "plan.drafted":
            examples.setdefault(
                "event", screen_messages.event_message(transition.before, transition.event, transition.after)
            )
            examples.setdefault("snapshot", screen_messages.snapshot(transition.after))
    first = s.Delta(session_id=ID, draft_id="1-plan-3f2a91", kind="plan", offset=0, text="Goal: Write a simple")
    examples["delta"] = screen_messages.delta(first)
    return {kind: json.loads(message.model_dump_json(by_alias=True)) for kind, message in examples.items()}


def _by_hand() -> tuple[s.ServerMessage, ...]:
    stale = as_api_error(Stale("Version 3 is not the one in review; version 6 is. Look at it and decide again."))
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
