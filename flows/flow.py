"""The base of all flows: a named graph of described nodes."""

from collections.abc import Sequence
from functools import cached_property

from flows.nodes import Marked, Node, Outputs
from shared.domain.session import Session
from shared.flows import FlowSpec


class Flow:
    """A flow written in Python: a subclass whose nodes are methods under `@node`, in the order of its full walk.

    `starts` is what every run's state holds from the start, `may_start` what some do.
    """

    name: str = ""
    description: str = ""
    starts: tuple[str, ...] = ("request",)
    may_start: tuple[str, ...] = ("feedback", "findings")

    def nodes(self) -> Sequence[Node]:
        """All nodes; a full walk begins at the first. A subclass's node takes the place of its base's."""
        marked: dict[str, Marked] = {}
        for base in reversed(type(self).__mro__):
            marked |= {name: one for name, one in vars(base).items() if isinstance(one, Marked)}
        return tuple(one.bound(self) for one in marked.values())

    def opening(self, session: Session) -> Outputs:
        """What the state of a run begins with: the request, and what was said about it since.

        That this flow was named when it was asked which one is meant, as it is written or in words, says nothing more
        to its nodes.
        """
        said = [words for words in session.words.feedback if "_".join(words.lower().split()) != self.name.lower()]
        state: Outputs = {"request": session.words.request}
        return state | {"feedback": "\n".join(said)} if said else state

    def spec(self) -> FlowSpec:
        return self._spec

    @cached_property
    def _spec(self) -> FlowSpec:
        return FlowSpec(
            name=self.name,
            description=self.description,
            nodes=tuple(node.spec for node in self.nodes()),
            starts=self.starts,
            may_start=self.may_start,
        )

    def node(self, name: str) -> Node | None:
        return next((node for node in self.nodes() if node.spec.name == name), None)
