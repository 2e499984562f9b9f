"""Calls that a request spells out, of any tool: `Call time.get_current_time with {"timezone": "Asia/Tokyo"}`."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from rehearsal.prompt import Prompt, first_object
from rehearsal.replies import asked_already, more_tools, nothing_to_do, turn
from rehearsal.retail.state import PastCall, read_past_calls

LONGEST = 2_000  # characters of a result that an answer quotes
_CALL = re.compile(r"(?i)\b(?:call|run|invoke|execute)(?: the)?(?: tool)? [`'\"]?(?P<name>[a-z_][\w-]*(?:\.[\w-]+)*)")


class Asked(NamedTuple):
    """A call that the request spells out, with the JSON object beside it."""

    tool: str
    arguments: dict[str, Any]


def asked_calls(request: str, tools: Iterable[str]) -> list[Asked]:
    """The calls in the order of the text, each once: of known tools, and of names that look like a tool's."""
    known = set(tools)
    spots = [one for one in _CALL.finditer(request) if one["name"] in known or re.search(r"\w[._]\w", one["name"])]
    ends = [*(spot.start() for spot in spots[1:]), len(request)]
    calls = [
        Asked(spot["name"], first_object(request[spot.end() : end])) for spot, end in zip(spots, ends, strict=False)
    ]
    return [one for at, one in enumerate(calls) if one not in calls[:at]]


def answer_call(prompt: Prompt) -> dict[str, Any] | None:
    """The turn that makes the calls that the request spells out; None if it spells none out."""
    specs = {str(line.get("name")): line for line in prompt.objects("tools")}
    asked = asked_calls(prompt["request"], specs)
    if not asked:
        return None
    if _past_calls(prompt, asked):
        return nothing_to_do("The call that was asked for has been made.")
    if missing := ", ".join(one.tool for one in asked if one.tool not in specs):
        if prompt["more_tools"] and not asked_already(missing, prompt["nudge"]):
            return more_tools(missing)
        return nothing_to_do(f"There is no tool {missing} in this session, so I could not call it.")
    if prompt["nudge"] and not any(asked_already(one.tool, prompt["nudge"]) for one in asked):
        return nothing_to_do(f"The call cannot be made: {prompt['nudge']}")
    names = ", ".join(one.tool for one in asked)
    return turn(
        f"The request names the tool and its arguments: {names}.",
        f"Call {names}"[:400],
        [
            {"tool": one.tool, "arguments": one.arguments, "text": f"Call {one.tool}", "depends_on": [], "sub_goal": ""}
            for one in asked
        ],
        final=True,
        sub_goals=[f"Call {names}"[:400]],
        required_skills=["calling a tool by its name"],
    )


def call_results(prompt: Prompt) -> tuple[list[str], list[str]] | None:
    """A sentence about each call that the request spells out, and the ids of those made; None if it spells none out."""
    asked = asked_calls(prompt["request"], {past.tool for past in read_past_calls(prompt.objects("executed"))})
    if not asked:
        return None
    past_calls = _past_calls(prompt, asked)
    sentences = [_sentence(past) for past in past_calls]
    if len(past_calls) < len(asked):
        sentences.append(
            prompt["reasoning"] or f"Not called: {', '.join(one.tool for one in asked[len(past_calls) :])}."
        )
    return sentences, [past.id for past in past_calls]


def _past_calls(prompt: Prompt, asked: list[Asked]) -> list[PastCall]:
    """The calls of these tools that were made. Arguments are not compared: Parley may have corrected them."""
    names = {one.tool for one in asked}
    return [past for past in read_past_calls(prompt.objects("executed")) if past.tool in names]


def _sentence(past: PastCall) -> str:
    shown = past.result if len(past.result) <= LONGEST else f"{past.result[:LONGEST]}…"
    return f"{past.tool} {'answered' if past.fine else f'ended as {past.status}'}: {shown or 'nothing'}"
