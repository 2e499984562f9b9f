"""The generator's answers and test tasks: its prompts, and the commands that it makes of the replies."""

import json
from functools import partial
from typing import Any, cast

import pytest

from parley.events.values import Knowledge, SessionSettings
from parley.protocol.tools import TOOLS_LIST, ListTools, ToolPage
from services.generator.agentflow import AnswerDraft, TaskDraft, build_answer_prompt, rules_of
from services.generator.app import write
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.llm import ScriptedModel
from shared.settings import Settings
from tests.support.bus import FakeBus
from tests.support.prompt_sections import sections_of
from tests.support.work import work_context
from tests.unit.domain.spec import LEAVE, act, done, given, request, say, turn, verdict

REQUEST = (request("agentflow", approval="never", max_turns=2),)
ONE_READ = (*REQUEST, turn(act("1.1")), c.Start(), done("1.1"))
BRIEF = Knowledge(name="brief", text='{"user": {"user_id": "mia_li_1"}}')


async def write_answer_for(
    session: Session, reply: AnswerDraft | TaskDraft, bus: FakeBus | None = None
) -> tuple[c.GiveAnswer, ScriptedModel]:
    """The command, and the model that was asked; without a bus no executor answers."""
    ask = partial(rules_of, cast(Bus, bus or FakeBus()))
    model = ScriptedModel(reply)
    command = await write(work_context("generator", session, model), ask)
    assert isinstance(command, c.GiveAnswer)
    return command, model


def prompt_text(session: Session) -> str:
    return "\n".join(message["content"] for message in build_answer_prompt(session, Settings()))


# --- evidence


async def test_evidence_has_only_actions_of_this_request() -> None:
    """Unknown ids and those of other requests are left out; duplicates are listed once."""
    earlier = (*ONE_READ, verdict("complete"), c.GiveAnswer(text="Seen.", confidence=1, evidence=("1.1",)))
    session = given(*earlier, say("more"), turn(act("2.1"), act("2.2")), c.Start(), done("2.1"), done("2.2"), verdict())
    reply = AnswerDraft(text="Here.", confidence=0.75, evidence=["2.2", "1.1", "2.2", "9.9", "", "2.1"])
    result, _ = await write_answer_for(session.session, reply)
    assert result == c.GiveAnswer(text="Here.", confidence=0.75, evidence=("2.2", "2.1"))
    session.when(result).then("answer.given").leaves("resting", "nobody", confidence=0.75, evidence=("2.2", "2.1"))


async def test_an_action_without_an_outcome_is_no_evidence() -> None:
    """Denied, skipped and uncertain actions have no outcome; failed ones do."""
    actions = (act("1.1", ask="a write", effect="write"), act("1.2"), act("1.3", "1.1"), act("1.4", effect="write"))
    uncertain = c.ReportUncertain(action_id="1.4", reason="it was ended while it ran")
    story = (
        *REQUEST,
        turn(*actions),
        c.Reject(action_id="1.1"),
        c.Start(),
        done("1.2", ok=False),
        uncertain,
        say(LEAVE),
    )
    reply = AnswerDraft(text="It failed.", confidence=0.5, evidence=["1.1", "1.2", "1.3", "1.4"])
    answer, _ = await write_answer_for(given(*story, verdict()).session, reply)
    assert answer.evidence == ("1.2",)


async def test_the_answer_proposes_a_few_messages() -> None:
    """Empty and repeated ones are left out, and what is too long for a message's button is cut."""
    session = given(*ONE_READ, verdict())
    wishes = ["Cancel  order\n#W1", "", "Cancel order #W1", "x" * 900, "And #W2", "And #W3", "And #W4"]
    answer, _ = await write_answer_for(session.session, AnswerDraft(text="Seen.", confidence=1, next=wishes))
    assert answer.next == ("Cancel order #W1", "x" * 500, "And #W2", "And #W3")
    after = session.when(answer).then("answer.given").leaves("resting", "nobody").given.session
    assert after.answer.next == answer.next
    told = json.loads(after.transcript[-1].text)["reply"]["text"]
    assert told.startswith("Seen.\n\nProposed as your next message:\n1. Cancel order #W1\n2. xxx"), (
        "“do the second one” can be understood"
    )
    for reply in (c.AnswerRemark(text="There is no #W2."), turn(act("2.1"))):
        assert given(say("And #W2"), reply, begin=after).session.answer.next == ()


