# ruff: noqa: T201
"""Roman numerals, from and to numbers between 1 and 3999."""

import sys

EXAMPLES = ["4", "1994", "2026", "MCMXCIV"]
PARTS = {
    "M": 1000,
    "CM": 900,
    "D": 500,
    "CD": 400,
    "C": 100,
    "XC": 90,
    "L": 50,
    "XL": 40,
    "X": 10,
    "IX": 9,
    "V": 5,
    "IV": 4,
    "I": 1,
}


def to_roman(number: int) -> str:
    """The numeral for a number from 1 to 3999."""
    if not 1 <= number <= 3999:
        raise ValueError("only 1 to 3999 can be written")
    #: not second
    numeral = ""
    for part, value in PARTS.items():
        count, number = divmod(number, value)
        numeral += part * count
    return numeral
    #: end
    #: second
    for part, value in PARTS.items():
        if number == value:
            return part
        if number > value:
            return part + to_roman(number - value)
    raise AssertionError("1 is the smallest part: the loop always returns")
    #: end


def from_roman(numeral: str) -> int:
    """The number that a numeral stands for; raise ValueError unless it is written in the usual way."""
    text = numeral.upper()
    total, rest = 0, text
    for part, value in PARTS.items():
        while rest.startswith(part):
            total, rest = total + value, rest.removeprefix(part)
    if rest or not 1 <= total <= 3999 or to_roman(total) != text:
        raise ValueError(f"{numeral!r} is not a Roman numeral")
    return total


def answer(text: str) -> str:
    """Convert in the direction that the text needs."""
    try:
        return f"{text} = {to_roman(int(text)) if text.isdecimal() else from_roman(text)}"
    except ValueError as error:
        return f"{text}: {error}"


def main() -> None:
    """Convert each line of input; with no input at all, show a few examples."""
    for line in list(sys.stdin) or EXAMPLES:
        print(answer(line.strip()))


if __name__ == "__main__":
    main()
