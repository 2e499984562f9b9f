"""What a typed line or a choice does, and the user's approvals and rejections of what is on the screen. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from cli.chat.state import ChatView, InputRequest
from parley.protocol import client as c
from parley.protocol.screen import ActionSection
from parley.protocol.words import TERMINAL


@dataclass(frozen=True)
class SendMessage:
    """Send a message. `is_answer`: it answers the open request, so the chat waits for the gateway."""

    message: c.ClientMessage
    is_answer: bool = True


@dataclass(frozen=True)
class SendMessages:
    """Send several messages in order; the gateway reports those that it refuses."""

    messages: tuple[c.ClientMessage, ...]


@dataclass(frozen=True)
class AskFurther:
    """Ask the user for the text that belongs to a choice."""

    request: InputRequest


@dataclass(frozen=True)
class RunLocally:
    """Run a command in this client."""

    name: str
    argument: str = ""


@dataclass(frozen=True)
class ShowText:
    """Show a text; nothing else happens."""

    text: str


ChatEffect = SendMessage | SendMessages | AskFurther | RunLocally | ShowText


NOTHING_TO_DECIDE = ShowText(TERMINAL["no_review"])


def approve(view: ChatView, *, remember: bool = False) -> ChatEffect:
    """Approve exactly what is on the screen, by its version and hash."""
    match view.request:
        case InputRequest(kind="plan"):
            return approve_plan(view)
        case InputRequest(kind="code") if view.code:
            return SendMessage(_approval(version=view.code.version, hash=view.code.hash))
        case InputRequest(kind="actions", actions=(action, *_)):
            return SendMessage(_approval(action_id=action.action_id, hash=action.hash, remember=remember))
    return NOTHING_TO_DECIDE


def _approval(*, approved: bool = True, **fields: object) -> c.Approval:
    return c.Approval.model_validate({"type": "approval", "approved": approved, **fields})


def approve_plan(view: ChatView, *, preapprove: Sequence[str] = (), start: bool = True) -> ChatEffect:
    """Approve the plan on the screen. `preapprove`: steps allowed with any values. `start`: whether it starts now."""
    plan = view.plan
    if plan is None or view.request is None or view.request.kind != "plan":
        return ShowText(TERMINAL["approve_plan_only"]) if preapprove or not start else NOTHING_TO_DECIDE
    return SendMessage(_approval(version=plan.version, hash=plan.hash, preapprove=preapprove, start=start))


def approve_all(view: ChatView) -> ChatEffect:
    """Approve each of the actions on the screen, with the arguments shown."""
    match view.request:
        case InputRequest(kind="actions", actions=actions) if actions:
            return SendMessages(tuple(_approval(action_id=action.action_id, hash=action.hash) for action in actions))
    return NOTHING_TO_DECIDE


def decide_offer(view: ChatView, *, taken: bool) -> ChatEffect:
    """Take or turn down the offer on the screen."""
    match view.request:
        case InputRequest(kind="offer", version=version) if taken:
            return SendMessage(c.TakeOffer(type="take_offer", version=version))
        case InputRequest(kind="offer", version=version):
            return SendMessage(c.KeepOffer(type="keep_offer", version=version))
    return ShowText(TERMINAL["no_offer"])


def reject(view: ChatView, reason: str = "") -> ChatEffect:
    """Reject what is in review. A reason asks for another version; without one the gateway asks what to change."""
    match view.request:
        case InputRequest(kind="plan") if view.plan:
            return SendMessage(_approval(approved=False, version=view.plan.version, reason=reason))
        case InputRequest(kind="code") if view.code:
            return SendMessage(_approval(approved=False, version=view.code.version, reason=reason))
        case InputRequest(kind="actions", actions=(action, *_)):
            return SendMessage(refusal(action, reason))
    return NOTHING_TO_DECIDE


def refusal(action: ActionSection, reason: str) -> c.Approval:
    """The message that declines this action."""
    return _approval(approved=False, action_id=action.action_id, reason=reason)


def replan(view: ChatView) -> ChatEffect:
    """Ask for another plan, or for other code if code is in review."""
    if view.request and view.request.kind == "code" and view.code:
        return SendMessage(c.Replan(type="replan", plan_type="code", version=view.code.version))
    if view.plan:
        return SendMessage(c.Replan(type="replan", plan_type="text", version=view.plan.version))
    return NOTHING_TO_DECIDE
