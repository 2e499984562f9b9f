# ruff: noqa: T201, PLR0911
"""A calculator: one expression a line, such as `2 + 3`."""

import math  #: sqrt
import re  #: second
import sys

EXAMPLES = ["2 + 3", "7 - 10", "6 * 7", "9 / 3", "7 / 2"]


class CalculatorError(ValueError):
    """The expression cannot be calculated; the message says why."""


def parse_number(text: str) -> float:
    """Read one number, or say what is wrong with it."""
    #: not floats
    try:
        return int(text)
    except ValueError:
        raise CalculatorError(f"{text!r} is not a whole number") from None
    #: end
    #: floats
    try:
        number = float(text)
    except ValueError:
        raise CalculatorError(f"{text!r} is not a number") from None
    if number - number != 0:  # infinity and "not a number" are no input for a calculator
        raise CalculatorError(f"{text!r} is not a finite number")
    return number
    #: end


def divide(left: float, right: float) -> float:
    """Divide, refusing zero; what can be divided without a remainder stays exact."""
    if right == 0:
        raise CalculatorError("division by zero")
    if left % right == 0:
        return left // right
    try:
        return left / right
    except OverflowError:
        raise CalculatorError("the numbers are too large to divide") from None


#: modulo
def modulo(left: float, right: float) -> float:
    """The remainder of a division, refusing zero."""
    if right == 0:
        raise CalculatorError("remainder of a division by zero")
    return left % right


#: end
#: power
def power(base: float, exponent: float) -> float:
    """Raise to a power, within bounds that a small program can hold."""
    if abs(exponent) > 1000:
        raise CalculatorError("the exponent is too large")
    try:
        result = base**exponent
    except (ZeroDivisionError, OverflowError) as error:
        raise CalculatorError(f"{base} ^ {exponent} has no usable result") from error
    if isinstance(result, complex):
        raise CalculatorError(f"{base} ^ {exponent} is not a real number")
    return float(result)  #: floats
    return int(result) if result == int(result) else float(result)  #: not floats


#: end
#: sqrt
def square_root(number: float) -> float:
    """The square root of a number that is not negative."""
    if number < 0:
        raise CalculatorError("a negative number has no real square root")
    return math.sqrt(number)


#: end
def apply(left: float, operator: str, right: float) -> float:
    """Calculate one operation."""
    #: not second
    operations = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: divide(left, right),
        "%": lambda: modulo(left, right),  #: modulo
        "^": lambda: power(left, right),  #: power
    }
    if operator not in operations:
        raise CalculatorError(f"unknown operator {operator!r}, use one of {' '.join(operations)}")
    return operations[operator]()
    #: end
    #: second
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return divide(left, right)
        case "%":  #: modulo
            return modulo(left, right)  #: modulo
        case "^":  #: power
            return power(left, right)  #: power
        case _:
            raise CalculatorError(f"unknown operator {operator!r}")
    #: end


#: second
class Parser:
    """Reads an expression from left to right; products bind closer than sums."""

    RANKS = (
        ("+", "-"),
        ("*", "/"),
        ("%",),  #: modulo
        ("^",),  #: power
    )

    def __init__(self, expression: str) -> None:
        self.parts = re.findall(r"[\w.]+|\S", expression)

    def parse(self, rank: int = 0) -> float:
        """The value of the operations of this rank and all closer ones."""
        if rank == len(self.RANKS):
            return self.operand()
        value = self.parse(rank + 1)
        while self.parts and self.parts[0] in self.RANKS[rank]:
            operator = self.parts.pop(0)
            value = apply(value, operator, self.parse(rank + 1))
        return value

    def operand(self) -> float:
        """A number, its negative, or what stands between parentheses."""
        if not self.parts:
            raise CalculatorError("the expression ends too early")
        part = self.parts.pop(0)
        if part == "sqrt":  #: sqrt
            return square_root(self.operand())  #: sqrt
        if part == "-":
            return -self.operand()
        if part != "(":
            return parse_number(part)
        value = self.parse()
        if not self.parts or self.parts.pop(0) != ")":
            raise CalculatorError("a closing parenthesis is missing")
        return value


#: end
def calculate(expression: str) -> float:
    """Calculate an expression such as `2 + 3`; raise CalculatorError where it makes no sense."""
    #: not second
    match expression.split():
        case ["sqrt", number]:  #: sqrt
            return square_root(parse_number(number))  #: sqrt
        case [left, operator, right]:
            return apply(parse_number(left), operator, parse_number(right))
        case _:
            raise CalculatorError("write a number, an operator and a number, with spaces between")
    #: end
    #: second
    parser = Parser(expression)
    value = parser.parse()
    if parser.parts:
        raise CalculatorError(f"cannot read on from {parser.parts[0]!r}")
    return value
    #: end


#: history
class History:
    """The calculations so far, oldest first."""

    def __init__(self) -> None:
        self.entries: list[str] = []

    def add(self, expression: str, result: float) -> None:
        """Remember one calculation."""
        self.entries.append(f"{expression} = {result}")

    def __str__(self) -> str:
        return "\n".join(f"{number}. {entry}" for number, entry in enumerate(self.entries, 1)) or "no calculations yet"


HISTORY = History()


#: end
def answer(expression: str) -> str:
    """What the calculator says to one line."""
    if expression == "history":  #: history
        return str(HISTORY)  #: history
    try:
        result = calculate(expression)
    except CalculatorError as error:
        return f"{expression}: {error}"
    if isinstance(result, float) and result.is_integer():
        result = int(result)
    HISTORY.add(expression, result)  #: history
    return f"{expression} = {result}"


def main() -> None:
    """Answer each line of input; with no input at all, show a few examples."""
    asked = False
    for line in sys.stdin:
        print(answer(line.strip()))
        asked = True
    if not asked:
        for example in EXAMPLES:
            print(answer(example))


if __name__ == "__main__":
    main()
