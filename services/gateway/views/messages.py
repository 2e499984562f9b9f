"""Protocol 1: the snapshot of a session, and requests to the person. Pure."""

from parley.protocol import server as s
from parley.protocol.words import REVIEW
from services.gateway.views.allowed_messages import allowed_messages
from services.gateway.views.view_parts import (
    action_view,
    answer_view,
    code_view,
    failure_view,
    memory_view,
    path_view,
    plan_view,
    planned_path,
    turn_view,
)
from shared.domain.fast_replace import replace
from shared.domain.permissions import SessionRole
from shared.domain.plan_steps import is_unfinished
from shared.domain.session import SERVICE_OF, Session, review_target, undecided_actions
from shared.domain.state import Code, Plan
from shared.domain.state_names import OPTION_KEEP, OPTION_TAKE, options, rest_reason, state_name
from shared.domain.transcript_queries import said_with
from shared.domain.workflows import workflow_of_plan


def snapshot(session: Session, draft: s.Delta | None = None, *, role: SessionRole | None = "owner") -> s.Snapshot:
    """The snapshot at `session.version` for a user with this role; `draft` is the one being written, if any."""
    shown = _with_reply_as_work(session)
    return s.Snapshot(
        session_id=session.id,
        version=session.version,
        state=state_name(shown),
        phase=shown.phase,
        reason=rest_reason(shown),
        paused=session.paused,
        title=session.title,
        owner=session.owner,
        workflow=session.workflow,
        settings=session.settings,
        request=session.words.request,
        unread=unread(session),
        plan=plan_view(session.plan),
        code=code_view(session.code),
        turn=turn_view(session),
        path=path_view(session),
        memory=memory_view(session),
        answer=session.answer.text,
        answer_view=answer_view(session),
        failure=failure_view(session),
        review=review_with_say(session),
        feedback_request=feedback_request(session),
        question=question(session),
        approval_request=approval_request(session),
        continue_=continue_(shown),
        draft=draft if session.works else None,
        usage=usage(session),
        can=tuple(kind for kind in allowed_messages(session, role) if kind not in _hidden_in_protocol_1(session)),
        parent=session.parent_id,
    )


def _with_reply_as_work(session: Session) -> Session:
    """The session as protocol 1 shows it while a message is answered and nothing else is at work: in the phase of the
    service that answers.
    """
    if session.reply is None or session.phase not in ("awaiting_approval", "resting", "waiting"):
        return session
    return replace(session, phase="coding" if session.reply.service == "generator" else "planning")


def unread(session: Session) -> tuple[str, ...]:
    """The messages that nobody reads now: the next draft takes them in."""
    if session.reply:
        return ()
    read = session.work.version if session.work and session.phase in ("planning", "coding") else 0
    return tuple(message.text for message in session.words.unread if message.version > read)


def _hidden_in_protocol_1(session: Session) -> tuple[str, ...]:
    """Messages that protocol 1 did not allow in this phase; its clients do not expect them."""
    return ("delete_plan", "edit") if session.phase in SERVICE_OF else ("delete_plan",)


def review(session: Session) -> s.TextPlanReview | s.CodeReview | None:
    """The plan or code in review; an approval names its `version` and `hash`."""
    if session.phase != "awaiting_approval":
        return None
    target = review_target(session)
    if target == "text" and session.plan:
        return plan_review(session, session.plan)
    if target == "code" and session.code:
        return code_review(session.id, session.code)
    return None


def review_with_say(session: Session) -> s.TextPlanReview | s.CodeReview | None:
    """The same; its message begins with what was said with the draft, which has no other place in protocol 1."""
    message = review(session)
    say = said_with(session.transcript, message.version) if message and message.version else ""
    return message.model_copy(update={"message": f"{say}\n\n{message.message}"}) if message and say else message


def plan_review(session: Session, plan: Plan) -> s.TextPlanReview:
    return s.TextPlanReview(
        session_id=session.id,
        version=plan.version,
        plan=plan.text,
        goal=plan.goal,
        kind=plan.kind,
        steps=plan.steps,
        notes=plan.notes,
        number=plan.number,
        hash=plan.hash,
        message=f"Version {plan.number} of the {workflow_of_plan(session, plan.kind).noun}. "
        "Approve it, say what to change, edit it, or ask for another one.",
        path=planned_path(plan.path),
    )


