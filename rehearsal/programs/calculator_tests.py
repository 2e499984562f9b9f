# ruff: noqa: PT009, PT027
"""Tests of the calculator."""

import unittest

from rehearsal.programs import calculator as program


class CalculatorTest(unittest.TestCase):
    def test_basic_operations(self) -> None:
        for expression, expected in (("2 + 3", 5), ("7 - 10", -3), ("6 * 7", 42), ("9 / 3", 3), ("-2 * 3", -6)):
            with self.subTest(expression):
                self.assertEqual(program.calculate(expression), expected)

    def test_bad_input_is_refused_with_a_reason(self) -> None:
        for expression in ("", "2 +", "two + 2", "2 ? 3", "1 / 0"):
            with self.subTest(expression), self.assertRaises(program.CalculatorError):
                program.calculate(expression)

    def test_division_is_exact(self) -> None:
        for expression, expected in (("9 / 3", "3"), ("7 / 2", "3.5"), ("-7 / 2", "-3.5"), ("0 / 5", "0")):
            with self.subTest(expression):
                self.assertEqual(program.answer(expression), f"{expression} = {expected}")

    #: not floats
    def test_whole_numbers_only(self) -> None:
        with self.assertRaises(program.CalculatorError):
            program.calculate("1.5 + 1")

    #: end
    #: floats
    def test_floating_point_numbers(self) -> None:
        self.assertAlmostEqual(program.calculate("1.5 + 2.25"), 3.75)
        self.assertAlmostEqual(program.calculate("7 / 2"), 3.5)
        self.assertAlmostEqual(program.calculate("-0.5 * 4"), -2.0)
        for bad in ("nan + 1", "inf * 2"):
            with self.subTest(bad), self.assertRaises(program.CalculatorError):
                program.calculate(bad)

    #: end
    #: second
    def test_products_come_before_sums_and_parentheses_before_both(self) -> None:
        self.assertEqual(program.calculate("2 + 3 * 4"), 14)
        self.assertEqual(program.calculate("(2 + 3) * 4"), 20)
        self.assertEqual(program.calculate("10-2-3"), 5)

    #: end
    #: sqrt
    def test_square_root(self) -> None:
        self.assertAlmostEqual(program.calculate("sqrt 9"), 3)
        with self.assertRaises(program.CalculatorError):
            program.calculate("sqrt -1")

    #: end
    #: power
    def test_power(self) -> None:
        self.assertEqual(program.calculate("2 ^ 10"), 1024)
        for bad in ("0 ^ -1", "2 ^ 5000"):
            with self.subTest(bad), self.assertRaises(program.CalculatorError):
                program.calculate(bad)

    #: end
    #: modulo
    def test_modulo(self) -> None:
        self.assertEqual(program.calculate("7 % 3"), 1)
        with self.assertRaises(program.CalculatorError):
            program.calculate("7 % 0")

    #: end
    #: history
    def test_history(self) -> None:
        program.answer("20 + 22")
        self.assertIn("20 + 22 = 42", program.answer("history"))

    #: end
    def test_an_answer_tells_the_reason(self) -> None:
        self.assertIn("zero", program.answer("1 / 0"))


if __name__ == "__main__":
    unittest.main()
