"""Puts right what is wrong in the form of a task, never in what it means; every correction is listed.

What has no single way to be put right stays as it is and is a problem: such a task is rejected with these reasons.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from packs.retail.specs import SPECS
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.task import Part, Task, unwrapped
from packs.retail.tasks.validate import Check, parse
from shared.repair import repair

SPEC = {spec.name: spec for spec in SPECS}
_NAMES = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS = ("arguments", "kwargs", "args", "parameters", "params", "input")
_PARTS = {
    "q": ("question", "query", "instruction", "prompt"),
    "agt": ("actions", "calls"),
    "ogt": ("outputs", "answers"),
}


class Correction(Part):
    """`action` counts from 0 in agt; None: the task as a whole. `after` None: it was dropped."""

    action: int | None
    field: str
    before: JsonValue
    after: JsonValue
    why: str


@dataclass(frozen=True)
class Corrected:
    """The task, unless there are `problems`: then None, and they say why it cannot be put right."""

    task: Task | None
    corrections: tuple[Correction, ...] = ()
    problems: tuple[str, ...] = ()

    def as_json(self) -> list[dict[str, Any]]:
        return [one.model_dump(mode="json") for one in self.corrections]


def correct(raw: JsonValue, shop: Shop) -> Corrected:
    """The task in its right form."""
    work = _Work(shop)
    found = work.task(unwrapped(raw))
    task = parse(found)
    if isinstance(task, Check):
        work.problems.append(task.detail)
    whole = task if isinstance(task, Task) and not work.problems else None
    return Corrected(whole, tuple(work.corrections), tuple(work.problems))


@dataclass
class _Work:
    shop: Shop
    corrections: list[Correction] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def note(self, action: int | None, where: str, before: JsonValue, after: JsonValue, why: str) -> None:
        self.corrections.append(Correction(action=action, field=where, before=before, after=after, why=why))

    def task(self, raw: JsonValue) -> dict[str, JsonValue]:
        if not isinstance(raw, Mapping):
            self.problems.append(f"a task is an object, not {type(raw).__name__}")
            return {}
        parts: dict[str, JsonValue] = dict(raw)
        for part, aliases in _PARTS.items():
            self._renamed(parts, part, aliases, None)
        if parts.get("agt") is None:  # an empty list would say that nothing is to be done: that is a meaning
            self.problems.append("agt: no calls are given; [] says that nothing is to be changed")
            parts["agt"] = []
        if parts.get("ogt") is None:
            self.note(None, "ogt", None, [], "nothing given: an empty list")
            parts["ogt"] = []
        for name in [name for name in parts if name not in _PARTS]:
            self.note(None, name, parts.pop(name), None, "no part of a task, dropped")
        parts["agt"] = self._calls(parts["agt"])
        parts["ogt"] = self._outputs(parts["ogt"])
        return parts

    def _renamed(self, found: dict[str, JsonValue], name: str, aliases: tuple[str, ...], action: int | None) -> None:
        if name not in found and (alias := next((one for one in aliases if one in found), None)):
            found[name] = found.pop(alias)
            self.note(action, alias, alias, name, "another name for it")

    def _calls(self, given: JsonValue) -> JsonValue:
        schema: dict[str, JsonValue] = {"properties": {"agt": {"type": "array"}}, "required": ["agt"]}
        done = repair({"agt": given}, schema)
        for fix in done.fixes:
            self.note(None, fix.field, fix.before, fix.after, fix.why)
        calls = done.arguments.get("agt")
        return [self._call(one, at) for at, one in enumerate(calls)] if isinstance(calls, list) else calls

    def _call(self, given: JsonValue, action: int) -> JsonValue:
        if not isinstance(given, dict):
            return given
        call: dict[str, JsonValue] = dict(given)
        if isinstance(inner := call.get("function"), dict) and len(call) <= 3:  # an OpenAI tool call
            self.note(action, "function", given, inner, "the call inside of a tool call")
            call = dict(inner)
        self._renamed(call, "name", _NAMES, action)
        self._renamed(call, "arguments", _ARGUMENTS, action)
        if "arguments" not in call:
            rest = {name: call.pop(name) for name in list(call) if name not in ("name", "arguments")}
            self.note(action, "arguments", None, rest, "arguments beside the name put inside")
            call["arguments"] = rest
        for name in [name for name in call if name not in ("name", "arguments")]:
            self.note(action, name, call.pop(name), None, "no part of a call, dropped")
        call["name"] = tool = self._tool(call.get("name"), action)
        if isinstance(tool, str) and tool in SPEC:
            call["arguments"] = self._arguments(tool, call["arguments"], action)
        return call

    def _tool(self, name: JsonValue, action: int) -> JsonValue:
        """The tool's own name for another spelling of it."""
        if not isinstance(name, str) or name in SPEC:
            return name
        plain = _letters(name.rsplit(".", 1)[-1])
        found = [tool for tool in SPEC if _letters(tool) == plain]
        if len(found) != 1:
            self.problems.append(f"call {action + 1}: there is no tool {name!r}")
            return name
        self.note(action, "name", name, found[0], "another spelling of the tool")
        return found[0]

    def _arguments(self, tool: str, given: JsonValue, action: int) -> JsonValue:
        done = repair(given, SPEC[tool].parameters)
        for fix in done.fixes:
            self.note(action, fix.field or "arguments", fix.before, fix.after, fix.why)
        self.problems += [f"call {action + 1}, {tool}: {problem}" for problem in done.problems]
        arguments = dict(done.arguments)
        for name, value in arguments.items():
            arguments[name] = self._known(name, value, action)
        return arguments

    def _known(self, name: str, value: JsonValue, action: int) -> JsonValue:
        """Blanks around it gone, and an id in the store's spelling where it is only that."""
        if not isinstance(value, str):
            return value
        better = value.strip()
        if name == "order_id" and better not in self.shop.data["orders"]:
            digits = re.fullmatch(r"#?\s*[wW]?\s*(\d+)", better)
            if digits and f"#W{digits[1]}" in self.shop.data["orders"]:
                better = f"#W{digits[1]}"
        if name == "user_id" and better.lower() in self.shop.data["users"]:
            better = better.lower()
        if better != value:
            self.note(action, name, value, better, "the store's own spelling")
        return better

    def _outputs(self, given: JsonValue) -> JsonValue:
        """Texts: numbers written out, a single one in a list."""
        outputs: list[JsonValue] = given if isinstance(given, list) else [given]
        if outputs is not given:
            self.note(None, "ogt", given, [given], "a list of one")
        found: list[JsonValue] = []
        for at, one in enumerate(outputs):
            text = one.strip() if isinstance(one, str) else str(one) if isinstance(one, int | float) else one
            if text != one or isinstance(one, bool):
                self.note(None, f"ogt[{at}]", one, text, "outputs are texts")
            if text == "":
                self.note(None, f"ogt[{at}]", one, None, "an empty output, dropped")
                continue
            found.append(text)
        return found


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
