# ruff: noqa: PT009
"""Tests of the Caesar cipher."""

import unittest

from rehearsal.programs import caesar as program


class CaesarTest(unittest.TestCase):
    def test_letters_move_and_wrap_around(self) -> None:
        self.assertEqual(program.encrypt("abc XYZ", 3), "def ABC")

    def test_everything_else_stays(self) -> None:
        self.assertEqual(program.encrypt("1, 2: é!", 5), "1, 2: é!")

    def test_there_and_back_for_every_shift(self) -> None:
        for shift in range(-30, 31):
            self.assertEqual(program.decrypt(program.encrypt("Hello, World", shift), shift), "Hello, World")

    def test_the_default_shift_undoes_itself(self) -> None:
        self.assertEqual(program.decrypt(program.encrypt("Ave")), "Ave")


if __name__ == "__main__":
    unittest.main()
