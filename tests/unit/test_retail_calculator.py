"""The tool `calculate` gives the answers and errors of Python, in bounded time."""

import pytest

from tests.support.cpu_time import takes_at_most
from tests.support.retail import Shop


def calculated(expression: object) -> str:
    return Shop().call("calculate", expression=expression)


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("2 + 2", "4.0"),
        ("1+2*3-4/8", "6.5"),
        ("10 // 4", "2.0"),
        ("2**10", "1024.0"),
        ("2**-1", "0.5"),
        ("-2**2", "-4.0"),
        ("2**3**2", "512.0"),
        ("(1 + .5) * 2.", "3.0"),
        ("0.125 + 0", "0.12"),
        ("2.675*1", "2.67"),
        ("--+-1", "-1.0"),
        ("   7", "7.0"),
        ("-0.001", "-0.0"),
        ("1 - 1 - 1", "-1.0"),
        ("8 / 2 / 2", "2.0"),
        ("10**300*10**300/10**599", "10.0"),
        ("9" * 320 + ".0", "inf"),
        ("1" + "+1" * 2000, "2001.0"),
        ("(" * 100 + "1" + ")" * 100, "1.0"),
    ],
)
def test_answers_are_rounded_to_two_decimals(expression: str, answer: str) -> None:
    assert calculated(expression) == answer


@pytest.mark.parametrize("letter", ["a", "e", "%", ",", "_", "\n", "\t", "²", "[", "=", "<", "'"])
def test_other_characters_are_refused(letter: str) -> None:
    assert calculated(f"1{letter}2") == "Error: invalid characters in expression"


@pytest.mark.parametrize(
    "expression",
    [
        *("", " ", "1 +", "1 2", "(1", "1)", ")", "1.2.3", "007", "*1", "1..2", "1 / / 2", "2 ** ** 2", "...."),
        *("1/0", "1//0", "1.0/0", "0**-1", "()", "()+1", "-()", "...", "1+...", "10**400", "10.0**400", "(-8)**.5"),
        *("2(3)", "(1)(2)", "2()", "1.5(2)", "()()", "1 - - ()", "9" * 5000, "(" * 300 + "1" + ")" * 300),
    ],
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_errors_have_the_text_of_python(expression: str) -> None:
    with pytest.raises(Exception) as result:  # noqa: PT011  any error: the tool must report the same text
        round(float(eval(expression, {"__builtins__": None}, {})), 2)
    assert calculated(expression) == f"Error: {result.value}"


@pytest.mark.parametrize(
    "expression",
    [
        *("9**9**9", "9**9**9**9", "(-9)**9**9", "2**99999999", "1-9**9**9", "9**9**9/9**9**9", "1**2+9**9**9"),
        *("-" * 9999 + "1", "1" + "*9**9999" * 1000, "9" * 4000 + "**" + "9" * 4000, "(9**99999)**99999"),
        *("(1+" * 190 + "1" + ")" * 190 + "**9**9**9", "1" * 20_000, "1+" * 9_000 + "1"),
    ],
)
def test_large_expressions_end_quickly_with_an_error(expression: str) -> None:
    assert calculated(expression).startswith("Error: ")
    assert takes_at_most(5, lambda: calculated(expression))


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        (["1", "+", "1"], "eval() arg 1 must be a string, bytes or code object"),
        (12, "'int' object is not iterable"),
        (None, "'NoneType' object is not iterable"),
        ([1], "'in <string>' requires string as left operand, not int"),
    ],
)
def test_an_expression_that_is_not_a_string_is_an_error(expression: object, error: str) -> None:
    assert calculated(expression) == f"Error: {error}"
