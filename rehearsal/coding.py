"""The replies to the tasks `code` and `tests`: the program that a plan describes, revised on feedback."""

from dataclasses import dataclass, replace
from typing import Any

from rehearsal.examples import CONFIGURE, ExampleProgram, program_text
from rehearsal.prompt import ParsedPrompt
from rehearsal.text_plans import TextPlan, directives, find_program, quoted, read_plan, wants_extra, way_of

ALIKE = 0.6  # share of a program's lines from which code counts as this program
CANNOT = f"The demo model does not know this program, so it is not written. {CONFIGURE}"
NOT_WRITTEN = "not_written"


@dataclass(frozen=True)
class ProgramVariant:
    """One way to write a program (0 or 1), with or without its extra."""

    program: ExampleProgram
    way: int = 0
    extra: bool = False

    def code(self) -> str:
        """The program's text."""
        return self._render(str(self.way + 1))

    def tests(self) -> str:
        """The text of its tests."""
        return self._render("tests")

    def share_in(self, code: str) -> float:
        """The share of its lines that this code has, from 0 to 1."""
        own, lines = self.code().splitlines(), set(code.splitlines())
        return sum(line in lines for line in own) / len(own)

    def _render(self, part: str) -> str:
        text = program_text(f"{self.program.name}_{part}")
        for old, new in self.program.extra.replaces if self.program.extra and self.extra else ():
            text = text.replace(old, new)
        return text


def answer_code(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `code`."""
    plan, old = read_plan(prompt.plan), f"{prompt['code'].rstrip()}\n"
    program = find_program(plan.goal, prompt["request"])
    if program is None:
        return _reply(CANNOT, program_text(f"{NOT_WRITTEN}_1"))
    planned, current = from_plan(program, plan, prompt), from_code(program, old)
    if current.share_in(old) < ALIKE:
        return _reply(explain(planned, plan), planned.code())
    if prompt.feedback or prompt.replan or prompt.repairs:
        return revise_code(prompt, old, current, plan)
    merged = replace(planned, extra=planned.extra or current.extra)
    return _reply(explain(merged, plan), merged.code())


def _reply(explanation: str, code: str) -> dict[str, Any]:
    return {"kind": "code", "explanation": explanation, "code": code}


def from_plan(program: ExampleProgram, plan: TextPlan, prompt: ParsedPrompt) -> ProgramVariant:
    """The variant that plan, request and feedback describe."""
    texts = (prompt["request"], *plan.steps, *directives("\n".join(prompt.feedback)))
    return ProgramVariant(program, way_of(program, plan), wants_extra(program, *texts))


def from_code(program: ExampleProgram, code: str) -> ProgramVariant:
    """The variant closest to this code."""
    extras = (False, True) if program.extra else (False,)
    variants = [ProgramVariant(program, way, extra) for way in (0, 1) for extra in extras]
    return max(variants, key=lambda variant: variant.share_in(code))


def revise_code(prompt: ParsedPrompt, old: str, current: ProgramVariant, plan: TextPlan) -> dict[str, Any]:
    """The reply after all feedback. Feedback that the code already follows changes nothing."""
    changes = directives("\n".join(prompt.feedback))
    is_ours = current.code().split() == old.split()
    changed = replace(current, extra=current.extra or wants_extra(current.program, *changes))
    if prompt.replan or (prompt.repairs and is_ours):
        changed = replace(changed, way=1 - current.way)
    code, remarks = old, []
    if changed != current or prompt.repairs:
        code = changed.code()
        remarks.append(explain(changed, plan))
        if not is_ours:
            remarks.append("The program was written anew: changes made to it by hand are not in it any more.")
    if unknown := [change for change in changes if not wants_extra(current.program, change)]:
        remarks.append(f"The demo model does not understand {quoted(unknown)} and left this as it was. {CONFIGURE}")
    return _reply(" ".join(remarks) or "Nothing had to be changed.", code)


def explain(variant: ProgramVariant, plan: TextPlan) -> str:
    """What the code does, and which steps of the plan it does not cover."""
    program = variant.program
    parts = [f"Here is {program.title}, in the {('first', 'second')[variant.way]} of two ways."]
    parts += [f"{program.extra.step}: it does."] if program.extra and variant.extra else []
    known = [step.lower() for steps in program.plans for step in steps]
    missing = [
        step for step in plan.steps if not wants_extra(program, step) and not any(own in step.lower() for own in known)
    ]
    parts += [f"The demo model does not know these steps: {'; '.join(missing)}."] if missing else []
    return " ".join(parts)


def answer_tests(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `tests`: for the existing code, else for the code that the plan describes."""
    plan, code = read_plan(prompt.plan), prompt["code"]
    program = find_program(plan.goal, prompt["request"])
    if program is None:
        return {"kind": "tests", "tests": program_text(f"{NOT_WRITTEN}_tests")}
    variant = from_code(program, code) if code.strip() else from_plan(program, plan, prompt)
    return {"kind": "tests", "tests": variant.tests()}
