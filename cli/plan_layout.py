"""An execution plan as a terminal shows it: its steps with their calls, and how each stands at the right edge. Pure."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from parley.protocol.execution_plans import ExecutionPlan, PlanStep
from parley.protocol.words import ACTION_STATES, REVIEW, WORK
from shared.domain.references import ITEM, Reference, references

WIDEST = 100  # columns: longer lines are hard to read
CODE = 12  # lines of a text of several lines that are shown
EFFECTS = {"write": REVIEW["effect_write"], "irreversible": REVIEW["effect_irreversible"]}

type Numbers = Mapping[str, int]  # of the steps, by id


def plan_text(plan: ExecutionPlan, columns: int) -> str:
    """The goal, where the plan stands, and its steps."""
    width = min(columns, WIDEST)
    count = len(plan.steps)
    version = "" if plan.version is None else f"version {plan.version}"
    about = (plan.status.replace("_", " "), version, f"{count} step{'' if count == 1 else 's'}" if count else "")
    numbers = {step.id: step.number for step in plan.steps}
    lines = [*textwrap.wrap(plan.description, width), " · ".join(filter(None, about))]
    for step in plan.steps:
        lines += ["", *_step(step, numbers, width)]
    if plan.notes:
        lines += ["", *(line for text in plan.notes.splitlines() for line in textwrap.wrap(text, width) or [""])]
    if findings := [line for check in plan.checks if check.ok is not True for line in check.detail.splitlines()]:
        lines += ["", "Worth a look:"]
        for finding in findings:
            lines += textwrap.wrap(finding, width, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(lines)


def _step(step: PlanStep, numbers: Numbers, width: int) -> Iterator[str]:
    indent = " " * 4
    word = "" if step.status == "planned" else ACTION_STATES.get(step.status, step.status)
    first, *rest = textwrap.wrap(step.description, max(20, width - 6 - len(word))) or [""]
    head = f"{step.number:>2}. {first}"
    yield f"{head:<{width - len(word)}}{word}".rstrip()
    yield from (f"{indent}{line}" for line in rest)
    call = f"{step.tool}({', '.join(_arguments(step, numbers))})"
    for line in textwrap.wrap(call, width - 4, subsequent_indent="  ", break_on_hyphens=False):
        yield f"{indent}{line}"
    for name, value in step.parameters.items():
        if isinstance(value, str) and "\n" in value:
            yield from _code(name, value)
    if about := " · ".join(_about(step, numbers)):
        yield from textwrap.wrap(about, width, initial_indent=indent, subsequent_indent=indent)
    if step.error:
        yield from textwrap.wrap(step.error, width, initial_indent=indent, subsequent_indent=indent)
    if step.output is not None:
        given = f" ({WORK['output_given']})" if step.given else ""
        yield indent + textwrap.shorten(f"→ {_plain(step.output)}", width - 4 - len(given), placeholder=" …") + given


def _arguments(step: PlanStep, numbers: Numbers) -> Iterator[str]:
    """What is of several lines stands below the call."""
    for name, value in step.parameters.items():
        if not (isinstance(value, str) and "\n" in value):
            yield f"{name}={_with_words(value, numbers)}"


def _code(name: str, text: str) -> Iterator[str]:
    lines = text.rstrip().splitlines()
    yield f"      {name}:"
    yield from (f"        {line}".rstrip() for line in lines[:CODE])
    if len(lines) > CODE:
        yield f"        … {len(lines) - CODE} more lines"


def _about(step: PlanStep, numbers: Numbers) -> Iterator[str]:
    """What it waits for, is done for, and does to the world."""
    if step.for_each:
        yield f"{REVIEW['for_each']} {_with_words(step.for_each, numbers)}"
    if after := [str(numbers[one]) for one in step.after if one in numbers]:
        yield REVIEW["after_steps"].format(numbers=", ".join(after))
    if step.effect in EFFECTS:
        yield EFFECTS[step.effect]
    if step.preapproved:
        yield REVIEW["preapproved"]
    if step.poll and step.status == "waiting":
        yield WORK["looking" if step.poll.looks else "looks"].format(every=step.poll.every, looks=step.poll.looks)
    if step.until:
        yield f"until {step.until:%Y-%m-%d %H:%M} UTC"


def _with_words(value: JsonValue, numbers: Numbers) -> str:
    """JSON, with its references in words: order id of step 2."""
    text = json.dumps(value, ensure_ascii=False)
    for one in references(value):
        words = f"[{_words(one, numbers)}]"
        text = words if text == f'"{one.text}"' else text.replace(one.text, words)
    return text


def _words(one: Reference, numbers: Numbers) -> str:
    what = ".".join(str(part) for part in one.path).replace("_", " ")
    if one.step == ITEM:
        return REVIEW["part_of_item"].format(what=what) if what else REVIEW["item"]
    if one.step not in numbers:
        return one.text
    return REVIEW["part_of_step" if what else "result_of_step"].format(what=what, number=numbers[one.step])


def _plain(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def aligned(rows: Sequence[Sequence[str]], columns: int | None) -> Iterator[str]:
    """Rows in columns; the last cell is cut to the width, unless there is none, as in a file."""
    widths = [max(map(len, cells)) for cells in zip(*(row[:-1] for row in rows), strict=True)]
    for row in rows:
        head = "  ".join(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True))
        left = columns and max(10, columns - len(head) - 2)
        last = " ".join(row[-1].split())
        yield f"{head}  {last[: left - 1] + '…' if left and len(last) > left else last}".rstrip()
