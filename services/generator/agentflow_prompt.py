"""The prompts for an answer and for a test task, and the replies they accept. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from parley.reply import JsonText, Kind, Reply, Text
from shared.domain.compaction import cut
from shared.domain.memory import ActionRecord, action_history, older_reads, text_of
from shared.domain.session import Session
from shared.domain.transcript_queries import turned_down
from shared.llm import Message
from shared.llm.capabilities import capabilities
from shared.llm.dialogue import CONVERSATION, knowledge_section, request_section
from shared.llm.sections import prompt
from shared.settings import Settings

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
