# ruff: noqa: PT009, PT027
"""Tests of tic-tac-toe."""

import itertools
import unittest

from rehearsal.programs import tictactoe as program

ROWS = {(1, 2, 3), (4, 5, 6), (7, 8, 9), (1, 4, 7), (2, 5, 8), (3, 6, 9), (1, 5, 9), (3, 5, 7)}


def played(*squares: int) -> program.Board:
    board = program.Board()
    for square in squares:
        board.play(square)
    return board


class BoardTest(unittest.TestCase):
    def test_players_take_turns(self) -> None:
        self.assertEqual(played(1, 5).squares[:5], ["X", " ", " ", " ", "O"])

    def test_every_row_wins_and_nothing_else(self) -> None:
        for trio in itertools.combinations(range(1, 10), 3):
            board = program.Board()
            for square in trio:
                board.squares[square - 1] = "O"
            with self.subTest(trio):
                self.assertEqual(board.winner(), "O" if trio in ROWS else None)

    def test_a_draw(self) -> None:
        board = played(5, 1, 3, 7, 4, 6, 2, 8, 9)
        self.assertTrue(board.full())
        self.assertIsNone(board.winner())

    def test_wrong_moves_are_refused(self) -> None:
        for board, square in ((played(), 0), (played(), 10), (played(5), 5), (played(1, 4, 2, 5, 3), 9)):
            with self.subTest(square), self.assertRaises(ValueError):
                board.play(square)


if __name__ == "__main__":
    unittest.main()
