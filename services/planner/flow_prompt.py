"""The prompt for a path through flows, and the replies it accepts. Pure: session in, text out."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from parley.protocol.flows import FlowPage, FlowSpec
from parley.protocol.pages import LibraryEntry
from parley.reply import ONE_OF, AcceptedOffer, Kind, QuestionDraft, Reply, WordsDraft, streamed_list
from services.planner.recall import example_line
from shared.domain.kernel.session import Session
from shared.flows import shorten_state
from shared.llm import Message
from shared.llm.dialogue import (
    ANSWER_RULE,
    CONVERSATION,
    KINDS,
    OFFER_RULE,
    QUESTION_RULE,
    SAY,
    knowledge_section,
    request_section,
    waiting_sections,
)
from shared.llm.sections import capabilities, prompt
from shared.settings import Settings

EXAMPLE = (
    '{"reply": {"kind": "path", "say": "", "reasoning": "The letter is there already, so it only has to be checked and '
    'sent.", "paths": [{"flow": "letters", "nodes": ["check_letter", "send_letter"]}], "new_node": null}}'
)
RULES = f"""
You are the planner of Parley. You plan the path through a flow: a graph of described nodes, under <flows>, that a
program follows to do what a person asks. Choose the flow that fits and the nodes that are needed, in the order they
run. Each node must be among the possible_next_nodes of the one before; the last one must have none. A node may come
twice if the graph leads back to it. Every input of a node must be in the flow's <state> or among the outputs of a node
before it. Begin where the request needs to begin and leave out what it does not need: what <state> has already need not
be made again. Conditions may lead elsewhere while it runs; plan the likely path. <examples> are paths whose answers the
person accepted for similar requests. <problems> tell why your last path was not accepted.

{CONVERSATION}

{KINDS}
1. path: say ({SAY}),
   reasoning (why this path, in a sentence or two), paths (a list of {{flow, nodes}}; two of them if the request needs
   two flows, one after the other: the second one gets what the first one found), new_node (a node that is missing and
   would serve this request, {{flow, name, description, why}}, or null: it is noted for the flow's authors, and does not
   run).
2. {QUESTION_RULE}
   Ask if it is not clear which flow is meant, with the flows' names as options. Also ask when something that the
   request needs is missing, for example the SQL to fix.
3. {ANSWER_RULE}
4. {OFFER_RULE}

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
    notes_in = "say"

    kind: Literal["path"] = "path"
    say: str = ""
    reasoning: str = ""
    paths: list[FlowPath] = Field(min_length=1, max_length=2)
    new_node: NewNode | None = None


class PathReply(Reply):
    """The planner's reply."""

    reply: Annotated[PathDraft | QuestionDraft | WordsDraft | AcceptedOffer, ONE_OF]


def build_prompt(
    session: Session,
    settings: Settings,
    page: FlowPage,
    examples: Sequence[LibraryEntry],
    problems: Sequence[str] = (),
) -> list[Message]:
    states = {name: shorten_state(state) for name, state in page.states.items()}
    return prompt(
        "planner",
        "path",
        RULES,
        {
            "original_request": request_section(session),
            "examples": map(example_line, examples),
            "state": json.dumps(states, ensure_ascii=False) if states else None,
            "problems": problems,
            **waiting_sections(session),
        },
        system={"capabilities": capabilities(settings), "flows": map(_flow_line, page.flows)},
        opening={"knowledge": knowledge_section(session)},
        transcript=session.transcript,
        due="Plan the path, or answer the person.",
        zone=session.time_zone,
    )


def _flow_line(flow: FlowSpec) -> str:
    """A flow as one line of the prompt, without display titles and fields that say nothing."""
    fields = flow.model_dump(mode="json", exclude={"nodes"}, exclude_defaults=True)
    nodes = [node.model_dump(mode="json", exclude={"title"}, exclude_defaults=True) for node in flow.nodes]
    return json.dumps({**fields, "nodes": nodes}, ensure_ascii=False)


def render_partial(partial: Mapping[str, Any]) -> str:
    """The part of the reply that has been streamed so far, as Markdown."""
    if words := partial.get("text"):
        return str(words)
    lines = [str(partial.get("reasoning") or "")]
    for path in streamed_list(partial, "paths"):
        if isinstance(path, Mapping) and isinstance(path.get("nodes"), list):
            lines.append(f"{path.get('flow')}: {' → '.join(map(str, path['nodes']))}")
    return "\n\n".join(line for line in lines if line)
