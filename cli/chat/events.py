"""What one stored event changes on the screen, and who is at work after it. Pure."""

from dataclasses import replace

from cli.chat.state import Ask, View
from parley.events import SessionEvent, facts
from parley.protocol import server as s
from shared.domain.evolve import evolve
from shared.domain.session import Session


def happened(view: View, event: SessionEvent) -> View:  # noqa: C901, PLR0911, PLR0912  one line a fact
    """An event that is new; one that was seen already changes nothing."""
    if event.version <= view.version:
        return view
    old = event.version <= view.known  # the snapshot before it was made with it
    before = view.session if view.session.version else Session(event.session_id)
    view = replace(view, version=event.version, events=(*view.events, event), session=evolve(before, event))
    if old:
        return view
    view = replace(view, known=event.version)
    match event:
        case facts.UsageRecorded() | facts.SessionShared() | facts.PolicySet() | facts.AnswerJudged():
            return view
        case facts.WorkflowChanged():
            return replace(view, workflow=event.workflow)
        case facts.SessionRenamed():
            return replace(view, title=event.title)
        case facts.SessionPaused():
            return replace(view, paused=True)
        case facts.SessionResumed():
            return replace(view, paused=False)
        case facts.ApprovalGiven() | facts.ApprovalDenied() | facts.ActionSkipped():
            return _decided(view, event.action_id)
        case facts.ActionsStarted() | facts.ActionsFinished() | facts.ActionUncertain():
            return view  # outcomes are recorded after a stop, too, and ask for nothing new
        case facts.ResultStored() | facts.ResultLost():
            return view
        case facts.BudgetRaised():
            about_it = isinstance(view.ask and view.ask.message, s.Question)
            return replace(view, ask=None) if about_it else view
        case facts.TurnVerified() if view.session.phase == "escalated":
            return replace(view, ask=Ask("escalated", event.version), draft=None, worker=None)
        case facts.MessageReceived(workflow=chosen) if chosen:
            view = replace(view, workflow=chosen)
        case facts.RemarkAnswered() | facts.AnswerGiven():
            view = replace(view, draft=None)
        case facts.PlanDrafted() | facts.CodeDrafted() | facts.CodeVerified():
            view = replace(view, draft=None)
    if isinstance(event, facts.MessageReceived) and event.intent == "guidance":
        return view
    return replace(view, ask=None, worker=view.session.work.service if view.session.work else None)


def _decided(view: View, action_id: str) -> View:
    """One action less to decide about; after the last one the executor goes on."""
    if not view.ask or view.ask.kind != "actions":
        return replace(view, worker="executor")
    left = tuple(action for action in view.ask.actions if action.action_id != action_id)
    return replace(view, ask=replace(view.ask, actions=left) if left else None, worker="executor")
