# ruff: noqa: T201
"""Tic-tac-toe for two at one keyboard: squares are numbered 1 to 9."""

import sys

EXAMPLE = ["5", "1", "3", "7", "4", "6", "2", "8", "9"]
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]  #: not second
MAGIC = [8, 1, 6, 3, 5, 7, 4, 9, 2]  # a magic square: three in a row are exactly those that add up to 15  #: second


class Board:
    """Nine squares; X begins."""

    def __init__(self) -> None:
        self.squares = [" "] * 9
        self.player = "X"

    def play(self, square: int) -> None:
        """Put the current player's mark on a square from 1 to 9."""
        if not 1 <= square <= 9:
            raise ValueError("choose a square from 1 to 9")
        if self.squares[square - 1] != " ":
            raise ValueError("that square is taken")
        if self.winner() or self.full():
            raise ValueError("the game is over")
        self.squares[square - 1] = self.player
        self.player = "O" if self.player == "X" else "X"

    def winner(self) -> str | None:
        """X or O once three in a row are theirs."""
        #: not second
        for a, b, c in LINES:
            if self.squares[a] != " " and self.squares[a] == self.squares[b] == self.squares[c]:
                return self.squares[a]
        return None
        #: end
        #: second
        for player in ("X", "O"):
            held = [value for value, mark in zip(MAGIC, self.squares, strict=True) if mark == player]
            trios = ({a, b, 15 - a - b} for a in held for b in held if a < b)
            if any(len(trio) == 3 and trio <= set(held) for trio in trios):
                return player
        return None
        #: end

    def full(self) -> bool:
        """Whether no square is free."""
        return " " not in self.squares

    def __str__(self) -> str:
        rows = [" | ".join(self.squares[start : start + 3]) for start in (0, 3, 6)]
        return "\n--+---+--\n".join(rows)


def main() -> None:
    """Play the squares that come as input; with no input at all, show a game."""
    board = Board()
    for line in list(sys.stdin) or EXAMPLE:
        try:
            board.play(int(line))
        except ValueError as error:
            print(f"sorry: {error}")
            continue
        print(f"{board}\n")
        if winner := board.winner():
            print(f"{winner} wins")
            return
    print("a draw" if board.full() else "to be continued")


if __name__ == "__main__":
    main()
