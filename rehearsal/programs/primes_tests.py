# ruff: noqa: PT009
"""Tests of the prime numbers."""

import unittest

from rehearsal.programs import primes as program


class PrimesTest(unittest.TestCase):
    def test_is_prime(self) -> None:
        self.assertEqual([n for n in range(-3, 20) if program.is_prime(n)], [2, 3, 5, 7, 11, 13, 17, 19])
        self.assertFalse(program.is_prime(91))

    def test_the_limit_is_included(self) -> None:
        self.assertEqual(program.primes(13), [2, 3, 5, 7, 11, 13])

    def test_small_limits(self) -> None:
        for limit in (-1, 0, 1):
            with self.subTest(limit):
                self.assertEqual(program.primes(limit), [])
        self.assertEqual(program.primes(2), [2])

    def test_how_many_there_are(self) -> None:
        self.assertEqual(len(program.primes(1000)), 168)


if __name__ == "__main__":
    unittest.main()