def code_review(session_id: str, code: Code) -> s.CodeReview:
    failed = [check.name for check in code.checks if check.ok is False]
    state = f"Not passed: {', '.join(failed)}." if failed else "Its checks passed." if code.checks else "Not checked."
    return s.CodeReview(
        session_id=session_id,
        version=code.version,
        code=code.code,
        explanation=code.explanation,
        number=code.number,
        hash=code.hash,
        checks=code.checks,
        tests=code.tests,
        message=f"Version {code.number} of the code. {state} Approve it, say what to change, edit it, or ask for more.",
    )


def feedback_request(session: Session) -> s.FeedbackRequest | None:
    """The request for feedback after a rejection, until the feedback comes."""
    if session.phase != "awaiting_input" or session.question:
        return None
    code = review_target(session) == "code"
    return s.FeedbackRequest(
        session_id=session.id,
        version=session.version,
        plan_type="code" if code else "text",
        message=f"What should be different about the {'code' if code else 'plan'}?",
    )


def question(session: Session) -> s.Question | None:
    open_ = session.question
    if open_ is None or session.phase != "awaiting_input":
        return None
    return s.Question(
        session_id=session.id,
        version=session.version,
        question_id=open_.id,
        about=open_.about,
        content=open_.text,
        options=tuple(option.label for option in open_.options),
        form=open_.form,
    )


def approval_request(session: Session) -> s.ApprovalRequest | None:
    waiting = undecided_actions(session.turn) if session.phase == "awaiting_approval" else ()
    if not waiting:
        return None
    return s.ApprovalRequest(
        session_id=session.id,
        version=session.version,
        actions=tuple(map(action_view, waiting)),
        message="These actions wait for your yes. Nothing runs before all of them are decided.",
    )


def continue_(session: Session) -> s.Continue | None:
    """The choice of an open offer, or the options while the session rests."""
    content = offer_choice(session) or next_steps(session)
    return s.Continue(session_id=session.id, version=session.version, content=content) if content else None


def offer_choice(session: Session) -> s.ContinueContent | None:
    """The choice between an open offer and what is there; it can wait while another message is answered."""
    if session.offer is None or session.reply:
        return None
    question = f"{REVIEW[f'offer_{session.offer.draft.type}']} {REVIEW['offer_holds']}"
    return s.ContinueContent(message=question, options=(OPTION_TAKE, OPTION_KEEP))


def next_steps(session: Session) -> s.ContinueContent | None:
    """The options while the session rests after work."""
    if session.phase != "resting" or session.rest_reason == "new":
        return None
    message = {
        "answered": "Done. What next?",
        "completed": "Completed. A new message goes on from here.",
        "approved": "Approved, and not started. Start it, change it, or discard it.",
        "stopped": "Stopped. Retry goes on where it stopped; a new message begins something else.",
    }.get(session.rest_reason, "What next?")
    if session.rest_reason == "answered" and is_unfinished(session):
        message = "The plan is not finished. Retry what failed, skip it, change the plan, or say what to do instead."
    return s.ContinueContent(message=message, options=options(session))


def usage(session: Session) -> s.Usage:
    spent, limits = session.spent, session.settings
    return s.Usage(
        session_id=session.id,
        version=session.version,
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


def completion(session: Session) -> s.Completion:
    """The plan and code approved in this round; "" for what was not approved."""
    plan, code = session.plan, session.code
    approved_plan = plan is not None and plan.status in ("approved", "executing", "completed")
    approved_code = code is not None and code.status == "approved"
    return s.Completion(
        session_id=session.id,
        version=session.version,
        final_plan=plan.text if plan and approved_plan else "",
        final_code=code.code if code and approved_code else "",
        message=_verdict_text(session) or "This is what you approved.",
    )


def _verdict_text(session: Session) -> str:
    """The verifier's reasoning about the last turn."""
    return session.turn.verdict.reasoning if session.turn and session.turn.verdict else ""
