"""A step that a person has written is dropped only visibly."""

from parley.events import facts
from parley.events.values import Step
from shared.domain.kernel import commands as c
from shared.story import Story

ASK, DRAW, OWN = Step(text="Ask", id="s1"), Step(text="Draw", id="s2"), Step(text="Say goodbye", id="s3")


def edited() -> Story:
    story = Story("s1")
    story.apply(c.Say(text="A table"), c.DraftPlan(goal="A table", steps=(ASK, DRAW)))
    story.apply(c.EditPlan(base=2, steps=(ASK, DRAW, OWN)))
    return story


def drafted(story: Story, *steps: Step) -> facts.PlanDrafted:
    story.apply(c.Say(text="Shorter, please"), c.DraftPlan(goal="A table", steps=steps))
    event = story.events[-1]
    assert isinstance(event, facts.PlanDrafted)
    return event


def test_a_draft_names_the_persons_steps_that_it_leaves_out() -> None:
    story = edited()
    assert drafted(story, DRAW, OWN).drops == ()
    assert drafted(story, DRAW).drops == ("Say goodbye",)
    assert drafted(story, ASK).drops == ()  # told once


def test_a_step_that_the_person_reworded_is_theirs_and_one_that_the_planner_rewords_stays_theirs() -> None:
    story = edited()
    story.apply(c.EditPlan(base=3, steps=(ASK.model_copy(update={"text": "Ask twice"}), DRAW, OWN)))
    assert drafted(story, ASK.model_copy(update={"text": "Ask once"}), DRAW, OWN).drops == ()
    assert drafted(story, DRAW).drops == ("Ask once", "Say goodbye")


def test_another_request_drops_nothing() -> None:
    story = edited()
    story.apply(c.CancelPlan(), c.Say(text="A to-do list"), c.DraftPlan(goal="A list", steps=(ASK,)))
    event = story.events[-1]
    assert isinstance(event, facts.PlanDrafted)
    assert (event.begins_round, event.drops) == (True, ())
    assert story.session.plan
    assert story.session.plan.own_steps == ()
