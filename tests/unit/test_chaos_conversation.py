"""The chaos suite's view of what was said: what is unanswered, and which changes began too early."""

from collections.abc import Iterable

import pytest

from chaos.conversation import Conversation
from parley.events import facts
from parley.events.values import ActionAttempt, Effect, SessionSettings, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.rules.event_meta import event_meta
from shared.story import Story, StoryLine

ASK, ANSWER = c.Say(text="How long?"), c.AnswerRemark(text="Not long.")


def step(name: str, effect: Effect, *after: str) -> Step:
    return Step(text=name, tool=name, id=name, effect=effect, arguments={}, after=after)


PLAN = c.DraftPlan(goal="Pay", steps=(step("look", "read"), step("pay", "write", "look")), kind="execution")


def approve(session: Session) -> c.Approve:
    assert session.plan
    return c.Approve(version=session.plan.version, hash=session.plan.hash)


def running(*lines: StoryLine) -> Story:
    """A session whose plan looks something up, and these lines after that."""
    story = Story()
    story.apply(c.Say(text="Pay", workflow="execution_plan", settings=SessionSettings()))
    story.apply(PLAN, approve, c.Start(), *lines)
    return story


def conversation_of(story: Story) -> Conversation:
    conversation = Conversation()
    for transition in story.transitions:
        conversation.add(transition.event, transition.after)
    return conversation


def started(story: Story, action: str) -> facts.ActionsStarted:
    """The start of this action, whatever the domain says."""
    meta = story.meta(c.Start())
    attempts = (ActionAttempt(action_id=f"{story.session.task}.{action}", attempt=1),)
    return facts.ActionsStarted(**event_meta(story.session, meta, facts.ActionsStarted), actions=attempts)


@pytest.mark.parametrize(
    ("lines", "outcomes"),
    [
        ((ASK, ANSWER), {"answered in words": 1}),
        ((ASK, ASK, ANSWER), {"answered in words": 1}),
        ((ASK, PLAN, c.KeepOffer()), {"offered": 1, "kept": 1}),
        ((ASK, PLAN, c.TakeOffer()), {"offered": 1, "taken": 1}),
        ((ASK, PLAN, c.Say(text="Yes"), c.AcceptOffer()), {"offered": 1, "taken": 1}),
        ((ASK, c.Stop()), {}),
        ((ASK, PLAN, c.Stop()), {"offered": 1}),
    ],
)
def test_nothing_is_open_once_a_message_is_answered_or_withdrawn(
    lines: Iterable[StoryLine], outcomes: dict[str, int]
) -> None:
    conversation = conversation_of(running(*lines))
    assert (conversation.unanswered, conversation.offer) == (set(), None)
    assert dict(conversation.outcomes) == outcomes


def test_a_message_that_a_service_did_not_read_is_unanswered() -> None:
    story = running(ASK)
    asked = story.session.version
    assert conversation_of(story).unanswered == {asked}
    late = story.session
    story.apply(c.Say(text="And why?"), ANSWER)
    said = story.transitions[-1].event.model_copy(update={"id": f"s1:{asked}:remark.answered"})
    conversation = conversation_of(running(ASK, c.Say(text="And why?")))
    conversation.add(said, late)
    assert conversation.unanswered == {asked + 1}


@pytest.mark.parametrize("lines", [(ASK,), (ASK, PLAN)])
def test_a_change_that_begins_while_something_is_open_is_early(lines: Iterable[StoryLine]) -> None:
    story = running(*lines)
    conversation = conversation_of(story)
    conversation.add(started(story, "look"), story.session)
    assert (conversation.changes, conversation.early) == (0, [])
    conversation.add(started(story, "pay"), story.session)
    assert (conversation.changes, len(conversation.early)) == (1, 1)
