# ruff: noqa: PT009
"""Tests of the message."""

import contextlib
import io
import unittest

from rehearsal.programs import honest as program


class MessageTest(unittest.TestCase):
    def test_the_message_is_printed(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            program.main()
        self.assertEqual(said.getvalue().strip(), program.MESSAGE.strip())


if __name__ == "__main__":
    unittest.main()