# --- the answer's prompt


async def test_the_prompt_has_the_rules_of_the_packs_whose_tools_were_used() -> None:
    asked = []

    def page(data: bytes) -> bytes:
        asked.append(ListTools.model_validate_json(data))
        return ToolPage(tools=(), total=0, rules=("A return is paid to the card.",)).model_dump_json().encode()

    bus = FakeBus()
    bus.answers[TOOLS_LIST] = page
    reply = AnswerDraft(text="Seen.", confidence=1)
    _, model = await write_answer_for(given(*ONE_READ, verdict()).session, reply, bus)
    assert sections_of(model.prompts[0].text)["rules"] == "A return is paid to the card."
    assert [(ask.names, ask.matching, ask.query) for ask in asked] == [(("orders",), True, "")]
    await write_answer_for(given(*REQUEST, turn(nothing=True)).session, reply, bus)
    assert len(asked) == 1, "nobody is asked where no tool was used"


@pytest.mark.parametrize("strange", [None, b"{}"], ids=["no executor", "a strange reply"])
async def test_the_answer_is_written_without_rules_if_the_executor_does_not_tell_them(strange: bytes | None) -> None:
    bus = FakeBus()
    bus.draft = strange
    answer, model = await write_answer_for(
        given(*ONE_READ, verdict()).session, AnswerDraft(text="Seen.", confidence=1), bus
    )
    assert (answer.text, "rules" in sections_of(model.prompts[0].text)) == ("Seen.", False)


def test_the_prompt_lists_reads_that_may_be_older_than_a_change() -> None:
    first = (*ONE_READ, verdict("continue"), turn(act("2.1", effect="write")), c.Start(), done("2.1"), verdict())
    session = given(*first).session
    assert sections_of(prompt_text(session))["older_reads"] == "1.1 orders: may be older than 2.1 orders"
    assert "older_reads" not in sections_of(prompt_text(given(*ONE_READ, verdict()).session))


def test_the_prompt_lists_what_was_not_done_and_why() -> None:
    """A call that was carried out later was done; one that is refused again is listed once."""
    actions = (
        act("1.1", ask="a write", effect="write"),
        act("1.2"),
        act("1.3", "1.1"),
        act("1.4", ask="a write", effect="write", arguments={"order": "#W4"}),
    )
    declined = (c.Reject(action_id="1.1", reason="the other one"), c.Reject(action_id="1.4"))
    first = (*REQUEST, turn(*actions), *declined, c.Start(), done("1.2"), verdict("continue", "partial"))
    again = turn(
        act("2.1", arguments={"id": "1.3"}), act("2.2", ask="a write", effect="write", arguments={"order": "#W4"})
    )
    lines = [
        '1.1 orders {"id": "1.1"}: declined by the person',
        '1.3 orders {"id": "1.3"}: an action it depends on did not finish',
        '1.4 orders {"order": "#W4"}: declined by the person',
    ]
    ended = given(*first, turn(nothing=True)).session
    assert sections_of(prompt_text(ended))["not_done"].splitlines() == lines
    done_later = given(*first, again, c.Start(), done("2.1"), verdict()).session
    assert sections_of(prompt_text(done_later))["not_done"].splitlines() == [lines[0], lines[2]]


# --- tasks


async def test_the_answer_to_a_task_request_is_the_task_as_json() -> None:
    session = given(say("Draft", workflow="agentflow", settings=SessionSettings(task=True), knowledge=(BRIEF,)))
    session = given(turn(nothing=True), begin=session.session)
    calls: Any = [{"name": "cancel_pending_order", "arguments": "{'order_id': '#W1'}", "extra": 1}]
    reply = TaskDraft(q="You are Mia.", agt=calls, ogt=["12.50"], reasoning="because", confidence=0.4)
    answer, model = await write_answer_for(session.session, reply)
    agt = [{"name": "cancel_pending_order", "arguments": "{'order_id': '#W1'}"}]
    assert json.loads(answer.text) == {"q": "You are Mia.", "agt": agt, "ogt": ["12.50"]}
    assert (answer.confidence, answer.evidence) == (0.4, ())
    prompt = model.prompts[0].text
    assert prompt.startswith("Role: generator\nTask: task\n")
    assert BRIEF.text in prompt
