"""The ids of actions."""

from typing import NamedTuple, Self


class ActionId(NamedTuple):
    """`2.1` is the first action of turn 2, `t2.s1` the step s1 of the task t2, `t2.s1[3]` its call for item 3."""

    group: str  # the turn's number, or the task of a plan
    name: str  # the action's number in the turn, or the step's id
    item: str = ""  # the item's number

    @classmethod
    def parse(cls, text: str) -> Self:
        whole, _, item = text.removesuffix("]").partition("[")
        group, _, name = whole.rpartition(".")
        return cls(group, name, item)

    @classmethod
    def of_turn(cls, turn: int, number: int) -> str:
        """The id of the turn's action with this number."""
        return str(cls(str(turn), str(number)))

    def __str__(self) -> str:
        return f"{self.group}.{self.within}" if self.group else self.within

    @property
    def within(self) -> str:
        """The id within its turn or plan."""
        return f"{self.name}[{self.item}]" if self.item else self.name

    @property
    def whole(self) -> str:
        """The id of the step's own action, without the item."""
        return str(self._replace(item=""))
