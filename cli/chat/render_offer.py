"""Renders an offer: what is offered, and what it leaves out of what is there."""

from collections.abc import Iterator
from typing import assert_never

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.text import Text

from cli.chat.panels import TitledPanel, python_source
from cli.chat.render_turn import call_lines
from cli.chat.state import ChatView
from cli.text import visible
from parley.events.offers import OfferedCode, OfferedDraft, OfferedPlan, OfferedTurn
from parley.protocol.screen import OfferSection
from parley.protocol.words import REVIEW
from shared.domain.plan_text import plan_text


def render_offer(offer: OfferSection, view: ChatView) -> RenderableType:
    title = REVIEW[f"offer_{offer.draft.type}"]
    body = Group(*_body(offer.draft, view), Text(REVIEW["offer_holds"], style="dim"))
    return TitledPanel(body, title, "yellow")


def _body(draft: OfferedDraft, view: ChatView) -> Iterator[RenderableType]:
    match draft:
        case OfferedPlan():
            yield Markdown(visible(plan_text(draft.goal, draft.steps, draft.notes)), hyperlinks=False)
            yield from _removed(draft, view)
        case OfferedCode():
            if draft.explanation:
                yield Markdown(visible(draft.explanation), hyperlinks=False)
            yield python_source(draft.code.rstrip())
        case OfferedTurn():
            yield Text(visible(draft.sub_goal), style="bold")
            yield from map(call_lines, draft.actions)
        case _:
            assert_never(draft)


def _removed(draft: OfferedPlan, view: ChatView) -> Iterator[RenderableType]:
    """The steps of the plan that is there which its revision leaves out."""
    steps = view.plan.steps if view.plan else ()
    kept = {step.id for step in draft.steps if step.id}
    if not kept.intersection(step.id for step in steps):
        return  # another plan, not a revision
    for step in steps:
        if step.id not in kept:
            yield Text(f"– {visible(step.text)} ({REVIEW['step_removed']})", style="red")
