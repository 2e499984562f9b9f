"""The prompts for an answer and for a test task, and the replies they accept. Pure."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from parley.events.values import Status
from parley.reply import JsonText, Kind, Reply, Text
from shared.domain.memory import action_history
from shared.domain.session import Session
from shared.llm import Message
from shared.llm.action_history import action_lines
from shared.llm.sections import prompt

MAX_EARLIER_REQUESTS, MAX_OUTCOME = 2, 200  # earlier requests in the prompt; characters of each outcome
LAST_TURN_PHRASES: Mapping[Status, str] = {
    "success": ", and something may be left to do",
    "partial": "; {turn} was done in part",
    "failure": "; {turn} failed",
}
ANSWER_EXAMPLE = (
    '{"reply": {"kind": "answer", "text": "Order A-17 is cancelled; the 12.50 go back to your gift card.", "evidence": '
    '["2.1"], "confidence": 0.9}}'
)
ANSWER_RULES = f"""
You write the answers of Parley, for a person whose request was worked on with tools. Say what was done, what was not
and why, and the facts and amounts that were asked for, as the results under <executed> show them: nothing that is not
there, no promise, no advice that nobody asked for. What was denied or skipped was not done, for the reason given as its
result, and what a person left out has not failed; whether what is uncertain was done nobody knows: say so. <ended>
tells why the work ended before it was complete, <earlier> what calls for the requests before this one found, shortened.
Reply with the kind answer: text (what you say to the person), evidence (the ids of the executed calls that your answer
rests on), confidence (0 to 1, how sure you are that the request is fulfilled as it was meant).
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
customer, in the second person: who they are (name and zip code, or email), what they want and, where it decides, why;
all that is needed to carry it out, as people say it, and no hints at tools. agt: the calls that change something, in
order, as {{name, arguments}}, with the arguments as JSON text, exactly as the store's tools take them; the <rules>
hold. ogt: what the agent's answer must contain, as short texts; empty where the customer asks for no facts. confidence:
0 to 1.
A good reply: {TASK_EXAMPLE}
"""


class AnswerDraft(Kind):
    """The answer to the request."""

    kind: Literal["answer"] = "answer"
    text: Text
    evidence: list[str] = Field(default_factory=list, max_length=100)
    confidence: float = Field(ge=0, le=1)


class AnswerReply(Reply):
    """The generator's answer."""

    reply: AnswerDraft


class TaskCall(BaseModel):
    """A call of a test task; arguments of any shape are taken: who makes the task puts them right, and says so."""

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


def build_answer_prompt(session: Session) -> list[Message]:
    answers = {entry.answer for entry in session.words.dialogue}
    return prompt(
        "generator",
        "answer",
        ANSWER_RULES,
        {
            "previous": [
                f"- {past.request} ({past.outcome[:MAX_OUTCOME]})"
                for past in session.words.earlier[-MAX_EARLIER_REQUESTS:]
            ],
            "knowledge": [f"# {known.name}\n{known.text}" for known in session.words.knowledge],
            "request": session.words.request,
            "dialogue": [f"Q: {entry.question}\nA: {entry.answer}" for entry in session.words.dialogue],
            "feedback": [words for words in session.words.feedback if words not in answers],
            "earlier": action_lines(session.memory.earlier),
            "executed": action_lines(action_history(session.memory, session.turn)),
            "verdicts": [
                f"- turn {verdict.turn}: {verdict.status}. {verdict.reasoning}" for verdict in session.memory.verdicts
            ],
            "reasoning": session.memory.closing,
            "ended": end_reason(session),
        },
        due="Answer the request.",
        zone=session.time_zone,
    )


def end_reason(session: Session) -> str:
    """Why the work ended before a verdict called it complete; "" if it is complete or nothing was left to do."""
    last = session.memory.verdicts[-1] if session.memory.verdicts else None
    used = session.counts.turns - session.counts.turns_before
    if session.memory.closing or last is None or last.next_action == "complete" or used < session.settings.max_turns:
        return ""
    turns = session.settings.max_turns
    used_up = "The only turn is used up" if turns == 1 else f"All {turns} turns are used up"
    return f"{used_up}{LAST_TURN_PHRASES[last.status].format(turn='it' if turns == 1 else 'the last one')}."


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
