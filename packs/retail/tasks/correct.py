"""Corrects the form of a task, never its meaning, and lists every correction.

What cannot be corrected unambiguously stays as it is and becomes a problem, for which the task is rejected.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from packs.retail.tasks.replay import Shop
from packs.retail.tasks.task import RetailTask, TaskModel, unwrap
from packs.retail.tasks.validate import SPEC, TaskCheck, parse
from shared.repair import RepairResult, repair

_TASK_FIELDS = {  # with their other names
    "q": ("question", "query", "instruction", "prompt"),
    "agt": ("actions", "calls"),
    "ogt": ("outputs", "answers"),
}
_CALL_FIELDS = {
    "name": ("tool", "tool_name", "function", "action"),
    "arguments": ("kwargs", "args", "parameters", "params", "input"),
}


class Correction(TaskModel):
    """One correction. `action` is the index in agt, None for the task as a whole. `after` is None for a removal."""

    action: int | None
    field: str
    before: JsonValue
    after: JsonValue
    why: str


@dataclass(frozen=True)
class Corrected:
    """The corrected task; None if there are `problems`, which say why it cannot be corrected."""

    task: RetailTask | None
    corrections: tuple[Correction, ...] = ()
    problems: tuple[str, ...] = ()

    def as_json(self) -> list[dict[str, Any]]:
        return [correction.model_dump(mode="json") for correction in self.corrections]


def correct(raw: JsonValue, shop: Shop) -> Corrected:
    """The task in its correct form, or the problems."""
    corrector = _Corrector(shop)
    task = parse(corrector.task(unwrap(raw)))
    if isinstance(task, TaskCheck):
        corrector.problems.append(task.detail)
    whole = task if isinstance(task, RetailTask) and not corrector.problems else None
    return Corrected(whole, tuple(corrector.corrections), tuple(corrector.problems))


@dataclass
class _Corrector:
    shop: Shop
    corrections: list[Correction] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def note(self, action: int | None, where: str, before: JsonValue, after: JsonValue, why: str) -> None:
        self.corrections.append(Correction(action=action, field=where, before=before, after=after, why=why))

    def task(self, raw: JsonValue) -> dict[str, JsonValue]:
        if not isinstance(raw, Mapping):
            self.problems.append(f"a task is an object, not {type(raw).__name__}")
            return {}
        parts = dict(raw)
        self._rename(parts, _TASK_FIELDS, None)
        if parts.get("agt") is None:  # adding an empty list would change the meaning: nothing to do
            self.problems.append("agt: no calls are given; [] says that nothing is to be changed")
            parts["agt"] = []
        if parts.get("ogt") is None:
            self.note(None, "ogt", None, [], "nothing given: an empty list")
            parts["ogt"] = []
        self._drop_others(parts, _TASK_FIELDS, None, "no part of a task, dropped")
        return parts | {"agt": self._calls(parts["agt"]), "ogt": self._outputs(parts["ogt"])}

    def _rename(self, fields: dict[str, JsonValue], known: Mapping[str, tuple[str, ...]], action: int | None) -> None:
        for name, aliases in known.items():
            alias = next((alias for alias in aliases if alias in fields), None)
            if name not in fields and alias:
                fields[name] = fields.pop(alias)
                self.note(action, alias, alias, name, "another name for it")

    def _drop_others(
        self, fields: dict[str, JsonValue], known: Mapping[str, object], action: int | None, why: str
    ) -> None:
        for name in [name for name in fields if name not in known]:
            self.note(action, name, fields.pop(name), None, why)

    def _repair(self, raw: JsonValue, schema: dict[str, JsonValue], action: int | None) -> RepairResult:
        repaired = repair(raw, schema)
        for fix in repaired.fixes:
            self.note(action, fix.field or "arguments", fix.before, fix.after, fix.why)
        return repaired

    def _calls(self, raw: JsonValue) -> JsonValue:
        schema: dict[str, JsonValue] = {"properties": {"agt": {"type": "array"}}, "required": ["agt"]}
        calls = self._repair({"agt": raw}, schema, None).arguments.get("agt")
        return [self._call(call, at) for at, call in enumerate(calls)] if isinstance(calls, list) else calls

    def _call(self, raw: JsonValue, action: int) -> JsonValue:
        if not isinstance(raw, dict):
            return raw
        call = dict(raw)
        if isinstance(inner := call.get("function"), dict) and len(call) <= 3:  # an OpenAI tool call
            self.note(action, "function", raw, inner, "the call inside of a tool call")
            call = dict(inner)
        self._rename(call, _CALL_FIELDS, action)
        if "arguments" not in call:
            rest = {name: call.pop(name) for name in list(call) if name != "name"}
            self.note(action, "arguments", None, rest, "arguments beside the name put inside")
            call["arguments"] = rest
        self._drop_others(call, _CALL_FIELDS, action, "no part of a call, dropped")
        call["name"] = tool = self._tool(call.get("name"), action)
        if isinstance(tool, str) and tool in SPEC:
            repaired = self._repair(call["arguments"], SPEC[tool].parameters, action)
            self.problems += [f"call {action + 1}, {tool}: {problem}" for problem in repaired.problems]
            call["arguments"] = {
                name: self._normalized(name, value, action) for name, value in repaired.arguments.items()
            }
        return call

    def _tool(self, name: JsonValue, action: int) -> JsonValue:
        """The tool's canonical name."""
        if not isinstance(name, str) or name in SPEC:
            return name
        plain = _letters(name.rsplit(".", 1)[-1])
        matches = [tool for tool in SPEC if _letters(tool) == plain]
        if len(matches) != 1:
            self.problems.append(f"call {action + 1}: there is no tool {name!r}")
            return name
        self.note(action, "name", name, matches[0], "another spelling of the tool")
        return matches[0]

    def _normalized(self, name: str, value: JsonValue, action: int) -> JsonValue:
        """The value without surrounding blanks, and an id in the store's spelling."""
        if not isinstance(value, str):
            return value
        better = value.strip()
        spelling = re.sub(r"^#?\s*[wW]?\s*(?=\d+$)", "#W", better) if name == "order_id" else better.lower()
        if name in ("order_id", "user_id") and better not in self.shop.ids[name] and spelling in self.shop.ids[name]:
            better = spelling
        if better != value:
            self.note(action, name, value, better, "the store's own spelling")
        return better

    def _outputs(self, raw: JsonValue) -> JsonValue:
        """The outputs as a list of texts."""
        if not isinstance(raw, list):
            self.note(None, "ogt", raw, [raw], "a list of one")
            raw = [raw]
        texts: list[JsonValue] = []
        for at, output in enumerate(raw):
            text = str(output).strip() if isinstance(output, str | int | float) else output
            if text != output:
                self.note(None, f"ogt[{at}]", output, text, "outputs are texts")
            if text == "":
                self.note(None, f"ogt[{at}]", output, None, "an empty output, dropped")
            else:
                texts.append(text)
        return texts


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
