"""The reply to the task `text_plan`: a new plan, a changed one, or a question."""

import re
from dataclasses import dataclass, replace
from typing import Any

from rehearsal.examples import PROGRAMS, ExampleProgram
from rehearsal.matching import has_phrase
from rehearsal.prompt import ParsedPrompt
from rehearsal.refusals import CONNECT, effective_request, refuse
from rehearsal.replies import question

UNCLEAR = "I’m the demo model and do not understand "
CHANGES = ("Add a step to write a short help text", "Make it shorter", "Leave the plan as it is")
_STEP = re.compile(r"^\s*s?\d+[.)]\s+(.*\S)")
_ADD = re.compile(r"(?is)(?:please )?add (?:a|another) step (?:to|that|for) (.+)")


@dataclass(frozen=True)
class TextPlan:
    """A plan as the prompts carry it."""

    goal: str = ""
    steps: tuple[str, ...] = ()
    notes: str = ""

    def reply(self) -> dict[str, Any]:
        """As the task `text_plan` answers."""
        steps = [{"id": "", "text": step} for step in self.steps]
        return {"kind": "plan", "goal": self.goal, "steps": steps, "notes": self.notes}

    def has(self, step: str) -> bool:
        """Whether one of its steps contains this one."""
        return any(step.lower() in own.lower() for own in self.steps)


def read_plan(text: str) -> TextPlan:
    """Read `Goal: …`, numbered steps and `Notes: …`. Other lines are ignored."""
    goal = re.search(r"^Goal: *(.*)$", text, re.MULTILINE)
    notes = re.search(r"^Notes: *(.*)\Z", text, re.MULTILINE | re.DOTALL)
    steps = tuple(match[1] for line in text.splitlines() if (match := _STEP.match(line)))
    return TextPlan(goal[1].strip() if goal else "", steps, notes[1].strip() if notes else "")


def find_program(*texts: str) -> ExampleProgram | None:
    """The program that the first text names that names one."""
    return next((program for text in texts for program in PROGRAMS if has_phrase(text, program.phrases)), None)


def way_of(program: ExampleProgram, plan: TextPlan) -> int:
    """0 or 1: the way to write the program that has more steps in common with the plan."""
    first, second = (sum(map(plan.has, steps)) for steps in program.plans)
    return int(second > first)


def wants_extra(program: ExampleProgram, *texts: str) -> bool:
    """Whether one of the texts names what may be added to the program."""
    return program.extra is not None and any(has_phrase(text, program.extra.phrases) for text in texts)


def directives(text: str) -> list[str]:
    """Feedback as a list of things to do, one a line."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def answer_plan(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `text_plan`."""
    request, current = effective_request(prompt), read_plan(prompt.plan)
    named, planned = find_program(request), find_program(current.goal)
    was_refused = request != prompt["request"]
    changes = directives("\n".join(prompt.feedback))
    if prompt.replan and planned:
        return propose(planned, 1 - way_of(planned, current), *current.steps, *changes).reply()
    if not current.steps or (named and (was_refused or (named is not planned and not changes))):
        program = named or (None if was_refused else find_program(*changes))
        if program is None:
            return refuse("conversation", request, prompt)
        said_since = [] if was_refused else changes
        return revise_plan(propose(program, 0, request, *said_since), said_since, program)[0].reply()
    if not changes and named is None and revise_plan(current, directives(request), planned)[1]:
        return refuse("conversation", request, prompt)  # a new request that is not about the program planned before
    return _revised_reply(prompt, current, changes or directives(request), planned, was_refused=was_refused)


def _revised_reply(
    prompt: ParsedPrompt, current: TextPlan, changes: list[str], program: ExampleProgram | None, *, was_refused: bool
) -> dict[str, Any]:
    """The changed plan; a question if a change is not understood and none was asked before."""
    changed, unknown = revise_plan(current, changes, program)
    if not unknown or not prompt.feedback:
        return changed.reply()
    if (was_refused or UNCLEAR in prompt.last_question) and changes[-1] not in unknown:
        return replace(changed, notes=f"Not in this plan: {quoted(unknown)}.").reply()
    return question(f"{UNCLEAR}{quoted(unknown)}. I can change a plan like this. {CONNECT}", CHANGES)


def propose(program: ExampleProgram, way: int, *texts: str) -> TextPlan:
    """A new plan, with the extra if one of the texts names it."""
    extra = (program.extra.step,) if program.extra and wants_extra(program, *texts) else ()
    return TextPlan(program.goal, (*program.plans[way], *extra))


def revise_plan(plan: TextPlan, changes: list[str], program: ExampleProgram | None) -> tuple[TextPlan, list[str]]:
    """The plan after these changes, and the changes that were not understood."""
    plan, unknown = replace(plan, notes=""), []
    for change in changes:
        revised = _revised(plan, change, program)
        plan = revised or plan
        unknown += [] if revised else [change]
    return plan, unknown


def quoted(changes: list[str]) -> str:
    """The changes as a list in a sentence."""
    return ", ".join(f"“{change}”" for change in changes)


def _revised(plan: TextPlan, change: str, program: ExampleProgram | None) -> TextPlan | None:
    """The plan after one change; None if it is not understood."""
    step = ""
    if match := _ADD.match(change):
        step = match[1].strip().rstrip(".")
        step = step[:1].upper() + step[1:]
    elif program and program.extra and wants_extra(program, change):
        step = program.extra.step
    elif has_phrase(change, ("shorter",)):
        *first, last = plan.steps
        joined = (f"{first[-1]}; then {last[:1].lower()}{last[1:]}",) if first else (last,)
        return replace(plan, steps=(*first[:-1], *joined))
    elif not has_phrase(change, ("leave the plan", "leave it")):
        return None
    return replace(plan, steps=(*plan.steps, step)) if step and not plan.has(step) else plan
