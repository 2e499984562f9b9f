# ruff: noqa: T201
"""A to-do list: `add <text>`, `done <number>`, `remove <number>`, `list`."""

import sys
from dataclasses import dataclass  #: not second

EXAMPLES = ["add buy bread", "add call Ada", "done 1", "list"]


#: not second
@dataclass
class Task:
    """One thing to do."""

    text: str
    done: bool = False
    urgent: bool = False  #: priority


#: end
class TodoList:
    """Tasks by number, beginning with 1; numbers are never used again."""

    def __init__(self) -> None:
        self.tasks: dict[int, Task] = {}  #: not second
        self.texts: dict[int, str] = {}  #: second
        self.finished: set[int] = set()  #: second
        self.urgent: set[int] = set()  #: second priority
        self.last = 0

    def add(self, text: str) -> int:
        """Add a task and return its number; a leading `!` makes it urgent."""  #: priority
        """Add a task and return its number."""  #: not priority
        urgent = text.startswith("!")  #: priority
        text = text.removeprefix("!").strip()  #: priority
        if not text:
            raise ValueError("a task needs a text")
        self.last += 1
        self.tasks[self.last] = Task(text)  #: not second
        self.tasks[self.last].urgent = urgent  #: not second priority
        self.texts[self.last] = text  #: second
        if urgent:  #: second priority
            self.urgent.add(self.last)  #: second priority
        return self.last

    def done(self, number: int) -> None:
        """Mark a task as done."""
        self.check(number)
        self.tasks[number].done = True  #: not second
        self.finished.add(number)  #: second

    def remove(self, number: int) -> None:
        """Forget a task."""
        self.check(number)
        del self.tasks[number]  #: not second
        del self.texts[number]  #: second
        self.finished.discard(number)  #: second
        self.urgent.discard(number)  #: second priority

    def check(self, number: int) -> None:
        """Refuse a number that no task has."""
        if number not in self.tasks:  #: not second
            raise ValueError(f"there is no task {number}")  #: not second
        if number not in self.texts:  #: second
            raise ValueError(f"there is no task {number}")  #: second

    def lines(self) -> list[str]:
        """The list as people read it."""
        #: not second
        numbered = list(self.tasks.items())
        numbered.sort(key=lambda entry: not entry[1].urgent)  #: not second priority
        return [f"{number}. [{'x' if task.done else ' '}] {task.text}" for number, task in numbered]
        #: end
        #: second
        numbers = list(self.texts)
        numbers.sort(key=lambda number: number not in self.urgent)  #: second priority
        return [f"{number}. [{'x' if number in self.finished else ' '}] {self.texts[number]}" for number in numbers]
        #: end


def run(todo: TodoList, command: str) -> str:
    """Carry out one command and say what happened."""
    verb, _, rest = command.partition(" ")
    try:
        match verb:
            case "add":
                return f"added {todo.add(rest)}"
            case "done":
                todo.done(int(rest))
            case "remove":
                todo.remove(int(rest))
            case "list":
                return "\n".join(todo.lines()) or "nothing to do"
            case _:
                return "use: add, done, remove or list"
    except ValueError as error:
        return f"sorry: {error}"
    return f"{verb} {rest}"


def main() -> None:
    """Carry out each line of input; with no input at all, show an example."""
    todo = TodoList()
    for command in list(sys.stdin) or EXAMPLES:
        print(f"> {command.strip()}\n{run(todo, command.strip())}")


if __name__ == "__main__":
    main()
