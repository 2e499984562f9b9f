# ruff: noqa: PT009, PT027
"""Tests of the Fibonacci numbers."""

import unittest

from rehearsal.programs import fibonacci as program


class FibonacciTest(unittest.TestCase):
    def test_beginning(self) -> None:
        self.assertEqual(program.fibonacci(8), [0, 1, 1, 2, 3, 5, 8, 13])

    def test_short_counts(self) -> None:
        self.assertEqual([program.fibonacci(count) for count in (0, 1, 2)], [[], [0], [0, 1]])

    def test_large_numbers_are_exact(self) -> None:
        self.assertEqual(program.fibonacci(101)[100], 354224848179261915075)

    def test_a_negative_count_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            program.fibonacci(-1)

    def test_default_count(self) -> None:
        self.assertEqual(len(program.fibonacci()), program.COUNT)


if __name__ == "__main__":
    unittest.main()
