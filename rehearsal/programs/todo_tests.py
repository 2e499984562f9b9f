# ruff: noqa: PT009
"""Tests of the to-do list."""

import unittest

from rehearsal.programs import todo as program


class TodoListTest(unittest.TestCase):
    def setUp(self) -> None:
        self.todo = program.TodoList()

    def test_add_and_list(self) -> None:
        self.assertEqual(program.run(self.todo, "list"), "nothing to do")
        self.assertEqual(self.todo.add("bread"), 1)
        self.assertEqual(self.todo.lines(), ["1. [ ] bread"])

    def test_done_and_remove(self) -> None:
        self.todo.add("bread")
        self.todo.add("milk")
        self.todo.done(1)
        self.assertEqual(self.todo.lines(), ["1. [x] bread", "2. [ ] milk"])
        self.todo.remove(1)
        self.assertEqual(self.todo.lines(), ["2. [ ] milk"])
        self.assertEqual(self.todo.add("tea"), 3)

    def test_mistakes_are_explained(self) -> None:
        for command in ("add", "done 7", "remove x", "dance"):
            with self.subTest(command):
                self.assertRegex(program.run(self.todo, command), "sorry|use:")

    #: priority
    def test_urgent_tasks_come_first(self) -> None:
        self.todo.add("bread")
        self.todo.add("! fire")
        self.assertEqual(self.todo.lines(), ["2. [ ] fire", "1. [ ] bread"])

    #: end


if __name__ == "__main__":
    unittest.main()
