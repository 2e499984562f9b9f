# ruff: noqa: PT009
"""Tests of the guessing game."""

import contextlib
import io
import unittest

from rehearsal.programs import guessing as program


class GameTest(unittest.TestCase):
    def test_the_same_seed_gives_the_same_secret(self) -> None:
        self.assertEqual(program.Game(seed=5).secret, program.Game(seed=5).secret)

    def test_the_secret_is_in_range(self) -> None:
        for seed in range(50):
            self.assertIn(program.Game(seed=seed).secret, range(1, program.HIGH + 1))

    def test_hints_and_the_end(self) -> None:
        game = program.Game(high=10, seed=1)
        game.secret = 4
        self.assertEqual(game.guess("3"), "too low")
        self.assertEqual(game.guess("5"), "too high")
        self.assertFalse(game.over)
        self.assertIn("correct", game.guess("4"))
        self.assertTrue(game.over)

    def test_bad_guesses_do_not_count(self) -> None:
        game = program.Game(high=10)
        for bad in ("x", "", "0", "11"):
            self.assertIn("please", game.guess(bad))
        self.assertEqual(game.guesses, 0)

    def test_a_shown_game_ends(self) -> None:
        game = program.Game(high=7, seed=2)
        with contextlib.redirect_stdout(io.StringIO()):
            program.show(game)
        self.assertTrue(game.over)

    #: limit
    def test_guesses_run_out(self) -> None:
        game = program.Game(high=100)
        game.secret = 50
        said = [game.guess("1") for _ in range(program.ATTEMPTS)]
        self.assertIn("no guesses left", said[-1])
        self.assertTrue(game.over)

    #: end


if __name__ == "__main__":
    unittest.main()
