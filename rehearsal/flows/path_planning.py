"""The reply to the task `path`: a path through one of the prompt's flows, or a question."""

import re
from collections.abc import Sequence
from typing import Any

from rehearsal.flows import cues
from rehearsal.flows.graph import FlowGraph, read_flows
from rehearsal.prompt import ParsedPrompt
from rehearsal.refusals import effective_request, refuse
from rehearsal.replies import may_ask, question
from rehearsal.retail.customer_requests import order_ids
from rehearsal.retail.identity import emails, names_with_zip
from rehearsal.retail.text_normalization import normalize
from rehearsal.sql.explanation import explain
from rehearsal.sql.followups import goes_on

SQL, TRIAGE = "text_to_sql", "complaint_triage"  # the built-in flows; in any other the default path is taken
AGAIN = ("rewrite_prompt", "generate_sql", "validate_sql", "execute_sql", "format_final_response")
SKIPS = {  # phrases for nodes to leave out, besides their names
    "has_user_approved": re.compile(r"(?:\bnot|n't|\bwithout) (?:ask|asking|bother)\b"),
    "execute_sql": re.compile(r"(?:\bnot|n't|\bwithout) (?:run|running|execute) it\b"),
}
MEND = re.compile(
    r"(?:please |can you |could you )*(?:fix|repair|correct|mend|debug|what(?:'s| is) wrong with) "
    r"(?:(?:this|that|my|the) )?(?:broken |wrong )?(?:sql|query|statement)(?: query| statement)?(?: please)?\W*"
)
WHICH_SQL = "Which SQL is it? Please paste the statement that does not work."
LEAVE_OUT = re.compile(r"\b(?:skip|leave out|without)\b(.*)")
MAIL = re.compile(r"\be-?mail (?:me|it|them|the result)\b")


def answer_path(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `path`."""
    request = effective_request(prompt)[: cues.LONGEST]
    flow = _chosen(read_flows(prompt), request, prompt["dialogue"])
    if flow is None:
        return refuse("flow", request, prompt)
    if flow.name == SQL and cues.wants_words(request) and not explain(request):
        return refuse("flow", request, prompt)
    if flow.name == SQL and not flow.state.get("sql") and MEND.fullmatch(cues.plain(request)):
        return question(WHICH_SQL) if may_ask(prompt, WHICH_SQL) else refuse("flow", request, prompt)
    text = cues.plain(f"{request} {prompt['feedback']}")
    ways = [] if prompt["problems"] else [_shorter(flow, _wanted(flow, request), text), _wanted(flow, request)]
    path = next((way for way in (*ways, flow.ordinary()) if flow.walkable(way)), None)
    if path is None:
        return refuse("flow", request, prompt)
    left = [name for name in flow.ordinary() if name not in path]
    about = "a data question" if flow.name == SQL else flow.name.replace("_", " ")
    why = f"Standard route for {about}." + (f" Left out: {', '.join(left)}." if left else "")
    paths = [{"flow": flow.name, "nodes": list(path)}]
    return {"kind": "path", "reasoning": why, "paths": paths, "new_node": _new_node(flow, text)}


def _chosen(flows: Sequence[FlowGraph], request: str, dialogue: str) -> FlowGraph | None:
    """The flow that the request is for; None if nothing indicates one."""
    lower, answers = cues.plain(request), " ".join(re.findall(r"^A: (.*)", dialogue, re.MULTILINE))
    if cues.is_talk(lower):
        return None
    if len(flows) == 1:
        return flows[0]
    for flow in flows:
        if flow.name in f"{answers} {lower}" or flow.name.replace("_", " ") in lower or flow.state.get("sql"):
            return flow
    own = [flow for flow in flows if flow.name not in (SQL, TRIAGE)]
    if alike := next((flow for flow in own if len(_words(flow.description) & _words(request)) >= 2), None):
        return alike
    before = any(flow.state.get("previous_sql") or flow.state.get("conversation") for flow in flows)
    follows = before and goes_on(lower)
    name = SQL if follows else TRIAGE if cues.is_complaint(lower) else SQL if cues.is_question(lower) else ""
    return next((flow for flow in flows if flow.name == name), None)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{4,}", text.lower()))


def _wanted(flow: FlowGraph, request: str) -> tuple[str, ...]:
    """The nodes that the request needs; by default the flow's default path."""
    lower, ordinary = cues.plain(request), flow.ordinary()
    if flow.name == TRIAGE:
        return _complaint(request, lower)
    if flow.name != SQL:
        return ordinary
    if cues.wants_words(request):
        return ("general_questions",)
    if flow.state.get("sql"):
        about = cues.without_sql(request)
        if cues.CHECK.search(about):
            return ("validate_sql", "format_final_response")
        begins = "generate_sql" if flow.state.get("fix") and cues.REASON.search(about) else "validate_sql"
        return ordinary[ordinary.index(begins) :] if begins in ordinary else ordinary
    return AGAIN if flow.state.get("previous_sql") and goes_on(lower) else ordinary


def _complaint(request: str, lower: str) -> tuple[str, ...]:
    """The path to the remedy that the complaint asks for, with a question if order or customer is missing."""
    known = order_ids(request) and (emails(request) or names_with_zip(normalize(request)))
    begins = ("classify_complaint",) if known else ("classify_complaint", "ask_for_order", "classify_complaint")
    return (*begins, "find_customer", "read_order", "assess", *_remedy(lower), "write_reply")


def _remedy(lower: str) -> tuple[str, ...]:
    kind = cues.kind_of(lower)
    if cues.PERSON.search(lower):
        return ("hand_over",)
    if cues.affirms(cues.CANCEL, lower):
        return ("cancel_order",)
    if cues.affirms(cues.RETURN, lower) or kind in ("damaged", "wrong_item"):
        return ("return_items",)
    return ("cancel_order",) if kind == "unwanted" else ()


def _shorter(flow: FlowGraph, path: Sequence[str], text: str) -> tuple[str, ...]:
    """The path without the nodes to leave out."""
    named = " ".join(LEAVE_OUT.findall(text)).replace(" ", "_")
    out = {name for name in flow.nodes if name in named or (name in SKIPS and SKIPS[name].search(text))}
    return tuple(name for name in path if name not in out)


def _new_node(flow: FlowGraph, text: str) -> dict[str, str] | None:
    """A proposal for the only node that this model can propose; None if the request does not need it."""
    if not MAIL.search(text) or "send_email" in flow.nodes:
        return None
    does, why = "Sends what was found to an address that the person has approved.", "The request asks for an e-mail."
    return {"flow": flow.name, "name": "send_email", "description": does, "why": why}
