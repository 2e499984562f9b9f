# ruff: noqa: PT009
"""Tests of FizzBuzz."""

import unittest

from rehearsal.programs import fizzbuzz as program


class FizzBuzzTest(unittest.TestCase):
    def test_the_first_fifteen(self) -> None:
        said = [program.fizzbuzz(number) for number in range(1, 16)]
        self.assertEqual(" ".join(said), "1 2 Fizz 4 Buzz Fizz 7 8 Fizz Buzz 11 Fizz 13 14 FizzBuzz")


if __name__ == "__main__":
    unittest.main()
