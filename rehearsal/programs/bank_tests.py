# ruff: noqa: PT009, PT027
"""Tests of the bank account."""

import unittest

from rehearsal.programs import bank as program


class AccountTest(unittest.TestCase):
    def setUp(self) -> None:
        self.account = program.Account("Ada")
        self.account.deposit(1000)

    def test_deposit_and_withdraw(self) -> None:
        self.account.withdraw(250)
        self.assertEqual(self.account.balance, 750)
        self.assertEqual(self.account.entries, [1000, -250])

    def test_no_overdraft(self) -> None:
        with self.assertRaises(ValueError):
            self.account.withdraw(1001)
        self.assertEqual(self.account.balance, 1000)

    def test_amounts_must_be_positive(self) -> None:
        for amount in (0, -5):
            with self.subTest(amount), self.assertRaises(ValueError):
                self.account.deposit(amount)
            with self.subTest(amount), self.assertRaises(ValueError):
                self.account.withdraw(amount)

    def test_statement(self) -> None:
        self.assertIn("balance: 10.00", self.account.statement())
        self.assertEqual(program.euros(-5), "-0.05")

    #: interest
    def test_interest(self) -> None:
        self.assertEqual(self.account.add_interest(2.5), 25)
        self.assertEqual(self.account.balance, 1025)

    #: end


if __name__ == "__main__":
    unittest.main()
