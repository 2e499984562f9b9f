# ruff: noqa: T201, S311
"""A number guessing game; the same seed gives the same secret."""

import random
import sys

HIGH = 100
ATTEMPTS = 7  #: limit


class Game:
    """One secret number between 1 and `high`."""

    def __init__(self, high: int = HIGH, seed: int | None = None) -> None:
        self.high = high
        self.secret = random.Random(seed).randint(1, high)
        self.guesses = 0
        self.over = False

    def guess(self, text: str) -> str:
        """What the game says to a guess."""
        try:
            number = int(text)
        except ValueError:
            return "please write a whole number"
        if not 1 <= number <= self.high:
            return f"please choose between 1 and {self.high}"
        self.guesses += 1
        if number == self.secret:
            self.over = True
            return f"correct, with {self.guesses} guesses"
        if self.guesses >= ATTEMPTS:  #: limit
            self.over = True  #: limit
            return f"no guesses left, it was {self.secret}"  #: limit
        return "too low" if number < self.secret else "too high"


def show(game: Game) -> None:
    """Let the program play against itself by halving the range."""  #: not second
    """Let the program play against itself from the bottom up."""  #: second
    low, high = 1, game.high  #: not second
    low = 1  #: second
    while not game.over:
        number = (low + high) // 2  #: not second
        number = low  #: second
        said = game.guess(str(number))
        print(f"{number}: {said}")
        if said == "too low":
            low = number + 1
        else:  #: not second
            high = number - 1  #: not second


def main() -> None:
    """Play with the person at the keyboard; with no input at all, show a game."""
    game = Game()
    print(f"I think of a number between 1 and {game.high}.")
    for line in sys.stdin:
        print(game.guess(line.strip()))
        if game.over:
            return
    if not game.guesses:
        show(Game(high=10, seed=1))


if __name__ == "__main__":
    main()
