# ruff: noqa: PT009
"""Tests of the palindromes."""

import unittest

from rehearsal.programs import palindrome as program


class PalindromeTest(unittest.TestCase):
    def test_palindromes(self) -> None:
        for text in ("a", "Anna", "Never odd or even", "12 21", "Reliefpfeiler"):
            with self.subTest(text):
                self.assertTrue(program.is_palindrome(text))

    def test_others(self) -> None:
        for text in ("ab", "hello", "123", "", "?!"):
            with self.subTest(text):
                self.assertFalse(program.is_palindrome(text))


if __name__ == "__main__":
    unittest.main()
