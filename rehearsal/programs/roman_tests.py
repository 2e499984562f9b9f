# ruff: noqa: PT009, PT027
"""Tests of the Roman numerals."""

import unittest

from rehearsal.programs import roman as program


class RomanTest(unittest.TestCase):
    def test_known_numerals(self) -> None:
        for number, numeral in ((1, "I"), (4, "IV"), (9, "IX"), (14, "XIV"), (1994, "MCMXCIV"), (3999, "MMMCMXCIX")):
            with self.subTest(numeral):
                self.assertEqual(program.to_roman(number), numeral)

    def test_all_numbers_there_and_back(self) -> None:
        for number in range(1, 4000):
            self.assertEqual(program.from_roman(program.to_roman(number)), number)

    def test_bad_input_is_refused(self) -> None:
        for number in (0, -1, 4000):
            with self.subTest(number), self.assertRaises(ValueError):
                program.to_roman(number)
        for numeral in ("", "IIII", "VX", "hello"):
            with self.subTest(numeral), self.assertRaises(ValueError):
                program.from_roman(numeral)

    def test_answers_in_both_directions(self) -> None:
        self.assertEqual(program.answer("7"), "7 = VII")
        self.assertEqual(program.answer("vii"), "vii = 7")


if __name__ == "__main__":
    unittest.main()
