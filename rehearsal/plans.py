"""Plans: proposes one, and changes one as the person says."""

import re
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

from rehearsal.catalogue import CONFIGURE, INTRODUCTION, KINDS, Program
from rehearsal.matching import apply_features, directives, find_features, find_program, is_vague
from rehearsal.prompt import Prompt

LONGEST = 300  # characters of a step that are compared: the comparison is quadratic
_STEP = re.compile(r"^\s*\d+[.)]\s+(.*\S)")
_FLAGS = re.IGNORECASE | re.DOTALL
_ADD = re.compile(
    r"(?:please )?(?:add|insert|include)(?: a| another| one)?(?: new)? step"
    r"(?: (?P<where>before|after) (?:step )?(?P<at>\d+))?"
    r"(?:\s*[:,-]\s*| to | that | for | which | where | )(?P<text>.+)",
    _FLAGS,
)
_REMOVE = re.compile(r".*\b(?:remove|delete|drop|skip)\b.*?\bsteps?\b(?P<numbers>[\d ,and]+)", _FLAGS)
_SWAP = re.compile(r".*\b(?:swap|exchange)\b.*?(?P<a>\d+)\D+(?P<b>\d+)", _FLAGS)
_MOVE = re.compile(
    r".*\bmove\b.*?(?P<a>\d+)\s*(?P<where>to|before|after)?.*?(?P<b>\d+|start|beginning|top|end)", _FLAGS
)
_CHANGE = re.compile(r".*?\b(?:change|replace|rewrite)\b.*?\bstep (?P<n>\d+)\s*(?:to|with|by|:)\s*(?P<text>.+)", _FLAGS)
_SHORTER = re.compile(r"\b(short(?:er|en)?|fewer|simpler|simplify)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Plan:
    """A plan as the prompts carry it."""

    goal: str = ""
    steps: tuple[str, ...] = ()
    notes: str = ""

    def reply(self) -> dict[str, Any]:
        """As the task `text_plan` answers."""
        return {"question": None, "goal": self.goal, "steps": list(self.steps), "notes": self.notes}


def read_plan(text: str) -> Plan:
    """Read `Goal: …`, numbered steps and `Notes: …`; what it cannot read is left out."""
    goal = re.search(r"^Goal: *(.*)$", text, re.MULTILINE)
    notes = re.search(r"^Notes: *(.*)\Z", text, re.MULTILINE | re.DOTALL)
    steps = tuple(match[1] for line in text.splitlines() if (match := _STEP.match(line)))
    return Plan(goal[1].strip() if goal else "", steps, notes[1].strip() if notes else "")


def subject(prompt: Prompt) -> Program | None:
    """The program that the prompt is about: named in the request, the plan, an answer, or earlier on."""
    goal = read_plan(prompt["plan"]).goal
    told = (prompt["request"], goal, prompt["feedback"], *reversed(prompt["previous"].splitlines()))
    return find_program(*(text.replace(INTRODUCTION, "").replace(KINDS, "") for text in told))


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
    program, current = subject(prompt), read_plan(prompt["plan"])
    if program is None:
        return _without_program(prompt, current)
    wishes = directives(prompt["feedback"])
    named = find_program(prompt["request"])
    if not current.steps or (named and named is not find_program(current.goal) and not wishes and not prompt.replan):
        return propose(program, 0, apply_features(program, frozenset(), [prompt["request"], *wishes])).reply()
    if prompt.replan:
        kept = apply_features(program, frozenset(), [*current.steps, *wishes])
        return propose(program, 1 - approach_of(program, current), kept).reply()
    if not wishes and (named is None or find_features(program, prompt["request"])):
        wishes = directives(prompt["request"])  # a follow-up is a wish about the program before it
    return revise(replace(current, notes=""), wishes, program).reply()


def _without_program(prompt: Prompt, current: Plan) -> dict[str, Any]:
    if current.steps and prompt["feedback"]:
        return revise(replace(current, notes=""), directives(prompt["feedback"]), None).reply()
    if is_vague(prompt["request"]) and not prompt["feedback"]:
        question = f"What shall the program do? I am the rehearsal model, made of rules: I know {KINDS}."
        return {"question": question, "goal": "", "steps": [], "notes": ""}
    return Plan(INTRODUCTION, ("Print what the rehearsal model can do and how to configure a language model",)).reply()


def propose(program: Program, approach: int, features: frozenset[str]) -> Plan:
    """A fresh plan in this approach."""
    extra = tuple(feature.step for feature in program.features if feature.name in features)
    return Plan(program.goal, program.plans[approach] + extra)


def revise(plan: Plan, wishes: list[str], program: Program | None) -> Plan:
    """Change the plan wish by wish; what is not understood is named in the notes."""
    lost = []
    for wish in wishes:
        changed = _edit(plan, wish) or (_feature(plan, wish, program) if program else None)
        plan = changed or plan
        lost += [] if changed else [wish]
    return replace(plan, notes=not_understood(lost)) if lost else plan


def not_understood(wishes: list[str]) -> str:
    """The honest sentence about feedback beyond the rules."""
    said = ", ".join(f"“{wish}”" for wish in wishes)
    return (
        f"The rehearsal model, which is made of rules, could not understand {said} and left this as it was. {CONFIGURE}"
    )


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
        at = len(steps)
        if match["at"]:
            at = min(int(match["at"]) - (match["where"].lower() == "before"), len(steps))
        text = match["text"].strip().rstrip(".")
        if text not in steps:
            steps.insert(max(at, 0), text[:1].upper() + text[1:])
    elif match := _REMOVE.match(wish):
        gone = {int(number) for number in re.findall(r"\d+", match["numbers"])}
        if not gone or max(gone) > len(steps) or len(gone) >= len(steps):
            return None
        steps = [step for number, step in enumerate(steps, 1) if number not in gone]
    elif (match := _SWAP.match(wish)) or (match := _MOVE.match(wish)):
        return _reorder(plan, match)
    elif match := _CHANGE.match(wish):
        if not 1 <= int(match["n"]) <= len(steps):
            return None
        steps[int(match["n"]) - 1] = match["text"].strip().rstrip(".")
    elif _SHORTER.search(wish) and len(steps) > 1:
        pairs = [steps[start : start + 2] for start in range(0, len(steps), 2)]
        steps = ["; then ".join([pair[0], *(step[:1].lower() + step[1:] for step in pair[1:])]) for pair in pairs]
    else:
        return None
    return replace(plan, steps=tuple(steps))


def _reorder(plan: Plan, match: re.Match[str]) -> Plan | None:
    """Swap two steps, or move one to, before or after another."""
    steps = list(plan.steps)
    places = {"start": 1, "beginning": 1, "top": 1, "end": len(steps)}
    a = int(match["a"])
    b = places.get(match["b"].lower()) or int(match["b"])
    if not (1 <= a <= len(steps) and 1 <= b <= len(steps)):
        return None
    if match.re is _SWAP:
        steps[a - 1], steps[b - 1] = steps[b - 1], steps[a - 1]
        return replace(plan, steps=tuple(steps))
    step = steps.pop(a - 1)
    where = (match["where"] or "to").lower()
    target = b - 1 if where == "to" else b - 1 - (a < b) + (where == "after")
    steps.insert(target, step)
    return replace(plan, steps=tuple(steps))
