"""The prompt for a path through flows, and the replies it accepts. Pure: session in, text out."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from parley.protocol.flows import FlowPage, FlowSpec
from parley.protocol.pages import LibraryEntry
from parley.reply import ONE_OF, Kind, QuestionDraft, Reply, WordsDraft
from services.planner.examples import example_line
from shared.domain.messages import drafting_session
from shared.domain.session import Session
from shared.flows import shorten_state
from shared.llm import Message
from shared.llm.dialogue import ANSWER_RULE, QUESTION_RULE
from shared.llm.remark import remark_sections
from shared.llm.sections import prompt

MAX_EARLIER_REQUESTS, MAX_OUTCOME = 3, 200  # earlier requests in the prompt; characters of each outcome
EXAMPLE = (
    '{"reply": {"kind": "path", "reasoning": "The letter is there already, so it only has to be checked and sent.", '
    '"paths": [{"flow": "letters", "nodes": ["check_letter", "send_letter"]}], "new_node": null}}'
)
RULES = f"""
You are the planner of Parley. You plan the way through a flow: a graph of described nodes (<flows>) that a program
walks for a person's <request>. Choose the flow that fits and the nodes that are needed, in the order they run. Each
node must be among the possible_next_nodes of the one before; the last one must have none. Every input of a node must
be in the flow's <state> or be made by a node before it. Begin where the request needs to begin and leave out what it
does not need: what the state holds already need not be made again. Conditions may still lead the walk elsewhere; plan
the way that is likely. <examples> are paths whose answers the person accepted for similar requests. <feedback> is what
was said about the last attempt, <problems> why your last path was not taken.
Reply in one of these ways:
1. path: reasoning (why this way, in a sentence or two), paths (a list of {{flow, nodes}}; two of them where the request
   needs two flows, one after the other: the second flow is given what the first one found), new_node (a node that is
   missing and would serve this request, {{flow, name, description, why}}, or null; it will not run).
2. {QUESTION_RULE}
   Ask where it is not clear which flow is meant, with the flows' names as options. Ask, too, for what the request is
   about and nothing here holds, such as the SQL that is to be fixed.
3. {ANSWER_RULE}
A good reply: {EXAMPLE}
"""


class FlowPath(BaseModel):
    """One flow and the nodes to walk in it."""

    model_config = ConfigDict(extra="forbid")

    flow: str = Field(min_length=1, max_length=200)
    nodes: list[str] = Field(min_length=1, max_length=60)


class NewNode(BaseModel):
    """A node that the model would like to have."""

    model_config = ConfigDict(extra="ignore")

    flow: str = Field(min_length=1, max_length=200)
    name: str = Field(min_length=1, max_length=200)
    description: str = Field(min_length=1, max_length=2_000)
    why: str = Field("", max_length=2_000)


class PathDraft(Kind):
    """One or two paths."""

    usable = ("paths",)
    notes_in = "reasoning"

    kind: Literal["path"] = "path"
    reasoning: str = ""
    paths: list[FlowPath] = Field(min_length=1, max_length=2)
    new_node: NewNode | None = None


class PathReply(Reply):
    """The planner's reply."""

    reply: Annotated[PathDraft | QuestionDraft | WordsDraft, ONE_OF]


def build_prompt(
    session: Session, page: FlowPage, examples: Sequence[LibraryEntry], problems: Sequence[str] = ()
) -> list[Message]:
    remark, session = remark_sections(session), drafting_session(session)
    answers = {entry.answer for entry in session.words.dialogue}
    states = {name: shorten_state(state) for name, state in page.states.items()}
    return prompt(
        "planner",
        "path",
        RULES,
        {
            "flows": [_flow_line(flow) for flow in page.flows],
            "state": json.dumps(states, ensure_ascii=False) if states else None,
            "previous": [
                f"- {past.request} ({past.outcome[:MAX_OUTCOME]})"
                for past in session.words.earlier[-MAX_EARLIER_REQUESTS:]
            ],
            "knowledge": [f"# {known.name}\n{known.text}" for known in session.words.knowledge],
            "request": session.words.request,
            "dialogue": [f"Q: {entry.question}\nA: {entry.answer}" for entry in session.words.dialogue],
            "feedback": [words for words in session.words.feedback if words not in answers],
            "examples": [example_line(entry) for entry in examples],
            "problems": problems,
            "review": remark.get("review"),
            "remark": remark.get("remark"),
        },
        due="Plan the way for the request.",
        zone=session.time_zone,
    )


def _flow_line(flow: FlowSpec) -> str:
    """A flow as one line of the prompt, without display titles and empty fields."""
    fields = flow.model_dump(mode="json", exclude={"nodes"})
    nodes = [
        {name: value for name, value in node.model_dump(mode="json", exclude={"title"}).items() if value}
        for node in flow.nodes
    ]
    return json.dumps({**fields, "nodes": nodes}, ensure_ascii=False)


def render_partial(partial: Mapping[str, Any]) -> str:
    """The part of the reply that has been streamed so far, as Markdown."""
    if words := partial.get("text"):
        return str(words)
    lines = [str(partial.get("reasoning") or "")]
    for path in partial.get("paths") or ():
        if isinstance(path, Mapping) and isinstance(path.get("nodes"), list):
            lines.append(f"{path.get('flow')}: {' → '.join(map(str, path['nodes']))}")
    return "\n\n".join(line for line in lines if line)
