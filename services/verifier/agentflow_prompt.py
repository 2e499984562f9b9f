"""The prompt for the verdict on a turn, and the reply it accepts. Pure: session in, text out."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from parley.events.values import NextAction
from parley.reply import Kind, Reply
from shared.domain.session import Session
from shared.domain.state import Action, Turn
from shared.domain.sub_goals import actions_by_sub_goal
from shared.llm import Message
from shared.llm.dialogue import CONVERSATION, knowledge_section, request_section
from shared.llm.sections import prompt

TurnStatus = Literal["success", "partial", "failure"]
TURN_EXAMPLE = (
    '{"reply": {"kind": "verdict", "execution_analysis": "1.1 found the order; 1.2 failed: it is shipped already.", '
    '"memory_analysis": "The order is read; cancelling it is still open.", "status": "partial", "next_action": '
    '"continue", "reasoning": "The order was found but not cancelled.", "sub_goals": []}}'
)
TURN_RULES = f"""
You are the verifier of Parley. You judge one turn of a piece of work that is done with tools: did its <actions> reach
the <sub_goal>, and has everything that was done fulfilled the whole request? Look at results, not at intentions; an
error achieves nothing. <sub_goals> are those planned so far.

{CONVERSATION}

Reply with the kind verdict:
1. execution_analysis: what each action did.
2. memory_analysis: which sub-goals are reached, which are open.
3. status: success (the sub-goal is reached), partial or failure.
4. next_action: complete (the request is fulfilled, or cannot be: say why), continue (more has to be done), retry (the
   same sub-goal must be tried in another way: say what was wrong), escalate (a person must look at it).
5. reasoning: one or two sentences for the person.
6. sub_goals: if <sub_goal> has several lines, a verdict on each: its words as sub_goal, its status, and reasoning in a
   sentence. The status above is then that of the turn as a whole. Otherwise an empty list.

A good reply: {TURN_EXAMPLE}
"""


class SubGoalReply(BaseModel):
    """What one of several sub-goals came to."""

    model_config = ConfigDict(extra="ignore")

    sub_goal: str = Field(max_length=50_000)
    status: TurnStatus
    reasoning: str = Field("", max_length=5_000)


class TurnVerdict(Kind):
    """What a turn came to."""

    kind: Literal["verdict"] = "verdict"
    execution_analysis: str = ""
    memory_analysis: str = ""
    status: TurnStatus
    next_action: NextAction
    reasoning: str = ""
    sub_goals: list[SubGoalReply] = Field(default_factory=list, max_length=20)


class TurnVerdictReply(Reply):
    """The verifier's verdict on a turn."""

    reply: TurnVerdict


def build_turn_prompt(session: Session, turn: Turn) -> list[Message]:
    return prompt(
        "verifier",
        "turn_verdict",
        TURN_RULES,
        {
            "original_request": request_section(session),
            "sub_goal": _goal_lines(turn),
            "sub_goals": [f"[{sub_goal.status}] {sub_goal.goal}" for sub_goal in session.memory.sub_goals],
            "actions": map(_action_line, turn.actions),
        },
        opening={"knowledge": knowledge_section(session)},
        transcript=session.transcript,
        due="Judge the turn.",
        zone=session.time_zone,
    )


def _action_line(action: Action) -> str:
    """The action's status. The conversation has its arguments and its result; here is why it did not begin."""
    why = action.explanation if action.status in ("denied", "skipped", "uncertain") else ""
    return f"{action.spec.id} {action.spec.tool}: {action.shown_status}{f' ({why})' if why else ''}"


def _goal_lines(turn: Turn) -> str:
    """The sub-goal of the turn; if there are several, a line for each with its actions."""
    sub_goals = actions_by_sub_goal(turn)
    if len(sub_goals) == 1:
        return next(iter(sub_goals))
    lines = ({"sub_goal": goal, "actions": ids} for goal, ids in sub_goals.items())
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)


def render_partial_verdict(partial: Mapping[str, Any]) -> str:
    return str(partial.get("reasoning") or "")
