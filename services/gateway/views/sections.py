"""A session's view in sections, and the sections that an event has changed. Pure.

A section is rebuilt only if one of its inputs is a different object: inputs are frozen, so the same object means the
same content.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from parley.protocol import screen as v
from parley.protocol.journal import ActionState
from parley.protocol.words import WORK
from services.gateway.views import input_sections, messages
from services.gateway.views.affected_resources import affected_resources
from services.gateway.views.phrases import ACTION_TONES, polling_text, state_label
from services.gateway.views.view_parts import (
    answer_view,
    code_view,
    failure_view,
    memory_view,
    path_view,
    plan_view,
    verdict_view,
)
from shared.domain.commands import Work
from shared.domain.for_each import items_of
from shared.domain.plan_approval import is_preapprovable
from shared.domain.plan_steps import GATHER, action_id
from shared.domain.session import Session
from shared.domain.skipping import dependents_of
from shared.domain.state import Action
from shared.domain.state_names import rest_reason, shown_state
from shared.plan_checks.steps import same_changes


class Section(NamedTuple):
    """A section of the view: its builder, and the parts of the session that it depends on."""

    build: Callable[[Session], Any]
    inputs: Callable[[Session], tuple[object, ...]]


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
        if name == "actions" or _are_same(section.inputs(before), section.inputs(after)):
            continue
        section_view = section.build(after)
        if section_view != section.build(before):
            differing[name] = section_view
    if actions := _changed_actions(before, after):
        differing["actions"] = actions
    return {name: _json(value) for name, value in differing.items()}


def _are_same(before: tuple[object, ...], after: tuple[object, ...]) -> bool:
    return all(
        old is new or (type(old) in (int, str, bool) and old == new) for old, new in zip(before, after, strict=True)
    )


def _changed_actions(before: Session, after: Session) -> dict[str, v.ActionSection | None]:
    old, new = ({a.spec.id: a for a in session.turn.actions} if session.turn else {} for session in (before, after))
    gone: dict[str, v.ActionSection | None] = dict.fromkeys(old.keys() - new.keys())
    return gone | {name: _action(action) for name, action in new.items() if old.get(name) is not action}


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


def _turn(session: Session) -> v.TurnSection | None:
    if (turn := session.turn) is None:
        return None
    return v.TurnSection(
        number=turn.number,
        sub_goal=turn.sub_goal,
        by=turn.by,
        actions=tuple(action.spec.id for action in turn.actions),
        verdict=verdict_view(turn.verdict),
        selected_tool=turn.selected_tool,
        required_skills=turn.required_skills,
        reasoning=turn.reasoning,
        final=turn.final,
    )


def _actions(session: Session) -> dict[str, v.ActionSection]:
    return {action.spec.id: _action(action) for action in session.turn.actions} if session.turn else {}


def _action(action: Action) -> v.ActionSection:
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


def poll_view(action: Action) -> v.PollView | None:
    if (poll := action.poll) is None:
        return None
    return v.PollView(
        every=poll.every,
        until=action.until,
        polls=poll.polls,
        value=poll.value,
        error=poll.error,
        next_poll=poll.next_poll,
    )


def _steps(session: Session) -> dict[str, v.StepSection]:
    """Steps by id, each with its action in the current version, or else in an earlier one."""
    plan, turn = session.plan, session.turn
    if plan is None or not plan.task:
        return {}
    now = turn.actions if turn and turn.rules.by_step else ()
    actions = {action.spec.id: action for action in (*session.begun_steps, *now)}
    duplicates = same_changes(plan.steps)
    return {
        step.id: v.StepSection(
            action_id=name,
            **_step_state(session, actions.get(name)),
            touches=affected_resources(step),
            same_as=duplicates.get(step.id, ""),
            preapprovable=is_preapprovable(step),
            preapproved=step.id in plan.preapproved,
            used_by=tuple(user.id or "" for user in dependents_of(session, step)),
        )
        for step in plan.steps
        if step.id and (name := action_id(plan, step))
    }


def _step_state(session: Session, action: Action | None) -> dict[str, Any]:
    status = action.status if action else "planned"
    state: ActionState = "started" if status == "running" else status
    word = state_label(state)
    if action and action.spec.tool == GATHER and (items := items_of(session, action)):
        done = sum(item is not None and item.status == "finished" for item in items)
        word = WORK["items"].format(done=done, count=len(items))
        under_way = any(item is not None and item.is_under_way for item in items)
        state = "started" if state == "planned" and under_way else state
    seconds, until = (action.seconds, action.until) if action else (0.0, None)
    is_given = action is not None and action.given
    if is_given:
        word = WORK["output_given"]
    elif action and action.poll and state == "waiting":
        word = polling_text(action.poll.every, action.poll.polls)
    return {
        "status": state,
        "word": word,
        "tone": ACTION_TONES[state],
        "seconds": seconds,
        "until": until if state == "waiting" else None,
        "problem": action.explanation if action and action.status in ("failed", "denied", "uncertain") else "",
        "poll": poll_view(action) if action else None,
        "given": is_given,
    }


def _usage(session: Session) -> v.UsageSection:
    return v.UsageSection.model_validate(messages.usage(session), from_attributes=True)


def _request_state(session: Session) -> tuple[object, ...]:
    """The inputs of sections that ask a person for something."""
    return session.phase, session.rest_reason, session.turn, session.plan, session.code, session.question, session.words


SECTIONS: Mapping[str, Section] = {
    "state": Section(shown_state, lambda session: (*_request_state(session), session.offer, session.reply)),
    "phase": Section(lambda session: session.phase, lambda session: (session.phase,)),
    "reason": Section(rest_reason, lambda session: (session.phase, session.rest_reason)),
    "paused": Section(lambda session: session.paused, lambda session: (session.paused,)),
    "title": Section(lambda session: session.title, lambda session: (session.title,)),
    "owner": Section(lambda session: session.owner, lambda session: (session.owner,)),
    "workflow": Section(lambda session: session.workflow, lambda session: (session.workflow,)),
    "settings": Section(lambda session: session.settings, lambda session: (session.settings,)),
    "parent": Section(lambda session: session.parent_id, lambda session: (session.parent_id,)),
    "request": Section(lambda session: session.words.request, lambda session: (session.words,)),
    "unread": Section(messages.unread, lambda session: (session.words, session.work, session.reply, session.phase)),
    "work": Section(lambda session: _work(session.work), lambda session: (session.work,)),
    "reply": Section(lambda session: _work(session.reply), lambda session: (session.reply,)),
    "plan": Section(lambda session: plan_view(session.plan), lambda session: (session.plan,)),
    "code": Section(lambda session: code_view(session.code), lambda session: (session.code,)),
    "turn": Section(_turn, lambda session: (session.turn,)),
    "actions": Section(_actions, lambda session: (session.turn,)),
    "steps": Section(_steps, lambda session: (session.turn, session.plan, session.begun_steps)),
    "path": Section(path_view, lambda session: (session.turn, session.plan)),
    "path_standing": Section(input_sections.path_standing, lambda session: (session.turn,)),
    "memory": Section(memory_view, lambda session: (session.memory, session.counts, session.settings)),
    "answer": Section(answer_view, lambda session: (session.answer,)),
    "failure": Section(failure_view, lambda session: (session.failure,)),
    "review": Section(input_sections.review, _request_state),
    "feedback_request": Section(input_sections.feedback, _request_state),
    "question": Section(input_sections.question, _request_state),
    "approval_request": Section(input_sections.approval, _request_state),
    "offer": Section(input_sections.offer, lambda session: (session.offer,)),
    "escalation": Section(input_sections.escalation, _request_state),
    "next": Section(input_sections.next_steps, _request_state),
    "usage": Section(_usage, lambda session: (session.spent, session.settings)),
}
