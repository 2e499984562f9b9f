"""Checks a plan's steps against the available tools: blocking problems, and notes for the reviewer. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

from parley.events.values import Check, Step
from shared.domain.plan.policy import strictest
from shared.domain.plan.validation import plan_problems
from shared.domain.steps.plan_steps import about, change_key, step_label, unused_id
from shared.plan_checks.argument_values import FormsOf
from shared.plan_checks.calls import argument_problems, polled_call, tool_problems
from shared.plan_checks.outputs import Tools, declared_forms, reference_findings

CheckName = Literal["steps", "tools", "arguments", "references", "changes", "descriptions"]
CHECK_NAMES: tuple[CheckName, ...] = get_args(CheckName)
MANY_STEPS = 30  # a longer plan is hard to review
LONG_TEXT = 300  # characters of a description
NOTHING: Mapping[str, str] = MappingProxyType({})
MAX_DETAIL = 4_000  # characters of a check's detail


class Finding(NamedTuple):
    """A finding of a check. One that does not block is a note for the reviewer."""

    check: CheckName
    text: str
    blocks: bool = True


class CheckedPlan(NamedTuple):
    """The steps as the plan records them. `problems` block the plan; the reviewer sees `checks`."""

    steps: tuple[Step, ...]
    problems: tuple[str, ...]
    checks: tuple[Check, ...]


def check_plan(
    steps: Sequence[Step], tools: Tools, *, allowed: Collection[str] = (), earlier_changes: Mapping[str, str] = NOTHING
) -> CheckedPlan:
    """The steps with their tools' effects and policies, and all findings.

    `allowed`: the tools that the plan may use; empty: all. `earlier_changes`: those that earlier versions made.
    """
    complete = tuple(_with_tools(step, tools) for step in steps)
    results = tuple(findings(complete, tools, allowed, earlier_changes))
    return CheckedPlan(complete, tuple(finding.text for finding in results if finding.blocks), _checks(results))


def _with_tools(step: Step, tools: Tools) -> Step:
    """The step with what a plan records of its tool, which overrides what the step says.

    A step that polls has the stricter policy of its own tool and the one that it calls.
    """
    spec = tools.get(step.tool or "")
    of_tool = {name: getattr(spec, name, None) for name in ("effect", "policy", "waits_for", "fingerprint")}
    step = step.model_copy(update=of_tool)
    polled = tools.get(call.tool or "") if (call := polled_call(step)) else None
    return step.model_copy(update={"policy": strictest(step.policy, polled.policy)}) if polled else step


def with_ids(steps: Sequence[Step], before: Sequence[Step] = ()) -> tuple[Step, ...]:
    """The steps with new ids for those without one, which differ from the ids of `before`."""
    taken = {step.id for step in (*before, *steps) if step.id}
    return tuple(step if step.id else step.model_copy(update={"id": unused_id(taken)}) for step in steps)


def findings(
    steps: Sequence[Step], tools: Tools, allowed: Collection[str] = (), earlier_changes: Mapping[str, str] = NOTHING
) -> Iterator[Finding]:
    yield from (Finding("steps", problem) for problem in plan_problems(steps))
    if len(steps) > MANY_STEPS:
        text = f"The plan has {len(steps)} steps: can several be one step for each item of a list, or another plan?"
        yield Finding("steps", text, blocks=False)
    names = {id(step): step_label(number, step) for number, step in enumerate(steps, 1)}
    forms_of = declared_forms(steps, tools)
    for step in steps:
        for name, text, blocks in _step_findings(step, tools, allowed, partial(forms_of, step)):
            yield Finding(name, about(names[id(step)], text), blocks)
    for step, finding in reference_findings(steps, tools):
        yield Finding("references", about(names[id(step)], finding.text), finding.blocks)
    repeats = same_changes(steps)
    for step in steps:
        said = earlier_changes.get(change_key(step.tool, step.arguments, step.for_each), "")
        if said and not said.startswith(f"{step.id} "):
            yield Finding("changes", f"{names[id(step)]}: {said}", blocks=False)
        elif earlier := repeats.get(step.id or ""):
            text = f"{names[id(step)]}: it makes the very change that {earlier} makes, once more."
            yield Finding("changes", text, blocks=False)


def same_changes(steps: Sequence[Step]) -> dict[str, str]:
    """Maps the id of a step that repeats an earlier step's change to the id of the first such step."""
    first: dict[str, str] = {}
    repeats: dict[str, str] = {}
    for step in steps:
        if step.id and step.effect in ("write", "irreversible"):
            call = change_key(step.tool, step.arguments, step.for_each)
            if (earlier := first.setdefault(call, step.id)) != step.id:
                repeats[step.id] = earlier
    return repeats


def _step_findings(step: Step, tools: Tools, allowed: Collection[str], forms_of: FormsOf) -> Iterator[Finding]:
    spec = tools.get(step.tool or "")
    wrong = tool_problems(step, spec, allowed)
    yield from (Finding("tools", problem) for problem in wrong)
    if spec and not wrong:
        wrong = argument_problems(step, spec, tools, allowed, forms_of)
        yield from (Finding("arguments", problem) for problem in wrong)
    text = step.text.strip()
    if not text or text == step.tool:
        yield Finding("descriptions", "no words say what it is for.", blocks=False)
    elif len(text) > LONG_TEXT:
        yield Finding(
            "descriptions", f"it takes {len(text)} characters to say what it is for: is it one step?", blocks=False
        )


def _checks(results: Sequence[Finding]) -> tuple[Check, ...]:
    """A check per name, with or without findings."""
    return tuple(_check(name, [finding for finding in results if finding.check == name]) for name in CHECK_NAMES)


def _check(name: CheckName, results: Sequence[Finding]) -> Check:
    ok = False if any(finding.blocks for finding in results) else None if results else True
    lines: list[str] = []
    room = MAX_DETAIL
    for finding in sorted(results, key=lambda finding: not finding.blocks):
        if (room := room - len(finding.text)) < 0:
            lines.append(f"… and {len(results) - len(lines)} more")
            break
        lines.append(finding.text)
    return Check(name=name, ok=ok, detail="\n".join(lines))
