"""The reply to the task `text_plan`: a new plan, a changed one, or a question."""

import re
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

from rehearsal.matching import apply_features, directives, find_features, find_program
from rehearsal.prompt import ParsedPrompt
from rehearsal.refusals import CONNECT, effective_request, refuse
from rehearsal.registry import ProgramSpec
from rehearsal.replies import question

LONGEST = 300  # characters of a step that are compared: the comparison is quadratic
UNCLEAR = "I’m the demo model and do not understand "
CHANGES = ("Add a step to write a short help text", "Make it shorter", "Leave the plan as it is")
_STEP = re.compile(r"^\s*\d+[.)]\s+(.*\S)")
_FLAGS = re.IGNORECASE | re.DOTALL
_ADD = re.compile(
    r"(?:please )?(?:add|insert|include)(?: a| another| one)?(?: new)? step"
    r"(?: (?P<where>before|after) (?:step )?(?P<at>\d+))?"
    r"(?:\s*[:,-]\s*| to | that | for | which | where | )(?P<text>.+)",
    _FLAGS,
)
_REMOVE = re.compile(r".*\b(?:remove|delete|drop|skip)\b.*?\bsteps?\b(?P<numbers>[\d ,and]+)", _FLAGS)
_CHANGE = re.compile(r".*?\b(?:change|replace|rewrite)\b.*?\bstep (?P<n>\d+)\s*(?:to|with|by|:)\s*(?P<text>.+)", _FLAGS)
_SHORTER = re.compile(r"\b(?:short(?:er|en)?|fewer|simpler|simplify)\b", re.IGNORECASE)
_KEEP = re.compile(r"\b(?:leave|keep)\b.*\bas it (?:is|was)\b", re.IGNORECASE)


@dataclass(frozen=True)
class TextPlan:
    """A plan as the prompts carry it."""

    goal: str = ""
    steps: tuple[str, ...] = ()
    notes: str = ""

    def reply(self) -> dict[str, Any]:
        """As the task `text_plan` answers."""
        return {"kind": "plan", "goal": self.goal, "steps": list(self.steps), "notes": self.notes}


def read_plan(text: str) -> TextPlan:
    """Read `Goal: …`, numbered steps and `Notes: …`. Other lines are ignored."""
    goal = re.search(r"^Goal: *(.*)$", text, re.MULTILINE)
    notes = re.search(r"^Notes: *(.*)\Z", text, re.MULTILINE | re.DOTALL)
    steps = tuple(match[1] for line in text.splitlines() if (match := _STEP.match(line)))
    return TextPlan(goal[1].strip() if goal else "", steps, notes[1].strip() if notes else "")


def approach_of(program: ProgramSpec, plan: TextPlan) -> int:
    """0 or 1: which of the program's approaches the plan resembles."""
    likeness = [
        sum(max((similar(a, b) for b in plan.steps), default=0) for a in steps) / len(steps) for steps in program.plans
    ]
    return int(likeness[1] > likeness[0])


def similar(left: str, right: str) -> float:
    """How alike two steps are, from 0 to 1."""
    return SequenceMatcher(None, left[:LONGEST].lower(), right[:LONGEST].lower()).ratio()


def answer_plan(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `text_plan`."""
    request, current = effective_request(prompt), read_plan(prompt["plan"])
    named, planned = find_program(request), find_program(current.goal)
    answered = request != prompt["request"]  # the request was refused, and the answer replaces it
    changes = directives(prompt["feedback"])
    if prompt.replan and planned:
        features = apply_features(planned, frozenset(), [*current.steps, *changes])
        return propose(planned, 1 - approach_of(planned, current), features).reply()
    if not current.steps or (named and (answered or (named is not planned and not changes))):
        program = named or (None if answered else find_program(*changes))
        if program is None:
            return refuse("conversation", request, prompt)
        lines = [request] if answered else [request, *changes]
        return propose(program, 0, apply_features(program, frozenset(), lines)).reply()
    if not changes:  # a new request that names no other program: it is about the one planned before
        changed, lost = revise_plan(current, directives(request), planned)
        return refuse("conversation", request, prompt) if lost and named is None else changed.reply()
    changed, lost = revise_plan(current, changes, planned)
    was_unclear = answered or UNCLEAR in prompt.last_question
    if lost and not (was_unclear and changes[-1] not in lost):
        return _unclear(lost)
    return _with_note(changed, lost).reply()


def propose(program: ProgramSpec, approach: int, features: frozenset[str]) -> TextPlan:
    """A fresh plan in this approach."""
    extra = tuple(feature.step for feature in program.features if feature.name in features)
    return TextPlan(program.goal, program.plans[approach] + extra)


def revise_plan(plan: TextPlan, changes: list[str], program: ProgramSpec | None) -> tuple[TextPlan, list[str]]:
    """The plan after these changes, and the changes that were not understood."""
    plan, lost = replace(plan, notes=""), []
    for change in changes:
        revised = _edit(plan, change) or (_feature(plan, change, program) if program else None)
        plan = revised or plan
        lost += [] if revised else [change]
    return plan, lost


def _unclear(changes: list[str]) -> dict[str, Any]:
    """The question about feedback that was not understood."""
    return question(f"{UNCLEAR}{quoted(changes)}. I can change a plan like this. {CONNECT}", CHANGES)


def _with_note(plan: TextPlan, lost: list[str]) -> TextPlan:
    """The plan with a note about feedback that was not understood."""
    return replace(plan, notes=f"Not in this plan: {quoted(lost)}.") if lost else plan


def quoted(changes: list[str]) -> str:
    """The changes as a list in a sentence."""
    return ", ".join(f"“{change}”" for change in changes)


def _feature(plan: TextPlan, change: str, program: ProgramSpec) -> TextPlan | None:
    """Add or remove the steps of the features that the change names."""
    named = find_features(program, change)
    if not named:
        return None
    features = apply_features(program, frozenset(), [change])
    steps = list(plan.steps)
    for feature in named:
        have = [step for step in steps if feature in find_features(program, step)]
        if feature.name in features:
            steps += [] if have else [feature.step]
        else:
            steps = [step for step in steps if step not in have] or steps
    return replace(plan, steps=tuple(steps))


def _edit(plan: TextPlan, change: str) -> TextPlan | None:
    """Apply a change about steps by number; None if it is not one, or names a step that does not exist."""
    steps = list(plan.steps)
    if match := _ADD.match(change):
        at = min(int(match["at"]) - (match["where"].lower() == "before"), len(steps)) if match["at"] else len(steps)
        text = match["text"].strip().rstrip(".")
        if text[:1].upper() + text[1:] not in steps:
            steps.insert(max(at, 0), text[:1].upper() + text[1:])
    elif match := _REMOVE.match(change):
        gone = {int(number) for number in re.findall(r"\d+", match["numbers"])}
        if not gone or max(gone) > len(steps) or len(gone) >= len(steps):
            return None
        steps = [step for number, step in enumerate(steps, 1) if number not in gone]
    elif match := _CHANGE.match(change):
        if not 1 <= int(match["n"]) <= len(steps):
            return None
        steps[int(match["n"]) - 1] = match["text"].strip().rstrip(".")
    elif _SHORTER.search(change):
        pairs = [steps[start : start + 2] for start in range(0, len(steps), 2)]
        steps = ["; then ".join([pair[0], *(step[:1].lower() + step[1:] for step in pair[1:])]) for pair in pairs]
    elif not _KEEP.search(change):
        return None
    return replace(plan, steps=tuple(steps))
