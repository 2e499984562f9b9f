"""What REST answers about a planned or walked path. Pure."""

from pydantic import JsonValue

from parley.protocol.flows import FlowSpec
from parley.protocol.server import PathView, TextPlanReview
from services.gateway.rest.flow_models import ChatReply, FlowPath, FlowView, PathMetadata, PathReply
from services.gateway.views import messages
from services.gateway.views.parts import failure_view, path_view
from shared.domain.paths import made
from shared.domain.session import Session
from shared.domain.state_names import state_name
from shared.domain.workflows.flow import path_of
from shared.flows import chains, full_path


def flow_view(flow: FlowSpec) -> FlowView:
    return FlowView(**dict(flow), full_path=full_path(flow))


def path_reply(session: Session) -> PathReply:
    """The path in review; without one, why there is none."""
    plan, path = session.plan, path_view(session)
    common = _common(session)
    if plan is None or path is None:
        return PathReply(**common)
    planned = path.planned_execution_path
    return PathReply(
        **common | {"version": plan.version},
        hash=plan.hash,
        paths=tuple(FlowPath(flow=flow, nodes=tuple(nodes)) for flow, nodes in chains(planned)),
        planned_execution_path=planned,
        attempts=path.attempts,
        reasoning=plan.notes,
        proposal=path.proposal,
    )


def chat_reply(session: Session) -> ChatReply:
    """Where the session has come to."""
    path, review = path_view(session), messages.review(session)
    return ChatReply(
        **_common(session),
        answer=session.words.reply or session.answer.text,
        approval=messages.approval_request(session),
        review=review if isinstance(review, TextPlanReview) else None,
        metadata=_position(path) if path else PathMetadata(),
        walked=path.walked if path else (),
        sql=str(_ran("sql", session) or _last("sql", session) or ""),
        result=_last("result", session),
    )


def _position(path: PathView) -> PathMetadata:
    return PathMetadata(planned_execution_path=path.planned_execution_path, current_path_index=path.current_path_index)


def _common(session: Session) -> dict[str, object]:
    path = path_view(session)
    return {
        "session_id": session.id,
        "version": session.version,
        "state": state_name(session),
        "path": (*path.walked, *path.remaining) if path else (),
        "fallback": path.fallback if path else False,
        "why": path.why if path else "",
        "cached": path.cached if path else False,
        "question": messages.question(session),
        "failure": failure_view(session),
    }


def _ran(name: str, session: Session) -> JsonValue:
    """What the last node that said what it runs with was given under this name."""
    actions = session.turn.actions if session.turn and path_of(session.turn) else ()
    given = [action.spec.arguments[name] for action in actions if name in action.spec.arguments]
    return given[-1] if given else None


def _last(name: str, session: Session) -> JsonValue:
    """What the path has made under this name; of two flows, the later one."""
    found = [state[name] for state in made(session.turn).values() if name in state]
    return found[-1] if found else None
