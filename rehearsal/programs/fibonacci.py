# ruff: noqa: T201
"""The Fibonacci numbers: each is the sum of the two before it."""

from functools import cache  #: second

COUNT = 10


#: second
@cache
def number(index: int) -> int:
    """The Fibonacci number at this index, from those before it, each calculated once."""
    return index if index < 2 else number(index - 1) + number(index - 2)


#: end
def fibonacci(count: int = COUNT) -> list[int]:
    """The first `count` numbers, beginning with 0 and 1."""
    if count < 0:
        raise ValueError("the count cannot be negative")
    #: not second
    numbers: list[int] = []
    current, following = 0, 1
    for _ in range(count):
        numbers.append(current)
        current, following = following, current + following
    return numbers
    #: end
    #: second
    return [number(index) for index in range(count)]
    #: end


def main() -> None:
    """Print the first numbers."""
    print(", ".join(map(str, fibonacci())))


if __name__ == "__main__":
    main()
