"""An example of each WebSocket message. Those that the server sends are made by the gateway's own code."""

import json
from collections.abc import Iterable
from typing import Any

from parley.protocol import server as s
from scripts.gen_story import ID, stories
from services.gateway.api_errors import as_api_error, error_message
from services.gateway.views import protocol1, screen_messages
from shared.domain.kernel.errors import Stale
from shared.domain.workflows import WORKFLOWS
from shared.story import Transition

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
DELTA = s.Delta(session_id=ID, draft_id="1-plan-3f2a91", kind="plan", offset=0, text="Goal: Write a simple")


def client_examples() -> dict[str, dict[str, Any]]:
    """By type."""
    return {kind: {"type": kind, **body} for kind, body in CLIENT.items()}


def server_examples() -> dict[str, dict[str, Any]]:
    """By type: the gateway's messages about the example sessions, and hand-written ones that no event causes."""
    made = (
        message
        for transition in stories()
        for message in protocol1.messages_for(transition.before, transition.event, transition.after)
    )
    return _by_type((*made, protocol1.snapshot(_drafted().after), *_by_hand()))


def screen_examples() -> dict[str, dict[str, Any]]:
    """By type: the messages of protocol 2 only."""
    drafted = _drafted()
    event = screen_messages.event_message(drafted.before, drafted.event, drafted.after)
    return _by_type((event, screen_messages.snapshot(drafted.after), screen_messages.delta(DELTA)))


def _drafted() -> Transition:
    return next(transition for transition in stories() if transition.event.type == "plan.drafted")


def _by_type(sent: Iterable[s.ServerMessage]) -> dict[str, dict[str, Any]]:
    """The first message of each type, as JSON."""
    examples: dict[str, dict[str, Any]] = {}
    for message in sent:
        kind = str(type(message).model_fields["type"].default)
        if kind not in examples:
            examples[kind] = json.loads(message.model_dump_json(by_alias=True))
    return examples


def _by_hand() -> tuple[s.ServerMessage, ...]:
    stale = as_api_error(Stale("Version 3 is not the one in review; version 6 is. Look at it and decide again."))
    if stale is None:
        raise TypeError("a refusal of the domain is no error of the API")
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
        DELTA,
        s.Forked(session_id=ID, fork_id="0f9e8d7c6b5a4433"),
        error_message(stale, ID, "m2"),
    )
