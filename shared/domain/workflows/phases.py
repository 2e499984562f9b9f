"""Which phase follows which event, and under which condition.

`EVENTS` has the events whose edges all workflows share, `ROWS` the edges that several events lead to. The edges of
plans, code, turns and answers are in the file of their workflow.

An edge of an event tests the session before the event, with its messages taken in. An edge of a row tests the session
with the event's changes.
"""

from collections.abc import Mapping
from typing import cast

from parley.events import SessionEvent
from shared.domain import workflows
from shared.domain.kernel.commands import Work
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import SERVICE_OF, Phase, Session
from shared.domain.kernel.workflow import Edge, Edges, Row, RowName, Target
from shared.domain.transcript.messages import answer_unread, await_reply
from shared.domain.transcript.questions import asking_phase, question_asked
from shared.domain.turn.batches import hold
from shared.domain.turn.turns import frees_plan, plan_resumed, plan_retried
from shared.domain.workflows import conditions as on
from shared.domain.workflows import turn_conditions as turn

STAYS: Row = (Edge(None),)
OUTCOME: Row = (Edge("batch", on.moves_turn), Edge(None))

EVENTS: Edges = {
    "message.received": (
        Edge("resting", on.brings_plan),
        Edge("planning", on.begins_request),
        Edge("resumed", on.answers_question),
        Edge("coding", on.revises_code),
        Edge("planning", on.gives_feedback),
        Edge("read_first"),
    ),
    "offer.made": (Edge("goes_on", then=answer_unread),),
    "offer.kept": (Edge("goes_on"),),
    "remark.answered": (Edge("goes_on", on.answered_beside, then=answer_unread), Edge("replied")),
    "question.asked": (
        Edge("planning", on.unread_at_turn_limit),
        Edge("awaiting_input", resumes=asking_phase, first=question_asked),
    ),
    "question.answered": (
        Edge(None, on.has_no_question),
        Edge("planning", on.wants_to_continue),
        Edge("batch", on.about_an_action),
        Edge("answering", on.wants_answer_now),
        Edge(None, on.asks_further),
        Edge("resumed"),
    ),
    "turn.changed": (Edge(None, on.has_no_turn), Edge("batch")),
    "approval.given": (Edge("decided"),),
    "approval.denied": (
        Edge("planning", on.replans_path),
        Edge("decided", on.objects_to_step, then=await_reply),
        Edge("decided"),
    ),
    "approval.expired": (
        Edge("resting", on.ends_nothing, rests="stopped", resumes=on.own_phase),
        Edge("batch"),
    ),
    "actions.waiting": (Edge("batch"),),
    "action.waited": (Edge("goes_on", on.ends_wait), Edge(None)),
    "actions.finished": OUTCOME,
    "action.uncertain": OUTCOME,
    "result.stored": OUTCOME,
    "result.lost": OUTCOME,
    "action.skipped": (Edge("resumed", frees_plan, first=plan_resumed), *OUTCOME),
    "budget.raised": (
        Edge(None, on.needs_no_budget),
        Edge("beside", on.asked_beside, then=answer_unread),
        Edge("resumed", then=answer_unread),
    ),
    "session.stopped": (
        Edge("beside", on.asked_beside),
        Edge("goes_on", on.withdraws_only_message),
        Edge("resting", rests="stopped", resumes=on.halted_phase),
    ),
    "session.resumed": (Edge(on.own_phase, on.waits_for_service), Edge(None)),
    "session.failed": (Edge("failed", resumes=on.own_phase),),
    "session.retried": (
        Edge("resumed", on.plan_is_unfinished, first=plan_retried, then=answer_unread),
        Edge("resumed", then=answer_unread),
    ),
    "session.completed": (Edge("resting", rests="completed"),),
    "session.forked": (Edge("awaiting_approval", on.forks_plan), Edge("resting")),
    "actions.started": STAYS,
    "answer.judged": STAYS,
    "usage.recorded": STAYS,
    "policy.set": STAYS,
    "session.paused": STAYS,
    "session.renamed": STAYS,
    "session.shared": STAYS,
    "session.workflow_changed": STAYS,
}

