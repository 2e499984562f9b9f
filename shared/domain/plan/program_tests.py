"""A program's tests: as a model wrote them, which of them failed, and which an earlier version of the program leaves
behind. Pure.
"""

import ast
import re
from textwrap import dedent

from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Code
from shared.domain.transcript.messages import drafts_at_once

FENCED = re.compile(r"^\s*```[^\n`]*\n(.*?)\n?```\s*$", re.DOTALL)
# the name and the class of "FAIL: test_s1_adds (test_program.AddsTest.test_s1_adds)", or "test_s1_adds (… ... FAIL"
FAILED = re.compile(r"^(?:(?:FAIL|ERROR): |(?=.* \.\.\. (?:FAIL|ERROR)$))(\w+) \(test_program\.?(\w*)", re.MULTILINE)


def unfenced(module: str) -> str:
    """A program or its tests without a surrounding Markdown fence, ending in one newline unless there is nothing."""
    fenced = FENCED.match(module)
    lines = (fenced[1] if fenced else module).strip("\n")
    return lines and f"{lines}\n"


def sources(tests: str) -> dict[tuple[str, str], str]:
    """The source of each function of a module of tests by name and class; empty for a module that does not parse."""
    try:
        nodes = list(ast.walk(ast.parse(tests)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    lines, found = tests.split("\n"), dict[tuple[str, str], str]()
    classes = {child: node.name for node in nodes if isinstance(node, ast.ClassDef) for child in node.body}
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first, key = min(part.lineno for part in (node, *node.decorator_list)), (node.name, classes.get(node, ""))
            found[key] = dedent("\n".join(lines[first - 1 : node.end_lineno])).rstrip()
    return found


def failed_tests(code: Code | None) -> dict[tuple[str, str], str]:
    """The source of each test that failed in the last check of the program, after that of the helpers they name."""
    details = "\n".join(check.detail for check in code.checks if check.ok is False) if code else ""
    told = set(FAILED.findall(details))
    functions = sources(code.tests or code.earlier_tests) if code and told else {}
    inherited = {name for name, _ in told - functions.keys()}
    failed = {key: source for key, source in functions.items() if key in told or key[0] in inherited}
    used = "\n".join(failed.values())
    helpers = {key: source for key, source in functions.items() if key[0] in used and not key[0].startswith("test")}
    return {**helpers, **failed}


def is_disputable(session: Session) -> bool:
    """Whether the generator may say that a test is wrong: tests of its own program failed, and a draft counts now."""
    code = session.code
    if code is None or code.by != "generator" or code.status not in ("rejected", "review") or not code.tests:
        return False
    counts = session.reply is None or drafts_at_once(session)
    return counts and any(check.name == "tests" and check.ok is False for check in code.checks)


def lasting_tests(session: Session) -> dict[tuple[str, str], str]:
    """The earlier tests of the steps whose text is still the same, without those that are disputed."""
    plan, code = session.plan, session.code
    if plan is None or code is None or plan.wishes:  # what is wanted beside the steps may change any of them
        return {}
    before = {step.id: step.text for step in code.tested_steps}
    same = [re.sub(r"\W", "_", step.id) for step in plan.steps if step.id and before.get(step.id) == step.text]
    disputed = failed_tests(code) if code.disputes else {}
    named = tuple(f"test_{id_}_".lower() for id_ in same)
    return {
        key: source
        for key, source in sources(code.earlier_tests).items()
        if named and f"{key[0]}_".lower().startswith(named) and key not in disputed
    }
