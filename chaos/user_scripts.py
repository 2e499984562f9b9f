"""The requests and choices of the simulated users, drawn from the run's seed alone. Pure.

A choice is identified by what it is about (`plan 2`), not by a counter, so that a session diverted by a fault makes the
same choices where it reaches the same points.
"""

import random
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from packs.retail.records import Data

Kind = Literal["conversation", "retail", "notes", "flow"]
WEIGHTS: dict[Kind, float] = {"conversation": 0.25, "retail": 0.3, "notes": 0.25, "flow": 0.2}
PROGRAMS = (
    "Help me create a simple calculator",
    "Write a to-do list for the terminal",
    "Count the words of a text",
    "Write FizzBuzz",
    "Check whether a word is a palindrome",
    "Print the first Fibonacci numbers",
    "Convert numbers to Roman numerals",
    "List the prime numbers up to a hundred",
)
QUESTIONS = (
    "How many orders are pending?",
    "How many customers live in Boston?",
    "How many orders were cancelled?",
    "How many orders were delivered?",
    "Which pending orders are addressed to Honolulu?",
    "list the gift cards that have no money left on them",
)


class UserScript(NamedTuple):
    """One user's request and choices. `number` is the user's number in the run."""

    seed: int
    number: int
    kind: Kind
    session_id: str
    message: dict[str, Any]
    subject: str  # the order's id or the note's text
    is_fork: bool = False

    def draw(self, about: str) -> float:
        """A number from 0 to 1, always the same for this choice."""
        return random.Random(f"{self.seed}/{self.number}/{about}").random()

    def pick[T](self, about: str, options: Sequence[T]) -> T:
        return options[int(self.draw(about) * len(options))]

    def for_fork(self, session_id: str) -> "UserScript":
        """The script for a fork of this session. Its note gets a text of its own."""
        subject = f"note-{session_id}" if self.kind == "notes" else self.subject
        content = self.message["content"].replace(self.subject, subject) if self.subject else self.message["content"]
        message = {**self.message, "content": content}
        return self._replace(session_id=session_id, subject=subject, message=message, is_fork=True)


class UserScripts:
    """The scripts of a run by number. No two of them use the same pending order."""

    def __init__(self, seed: int, data: Data) -> None:
        self._seed, self._data = seed, data
        pending = [order for order in data["orders"].values() if order["status"] == "pending"]
        random.Random(f"{seed}/orders").shuffle(pending)
        self._pending = pending

    def script(self, number: int) -> UserScript:
        [kind] = random.Random(f"{self._seed}/{number}/kind").choices(list(WEIGHTS), list(WEIGHTS.values()))
        about = UserScript(self._seed, number, kind, f"s{self._seed}-{number:04d}", {}, "")
        return about._replace(**self._request(about))

    def _request(self, about: UserScript) -> dict[str, Any]:
        subject, settings = "", {}
        match about.kind:
            case "conversation":
                workflow, content = "conversation", about.pick("program", PROGRAMS)
            case "retail":
                workflow, (content, subject) = _acting_workflow(about), self._cancellation(about)
                settings = {"world": "own" if about.draw("world") < 0.5 else "shared"}
            case "notes":
                workflow, subject = _acting_workflow(about), f"note-{about.session_id}"
                content = f'Call trial.note with {{"text": "{subject}"}}'
            case "flow":
                workflow, content = "flow", about.pick("question", QUESTIONS)
                settings = {"confirm": about.pick("confirm", ("path", "nodes", "nothing"))}
        message = {"type": "user_message", "content": content, "workflow": workflow, "settings": settings}
        return {"message": message, "subject": subject}

    def _cancellation(self, about: UserScript) -> tuple[str, str]:
        order = self._pending[about.number % len(self._pending)]
        email, order_id = self._data["users"][order["user_id"]]["email"], str(order["order_id"])
        return f"Please cancel order {order_id}, it is no longer needed. I am {email}.", order_id


def _acting_workflow(about: UserScript) -> str:
    """The workflow for a request with writes: turn by turn, or by a plan approved beforehand."""
    return "execution_plan" if about.draw("by plan") < 0.5 else "agentflow"
