"""The workflow `agentflow`: judge a turn and each of its sub-goals, by rules where they suffice."""

import json
from collections.abc import Collection, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from parley.events.values import NextAction, Status, SubGoalVerdict
from parley.reply import Kind, Reply
from shared.domain.kernel import commands as c
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action, Turn
from shared.domain.transcript.sub_goals import actions_by_sub_goal
from shared.llm import Message
from shared.llm.dialogue import CONVERSATION, knowledge_section, request_section
from shared.llm.sections import prompt
from shared.worker import WorkContext

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
_NOTHING_RUN: tuple[str, Status] = ("nothing-run", "failure")
_REFUSED: tuple[str, Status] = ("refused", "partial")
RECHECKED_RULES = ("reads-answered", "change-shown")  # a thorough session also asks a model about these
NOT_JUDGED = "Its calls ended well. Whether they did what was wanted has not been judged."


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


def rule_verdict(turn: Turn) -> c.VerifyTurn | None:  # noqa: PLR0911  one line a rule
    """The verdict of the first rule that applies; None if a model must judge."""
    next_action: NextAction = "complete" if turn.final else "continue"
    ran = [action for action in turn.actions if action.status in ("finished", "failed")]
    failed = [action for action in ran if action.status == "failed"]
    uncertain = [action for action in turn.actions if action.status == "uncertain"]
    if turn.taken_over and (ran or uncertain):
        status: Status = (
            "failure" if ran and len(failed) == len(ran) else "partial" if failed or uncertain else "success"
        )
        return _verdict("taken-over", status, "continue", "A person did this turn by hand.")
    if not (ran or uncertain):
        return _nothing_ran(turn, next_action)
    if broken := " ".join(action.violation for action in ran if action.violation):
        return _verdict("against-the-rules", "failure", "escalate", broken)
    if uncertain:
        names = ", ".join(action.spec.tool for action in uncertain)
        return _verdict("in-doubt", "partial", "continue", f"It is unknown whether this took effect: {names}.")
    if failed:
        why = "; ".join(f"{action.spec.tool}: {action.explanation}" for action in failed)
        return _verdict("tool-error", "failure" if len(failed) == len(ran) else "partial", "retry", why)
    if any(action.handed_over for action in ran):
        return _verdict("handed-over", "success", "escalate", "The request was handed over to a person.")
    if not_run := _not_run_reason(turn):
        return _verdict("not-all-run", "partial", "continue", not_run)
    writes = [action for action in ran if action.spec.effect != "read"]
    if not writes:
        return _verdict("reads-answered", "success", next_action, "")  # their results say it
    if all(action.confirmed for action in writes):
        return _verdict("change-shown", "success", next_action, "The results show the changes that were wanted.")
    return None


def _nothing_ran(turn: Turn, next_action: NextAction) -> c.VerifyTurn:
    if not_run := _not_run_reason(turn):
        refused = all(_denied_by_person(action) for action in turn.actions if action.spec.decision != "skip")
        rule, status = _REFUSED if refused else _NOTHING_RUN
        return _verdict(rule, status, "continue", not_run)
    return _verdict("done-already", "success", next_action, "All of this has been done already.")


def _denied_by_person(action: Action) -> bool:
    """Whether the user denied the action: that is an instruction, not a failure."""
    return action.status == "denied" and action.spec.decision != "deny"


def _not_run_reason(turn: Turn) -> str:
    """Which actions were denied or skipped, and why; "" if there are none. Calls that were done before do not count."""
    not_run = [
        action for action in turn.actions if action.status in ("denied", "skipped") and action.spec.decision != "skip"
    ]
    lines = (
        f"{action.spec.tool} ({action.status}{': ' if action.explanation else ''}{action.explanation})"
        for action in not_run
    )
    return f"Not run: {'; '.join(lines)}." if not_run else ""


def _verdict(rule: str, status: Status, next_action: NextAction, reasoning: str) -> c.VerifyTurn:
    return c.VerifyTurn(status=status, next_action=next_action, reasoning=reasoning[:2000], rule=rule)


async def judge(context: WorkContext, turn: Turn) -> c.VerifyTurn:
    """The turn's verdict, with one for each sub-goal if the turn has several."""
    return with_sub_goals(turn, await _judge(context, turn))


async def _judge(context: WorkContext, turn: Turn) -> c.VerifyTurn:
    """The verdict of a rule if one applies; otherwise the model's, unless the session economises on model calls."""
    quality = context.session.settings.quality
    rule_based = rule_verdict(turn)
    if rule_based and (quality != "thorough" or rule_based.rule not in RECHECKED_RULES):
        return rule_based
    if quality == "economy":
        why = "No rule covers this outcome, and this session asks no model."
        return c.VerifyTurn(status="partial", next_action="continue", reasoning=why, rule="not-judged")
    messages = build_turn_prompt(context.prompt_session, turn)
    reply = await context.ask(messages, TurnVerdictReply, kind="verdict", render=render_partial_verdict)
    sub_goals = tuple(
        SubGoalVerdict(**sub_goal.model_dump()) for sub_goal in reply.reply.sub_goals if sub_goal.sub_goal.strip()
    )
    return c.VerifyTurn(**reply.reply.model_dump(exclude={"kind", "sub_goals"}), sub_goals=sub_goals)


def with_sub_goals(turn: Turn, verdict: c.VerifyTurn) -> c.VerifyTurn:
    """The verdict with one for each sub-goal if the turn has several; with none if it has one.

    A model's verdict on a sub-goal stands. The rules judge the others, each by its own actions.
    """
    by_sub_goal = {_key(sub_goal_verdict.sub_goal): sub_goal_verdict for sub_goal_verdict in verdict.sub_goals}
    sub_goals = actions_by_sub_goal(turn)
    if len(sub_goals) == 1:
        return verdict.model_copy(update={"sub_goals": ()})
    verdicts = (
        _renamed(by_sub_goal.get(_key(goal)), goal) or _judge_sub_goal(turn, goal, ids, verdict)
        for goal, ids in sub_goals.items()
    )
    return verdict.model_copy(update={"sub_goals": tuple(verdicts)})


def _renamed(verdict: SubGoalVerdict | None, sub_goal: str) -> SubGoalVerdict | None:
    """The model's verdict under the turn's wording of the sub-goal."""
    return verdict.model_copy(update={"sub_goal": sub_goal}) if verdict else None


def _judge_sub_goal(turn: Turn, sub_goal: str, ids: Collection[str], verdict: c.VerifyTurn) -> SubGoalVerdict:
    """The verdict of a rule if one applies, otherwise the model's verdict on the turn.

    If no model judged the turn, the sub-goal does not count as reached.
    """
    actions = tuple(action for action in turn.actions if action.spec.id in ids)
    if ruled := rule_verdict(replace(turn, actions=actions)):
        return SubGoalVerdict(sub_goal=sub_goal, status=ruled.status, reasoning=ruled.reasoning)
    if verdict.rule:
        return SubGoalVerdict(sub_goal=sub_goal, status="partial", reasoning=NOT_JUDGED)
    return SubGoalVerdict(sub_goal=sub_goal, status=verdict.status, reasoning=verdict.reasoning[:5_000])


def _key(sub_goal: str) -> str:
    return " ".join(sub_goal.casefold().split())
