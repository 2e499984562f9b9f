"""A program's tests: as a model wrote them, which of them failed, and which an earlier version of the program leaves
behind. Pure.
"""

import ast
import re
from textwrap import dedent

from shared.domain.messages import drafts_at_once
from shared.domain.session import Session
from shared.domain.state import Code

FENCED = re.compile(r"^\s*```[^\n`]*\n(.*?)\n?```\s*$", re.DOTALL)
FAILED = re.compile(r"^(?:FAIL|ERROR): (\w+) \(|^(\w+) \(.*\.\.\. (?:FAIL|ERROR)$", re.MULTILINE)


def unfenced(module: str) -> str:
    """A program or its tests without a surrounding Markdown fence, ending in one newline unless there is nothing."""
    fenced = FENCED.match(module)
    lines = (fenced[1] if fenced else module).strip("\n")
    return lines and f"{lines}\n"


def sources(tests: str) -> dict[str, str]:
    """The source of each function of a module of tests by name; empty for a module that does not parse."""
    try:
        nodes = list(ast.walk(ast.parse(tests)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    lines, found = tests.split("\n"), dict[str, str]()
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min(part.lineno for part in (node, *node.decorator_list))
            found[node.name] = dedent("\n".join(lines[first - 1 : node.end_lineno])).rstrip()
    return found


def failed_tests(code: Code | None) -> dict[str, str]:
    """The source of each test that failed in the last check of the program, by name, after the helpers they name."""
    details = "\n".join(check.detail for check in code.checks if check.ok is False) if code else ""
    names = {name for match in FAILED.finditer(details) for name in match.groups() if name}
    functions = sources(code.tests or code.earlier_tests) if code and names else {}
    failed = {name: source for name, source in functions.items() if name in names}
    used = "\n".join(failed.values())
    helpers = {name: source for name, source in functions.items() if name in used and not name.startswith("test")}
    return {**helpers, **failed}


def is_disputable(session: Session) -> bool:
    """Whether the generator may say that a test is wrong: tests of its own program failed, and a draft counts now."""
    code = session.code
    if code is None or code.by != "generator" or code.status not in ("rejected", "review") or not code.tests:
        return False
    counts = session.reply is None or drafts_at_once(session)
    return counts and any(check.name == "tests" and check.ok is False for check in code.checks)


def lasting_tests(session: Session) -> dict[str, str]:
    """The earlier tests of the steps whose text is still the same, by name, without those that are disputed."""
    plan, code = session.plan, session.code
    if plan is None or code is None or plan.wishes:  # what is wanted beside the steps may change any of them
        return {}
    before = {step.id: step.text for step in code.tested_steps}
    same = [re.sub(r"\W", "_", step.id) for step in plan.steps if step.id and before.get(step.id) == step.text]
    disputed = failed_tests(code) if code.disputes else {}
    named = tuple(f"test_{id_}_".lower() for id_ in same)
    return {
        name: source
        for name, source in sources(code.earlier_tests).items()
        if named and f"{name}_".lower().startswith(named) and name not in disputed
    }