ROWS: Mapping[RowName, Row] = {
    # A turn begins: messages that a stop or a fork has left are answered before its actions begin.
    "first_batch": (Edge("batch", then=answer_unread),),
    # The turn runs its next batch, asks the user, waits, or is verified.
    "batch": (
        Edge(None, turn.runs),
        Edge("awaiting_input", turn.is_uncertain, first=turn.ask_what_happened),
        Edge("awaiting_input", turn.is_out_of_budget, resumes="executing", first=turn.ask_for_budget),
        Edge("planning", turn.is_superseded, first=turn.without_turn),
        Edge("waiting", turn.only_waits),
        Edge("verifying", turn.nothing_can_begin),
        Edge("awaiting_approval", turn.awaits_approval),
        Edge("planning", turn.message_precedes_batch, first=turn.without_turn),
        Edge("executing"),
    ),
    # The user has decided about an action.
    "decided": (Edge(None, turn.is_undecided), Edge("batch")),
    # What waited for the reply to a message, or for a step, goes on.
    "goes_on": (
        Edge(on.own_phase, turn.is_held_up),
        Edge("batch", turn.turn_is_stalled),
        Edge("batch", turn.question_can_wait, first=turn.ask_later),
        Edge(None),
    ),
    # The interrupted phase is entered again; a turn goes on from the current state of its actions.
    "resumed": (
        Edge("executing", turn.turn_still_runs, first=turn.take_up_actions),
        Edge("batch", turn.turn_was_interrupted, first=turn.take_up_actions),
        Edge(turn.interrupted_phase),
    ),
    # A service asked the user in reply to a message: back to what that interrupted.
    "beside": (
        Edge("resumed", on.was_reviewing_actions, first=on.resume_review),
        Edge("batch", on.was_waiting),
        Edge(on.phase_beside, resumes=on.resume_phase_beside),
    ),
    # A message was answered in words in the phase of a draft.
    "replied": (
        Edge(on.own_phase, on.has_unread),
        Edge("verifying", on.code_is_unchecked),
        Edge("awaiting_approval", on.plan_is_unseen, first=on.review_again),
        Edge("awaiting_approval", on.was_in_review, first=on.review_again),
        Edge("resting", rests="answered", first=on.answer_with_reply),
    ),
    # The message is for the next turn: no change of this one begins any more.
    "read_first": (Edge("planning", turn.message_precedes_changes, first=turn.without_turn), Edge(None)),
}


def edge_for(session: Session, event: SessionEvent) -> Edge:
    """The edge that this event takes from this session."""
    return _first(EVENTS.get(event.type) or workflows.edges_for(session, event), session, event)


def _first(row: Row, session: Session, event: SessionEvent) -> Edge:
    return next(edge for edge in row if edge.when(session, event))


def follow_edge(before: Session, after: Session, event: SessionEvent) -> Session:
    """The session with the event's changes in the phase that follows."""
    return _follow(edge_for(before, event), before, before, after, event)


def _follow(edge: Edge, tested: Session, before: Session, after: Session, event: SessionEvent) -> Session:
    """The session after this edge. `tested` is the session whose edge it is."""
    session = edge.first(after, event) if edge.first else after
    if row := ROWS.get(cast("RowName", edge.to)):
        session = _follow(_first(row, session, event), session, before, session, event)
    elif phase := _phase(edge.to, tested, event):
        resumes = _phase(edge.resumes, tested, event)
        session = hold(_entered(phase, before, replace(session, resume_phase=resumes), event.version))
        session = replace(session, rest_reason=edge.rests or session.rest_reason)
    return edge.then(session, event.version) if edge.then else session


def _phase(target: Target, session: Session, event: SessionEvent) -> Phase | None:
    return target(session, event) if callable(target) else cast("Phase | None", target)


def _entered(phase: Phase, before: Session, session: Session, version: int) -> Session:
    """The session in this phase. A service's phase makes it due, unless the session is paused.

    A question or failure ends with the phase before, unless this event brings it. A pause ends at rest and
    after a failure. A draft takes messages in, and an offer is no longer needed.
    """
    service, drafts = SERVICE_OF.get(phase), phase in ("planning", "coding")
    return replace(
        session,
        phase=phase,
        work=Work(service=service, version=version) if service and not session.paused else None,
        reply=None if drafts else session.reply,
        offer=None if drafts else session.offer,
        question=None if session.question is before.question else session.question,
        asked_beside=None if session.asked_beside is before.asked_beside else session.asked_beside,
        failure=None if session.failure is before.failure else session.failure,
        paused=session.paused and phase not in ("resting", "failed"),
    )
