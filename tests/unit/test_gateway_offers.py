"""Offers and replies beside the work: what clients of both protocols see, and how protocol 1 decides on an offer."""

from typing import Any

import pytest

from parley.events.values import ActionSpec, Step
from parley.protocol import client as m
from parley.protocol import server as s
from parley.protocol.server import SERVER_MESSAGES, dump
from services.gateway.messages.commands import to_commands
from services.gateway.views import protocol1, screen_messages
from services.gateway.views.protocol1 import messages_for
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.journal.entries import entries
from shared.story import Story, StoryLine
from tests.support.stories import approve

LOOK = ActionSpec(id="1", tool="look")
PAY = ActionSpec(id="1", tool="pay", arguments={"bill": 7}, effect="write", approval_reason="it changes something")
REFUND = PAY.model_copy(update={"tool": "refund", "description": "Pay it back"})
TO_APPROVAL = (c.Say(text="Pay bill 7", workflow="agentflow"), c.PlanTurn(sub_goal="Pay", actions=(PAY,)))
OFFERED = c.PlanTurn(sub_goal="Pay it back", say="I can pay it back instead.", actions=(REFUND,))
TO_OFFER = (*TO_APPROVAL, c.Say(text="No, pay it back"), OFFERED)
PLAN = c.DraftPlan(goal="G", say="Two steps, for floats.", steps=(Step(text="One"), Step(text="Two")))


def story(*lines: StoryLine) -> Story:
    played = Story()
    played.apply(*lines)
    return played


def outgoing(played: Story, *lines: StoryLine) -> list[s.ServerMessage]:
    """What clients of protocol 1 get about the last of these lines, without the event itself."""
    played.apply(*lines)
    before, _, event, after = played.transitions[-1]
    sent = messages_for(before, event, after)
    for message in sent:
        SERVER_MESSAGES.validate_python(dump(message))
    return list(sent[1:])


def kinds(sent: list[s.ServerMessage]) -> list[str]:
    return [type(message).__name__ for message in sent]


def offer_version(session: Session) -> int:
    assert session.offer
    return session.offer.version


def chosen(session: Session, **message: Any) -> Any:
    (command,) = to_commands(m.CLIENT_MESSAGES.validate_python(message), session, None)  # type: ignore[arg-type]
    return command


def test_an_offer_is_a_log_and_a_choice_of_two_options() -> None:
    log, choice = outgoing(story(*TO_APPROVAL, c.Say(text="No, pay it back")), OFFERED)
    assert isinstance(log, s.Log)
    assert log.content == 'I can pay it back instead.\n\nPay it back\n- refund {"bill": 7}'
    assert isinstance(choice, s.Continue)
    assert choice.content.options == ("Take it", "Keep what is there")


@pytest.mark.parametrize("kind", ["continue", "answer", "question"])
def test_an_option_of_the_offer_takes_or_keeps_it(kind: str) -> None:
    session = story(*TO_OFFER).session
    version = offer_version(session)
    assert chosen(session, type=kind, content=" take IT ") == c.TakeOffer(version=version)
    assert chosen(session, type=kind, content="Keep what is there") == c.KeepOffer(version=version)
    assert isinstance(chosen(session, type=kind, content="Take it easy"), c.Say | c.Answer)


def test_without_an_offer_its_options_are_words_like_any_others() -> None:
    assert chosen(story(*TO_APPROVAL).session, type="continue", content="Take it") == c.Say(text="Take it")
    asked = story(c.Say(text="A calculator"), c.Ask(text="Which?"))
    answer = chosen(asked.session, type="answer", content="Take it", question_id=asked.session.question.id)  # type: ignore[union-attr]
    assert isinstance(answer, c.Answer)


def test_what_waits_is_asked_for_again_when_an_offer_is_kept() -> None:
    log, request = outgoing(story(*TO_OFFER), c.KeepOffer())
    assert isinstance(log, s.Log)
    assert log.content == "Kept what was there."
    assert isinstance(request, s.ApprovalRequest)
    assert [action.tool for action in request.actions] == ["pay"]


def test_an_offer_that_is_taken_is_asked_for_in_the_place_of_what_waited() -> None:
    sent = outgoing(story(*TO_OFFER), c.TakeOffer())
    (request,) = [message for message in sent if isinstance(message, s.ApprovalRequest)]
    assert [action.tool for action in request.actions] == ["refund"]


