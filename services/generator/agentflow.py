"""The workflow `agentflow`: write the answer to a request, or a test task."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parley.events.facts import MAX_NEXT
from parley.protocol.tools import TOOLS_LIST, ListTools, ToolPage
from parley.reply import MAX_OPTION, JsonText, Kind, Reply, Text
from shared.bus import Bus, BusUnavailable, MessageTooLarge
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.transcript.compaction import cut
from shared.domain.transcript.memory import ActionRecord, action_history, older_reads, text_of
from shared.domain.transcript.queries import turned_down
from shared.llm import Message
from shared.llm.dialogue import CONVERSATION, knowledge_section, request_section
from shared.llm.sections import capabilities, prompt
from shared.settings import Settings
from shared.worker import WorkContext

BEFORE = "may be older than"
DECLINED = "declined by the person"
MAX_ARGUMENTS = 500  # characters of a call that was not carried out
TURNED_DOWN = "Offered, and turned down by the person:"
ANSWER_EXAMPLE = (
    '{"reply": {"kind": "answer", "text": "Order A-17 is cancelled; the 12.50 go back to your gift card.", "evidence": '
    '["2.1"], "confidence": 0.9, "next": ["Cancel order A-18, too"]}}'
)
ANSWER_RULES = f"""
You write the answers of Parley, for a person whose request was worked on with tools. Say what was done, what was not
and why, and give the facts and amounts that were asked for, as the <run> entries show them: nothing that is not there,
no promise, no advice that nobody asked for. Where only a part could be done, tell what is done and what is open: that
is a full answer. <rules> are those of the business: say nothing against them, and why they do not allow something.

<not_done> lists calls and offers that were not carried out, and why. What the person declined, left out or turned down
is “not done, because you declined it”: never a failure. If it is uncertain whether a call took effect, say that it may
or may not have been done.
<older_reads> lists reads that may be older than a change. State no value of theirs that such a change can have altered,
such as a balance, a total or a status, as the current one: the result of the change or of a newer read has it, or say
that this is what it was before. What the change cannot touch still holds.

{CONVERSATION}

Reply with the kind answer: text (to the person, in Markdown), evidence (the ids of the calls on which your answer
rests), confidence (0 to 1: how sure you are that the request is fulfilled as it was meant), next (what the person could
ask for next, if something is open, done in part or declined, or if a next step is natural: up to four short requests in
their language, each a message that they can send as it is; nothing that <rules> forbid, nor what they declined,
took back or called wrong; empty if there is no such step).

A good reply: {ANSWER_EXAMPLE}
"""
TASK_EXAMPLE = (
    '{"reply": {"kind": "task", "reasoning": "One cancellation, for a reason.", "q": "You are Ann Lee, zip 02134. You '
    'want to cancel order A-17 because you ordered it by mistake.", "agt": [{"name": "cancel_order", "arguments": '
    '"{\\"id\\": \\"A-17\\"}"}], "ogt": [], "confidence": 0.9}}'
)
TASK_RULES = f"""
You write one test task for an agent that serves the customers of a retail store, from the <knowledge> about one
customer, their orders and the products that matter, for the kinds of wishes that its scenario names.
Reply with the kind task. reasoning: what the customer wants, in a sentence. q: an instruction to somebody who plays the
customer, in the second person: who they are (name and zip code, or email), what they want and, if it matters, why;
everything that is needed to carry it out, in everyday words, without hints at tools. agt: the calls that change
something, in order, as {{name, arguments}}, with the arguments as JSON text, exactly as the store's tools take them;
they keep the <rules>. ogt: what the agent's answer must contain, as short texts; empty if the customer asks for no
facts. confidence: 0 to 1.

A good reply: {TASK_EXAMPLE}
"""
RULES_TIMEOUT = 2.0  # seconds; an answer without the rules is better than none
type RulesOf = Callable[[tuple[str, ...]], Awaitable[tuple[str, ...]]]
log = structlog.get_logger("generator")


class AnswerDraft(Kind):
    """The answer to the request."""

    kind: Literal["answer"] = "answer"
    text: Text
    evidence: list[str] = Field(default_factory=list, max_length=100)
    confidence: float = Field(ge=0, le=1)
    next: list[str] = Field(default_factory=list, max_length=10)


class AnswerReply(Reply):
    """The generator's answer."""

    reply: AnswerDraft


class TaskCall(BaseModel):
    """A call that changes something."""

    # Arguments of any shape are read: whoever makes the task repairs them, and says so.

    model_config = ConfigDict(extra="ignore")

    name: str
    arguments: JsonText = None


class TaskDraft(Kind):
    """A test task as it was drafted."""

    kind: Literal["task"] = "task"
    reasoning: str = ""
    q: str = Field(min_length=1)
    agt: list[TaskCall] = Field(default_factory=list, max_length=50)
    ogt: list[str] = Field(default_factory=list, max_length=50)
    confidence: float = Field(0.5, ge=0, le=1)


