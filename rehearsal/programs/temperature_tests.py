# ruff: noqa: PT009, PT027
"""Tests of the temperature converter."""

import unittest

from rehearsal.programs import temperature as program


class TemperatureTest(unittest.TestCase):
    def test_known_points(self) -> None:
        for value, source, target, expected in ((100, "C", "F", 212), (32, "F", "C", 0), (-40, "F", "C", -40)):
            with self.subTest(value=value, source=source):
                self.assertAlmostEqual(program.convert(value, source, target), expected)

    def test_there_and_back(self) -> None:
        self.assertAlmostEqual(program.convert(program.convert(36.6, "C", "F"), "F", "C"), 36.6)

    def test_bad_input_is_refused(self) -> None:
        for value, source, target in ((1, "X", "C"), (1, "C", "X"), (-300, "C", "F")):
            with self.subTest(value=value, source=source), self.assertRaises(ValueError):
                program.convert(value, source, target)
        self.assertIn("for example", program.answer("hot"))

    #: kelvin
    def test_kelvin(self) -> None:
        self.assertAlmostEqual(program.convert(0, "K", "C"), -273.15)
        self.assertAlmostEqual(program.convert(0, "C", "K"), 273.15)

    #: end


if __name__ == "__main__":
    unittest.main()
