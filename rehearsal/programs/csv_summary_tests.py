# ruff: noqa: PT009
"""Tests of the CSV summary."""

import unittest

from rehearsal.programs import csv_summary as program


class SummaryTest(unittest.TestCase):
    def test_numeric_columns(self) -> None:
        summary = program.summarise("name,age\nAda,36\nBob,40\n")
        self.assertEqual(summary, {"age": {"count": 2, "min": 36, "max": 40, "mean": 38}})

    def test_empty_cells_are_left_out(self) -> None:
        self.assertEqual(program.summarise("a,b\n1,\n3,4\n")["b"]["count"], 1)

    def test_quoted_commas(self) -> None:
        self.assertEqual(list(program.summarise('place,n\n"Berne, CH",1\n')), ["n"])

    def test_nothing_to_summarise(self) -> None:
        for text in ("", "only,headers\n", "a\nx\n"):
            with self.subTest(text):
                self.assertEqual(program.report(text), "no numeric columns")

    def test_report(self) -> None:
        self.assertIn("mean 2", program.report("n\n1\n3\n"))


if __name__ == "__main__":
    unittest.main()
