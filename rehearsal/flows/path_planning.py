"""The reply to the task `path`: a path through a flow of the prompt, or a question; and invalid ones, for tests."""

from collections.abc import Sequence
from typing import Any

from rehearsal.flows import cues
from rehearsal.flows.graph import FlowGraph, read_flows
from rehearsal.flows.questions import goes_on
from rehearsal.matching import has_phrase, words_of
from rehearsal.prompt import ParsedPrompt
from rehearsal.refusals import effective_request, refuse
from rehearsal.replies import may_ask, question
from rehearsal.retail.identity import emails, names_with_zip
from rehearsal.retail.request_state import order_ids

SQL, TRIAGE = "text_to_sql", "complaint_triage"  # the built-in flows; in any other the default path is taken
AGAIN = ("rewrite_prompt", "generate_sql", "validate_sql", "execute_sql", "format_final_response")
FIX = ("fix this sql", "fix this query", "fix my query", "correct this sql")
WHICH_SQL = "Which SQL is it? Please paste the statement that does not work."
PROSE = "First look around, then do what is needed, and tell everybody."


def answer_path(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `path`."""
    request = effective_request(prompt)
    flow = _chosen(read_flows(prompt), request, [answer for _, answer in prompt.dialogue()])
    if flow is None:
        return refuse("flow", request, prompt)
    if flow.name == SQL and not flow.state.get("sql") and has_phrase(request, FIX):
        return question(WHICH_SQL) if may_ask(prompt, WHICH_SQL) else refuse("flow", request, prompt)
    ways = (() if prompt["problems"] else _wanted(flow, request), flow.ordinary())
    path = next((way for way in ways if flow.walkable(way)), None)
    if path is None:
        return refuse("flow", request, prompt)
    about = "a data question" if flow.name == SQL else flow.name.replace("_", " ")
    paths = [{"flow": flow.name, "nodes": list(path)}]
    return {"kind": "path", "reasoning": f"Standard route for {about}.", "paths": paths, "new_node": None}


def _chosen(flows: Sequence[FlowGraph], request: str, answers: Sequence[str]) -> FlowGraph | None:
    """The flow that the request is for; None if nothing indicates one."""
    if cues.is_talk(request):
        return None
    if len(flows) == 1:
        return flows[0]
    for flow in flows:
        if (
            flow.name in " ".join((*answers, request))
            or flow.name.replace("_", " ") in request
            or flow.state.get("sql")
        ):
            return flow
    own = [flow for flow in flows if flow.name not in (SQL, TRIAGE)]
    if alike := next((flow for flow in own if len(_words(flow.description) & _words(request)) >= 2), None):
        return alike
    before = any(flow.state.get("previous_sql") or flow.state.get("conversation") for flow in flows)
    is_data = (before and goes_on(request)) or cues.is_question(request) or has_phrase(request, FIX)
    name = TRIAGE if cues.is_complaint(request) else SQL if is_data else ""
    return next((flow for flow in flows if flow.name == name), None)


def _words(text: str) -> set[str]:
    return {word for word in words_of(text) if len(word) > 3}


def _wanted(flow: FlowGraph, request: str) -> tuple[str, ...]:
    """The nodes that the request needs; by default the flow's default path."""
    ordinary = flow.ordinary()
    if flow.name == TRIAGE:
        return _complaint(request)
    if flow.name != SQL:
        return ordinary
    if cues.wants_words(request):
        return ("general_questions",)
    if flow.state.get("sql") and "validate_sql" in ordinary:
        return ordinary[ordinary.index("validate_sql") :]
    return AGAIN if flow.state.get("previous_sql") and goes_on(request) else ordinary


def _complaint(request: str) -> tuple[str, ...]:
    """The path to the remedy that the complaint asks for, with a question if order or customer is missing."""
    known = order_ids(request) and (emails(request) or names_with_zip(request))
    begins = ("classify_complaint",) if known else ("classify_complaint", "ask_for_order", "classify_complaint")
    return (*begins, "find_customer", "read_order", "assess", *_remedy(request), "write_reply")


def _remedy(request: str) -> tuple[str, ...]:
    if has_phrase(request, cues.PERSON):
        return ("hand_over",)
    if has_phrase(request, cues.KEEP):
        return ()
    if has_phrase(request, cues.CANCEL):
        return ("cancel_order",)
    if has_phrase(request, cues.RETURN) or cues.kind_of(request) in ("damaged", "wrong_item"):
        return ("return_items",)
    return ("cancel_order",) if cues.kind_of(request) == "unwanted" else ()


def invalid_reply(reply: dict[str, Any], turn: int) -> dict[str, Any] | str:
    """By `turn`: the reply with an unknown node, in the wrong order, without its end, or as plain prose."""
    paths = reply["reply"].get("paths") or [{"flow": "nowhere", "nodes": ["begin", "end"]}]
    match turn % 4:
        case 0:
            broken = [{**path, "nodes": ["look_into_crystal_ball", *path["nodes"]]} for path in paths]
        case 1:
            broken = [{**path, "nodes": _reversed(path["nodes"])} for path in paths]
        case 2:
            broken = [{**path, "nodes": path["nodes"][:-1] or ["nothing"]} for path in paths]
        case _:
            return PROSE
    return {"reply": {"kind": "path", "reasoning": "", "paths": broken, "new_node": None}}


def _reversed(nodes: Sequence[str]) -> list[str]:
    """The nodes in reverse; a single node twice, which is also invalid."""
    return list(reversed(nodes)) if len(nodes) > 1 else [*nodes, *nodes]
