"""Code and tests: writes the program that a plan asks for, and revises it as the person says."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rehearsal import edits
from rehearsal.catalogue import HONEST, INTRODUCTION, Program
from rehearsal.matching import apply_features, directives, find_features, find_number
from rehearsal.plans import Plan, approach_of, not_understood, read_plan, similar, subject
from rehearsal.prompt import Prompt
from rehearsal.variants import SECOND, lines_of, render

ALIKE = 0.6  # from here on a step of the person's counts as one of ours in other words


@dataclass(frozen=True)
class Variant:
    """One way to write a program: its approach (0 or 1), its features and its numbers by constant."""

    program: Program
    approach: int = 0
    features: frozenset[str] = frozenset()
    numbers: dict[str, int] = field(default_factory=dict)

    def code(self) -> str:
        """The program's text."""
        text = render(self.program.name, self.features | ({SECOND} if self.approach else set()))
        if self.program is HONEST:
            text = text.replace("INTRODUCTION", "\\\n" + textwrap.fill(INTRODUCTION, 100) + "\n")
        for name, value in self.numbers.items():
            text = edits.set_constant(text, name, value) or text
        return text


def answer_code(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `code`."""
    program, plan = subject(prompt) or HONEST, read_plan(prompt["plan"])
    old = f"{prompt['code'].rstrip()}\n"
    if not (prompt["feedback"] or prompt.replan or prompt["problems"]):
        variant = draft(program, plan, prompt, old)
        return {"explanation": explain(variant, plan), "code": variant.code()}
    if not old.strip():
        variant = from_plan(program, plan, prompt)
        return {"explanation": explain(variant, plan), "code": variant.code()}
    current = from_code(program, old)
    return revise(prompt, old, current, plan)


def draft(program: Program, plan: Plan, prompt: Prompt, old: str) -> Variant:
    """What the plan asks for; code of the same program from an earlier round lends its features."""
    planned = from_plan(program, plan, prompt)
    earlier = from_code(program, old)
    ours = set(earlier.code().splitlines())
    if len(ours & set(old.splitlines())) < len(ours) * ALIKE:
        return planned
    return replace(planned, features=earlier.features | planned.features, numbers=earlier.numbers | planned.numbers)


def from_plan(program: Program, plan: Plan, prompt: Prompt) -> Variant:
    """What plan, request and feedback ask for."""
    lines = [prompt["request"], *plan.steps, *directives(prompt["feedback"])]
    approach = approach_of(program, plan) if plan.steps and program is not HONEST else 0
    return with_wishes(Variant(program, approach), lines)


def with_wishes(variant: Variant, lines: Sequence[str]) -> Variant:
    """The variant after these lines have added or removed features and set numbers."""
    numbers = dict(filter(None, (find_number(variant.program, line) for line in lines)))
    features = apply_features(variant.program, variant.features, lines)
    return replace(variant, features=features, numbers=variant.numbers | numbers)


def from_code(program: Program, code: str) -> Variant:
    """The variant that this code is, or is nearest to."""
    lines = set(code.splitlines())
    shared = [len(lines & set(Variant(program, approach).code().splitlines())) for approach in (0, 1)]
    approach = int(shared[1] > shared[0])
    others = {SECOND} if approach else set()
    features = set()
    for feature in program.features:
        signs = lines_of(program.name, feature.name, others)
        if len(signs & lines) > len(signs) / 2:
            features.add(feature.name)
    names = [program.number, *(feature.number for feature in program.features)]
    numbers = {name: value for name in names if (value := edits.constant(code, name)) is not None}
    return Variant(program, approach, frozenset(features), numbers)


def revise(prompt: Prompt, old: str, current: Variant, plan: Plan) -> dict[str, Any]:
    """Apply every line of feedback: features and numbers make a new text, small edits change the text at hand.

    The feedback may repeat what the code has taken in already: doing it again changes nothing.
    """
    wishes = directives(prompt["feedback"])
    big = [wish for wish in wishes if find_features(current.program, wish) or find_number(current.program, wish)]
    small = [wish for wish in wishes if wish not in big]
    ours = is_ours(current, old, small)
    wanted = with_wishes(current, big)
    if prompt.replan or (prompt["problems"] and ours):
        wanted = replace(wanted, approach=1 - current.approach)
    code, said = old, []
    if wanted != current or prompt["problems"]:
        code = wanted.code()
        said.append(explain(wanted, plan))
        if not ours:
            said.append("The program was written anew: changes made to it by hand are not in it any more.")
    code, remarks, lost = edit_all(code, small)
    said += remarks + ([not_understood(lost)] if lost else [])
    return {"explanation": " ".join(said) or "Nothing had to be changed.", "code": code}


def edit_all(code: str, wishes: Sequence[str]) -> tuple[str, list[str], list[str]]:
    """The code after all small edits, what was done, and the wishes that were not understood."""
    remarks, lost = [], []
    for wish in wishes:
        if edited := edits.edit(code, wish):
            code = edited[0]
            remarks += [edited[1]] if edited[1] else []
        else:
            lost.append(wish)
    return code, remarks, lost


def is_ours(variant: Variant, code: str, small: Sequence[str]) -> bool:
    """Whether the code is this variant after some of the small edits: then nobody else has changed it."""
    return any(same(edit_all(variant.code(), small[:count])[0], code) for count in range(len(small) + 1))


def explain(variant: Variant, plan: Plan) -> str:
    """What the code does, and which steps of the plan it does not cover."""
    if variant.program is HONEST:
        return INTRODUCTION
    program = variant.program
    extra = [feature.step for feature in program.features if feature.name in variant.features]
    parts = [f"Here is {program.title}, approach {variant.approach + 1} of 2."]
    parts += [f"It includes: {'; '.join(extra)}."] if extra else []
    parts += [f"{name} is {value}." for name, value in variant.numbers.items()]
    missing = uncovered(program, plan)
    parts += [f"The rehearsal model's rules do not cover: {'; '.join(missing)}."] if missing else []
    return " ".join(parts)


def uncovered(program: Program, plan: Plan) -> list[str]:
    """The steps that are neither ours, in whatever words, nor name a feature."""
    ours = [step for steps in program.plans for step in steps]
    return [step for step in plan.steps if not find_features(program, step) and not _ours(step, ours)]


def _ours(step: str, ours: Sequence[str]) -> bool:
    return any(similar(step, known) >= ALIKE or known.lower() in step.lower() for known in ours)


def same(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but space at the end."""
    return [line.rstrip() for line in one.strip().splitlines()] == [
        line.rstrip() for line in other.strip().splitlines()
    ]


def answer_tests(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `tests`. Without the code it tests only what every variant that may be meant can do."""
    program, plan = subject(prompt) or HONEST, read_plan(prompt["plan"])
    if prompt["code"].strip():
        variant = from_code(program, prompt["code"])
        flags = variant.features | ({SECOND} if variant.approach else set())
    else:
        flags = from_plan(program, plan, prompt).features | {"unsure"}
    tests = render(f"{program.name}_tests", flags)
    for wish in directives(prompt["feedback"]):
        names = edits.renaming(wish)
        if names and (not prompt["code"] or edits.is_renamed(prompt["code"], *names)):
            tests = edits.rename(tests, *names) or tests
    return {"tests": tests}
