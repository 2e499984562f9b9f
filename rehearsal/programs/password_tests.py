# ruff: noqa: PT009, PT027
"""Tests of the password generator."""

import unittest

from rehearsal.programs import password as program


class PasswordTest(unittest.TestCase):
    def test_length(self) -> None:
        self.assertEqual(len(program.generate()), program.LENGTH)
        self.assertEqual(len(program.generate(40)), 40)

    def test_every_kind_of_character_occurs(self) -> None:
        for _ in range(50):
            password = program.generate(8)
            for kind in program.groups():
                self.assertTrue(set(password) & set(kind), password)

    def test_two_passwords_differ(self) -> None:
        self.assertNotEqual(program.generate(), program.generate())

    def test_too_short_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            program.generate(3)

    #: clear
    def test_no_look_alikes(self) -> None:
        self.assertFalse(set(program.generate(200)) & set("Il1O0o"))

    #: end


if __name__ == "__main__":
    unittest.main()