class TaskReply(Reply):
    """The generator's test task."""

    reply: TaskDraft


def build_answer_prompt(session: Session, settings: Settings, rules: Iterable[str] = ()) -> list[Message]:
    records = action_history(session.memory, session.turn)
    return prompt(
        "generator",
        "answer",
        ANSWER_RULES,
        {
            "original_request": request_section(session),
            "older_reads": map(_older_read, older_reads((*session.memory.earlier, *records))),
            "not_done": (*not_done(session, records), *(f"{TURNED_DOWN} {what}" for what in turned_down(session))),
        },
        system={"capabilities": capabilities(settings), "rules": rules},
        opening={"knowledge": knowledge_section(session)},
        transcript=session.transcript,
        due="Answer the request.",
        zone=session.time_zone,
    )


def _older_read(read_and_changes: tuple[ActionRecord, list[ActionRecord]]) -> str:
    read, changes = read_and_changes
    return f"{read.id} {read.tool}: {BEFORE} {', '.join(f'{change.id} {change.tool}' for change in changes)}"


def not_done(session: Session, records: Sequence[ActionRecord]) -> Iterator[str]:
    """The calls of the request that were declined or left out and not carried out later, and why."""
    done = {record.key for record in records if record.status == "finished"}
    declined = {decision.about for decision in session.decisions if decision.type == "approval.denied"}
    for record in records:
        if record.status in ("denied", "skipped") and record.key not in done:
            done.add(record.key)  # told once
            why = DECLINED if record.id in declined else record.text  # the conversation has the person's reason
            yield f"{record.id} {record.tool} {cut(text_of(record.arguments), MAX_ARGUMENTS)}: {why}"


def build_task_prompt(session: Session) -> list[Message]:
    """The prompt for a test task. The business rules are the knowledge item named `rules`."""
    sections = {
        "rules": [known.text for known in session.words.knowledge if known.name == "rules"],
        "knowledge": [f"# {known.name}\n{known.text}" for known in session.words.knowledge if known.name != "rules"],
        "request": session.words.request,
    }
    return prompt("generator", "task", TASK_RULES, sections, due="Write the task.", zone=session.time_zone)


def render_partial_answer(partial: Mapping[str, Any]) -> str:
    return str(partial.get("text") or "")


def render_partial_task(partial: Mapping[str, Any]) -> str:
    return str(partial.get("q") or "")


async def rules_of(bus: Bus, tools: tuple[str, ...]) -> tuple[str, ...]:
    """The rules of the packs that have these tools; none if the executor does not answer in time."""
    ask = ListTools(names=tools, limit=len(tools), matching=True)
    try:
        body = await bus.request(TOOLS_LIST, ask.model_dump_json().encode(), timeout=RULES_TIMEOUT)
        return ToolPage.model_validate_json(body, extra="allow").rules
    except (BusUnavailable, MessageTooLarge, ValidationError) as error:
        log.warning("answer_without_rules", reason=type(error).__name__)
        return ()


async def write(context: WorkContext, rules_of: RulesOf) -> c.GiveAnswer:
    if context.session.settings.task:
        return await write_task(context)
    return await write_answer(context, rules_of)


async def write_answer(context: WorkContext, rules_of: RulesOf) -> c.GiveAnswer:
    """The answer. Its evidence keeps only ids of actions that finished or failed."""
    session = context.session
    tools = tuple(dict.fromkeys(action.tool for action in action_history(session.memory, session.turn)))
    rules = await rules_of(tools) if tools else ()
    messages = build_answer_prompt(context.prompt_session, context.deps.settings, rules)
    reply = (await context.ask(messages, AnswerReply, kind="answer", render=render_partial_answer)).reply
    ended_ids = {
        action.id for action in action_history(session.memory, session.turn) if action.status in ("finished", "failed")
    }
    evidence = tuple(action_id for action_id in dict.fromkeys(reply.evidence) if action_id in ended_ids)
    wishes = dict.fromkeys(filter(None, (" ".join(wish.split())[:MAX_OPTION] for wish in reply.next)))
    text = reply.text[:50_000]
    return c.GiveAnswer(text=text, confidence=reply.confidence, evidence=evidence, next=tuple(wishes)[:MAX_NEXT])


async def write_task(context: WorkContext) -> c.GiveAnswer:
    """The test task as JSON: {"q", "agt", "ogt"}."""
    reply = (
        await context.ask(build_task_prompt(context.session), TaskReply, kind="answer", render=render_partial_task)
    ).reply
    task = reply.model_dump_json(include={"q", "agt", "ogt"})
    return c.GiveAnswer(text=task[:50_000], confidence=reply.confidence)
