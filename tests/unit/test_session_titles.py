"""The first reply of a model names the session, unless a person has named it."""

from typing import NamedTuple

import pytest

from parley.events import facts
from parley.reply import with_title
from services.planner.conversation import WITHOUT_CHANGES, PlanDraft, PlanReply, draft_plan
from shared.domain.kernel import commands as c
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session, is_untitled
from shared.llm import ScriptedModel
from shared.llm.dialogue import reply_for
from shared.story import Story
from shared.testing import InMemoryLog
from shared.worker import WorkContext
from shared.worker.context import MAX_TITLE
from tests.support.work import work_context
from tests.unit.domain.spec import ASKED, TO_DONE, TO_PLAN, Given, StoryLine, draft, given, new_request, say, spend

REQUEST = "write a calculator"  # the text of `say()`
TITLE = "Calculator with floats"
PLAN = PlanDraft(goal="A calculator", steps=["Add", "Test"])


def asks_for_title(session: Session) -> bool:
    return "title" in reply_for(PlanReply, session).model_fields


# --- when a model is asked for a title


def test_a_title_may_be_left_out_and_stands_beside_the_reply() -> None:
    titled = with_title(PlanReply)
    plan = PLAN.model_dump()
    assert titled.model_validate({"title": TITLE, "reply": plan}).model_dump()["title"] == TITLE
    assert titled.model_validate({"reply": plan}).model_dump()["title"] == ""
    assert titled.model_validate(plan).reply == PLAN, "a model that is not held to the schema"
    assert PlanReply.model_validate({"title": TITLE, "reply": plan}).reply == PLAN, "a title that nobody asked for"


@pytest.mark.parametrize(
    ("lines", "asked"),
    [
        ((say(),), True),
        ((say(), spend()), True),
        ((say(), c.Fail(reason="x", retryable=True), c.Retry()), True),
        ((*ASKED, say("yes")), False),
        ((*TO_PLAN, say("why?")), False),
        ((*TO_DONE, new_request("a clock")), False),
        ((say(), c.Rename(title="Mine")), False),
        ((say(), c.Rename(title="Mine"), c.Fail(reason="x", retryable=True), c.Retry()), False),
    ],
)
def test_only_the_first_reply_in_a_session_without_a_name_has_a_title(
    lines: tuple[StoryLine, ...], asked: bool
) -> None:
    assert asks_for_title(given(*lines).session) is asked


# --- the title counts where nobody has named the session


def titled(before: Given, command: c.DraftPlan | c.Ask | c.AnswerRemark | c.RecordUsage) -> Given:
    """The session after this reply, which came with the title."""
    return Given(evolve(before.session, before.when(command, title=TITLE).then_event()))


@pytest.mark.parametrize("reply", [draft(), c.Ask(text="floats?"), c.AnswerRemark(text="Yes."), spend()])
def test_the_reply_with_a_title_names_the_session(reply: c.DraftPlan | c.Ask | c.AnswerRemark | c.RecordUsage) -> None:
    assert given(say()).session.title == REQUEST
    named = titled(given(say()), reply).session
    assert named.title == TITLE
    assert not is_untitled(named)


def test_a_title_never_replaces_a_persons() -> None:
    before = given(say(), c.Rename(title="Mine"))
    after = before.when(draft(), title=TITLE).then("plan.drafted", names_session="")
    assert after.session.title == "Mine"
    renamed = titled(given(say()), draft()).when(c.Rename(title="Mine")).then("session.renamed")
    assert renamed.session.title == "Mine"


@pytest.mark.parametrize("parent", [titled(given(say()), draft()), given(say(), draft(), c.Rename(title=TITLE))])
def test_a_fork_keeps_the_title_and_is_not_named_again(parent: Given) -> None:
    child = Story(parent.session).fork("s2")
    assert child.session.title == TITLE
    child.apply(say("with floats"))
    assert not asks_for_title(child.session)
    after = Given(child.session).when(draft("floats"), title="Another name").then("plan.drafted", names_session="")
    assert after.session.title == TITLE


# --- the worker


class Started(NamedTuple):
    """A session that has started, and its log."""

    story: Story
    log: InMemoryLog

    async def planner(self, title: str) -> WorkContext:
        """The planner's context, with a model that drafts a plan with this title."""
        reply = reply_for(WITHOUT_CHANGES, self.story.session)
        model = ScriptedModel(reply.model_validate({"title": title, "reply": PLAN.model_dump()}))
        return work_context("planner", await self.story.load_at_position(), model, log=self.log)


@pytest.fixture
async def started() -> Started:
    log = InMemoryLog()
    story = Story("s1", log=log)
    await story.commit(say())
    return Started(story, log)


@pytest.mark.parametrize(
    ("given_title", "title"),
    [(TITLE, TITLE), ("  A\ntitle\tof lines ", "A title of lines"), ("x" * 300, "x" * MAX_TITLE)],
)
async def test_the_event_of_the_first_reply_carries_its_title(started: Started, given_title: str, title: str) -> None:
    context = await started.planner(given_title)
    event = await context.record(await draft_plan(context))
    assert isinstance(event, facts.PlanDrafted)
    assert event.names_session == title
    assert context.session.title == title


@pytest.mark.parametrize("given_title", ["", "  "])
async def test_an_empty_title_names_nothing(started: Started, given_title: str) -> None:
    context = await started.planner(given_title)
    event = await context.record(await draft_plan(context))
    assert (event.names_session, context.session.title) == ("", REQUEST)


async def test_a_title_that_a_person_gives_meanwhile_wins(started: Started) -> None:
    context = await started.planner(TITLE)
    drafted = await draft_plan(context)
    await started.story.commit(c.Rename(title="Mine"))
    event = await context.record(drafted)
    assert (event.names_session, (await started.story.load()).title) == ("", "Mine")


async def test_a_title_outlives_work_that_ends_without_an_event(started: Started) -> None:
    context = await started.planner(TITLE)
    await draft_plan(context)
    await context.record_pending_calls()
    session = await started.story.load()
    assert (session.title, session.spent.calls) == (TITLE, 1)
