# ruff: noqa: PT009
"""Tests of the text statistics."""

import unittest

from rehearsal.programs import words as program


class WordsTest(unittest.TestCase):
    def test_words_without_punctuation(self) -> None:
        self.assertEqual(program.words("Hello, hello... world's 2 end!"), ["hello", "hello", "world's", "2", "end"])

    def test_frequent_words_with_ties_in_order(self) -> None:
        self.assertEqual(program.frequent("e b b c e x", top=3), [("b", 2), ("e", 2), ("c", 1)])

    def test_no_more_than_asked_for(self) -> None:
        text = " ".join(f"word{number}" for number in range(program.TOP + 5))
        self.assertEqual(len(program.frequent(text)), program.TOP)

    def test_report(self) -> None:
        report = program.report("one two\ntwo")
        self.assertIn("lines: 2", report)
        self.assertIn("words: 3", report)
        self.assertIn("2 x two", report)

    def test_empty_text(self) -> None:
        self.assertIn("words: 0", program.report(""))

    #: stopwords
    def test_common_words_are_ignored(self) -> None:
        self.assertEqual(program.words("The cat and the dog"), ["cat", "dog"])

    #: end


if __name__ == "__main__":
    unittest.main()
