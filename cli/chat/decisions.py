"""A person's yes or no to what is on the screen, as messages. Pure."""

from collections.abc import Sequence

from cli.chat.doing import Doing, Say, Send, SendAll
from cli.chat.state import Ask, View
from parley.protocol import client as c
from parley.protocol.screen import ActionSection
from parley.protocol.words import TERMINAL

NOTHING = Say(TERMINAL["no_review"])


def approve(view: View, *, remember: bool = False) -> Doing:
    """Yes to exactly what is on the screen: its version and its hash."""
    match view.ask:
        case Ask(kind="plan"):
            return approve_plan(view)
        case Ask(kind="code") if view.code:
            code = view.code
            return Send(c.Approval(type="approval", approved=True, version=code.version, hash=code.hash))
        case Ask(kind="actions", actions=(action, *_)):
            return Send(
                c.Approval(
                    type="approval", approved=True, action_id=action.action_id, hash=action.hash, remember=remember
                )
            )
    return NOTHING


def approve_plan(view: View, *, preapprove: Sequence[str] = (), start: bool = True) -> Doing:
    """Yes to the plan on the screen: with these steps allowed whatever values they get, and started now or later."""
    seen = view.plan
    if seen is None or view.ask is None or view.ask.kind != "plan":
        return Say(TERMINAL["approve_plan_only"]) if preapprove or not start else NOTHING
    yes = {"approved": True, "version": seen.version, "hash": seen.hash, "preapprove": preapprove, "start": start}
    return Send(c.Approval.model_validate({"type": "approval", **yes}))


def approve_all(view: View) -> Doing:
    """Yes to each of the actions on the screen, with the arguments that it has there."""
    match view.ask:
        case Ask(kind="actions", actions=actions) if actions:
            return SendAll(
                tuple(
                    c.Approval(type="approval", approved=True, action_id=one.action_id, hash=one.hash)
                    for one in actions
                )
            )
    return NOTHING


def reject(view: View, reason: str = "") -> Doing:
    """No to what is in review; what should be different is asked next."""
    match view.ask:
        case Ask(kind="plan") if view.plan:
            return Send(c.Approval(type="approval", approved=False, version=view.plan.version, reason=reason))
        case Ask(kind="code") if view.code:
            return Send(c.Approval(type="approval", approved=False, version=view.code.version, reason=reason))
        case Ask(kind="actions", actions=(action, *_)):
            return Send(refusal(action, reason))
    return NOTHING


def refusal(action: ActionSection, reason: str) -> c.Approval:
    """No to this action."""
    return c.Approval(type="approval", approved=False, action_id=action.action_id, reason=reason)


def replan(view: View) -> Doing:
    """Another plan, or other code for the same plan: whichever is in review."""
    if view.ask and view.ask.kind == "code" and view.code:
        return Send(c.Replan(type="replan", plan_type="code", version=view.code.version))
    if view.plan:
        return Send(c.Replan(type="replan", plan_type="text", version=view.plan.version))
    return NOTHING
