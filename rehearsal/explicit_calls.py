"""Tool calls that a request spells out: `Call time.get_current_time with {"timezone": "Asia/Tokyo"}`."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from rehearsal.prompt import ParsedPrompt, first_object
from rehearsal.replies import more_tools, nothing_to_do, turn, was_answered
from rehearsal.retail.request_state import PlannedCall, read_past_calls

LONGEST = 2_000  # characters of a result that an answer quotes
_CALL = re.compile(r"(?i)\b(?:call|run|invoke|execute)(?: the)?(?: tool)? [`'\"]?(?P<name>[a-z_][\w-]*(?:\.[\w-]+)*)")


class ExplicitCall(NamedTuple):
    """A call that the request spells out, with the JSON object beside it."""

    tool: str
    arguments: dict[str, Any]


def explicit_calls(request: str, tools: Iterable[str]) -> list[ExplicitCall]:
    """The distinct calls in the order of the text: of known tools, and of names that look like a tool's."""
    known = set(tools)
    spots = [call for call in _CALL.finditer(request) if call["name"] in known or re.search(r"\w[._]\w", call["name"])]
    ends = [*(spot.start() for spot in spots[1:]), len(request)]
    calls = [
        ExplicitCall(spot["name"], first_object(request[spot.end() : end]))
        for spot, end in zip(spots, ends, strict=False)
    ]
    return [call for at, call in enumerate(calls) if call not in calls[:at]]


def answer_call(prompt: ParsedPrompt) -> dict[str, Any] | None:
    """The turn that makes the calls that the request spells out; None if it spells none out."""
    specs = {str(line.get("name")): line for line in prompt.tools()}
    requested = explicit_calls(prompt["request"], specs)
    if not requested:
        return None
    if _past_calls(prompt, requested):
        return nothing_to_do("The call that was asked for has been made.")
    if missing := ", ".join(call.tool for call in requested if call.tool not in specs):
        if prompt["more_tools"] and not was_answered(missing, prompt["problems"]):
            return more_tools(missing)
        return nothing_to_do(f"There is no tool {missing} in this session, so I could not call it.")
    if prompt["problems"] and not any(was_answered(call.tool, prompt["problems"]) for call in requested):
        return nothing_to_do(f"The call cannot be made: {prompt.complaint}")
    names = ", ".join(call.tool for call in requested)
    return turn(
        f"The request names the tool and its arguments: {names}.",
        f"Call {names}"[:400],
        [
            {
                "tool": call.tool,
                "arguments": call.arguments,
                "text": f"Call {call.tool}",
                "depends_on": [],
                "sub_goal": "",
            }
            for call in requested
        ],
        final=True,
        sub_goals=[f"Call {names}"[:400]],
        required_skills=["calling a tool by its name"],
    )


def call_results(prompt: ParsedPrompt) -> tuple[list[str], list[str]] | None:
    """A sentence about each call that the request spells out, and the ids of those made; None if it spells none out."""
    requested = explicit_calls(prompt["request"], {past.tool for past in read_past_calls(prompt.calls())})
    if not requested:
        return None
    past_calls = _past_calls(prompt, requested)
    sentences = [_sentence(past) for past in past_calls]
    if len(past_calls) < len(requested):
        sentences.append(
            prompt.closing or f"Not called: {', '.join(call.tool for call in requested[len(past_calls) :])}."
        )
    return sentences, [past.id for past in past_calls]


def _past_calls(prompt: ParsedPrompt, requested: list[ExplicitCall]) -> list[PlannedCall]:
    """Earlier calls of these tools. Arguments are not compared, because Parley may have corrected them."""
    names = {call.tool for call in requested}
    return [past for past in read_past_calls(prompt.calls()) if past.tool in names]


def _sentence(past: PlannedCall) -> str:
    result = past.result if len(past.result) <= LONGEST else f"{past.result[:LONGEST]}…"
    return f"{past.tool} {'answered' if past.succeeded else f'ended as {past.status}'}: {result or 'nothing'}"
