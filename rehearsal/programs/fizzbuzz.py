# ruff: noqa: T201
"""FizzBuzz: Fizz for multiples of three, Buzz for those of five, FizzBuzz for both."""

LIMIT = 20
NAMES = {3: "Fizz", 5: "Buzz"}  #: second


def fizzbuzz(number: int) -> str:
    """What to say for a number."""
    #: not second
    if number % 15 == 0:
        return "FizzBuzz"
    if number % 3 == 0:
        return "Fizz"
    if number % 5 == 0:
        return "Buzz"
    return str(number)
    #: end
    #: second
    return "".join(name for divisor, name in NAMES.items() if number % divisor == 0) or str(number)
    #: end


def main() -> None:
    """Print the game up to the limit."""
    for number in range(1, LIMIT + 1):
        print(fizzbuzz(number))


if __name__ == "__main__":
    main()
