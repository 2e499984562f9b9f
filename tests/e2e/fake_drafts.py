"""The drafts that the fake gateway plays."""

from shared.domain import commands as c
from shared.domain.session import Session
from shared.events.values import Step

CODE = '''"""A calculator for the terminal."""

import operator

OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def calculate(text: str) -> float:
    """The value of `a op b`; raises ValueError with words that help."""
    try:
        left, sign, right = text.split()
        return OPERATIONS[sign](float(left), float(right))
    except KeyError:
        raise ValueError(f"unknown operation: {sign}") from None


def main() -> None:
    while text := input("> ").strip():
        try:
            print(calculate(text))
        except (ValueError, ZeroDivisionError) as error:
            print(f"error: {error}")


if __name__ == "__main__":
    main()
'''
TESTS = """from program import calculate


def test_adds() -> None:
    assert calculate("1 + 2") == 3
"""

SPENT = c.Spend(
    model="canned",
    role="generator",
    prompt_tokens=812,
    cached_tokens=512,
    completion_tokens=240,
    cost=0.0021,
    latency=1.2,
    attempts=1,
)


def plan_for(session: Session) -> c.DraftPlan:
    steps = [
        "Parse a line like `1 + 2` into two numbers and an operation.",
        "Compute the value with a table of operations, so that adding one is a single line.",
        "Refuse unknown operations and division by zero with a message a person understands.",
        "Loop over lines of input until an empty one, printing each value.",
        "Test each operation and each refusal.",
    ]
    steps += [f"Take in: {said}" for said in session.feedback]
    if session.replan:
        steps = ["Use a grammar and a small parser instead.", "Evaluate the tree.", "Test with nested brackets."]
    return c.DraftPlan(
        goal="A calculator for the terminal: `+`, `-`, `*`, `/` on decimal numbers",
        steps=tuple(Step(text=text) for text in steps),
        notes="Standard library only.",
    )
