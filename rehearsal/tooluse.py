"""Any tool by its exact name: `Call time.get_current_time with {"timezone": "Asia/Tokyo"}`, in words of no store."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from rehearsal.prompt import Prompt, first_object
from rehearsal.retail.state import Deed, read_deeds
from rehearsal.turn_reply import asked_already, turn_reply

LONGEST = 2_000  # characters of a result that an answer quotes
_CALL = re.compile(r"(?i)\b(?:call|run|invoke|execute)(?: the)?(?: tool)? [`'\"]?(?P<name>[a-z_][\w-]*(?:\.[\w-]+)*)")


class Asked(NamedTuple):
    """A call that the request spells out, with the JSON object beside it."""

    tool: str
    arguments: dict[str, Any]


def asked_calls(request: str, tools: Iterable[str]) -> list[Asked]:
    """Each once, in the order of the text: names of tools, and those that look like one."""
    known = set(tools)
    spots = [one for one in _CALL.finditer(request) if one["name"] in known or re.search(r"\w[._]\w", one["name"])]
    ends = [*(spot.start() for spot in spots[1:]), len(request)]
    found = [
        Asked(spot["name"], first_object(request[spot.end() : end])) for spot, end in zip(spots, ends, strict=False)
    ]
    return [one for at, one in enumerate(found) if one not in found[:at]]


def answer_call(prompt: Prompt) -> dict[str, Any] | None:
    """The turn that makes these calls; None where the request spells none out."""
    specs = {str(line.get("name")): line for line in prompt.objects("tools")}
    asked = asked_calls(prompt["request"], specs)
    if not asked:
        return None
    if _made(prompt, asked):
        return turn_reply("The call that was asked for has been made.")
    if missing := ", ".join(one.tool for one in asked if one.tool not in specs):
        if prompt["more_tools"] and not asked_already(missing, prompt["nudge"]):
            return turn_reply(f"The request names {missing}, which I do not see yet.", more_tools=missing)
        return turn_reply(f"There is no tool {missing} in this session, so I could not call it.")
    if prompt["nudge"] and not any(asked_already(one.tool, prompt["nudge"]) for one in asked):
        return turn_reply(f"The call cannot be made: {prompt['nudge']}")
    names = ", ".join(one.tool for one in asked)
    return turn_reply(
        f"The request names the tool and its arguments: {names}.",
        sub_goal=f"Call {names}"[:400],
        sub_goals=[f"Call {names}"[:400]],
        selected_tool=asked[-1].tool,
        required_skills=["calling a tool by its name"],
        actions=[
            {"tool": one.tool, "arguments": one.arguments, "text": f"Call {one.tool}", "depends_on": []}
            for one in asked
        ],
        final=True,
    )


def told_calls(prompt: Prompt) -> tuple[list[str], list[str]] | None:
    """What came of the calls, in sentences, and their ids; None where the request spells none out."""
    asked = asked_calls(prompt["request"], {deed.tool for deed in read_deeds(prompt.objects("executed"))})
    if not asked:
        return None
    made = _made(prompt, asked)
    told = [_told(deed) for deed in made]
    if len(made) < len(asked):
        told.append(prompt["reasoning"] or f"Not called: {', '.join(one.tool for one in asked[len(made) :])}.")
    return told, [deed.id for deed in made]


def _made(prompt: Prompt, asked: list[Asked]) -> list[Deed]:
    """What became of the calls: their arguments may have been put right, so the tools tell."""
    names = {one.tool for one in asked}
    return [deed for deed in read_deeds(prompt.objects("executed")) if deed.tool in names]


def _told(deed: Deed) -> str:
    shown = deed.result if len(deed.result) <= LONGEST else f"{deed.result[:LONGEST]}…"
    return f"{deed.tool} {'answered' if deed.fine else f'ended as {deed.status}'}: {shown or 'nothing'}"
