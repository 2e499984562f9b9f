"""Replies about planned and running paths, and to chat messages. Pure."""

from pydantic import JsonValue

from parley.protocol.flows import FlowSpec, FlowView
from parley.protocol.server import TextPlanReview
from parley.protocol.views import PathView
from services.gateway.rest.flow_models import ChatReply, FlowNodes, PathMetadata, PlannedPathReply
from services.gateway.views import input_sections, protocol1
from services.gateway.views.sections import failure_view, path_view
from shared.domain.kernel.session import Session
from shared.domain.kernel.state_names import state_name
from shared.domain.turn.flow_paths import outputs
from shared.domain.workflows.flow import path_of
from shared.flows import full_path, group_by_flow


def flow_view(flow: FlowSpec) -> FlowView:
    return FlowView(**dict(flow), full_path=full_path(flow))


def path_reply(session: Session) -> PlannedPathReply:
    """The path in review, or why there is none."""
    plan, path = session.plan, path_view(session)
    fields = _common_fields(session)
    if plan is None or path is None:
        return PlannedPathReply(**fields)
    planned = path.planned_execution_path
    return PlannedPathReply(
        **fields | {"version": plan.version},
        hash=plan.hash,
        paths=tuple(FlowNodes(flow=flow, nodes=tuple(nodes)) for flow, nodes in group_by_flow(planned)),
        planned_execution_path=planned,
        attempts=path.attempts,
        reasoning=plan.notes,
        proposal=path.proposal,
    )


def chat_reply(session: Session) -> ChatReply:
    """The session's answer, or what it waits for."""
    path, review = path_view(session), protocol1.review(session)
    return ChatReply(
        **_common_fields(session),
        answer=session.words.reply or session.answer.text,
        approval=protocol1.approval_request(session),
        review=review if isinstance(review, TextPlanReview) else None,
        offer=input_sections.offer(session),
        metadata=_path_metadata(path) if path else PathMetadata(),
        walked=path.walked if path else (),
        sql=str(_last_argument("sql", session) or _last_output("sql", session) or ""),
        result=_last_output("result", session),
    )


def _path_metadata(path: PathView) -> PathMetadata:
    return PathMetadata(planned_execution_path=path.planned_execution_path, current_path_index=path.current_path_index)


def _common_fields(session: Session) -> dict[str, object]:
    path = path_view(session)
    return {
        "session_id": session.id,
        "version": session.version,
        "state": state_name(session),
        "path": (*path.walked, *path.remaining) if path else (),
        "fallback": path.fallback if path else False,
        "why": path.why if path else "",
        "cached": path.cached if path else False,
        "question": protocol1.question(session),
        "failure": failure_view(session),
    }


def _last_argument(name: str, session: Session) -> JsonValue:
    """The latest argument with this name of the running path's actions."""
    actions = session.turn.actions if session.turn and path_of(session.turn) else ()
    values = [action.spec.arguments[name] for action in actions if name in action.spec.arguments]
    return values[-1] if values else None


def _last_output(name: str, session: Session) -> JsonValue:
    """The latest output of the path with this name."""
    values = [state[name] for state in outputs(session.turn).values() if name in state]
    return values[-1] if values else None
