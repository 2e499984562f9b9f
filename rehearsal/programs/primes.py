# ruff: noqa: T201
"""Prime numbers: test one, list all up to a limit."""

import math

LIMIT = 100


def is_prime(number: int) -> bool:
    """Whether only 1 and the number itself divide it."""
    if number < 2:
        return False
    return all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def primes(limit: int = LIMIT) -> list[int]:
    """All primes up to and including the limit."""
    #: not second
    return [number for number in range(2, limit + 1) if is_prime(number)]
    #: end
    #: second
    candidate = [False, False] + [True] * (limit - 1)
    for number in range(2, math.isqrt(max(limit, 0)) + 1):
        if candidate[number]:
            for multiple in range(number * number, limit + 1, number):
                candidate[multiple] = False
    return [number for number, is_candidate in enumerate(candidate[: limit + 1]) if is_candidate]
    #: end


def main() -> None:
    """Print the primes up to the limit."""
    print(f"primes up to {LIMIT}: {', '.join(map(str, primes()))}")


if __name__ == "__main__":
    main()
