"""Exports the state that decides about a session, under names that never change.

A recorded state must stay readable when a class or a field of the domain is renamed, so each name is written out here.
State that only prompts read is left out.
"""

import hashlib
import json
from typing import Any

from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action, Code, Plan, Turn

State = dict[str, Any]


def export(session: Session) -> State:
    """The session's state as recorded. Default values are omitted, except for version and phase."""
    settings, spent, beside = session.settings, session.spent, session.asked_beside
    state: State = {
        "owner": session.owner,
        "workflow": session.workflow,
        "rest_reason": session.rest_reason if session.phase == "resting" else "",
        "work": f"{session.work.service} since {session.work.version}" if session.work else "",
        "halted_phase": session.resume_phase or "",
        "phase_began_version": session.since_version,
        "paused": session.paused,
        "question": _question(session),
        "failure": f"{session.failure.stage}, retry {session.failure.retryable}" if session.failure else "",
        "plan": _plan(session.plan) if session.plan else {},
        "plan_count": session.counts.plans,
        "another_draft_wanted": session.next_draft.another,
        "code": _code(session.code) if session.code else {},
        "code_count": session.counts.codes,
        "sent_back": bool(session.next_draft.problems),
        "turn": _turn(session.turn) if session.turn else {},
        "turn_count": session.counts.turns,
        "turns_of_earlier_requests": session.counts.turns_before,
        "outlived_their_turn": [_action(action) for action in session.left_running],
        "settled_changes": dict(sorted(session.memory.settled.items())),
        "reply": f"{session.reply.service} since {session.reply.version}" if session.reply else "",
        "offer": session.offer.version if session.offer else 0,
        "unread": len(session.words.unread),
        "asked_beside": f"{beside.phase}, new request {beside.begins_round}" if beside else "",
        "answered": bool(session.answer.text),
        "answer_accepted": session.answer.accepted,
        "answer_saved": session.answer.saved,
        "approval_setting": settings.approval,
        "approval_timeout": settings.approval_timeout,
        "max_turns": settings.max_turns,
        "allowed_tools": list(settings.tools),
        "instructions": settings.instructions,
        "model": settings.model,
        "token_budget": settings.token_budget,
        "cost_budget": settings.cost_budget,
        "call_budget": settings.call_budget,
        "time_budget": settings.time_budget,
        "tool_calls": spent.tool_calls if settings.call_budget else 0,
        "model_calls": spent.calls,
        "tokens": spent.tokens,
        "cost": round(spent.cost, 9),
        "tool_policies": dict(sorted(session.policies.items())),
        "shared_with": dict(sorted(session.shared_with.items())),
        "forked_from": session.parent_id or "",
        "files": {name: ref.sha256 for name, ref in sorted(session.files.items())},
        "commands_remembered": len(session.recent_commands),
    }
    return {"version": session.version, "phase": session.phase} | _without_defaults(state)


def digest(state: State) -> str:
    """An eight-character digest of the state."""
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()[:8]


def _without_defaults(state: State) -> State:
    return {name: value for name, value in state.items() if value not in (None, "", 0, False, {}, [])}


def _question(session: Session) -> State:
    question = session.question
    return (
        {"action": question.action_id, "about": question.about, "options": [option.key for option in question.options]}
        if question
        else {}
    )


def _plan(plan: Plan) -> State:
    approval = {"preapproved": list(plan.preapproved), "approved_by_setting": plan.approved_by_setting}
    approval_state = {name: value for name, value in approval.items() if value}
    checks = {"checks": {check.name: check.ok for check in plan.checks}} if plan.checks else {}
    known = {"version": plan.version, "number": plan.number, "kind": plan.kind}
    return {**known, "status": plan.status, "hash": plan.hash, **approval_state, **checks}


def _code(code: Code) -> State:
    return {
        "version": code.version,
        "number": code.number,
        "plan_version": code.plan_version,
        "status": code.status,
        "hash": code.hash,
        "checks": {check.name: check.ok for check in code.checks},
        "repairs": code.repairs,
    }


def _turn(turn: Turn) -> State:
    verdict = turn.verdict
    return _without_defaults(
        {
            "number": turn.number,
            "actions": [_action(action) for action in turn.actions],
            "actions_ever": turn.made,
            "verdict": f"{verdict.status}, {verdict.next_action}" if verdict else "",
            "final": turn.final,
            "walks_a_path": turn.path is not None,
            "chosen_action": turn.chosen,
            "requested_by_a_person": turn.taken_over,
        }
    )


def _action(action: Action) -> State:
    spec = action.spec
    return _without_defaults(
        {
            "id": spec.id,
            "tool": spec.tool,
            "status": action.status,
            "end_reason": action.end_reason,
            "cause": action.cause,
            "attempt": action.attempt if action.attempt > 1 else 0,
            "result_being_stored": action.storing,
            "quiet": action.is_quiet,
            "effect": spec.effect,
            "ruling": spec.decision,
            "tool_policy": spec.policy,
            "needs_approval": bool(spec.approval_reason),
            "polls": action.poll.polls if action.poll else 0,
            "looks_recorded": action.poll.changes if action.poll else 0,
            "allowed": action.allowed,
            "depends_on": [*spec.depends_on],
            "hash": action.hash,
            "started_by_work_of": action.began,
            "left_in_doubt": action.left,
        }
    )
