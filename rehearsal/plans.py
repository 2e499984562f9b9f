"""Plans: proposes one, changes one as the person asks, or asks back."""

import re
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

from rehearsal.catalogue import Program
from rehearsal.matching import apply_features, directives, find_features, find_program
from rehearsal.prompt import Prompt
from rehearsal.refusals import CONNECT, effective_request, refuse
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
class Plan:
    """A plan as the prompts carry it."""

    goal: str = ""
    steps: tuple[str, ...] = ()
    notes: str = ""

    def reply(self) -> dict[str, Any]:
        """As the task `text_plan` answers."""
        return {"kind": "plan", "goal": self.goal, "steps": list(self.steps), "notes": self.notes}


def read_plan(text: str) -> Plan:
    """Read `Goal: …`, numbered steps and `Notes: …`; what it cannot read is left out."""
    goal = re.search(r"^Goal: *(.*)$", text, re.MULTILINE)
    notes = re.search(r"^Notes: *(.*)\Z", text, re.MULTILINE | re.DOTALL)
    steps = tuple(match[1] for line in text.splitlines() if (match := _STEP.match(line)))
    return Plan(goal[1].strip() if goal else "", steps, notes[1].strip() if notes else "")


def approach_of(program: Program, plan: Plan) -> int:
    """0 or 1: which of the program's approaches the plan resembles."""
    likeness = [
        sum(max((similar(a, b) for b in plan.steps), default=0) for a in steps) / len(steps) for steps in program.plans
    ]
    return int(likeness[1] > likeness[0])


def similar(one: str, other: str) -> float:
    """How alike two steps are, from 0 to 1."""
    return SequenceMatcher(None, one[:LONGEST].lower(), other[:LONGEST].lower()).ratio()


def answer_plan(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `text_plan`."""
    request, current = effective_request(prompt), read_plan(prompt["plan"])
    named, planned = find_program(request), find_program(current.goal)
    answered = request != prompt["request"]  # the request was refused, and the answer replaces it
    wishes = directives(prompt["feedback"])
    if prompt.replan and planned:
        kept = apply_features(planned, frozenset(), [*current.steps, *wishes])
        return propose(planned, 1 - approach_of(planned, current), kept).reply()
    if not current.steps or (named and (answered or (named is not planned and not wishes))):
        program = named or (None if answered else find_program(*wishes))
        if program is None:
            return refuse("conversation", request, prompt)
        lines = [request] if answered else [request, *wishes]
        return propose(program, 0, apply_features(program, frozenset(), lines)).reply()
    if not wishes:  # a new request that names no other program: it is about the one planned before
        changed, lost = revise(current, directives(request), planned)
        return refuse("conversation", request, prompt) if lost and named is None else changed.reply()
    changed, lost = revise(current, wishes, planned)
    asked = answered or UNCLEAR in prompt.last_question
    if lost and not (asked and wishes[-1] not in lost):
        return _unclear(lost)
    return _noted(changed, lost).reply()


def propose(program: Program, approach: int, features: frozenset[str]) -> Plan:
    """A fresh plan in this approach."""
    extra = tuple(feature.step for feature in program.features if feature.name in features)
    return Plan(program.goal, program.plans[approach] + extra)


def revise(plan: Plan, wishes: list[str], program: Program | None) -> tuple[Plan, list[str]]:
    """The plan after these wishes, and those that were not understood."""
    plan, lost = replace(plan, notes=""), []
    for wish in wishes:
        changed = _edit(plan, wish) or (_feature(plan, wish, program) if program else None)
        plan = changed or plan
        lost += [] if changed else [wish]
    return plan, lost


def _unclear(wishes: list[str]) -> dict[str, Any]:
    """The question about feedback that was not understood."""
    return question(f"{UNCLEAR}{quoted(wishes)}. I can change a plan like this. {CONNECT}", CHANGES)


def _noted(plan: Plan, lost: list[str]) -> Plan:
    """The plan with a note about feedback that was not understood."""
    return replace(plan, notes=f"Not in this plan: {quoted(lost)}.") if lost else plan


def quoted(wishes: list[str]) -> str:
    """The wishes as a list in a sentence."""
    return ", ".join(f"“{wish}”" for wish in wishes)


def _feature(plan: Plan, wish: str, program: Program) -> Plan | None:
    """Add or drop the steps of the features that the wish names."""
    named = find_features(program, wish)
    if not named:
        return None
    wanted = apply_features(program, frozenset(), [wish])
    steps = list(plan.steps)
    for feature in named:
        have = [step for step in steps if feature in find_features(program, step)]
        if feature.name in wanted:
            steps += [] if have else [feature.step]
        else:
            steps = [step for step in steps if step not in have] or steps
    return replace(plan, steps=tuple(steps))


def _edit(plan: Plan, wish: str) -> Plan | None:
    """Carry out a wish about steps by number; None where it is none, or names a step that does not exist."""
    steps = list(plan.steps)
    if match := _ADD.match(wish):
        at = min(int(match["at"]) - (match["where"].lower() == "before"), len(steps)) if match["at"] else len(steps)
        text = match["text"].strip().rstrip(".")
        if text[:1].upper() + text[1:] not in steps:
            steps.insert(max(at, 0), text[:1].upper() + text[1:])
    elif match := _REMOVE.match(wish):
        gone = {int(number) for number in re.findall(r"\d+", match["numbers"])}
        if not gone or max(gone) > len(steps) or len(gone) >= len(steps):
            return None
        steps = [step for number, step in enumerate(steps, 1) if number not in gone]
    elif match := _CHANGE.match(wish):
        if not 1 <= int(match["n"]) <= len(steps):
            return None
        steps[int(match["n"]) - 1] = match["text"].strip().rstrip(".")
    elif _SHORTER.search(wish):
        pairs = [steps[start : start + 2] for start in range(0, len(steps), 2)]
        steps = ["; then ".join([pair[0], *(step[:1].lower() + step[1:] for step in pair[1:])]) for pair in pairs]
    elif not _KEEP.search(wish):
        return None
    return replace(plan, steps=tuple(steps))
