"""The replies to the tasks `code` and `tests`: the program that a plan describes, revised on feedback."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rehearsal.matching import apply_features, directives, find_features, find_number, find_program
from rehearsal.prompt import ParsedPrompt
from rehearsal.registry import CONFIGURE, ProgramSpec
from rehearsal.text_plans import TextPlan, approach_of, quoted, read_plan, similar
from rehearsal.variants import SECOND, lines_of, render

ALIKE = 0.6  # similarity from which a step counts as a paraphrase of the program's own
CANNOT = f"The demo model has no rules for this program, so it is not written. {CONFIGURE}"
NOT_WRITTEN = '''"""Not written: the demo model has no rules for this program."""


def main() -> None:
    """End with the reason."""
    raise SystemExit("Not written: the demo model has no rules for this program.")


if __name__ == "__main__":
    main()
'''
NOTHING_TO_TEST = '''"""There is no program to test."""

import unittest


class ProgramTest(unittest.TestCase):
    def test_the_program_is_written(self) -> None:
        self.fail("Not written: the demo model has no rules for this program.")
'''


@dataclass(frozen=True)
class ProgramVariant:
    """One way to write a program: its approach (0 or 1), its features and its numbers by constant."""

    program: ProgramSpec
    approach: int = 0
    features: frozenset[str] = frozenset()
    numbers: dict[str, int] = field(default_factory=dict)

    @property
    def flags(self) -> frozenset[str]:
        """The blocks of the source file that belong to it."""
        return self.features | ({SECOND} if self.approach else set())

    def code(self) -> str:
        """The program's text."""
        text = render(self.program.name, self.flags)
        for name, value in self.numbers.items():
            text = re.sub(rf"^{name} = \d+", f"{name} = {value}", text, flags=re.MULTILINE)
        return text


def answer_code(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `code`."""
    plan, old = read_plan(prompt["plan"]), f"{prompt['code'].rstrip()}\n"
    program = find_program(plan.goal, prompt["request"])
    if program is None:
        return _reply(CANNOT, NOT_WRITTEN)
    planned, current = from_plan(program, plan, prompt), from_code(program, old)
    if not old.strip() or not resembles(current, old):
        return _reply(explain(planned, plan), planned.code())
    if prompt["feedback"] or prompt.replan or prompt["problems"]:
        return revise_code(prompt, old, current, plan)
    merged = replace(planned, features=current.features | planned.features, numbers=current.numbers | planned.numbers)
    return _reply(explain(merged, plan), merged.code())


def _reply(explanation: str, code: str) -> dict[str, Any]:
    return {"kind": "code", "explanation": explanation, "code": code}


def from_plan(program: ProgramSpec, plan: TextPlan, prompt: ParsedPrompt) -> ProgramVariant:
    """The variant that plan, request and feedback describe."""
    lines = [prompt["request"], *plan.steps, *directives(prompt["feedback"])]
    return with_changes(ProgramVariant(program, approach_of(program, plan)), lines)


def with_changes(variant: ProgramVariant, lines: Iterable[str]) -> ProgramVariant:
    """The variant after these lines have added or removed features and set numbers."""
    lines = list(lines)
    numbers = dict(filter(None, (find_number(variant.program, line) for line in lines)))
    features = apply_features(variant.program, variant.features, lines)
    return replace(variant, features=features, numbers=variant.numbers | numbers)


def from_code(program: ProgramSpec, code: str) -> ProgramVariant:
    """The variant closest to this code."""
    lines = set(code.splitlines())
    shared = [len(lines & set(ProgramVariant(program, approach).code().splitlines())) for approach in (0, 1)]
    approach = int(shared[1] > shared[0])
    others = {SECOND} if approach else set()
    signs = {feature.name: lines_of(program.name, feature.name, others) for feature in program.features}
    features = frozenset(name for name, sign in signs.items() if len(sign & lines) > len(sign) / 2)
    names = filter(None, [program.number, *(feature.number for feature in program.features)])
    values = {name: re.search(rf"^{name} = (\d+)", code, re.MULTILINE) for name in names}
    return ProgramVariant(program, approach, features, {name: int(value[1]) for name, value in values.items() if value})


def resembles(variant: ProgramVariant, code: str) -> bool:
    """Whether this code contains most of the variant's lines."""
    ours = set(variant.code().splitlines())
    return len(ours & set(code.splitlines())) >= len(ours) * ALIKE


def revise_code(prompt: ParsedPrompt, old: str, current: ProgramVariant, plan: TextPlan) -> dict[str, Any]:
    """The reply after all feedback. Feedback that the code already follows changes nothing."""
    program, changes = current.program, directives(prompt["feedback"])
    ours = current.code().split() == old.split()
    changed = with_changes(current, changes)
    if prompt.replan or (prompt["problems"] and ours):
        changed = replace(changed, approach=1 - current.approach)
    code, remarks = old, []
    if changed != current or prompt["problems"]:
        code = changed.code()
        remarks.append(explain(changed, plan))
        if not ours:
            remarks.append("The program was written anew: changes made to it by hand are not in it any more.")
    if lost := [change for change in changes if not (find_features(program, change) or find_number(program, change))]:
        remarks.append(f"The demo model does not understand {quoted(lost)} and left this as it was. {CONFIGURE}")
    return _reply(" ".join(remarks) or "Nothing had to be changed.", code)


def explain(variant: ProgramVariant, plan: TextPlan) -> str:
    """What the code does, and which steps of the plan it does not cover."""
    program = variant.program
    extra = [feature.step for feature in program.features if feature.name in variant.features]
    parts = [f"Here is {program.title}, approach {variant.approach + 1} of 2."]
    parts += [f"It includes: {'; '.join(extra)}."] if extra else []
    parts += [f"{name} is {value}." for name, value in variant.numbers.items()]
    missing = uncovered(program, plan)
    parts += [f"The rehearsal model's rules do not cover: {'; '.join(missing)}."] if missing else []
    return " ".join(parts)


def uncovered(program: ProgramSpec, plan: TextPlan) -> list[str]:
    """The plan's steps that neither resemble one of the program's own nor name a feature."""
    ours = [step for steps in program.plans for step in steps]
    return [step for step in plan.steps if not find_features(program, step) and not _ours(step, ours)]


def _ours(step: str, ours: Sequence[str]) -> bool:
    return any(similar(step, known) >= ALIKE or known.lower() in step.lower() for known in ours)


def answer_tests(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `tests`: for the existing code, else for the code that the plan describes."""
    plan = read_plan(prompt["plan"])
    program = find_program(plan.goal, prompt["request"])
    if program is None:
        return {"kind": "tests", "tests": NOTHING_TO_TEST}
    code = prompt["code"]
    variant = from_code(program, code) if code.strip() else from_plan(program, plan, prompt)
    return {"kind": "tests", "tests": render(f"{program.name}_tests", variant.flags)}
