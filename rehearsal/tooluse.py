"""Any tool by its exact name: `Call time.get_current_time with {"timezone": "Asia/Tokyo"}`, in words of no store."""

import ast
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from rehearsal.prompt import Prompt
from rehearsal.retail.state import Deed, json_lines, questions, read_deeds
from rehearsal.turn_reply import asked_already, nothing

LONGEST = 2_000  # characters of a result that an answer quotes
_NAME = r"[`'\"“]?(?P<name>[A-Za-z_][\w-]*(?:\.[\w-]+)*)[`'\"”]?"
_ORDERED = re.compile(
    rf"\b(?P<verb>call|run|invoke|execute|use|try)\b(?: the)?(?: tool)?(?: called| named)? {_NAME}", re.IGNORECASE
)
_BARE = re.compile(rf"^\s*{_NAME}(?=\s*[({{:]|\s+\w+ *=|\s*$)", re.MULTILINE)
_PAIR = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*[=:]\s*(?P<value>\"[^\"]*\"|'[^']*'|\[[^\]]*\]|[^\s,;)]+)")
_SURE = ("call", "run", "invoke", "execute")  # verbs after which a name that looks like one is one


class Asked(NamedTuple):
    """A call that the request spells out. `rest`: the words after the name."""

    tool: str
    rest: str


def asked_calls(request: str, tools: Iterable[str]) -> list[Asked]:
    """In the order of the text; nothing else in the request is looked at."""
    known = set(tools)
    found: dict[int, tuple[str, int]] = {}
    for match in (*_ORDERED.finditer(request), *_BARE.finditer(request)):
        name = match["name"].rstrip(".")
        verb = (match.groupdict().get("verb") or "").lower()
        looks = verb in _SURE and re.search(r"\w[._]\w", name) is not None
        if looks or (name in known and (verb or re.search(r"[._]", name))):
            found.setdefault(match.start("name"), (name, match.end()))
    places = sorted(found)
    ends = [*places, len(request)][1:]
    return [Asked(found[at][0], request[found[at][1] : end]) for at, end in zip(places, ends, strict=True)]


def answer_call(prompt: Prompt) -> dict[str, Any] | None:
    """The turn that makes these calls; None where the request spells none out."""
    specs = {str(line.get("name")): line for line in json_lines(prompt["tools"])}
    asked = _asked(prompt, specs)
    if not asked:
        return None
    if _done(prompt, asked):
        return nothing("The call that was asked for has been made.")
    if missing := [one.tool for one in asked if one.tool not in specs]:
        return _without(prompt, missing)
    if prompt["nudge"] and not any(asked_already(one.tool, prompt["nudge"]) for one in asked):
        return nothing(f"The call cannot be made: {prompt['nudge']}")
    actions = []
    for one in asked:
        arguments, lacking = _arguments(one, specs[one.tool], prompt)
        if lacking:
            question = f"Which arguments shall {one.tool} be called with? It needs {', '.join(lacking)}."
            return nothing("", question=question, sub_goal=f"Find out how to call {one.tool}")
        actions.append({"tool": one.tool, "arguments": arguments, "text": f"Call {one.tool}", "depends_on": []})
    names = ", ".join(one.tool for one in asked)
    return nothing(
        f"The request names the tool and its arguments: {names}.",
        sub_goal=f"Call {names}"[:400],
        sub_goals=[f"Call {names}"[:400]],
        selected_tool=asked[-1].tool,
        required_skills=["calling a tool by its name"],
        actions=actions,
        final=True,
    )


def told_calls(prompt: Prompt) -> tuple[list[str], list[str]] | None:
    """What came of the calls, in sentences, and their ids; None where the request spells none out."""
    asked = _asked(prompt, {deed.tool for deed in read_deeds(prompt["executed"])})
    if not asked:
        return None
    done = _done(prompt, asked)
    told = [_told(deed) for deed in done]
    if len(done) < len(asked):
        told.append(prompt["reasoning"] or f"Not called: {', '.join(one.tool for one in asked[len(done) :])}.")
    return told, [deed.id for deed in done if deed.id]


def _asked(prompt: Prompt, tools: Iterable[str]) -> list[Asked]:
    return list({one: one for one in asked_calls(prompt["request"], tools)}.values())


def _done(prompt: Prompt, asked: list[Asked]) -> list[Deed]:
    """What became of the calls: their arguments may have been put right, so the tools tell."""
    names = {one.tool for one in asked}
    return [deed for deed in read_deeds(prompt["executed"]) if deed.tool in names]


def _without(prompt: Prompt, missing: list[str]) -> dict[str, Any]:
    words = ", ".join(missing)
    if prompt["more_tools"] and not asked_already(words, prompt["nudge"]):
        return nothing(f"The request names {words}, which I do not see yet.", more_tools=words)
    return nothing(f"There is no tool {words} in this session, so I could not call it.")


def _arguments(one: Asked, spec: Mapping[str, Any], prompt: Prompt) -> tuple[dict[str, Any], list[str]]:
    """The arguments as they were written, and those that the tool needs and that were not."""
    schema = spec.get("parameters") or {}
    properties, needed = schema.get("properties") or {}, schema.get("required") or []
    found = _read(one.rest, properties)
    answers = [answer for asked, answer in questions(prompt["dialogue"]) if one.tool in asked]
    for answer in answers:
        found |= _read(answer, properties)
    lacking = [str(name) for name in needed if name not in found]
    if len(lacking) == 1 and answers:
        found[lacking[0]], lacking = answers[-1].strip(), []
    return found, [] if answers else lacking


def _read(text: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object, or pairs of name and value."""
    start = text.find("{")
    if start >= 0:
        with suppress(ValueError):
            found = json.JSONDecoder().raw_decode(text[start:])[0]
            return found if isinstance(found, dict) else {}
        with suppress(ValueError, SyntaxError):
            found = ast.literal_eval(text[start : text.rfind("}") + 1])
            return found if isinstance(found, dict) else {}
    pairs = {match["name"]: match["value"] for match in _PAIR.finditer(text)}
    return {name: _value(value, properties.get(name)) for name, value in pairs.items()}


def _value(text: str, schema: Any) -> Any:
    """A value as it was written: text stays text where the tool wants text."""
    bare = text[1:-1] if text[0] in "\"'" and text[-1] == text[0] else text.rstrip(".!?")
    if text[0] in "\"'" or (isinstance(schema, dict) and schema.get("type") == "string"):
        return bare
    try:
        return json.loads(bare)
    except ValueError:
        return bare


def _told(deed: Deed) -> str:
    shown = deed.result if len(deed.result) <= LONGEST else f"{deed.result[:LONGEST]}…"
    if deed.fine:
        return f"{deed.tool} answered: {shown}" if shown else f"{deed.tool} was called; it answered nothing."
    return f"{deed.tool} ended as {deed.status}: {shown}" if shown else f"{deed.tool} ended as {deed.status}."
