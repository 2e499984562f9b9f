"""The steps of a plan, held against the tools there are: what blocks them, and what is worth a look. Pure."""

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

from parley.events.values import Check, Step
from parley.protocol.tools import ToolSpec
from shared.domain.plan_steps import called, fresh_id, problems
from shared.plan_checks.calls import argument_problems, tool_problems
from shared.plan_checks.outputs import Tools, reference_findings

Name = Literal["steps", "tools", "arguments", "references", "changes", "descriptions"]
NAMES: tuple[Name, ...] = get_args(Name)
MANY_STEPS = 30  # more than that are hard to read
LONG_TEXT = 300  # characters of a description
DETAIL = 4_000  # characters of a check's findings


class Finding(NamedTuple):
    """What a check has found. What does not block is a note for whoever reviews the plan."""

    check: Name
    text: str
    blocks: bool = True


class Checked(NamedTuple):
    """Steps as their plan records them. `problems` block it; `checks` are what a reviewer sees."""

    steps: tuple[Step, ...]
    problems: tuple[str, ...]
    checks: tuple[Check, ...]


def checked(steps: Sequence[Step], tools: Tools, *, allowed: Collection[str] = ()) -> Checked:
    """The steps with what their tools do to the world, and all that there is to say of them.

    `allowed`: the only tools that the plan may use; none: all.
    """
    complete = tuple(with_tool(step, tools.get(step.tool or "")) for step in steps)
    found = tuple(findings(complete, tools, allowed))
    return Checked(complete, tuple(one.text for one in found if one.blocks), _checks(found))


def step_problems(steps: Sequence[Step], tools: Tools) -> tuple[str, ...]:
    """Why these steps cannot be carried out; none: they can, as far as can be known before they are."""
    return checked(steps, tools).problems


def with_tool(step: Step, spec: ToolSpec | None) -> Step:
    """The step, and what a plan records of its tool, whatever the step said of that."""
    of_tool = {name: getattr(spec, name, None) for name in ("effect", "policy", "waits_for", "fingerprint")}
    return step.model_copy(update=of_tool)


def with_ids(steps: Sequence[Step], before: Sequence[Step] = ()) -> tuple[Step, ...]:
    """The steps with ids, that no step `before` has, for those without."""
    taken = {step.id for step in (*before, *steps) if step.id}
    return tuple(step if step.id else step.model_copy(update={"id": fresh_id(taken)}) for step in steps)


def findings(steps: Sequence[Step], tools: Tools, allowed: Collection[str] = ()) -> Iterator[Finding]:
    yield from (Finding("steps", problem) for problem in problems(steps))
    if len(steps) > MANY_STEPS:
        text = f"The plan has {len(steps)} steps: can several be one step for each item of a list, or another plan?"
        yield Finding("steps", text, blocks=False)
    names = {id(step): called(number, step) for number, step in enumerate(steps, 1)}
    for step in steps:
        for name, text, blocks in _of_step(step, tools, allowed):
            yield Finding(name, f"{names[id(step)]}: {text}", blocks)
    for step, found in reference_findings(steps, tools):
        yield Finding("references", f"{names[id(step)]}: {found.text}", found.blocks)
    again = same_changes(steps)
    for step in steps:
        if earlier := again.get(step.id or ""):
            text = f"{names[id(step)]}: it makes the very change that {earlier} makes, once more."
            yield Finding("changes", text, blocks=False)


def same_changes(steps: Sequence[Step]) -> dict[str, str]:
    """By the id of a step that makes the very change that an earlier one makes: the id of the first such one."""
    first: dict[str, str] = {}
    again: dict[str, str] = {}
    for step in steps:
        if step.id and step.effect in ("write", "irreversible"):
            call = json.dumps([step.tool, step.arguments or {}, step.for_each], sort_keys=True)
            if (earlier := first.setdefault(call, step.id)) != step.id:
                again[step.id] = earlier
    return again


def _of_step(step: Step, tools: Tools, allowed: Collection[str]) -> Iterator[Finding]:
    spec = tools.get(step.tool or "")
    wrong = tool_problems(step, spec, allowed)
    yield from (Finding("tools", problem) for problem in wrong)
    if spec and not wrong:
        yield from (Finding("arguments", problem) for problem in argument_problems(step, spec, tools, allowed))
    text = step.text.strip()
    if not text or text == step.tool:
        yield Finding("descriptions", "no words say what it is for.", blocks=False)
    elif len(text) > LONG_TEXT:
        yield Finding(
            "descriptions", f"it takes {len(text)} characters to say what it is for: is it one step?", blocks=False
        )


def _checks(found: Sequence[Finding]) -> tuple[Check, ...]:
    """One for each name, whatever was found."""
    return tuple(_check(name, [one for one in found if one.check == name]) for name in NAMES)


def _check(name: Name, found: Sequence[Finding]) -> Check:
    ok = False if any(one.blocks for one in found) else None if found else True
    lines: list[str] = []
    room = DETAIL
    for one in sorted(found, key=lambda one: not one.blocks):
        if (room := room - len(one.text)) < 0:
            lines.append(f"… and {len(found) - len(lines)} more")
            break
        lines.append(one.text)
    return Check(name=name, ok=ok, detail="\n".join(lines))
