"""A session's view in sections, and the sections that an event has changed. Pure.

A section is rebuilt only if one of its inputs is a different object: inputs are frozen, so the same object means the
same content.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from pydantic import BaseModel

from parley.events.values import PathPlan
from parley.protocol import screen as v
from parley.protocol import views as p
from services.gateway.views import input_sections
from services.gateway.views.step_sections import poll_view, step_sections
from shared.domain.kernel.commands import Work
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action
from shared.domain.kernel.state_names import rest_reason, shown_state
from shared.domain.turn.flow_paths import OPEN_STATUSES
from shared.domain.workflows.flow import path_of
from shared.flows import PERSON_NODE, group_by_flow, split_tool_name

IN_REVIEW = ("draft", "pending_approval", "rejected")  # a plan whose path has not started


class Section(NamedTuple):
    """A section of the view: its builder, and the fields of the session that it depends on."""

    build: Callable[[Session], Any]
    inputs: tuple[str, ...]


def full_view(session: Session) -> v.ScreenView:
    """The view with every section."""
    return v.ScreenView(**{name: section.build(session) for name, section in SECTIONS.items()})


def changed_sections(before: Session, after: Session) -> dict[str, Any]:
    """The sections that differ, whole and as JSON; of `actions` only those that differ, None for a removed one.

    The first event changes all sections.
    """
    if before.version == 0:
        return full_view(after).model_dump(mode="json", by_alias=True)
    differing: dict[str, Any] = {}
    for name, section in SECTIONS.items():
        if name == "actions" or not any(_differs(before, after, field) for field in section.inputs):
            continue
        section_view = section.build(after)
        if section_view != section.build(before):
            differing[name] = section_view
    if actions := _changed_actions(before, after):
        differing["actions"] = actions
    return {name: _json(value) for name, value in differing.items()}


def _differs(before: Session, after: Session, field: str) -> bool:
    old, new = getattr(before, field), getattr(after, field)
    return old is not new and not (type(old) in (int, str, bool) and old == new)


def _changed_actions(before: Session, after: Session) -> dict[str, v.ActionSection | None]:
    old, new = ({a.spec.id: a for a in session.turn.actions} if session.turn else {} for session in (before, after))
    gone: dict[str, v.ActionSection | None] = dict.fromkeys(old.keys() - new.keys())
    return gone | {name: action_section(action) for name, action in new.items() if old.get(name) is not action}


def _json(value: Any) -> Any:
    match value:
        case BaseModel():
            return value.model_dump(mode="json", by_alias=True)
        case dict():
            return {name: _json(item) for name, item in value.items()}
        case tuple():
            return [_json(item) for item in value]
        case _:
            return value


def _work(work: Work | None) -> v.WorkSection | None:
    return v.WorkSection(service=work.service, version=work.version) if work else None


def turn_section(session: Session) -> v.TurnSection | None:
    if (turn := session.turn) is None:
        return None
    return v.TurnSection(
        number=turn.number,
        sub_goal=turn.sub_goal,
        by=turn.by,
        actions=tuple(action.spec.id for action in turn.actions),
        verdict=p.VerdictView.model_validate(turn.verdict) if turn.verdict else None,
        selected_tool=turn.selected_tool,
        required_skills=turn.required_skills,
        reasoning=turn.reasoning,
        final=turn.final,
    )


def _actions(session: Session) -> dict[str, v.ActionSection]:
    return {action.spec.id: action_section(action) for action in session.turn.actions} if session.turn else {}


def action_section(action: Action) -> v.ActionSection:
    spec = action.spec
    return v.ActionSection(
        action_id=spec.id,
        tool=spec.tool,
        arguments=spec.arguments,
        text=spec.description,
        sub_goal=spec.sub_goal,
        effect=spec.effect,
        status=action.shown_status,
        approval=spec.approval_reason,
        hash=action.hash,
        error=action.explanation,
        depends_on=spec.depends_on,
        repairs=spec.repairs,
        ruling=spec.decision,
        why=spec.decision_reason,
        seconds=action.seconds,
        tokens=action.tokens,
        poll=poll_view(action),
    )


def unread(session: Session) -> tuple[str, ...]:
    """The messages that nobody reads now: the next draft takes them in."""
    if session.reply:
        return ()
    read = session.work.version if session.work and session.phase in ("planning", "coding") else 0
    return tuple(message.text for message in session.words.unread if message.version > read)


def path_view(session: Session) -> p.PathView | None:
    """The running path, or the one in review; None if there is none."""
    turn, plan = session.turn, session.plan
    if turn and (path := path_of(turn)):
        nodes = [action for action in turn.actions if split_tool_name(action.spec.tool)[1] != PERSON_NODE]
        started = [action for action in nodes if action.status not in (*OPEN_STATUSES, "skipped", "denied")]
        remaining = tuple(action.spec.tool for action in nodes if action.status in OPEN_STATUSES)
        return _path(path, started, remaining)
    if plan and (path := path_of(plan)) and plan.status in IN_REVIEW:
        return _path(path, (), path.nodes)
    return None


def _path(plan: PathPlan, started: Sequence[Action], remaining: tuple[str, ...]) -> p.PathView:
    is_running = bool(started) and (started[-1].status != "finished" or not remaining)
    planned = dict(p.PlannedPathView.model_validate(plan))
    return p.PathView(
        flows=tuple(dict.fromkeys(flow for flow, _ in group_by_flow(plan.nodes))),
        planned_execution_path=plan.nodes,
        current_path_index=len(started) - is_running,
        walked=tuple(action.spec.tool for action in started),
        remaining=remaining,
        **{name: planned[name] for name in planned.keys() - {"nodes"}},
    )


def _memory(session: Session) -> p.MemoryView:
    memory = session.memory
    return p.MemoryView(
        turns=session.counts.turns - session.counts.turns_before,
        max_turns=session.settings.max_turns,
        sub_goals=tuple(p.SubGoalView(goal=sub_goal.goal, status=sub_goal.status) for sub_goal in memory.sub_goals),
        recalled=memory.recalled,
        planned=memory.planned,
        executed=memory.executed,
    )


def plan_view(session: Session) -> p.PlanView | None:
    return p.PlanView.model_validate(session.plan) if session.plan else None


def code_view(session: Session) -> p.CodeView | None:
    return p.CodeView.model_validate(session.code) if session.code else None


def failure_view(session: Session) -> p.FailureView | None:
    return p.FailureView.model_validate(session.failure) if session.failure else None


def _answer(session: Session) -> p.AnswerView | None:
    return p.AnswerView.model_validate(session.answer) if session.answer.text else None


def usage_section(session: Session) -> v.UsageSection:
    spent, limits = session.spent, session.settings
    return v.UsageSection(
        calls=spent.calls,
        prompt_tokens=spent.prompt_tokens,
        cached_tokens=spent.cached_tokens,
        completion_tokens=spent.completion_tokens,
        cost=spent.cost,
        token_budget=limits.token_budget,
        cost_budget=limits.cost_budget,
        tool_calls=spent.tool_calls if limits.call_budget else None,
        call_budget=limits.call_budget,
        seconds=spent.seconds if limits.time_budget else None,
        time_budget=limits.time_budget,
    )


def _field(name: str) -> Section:
    """A section that is a field of the session."""
    return Section(attrgetter(name), (name,))


# What sections that ask a person for something depend on.
REQUEST_STATE = ("phase", "rest_reason", "turn", "plan", "code", "question", "words")

SECTIONS: Mapping[str, Section] = {
    "state": Section(shown_state, (*REQUEST_STATE, "offer", "reply")),
    "phase": _field("phase"),
    "reason": Section(rest_reason, ("phase", "rest_reason")),
    **{name: _field(name) for name in ("paused", "title", "owner", "workflow", "settings")},
    "parent": _field("parent_id"),
    "request": Section(attrgetter("words.request"), ("words",)),
    "unread": Section(unread, ("words", "work", "reply", "phase")),
    "work": Section(lambda session: _work(session.work), ("work",)),
    "reply": Section(lambda session: _work(session.reply), ("reply",)),
    "plan": Section(plan_view, ("plan",)),
    "code": Section(code_view, ("code",)),
    "turn": Section(turn_section, ("turn",)),
    "actions": Section(_actions, ("turn",)),
    "steps": Section(step_sections, ("turn", "plan", "begun_steps")),
    "path": Section(path_view, ("turn", "plan")),
    "path_standing": Section(input_sections.path_standing, ("turn",)),
    "memory": Section(_memory, ("memory", "counts", "settings")),
    "answer": Section(_answer, ("answer",)),
    "failure": Section(failure_view, ("failure",)),
    "review": Section(input_sections.review, REQUEST_STATE),
    "feedback_request": Section(input_sections.feedback, REQUEST_STATE),
    "question": Section(input_sections.question, REQUEST_STATE),
    "approval_request": Section(input_sections.approval, REQUEST_STATE),
    "offer": Section(input_sections.offer, ("offer",)),
    "escalation": Section(input_sections.escalation, REQUEST_STATE),
    "next": Section(input_sections.next_steps, REQUEST_STATE),
    "usage": Section(usage_section, ("spent", "settings")),
}