def test_what_waits_is_asked_for_again_after_an_answer() -> None:
    to_plan = (c.Say(text="A calculator"), PLAN)
    sent = outgoing(story(*to_plan, c.Say(text="Why two?")), c.AnswerRemark(text="To test it."))
    assert kinds(sent) == ["Log", "TextPlanReview"]
    sent = outgoing(story(*TO_APPROVAL, c.Say(text="Why?")), c.AnswerRemark(text="You said so."))
    assert kinds(sent) == ["Log", "ApprovalRequest"]
    sent = outgoing(story(*TO_APPROVAL, c.Say(text="Why?")), c.Stop())  # withdraws the message
    assert kinds(sent) == ["ApprovalRequest"]


def test_an_answer_to_a_request_is_a_log_and_then_the_next_options() -> None:
    sent = outgoing(story(c.Say(text="How do I learn Rust?")), c.AnswerRemark(text="By writing it."))
    assert kinds(sent) == ["Log", "Continue"]


def test_a_review_begins_with_what_was_said_with_the_draft() -> None:
    played = story(c.Say(text="A calculator"))
    (review,) = outgoing(played, PLAN)
    assert isinstance(review, s.TextPlanReview)
    assert review.message.startswith("Two steps, for floats.\n\nVersion 1 of the plan.")
    shown = protocol1.snapshot(played.session).review
    assert shown
    assert shown.message == review.message
    section = screen_messages.snapshot(played.session).view.review
    assert section
    assert "floats" not in section.message  # screens show it in the conversation
    played.apply(approve, c.DraftCode(code="print(1)", say="It is one line."))
    (review,) = outgoing(played, c.VerifyCode(checks=()))
    assert isinstance(review, s.CodeReview)
    assert review.message.startswith("It is one line.\n\nVersion 1 of the code.")


def test_words_without_a_review_are_a_log() -> None:
    planned = c.PlanTurn(sub_goal="Look", actions=(LOOK,), say="I look it up first.")
    log, *_ = outgoing(story(c.Say(text="Look", workflow="agentflow")), planned)
    assert isinstance(log, s.Log)
    assert log.content == "I look it up first."


def test_protocol_1_shows_a_message_that_is_answered_as_work() -> None:
    """As in every release: only what waits can still be decided on."""
    session = story(*TO_APPROVAL, c.Say(text="Why?")).session
    shown = protocol1.snapshot(session)
    assert (shown.phase, shown.state, shown.reason) == ("planning", "text_plan_generation", "new")
    assert shown.approval_request
    assert "approval" in shown.can
    resting = story(c.Say(text="Hi"), c.AnswerRemark(text="Hello."), c.Say(text="And now?")).session
    shown = protocol1.snapshot(resting)
    assert (shown.phase, shown.continue_) == ("planning", None)


def test_a_screen_shows_the_reply_and_the_offer_beside_what_waits() -> None:
    session = story(*TO_APPROVAL, c.Say(text="No, pay it back")).session
    screen = screen_messages.snapshot(session)
    assert screen.view.reply
    assert (screen.view.reply.service, screen.view.state) == ("planner", "action_approval")
    assert {"approval", "user_message", "stop"} <= set(screen.can)
    assert not {"take_offer", "keep_offer", "fork"} & set(screen.can)
    offered = screen_messages.snapshot(story(*TO_OFFER).session)
    assert offered.view.state == "offer"
    assert offered.view.approval_request
    assert offered.view.offer
    assert (offered.view.offer.version, offered.view.offer.draft.type) == (4, "turn")
    assert {"approval", "take_offer", "keep_offer"} <= set(offered.can)


def test_the_journal_tells_of_an_offer_before_what_it_brings() -> None:
    played = story(*TO_OFFER)
    reply, note = entries(played.events[-1])
    assert (reply.kind, note.kind) == ("reply", "note")
    played.apply(c.TakeOffer())
    note, turn, *_ = entries(played.events[-1])
    assert (note.kind, getattr(note, "text", "")) == ("note", "took the offer")
    assert (turn.kind, getattr(turn, "by", "")) == ("turn", "planner")
