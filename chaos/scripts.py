"""What the persons of a run want, and what they choose on the way: pure, drawn from the run's seed alone.

A choice is named by what it is about (`plan 2`), not counted: a session that a fault has sent another way makes the
same choices where it comes to the same points.
"""

import random
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from packs.retail.data import Data

Kind = Literal["conversation", "retail", "notes", "flow"]
WEIGHTS: tuple[tuple[Kind, float], ...] = (("conversation", 0.25), ("retail", 0.3), ("notes", 0.25), ("flow", 0.2))
PROGRAMS = (
    "Help me create a simple calculator",
    "Write a program that converts temperatures",
    "I need a password generator",
    "Write FizzBuzz",
    "Check whether a word is a palindrome",
    "Print the first Fibonacci numbers",
    "Convert numbers to Roman numerals",
    "Encrypt a text with the Caesar cipher",
)
QUESTIONS = (
    "How many orders are pending?",
    "How many customers live in Boston?",
    "How many orders were cancelled?",
    "How many orders were delivered?",
    "Which pending orders are addressed to Honolulu?",
    "list the gift cards that have no money left on them",
)


class Script(NamedTuple):
    """What one person comes for. `n` numbers the persons of a run."""

    seed: int
    n: int
    kind: Kind
    session_id: str
    message: dict[str, Any]
    subject: str  # the order, or the words of the note, that it is about
    forked: bool = False

    def draw(self, about: str) -> float:
        """A number from 0 to 1 for this choice, always the same one."""
        return random.Random(f"{self.seed}/{self.n}/{about}").random()

    def pick[T](self, about: str, options: Sequence[T]) -> T:
        return options[int(self.draw(about) * len(options))]

    def in_a_fork(self, session_id: str) -> "Script":
        """The same again in a session that was forked from this one; what is noted there is another note."""
        subject = f"note-{session_id}" if self.kind == "notes" else self.subject
        content = self.message["content"].replace(self.subject, subject) if self.subject else self.message["content"]
        message = {**self.message, "content": content}
        return self._replace(session_id=session_id, subject=subject, message=message, forked=True)


class Scripts:
    """The persons of a run, by number; no two of them have the same pending order."""

    def __init__(self, seed: int, data: Data) -> None:
        self._seed, self._data = seed, data
        pending = [one for one in data["orders"].values() if one["status"] == "pending"]
        random.Random(f"{seed}/orders").shuffle(pending)
        self._pending = pending

    def script(self, n: int) -> Script:
        kind = self._kind(n)
        about = Script(self._seed, n, kind, f"s{self._seed}-{n:04d}", {}, "")
        return about._replace(**self._wish(about))

    def _kind(self, n: int) -> Kind:
        rest = random.Random(f"{self._seed}/{n}/kind").random()
        for kind, weight in WEIGHTS:
            rest -= weight
            if rest < 0:
                return kind
        return WEIGHTS[-1][0]

    def _wish(self, about: Script) -> dict[str, Any]:
        subject, settings = "", {}
        match about.kind:
            case "conversation":
                workflow, content = "conversation", about.pick("program", PROGRAMS)
            case "retail":
                workflow, (content, subject) = _acts(about), self._cancellation(about)
                settings = {"world": "own" if about.draw("world") < 0.5 else "shared"}
            case "notes":
                workflow, subject = _acts(about), f"note-{about.session_id}"
                content = f'Call trial.note with {{"text": "{subject}"}}'
            case "flow":
                workflow, content = "flow", about.pick("question", QUESTIONS)
                settings = {"confirm": about.pick("confirm", ("path", "nodes", "nothing"))}
        message = {"type": "user_message", "content": content, "workflow": workflow, "settings": settings}
        return {"message": message, "subject": subject}

    def _cancellation(self, about: Script) -> tuple[str, str]:
        order = self._pending[about.n % len(self._pending)]
        email, order_id = self._data["users"][order["user_id"]]["email"], str(order["order_id"])
        return f"Please cancel order {order_id}, it is no longer needed. I am {email}.", order_id


def _acts(about: Script) -> str:
    """What changes something does so turn by turn, or by a plan that was approved before."""
    return "execution_plan" if about.draw("by plan") < 0.5 else "agentflow"
