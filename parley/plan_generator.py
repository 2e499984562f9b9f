"""A plan generator drafts execution plans in place of Parley's model: what it is given, and what it returns.

A generator is a Python module with a subclass of `PlanGenerator`:

    class Restock(PlanGenerator):
        async def generate(self, request, tools, context):
            steps = [Step(id="s1", tool="list_stock", text="See what is missing")]
            return Draft("Restock the shelf", steps)

Parley finds it by the entry point group `parley.plan_generators` of an installed package, and loads it only if
PARLEY_PLAN_GENERATORS lists its name.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from parley.events.values import Knowledge, Step
from parley.flow import AskModel
from parley.protocol.tools import ToolSpec

SECONDS = 600.0


@dataclass(frozen=True)
class Draft:
    """A plan for a person to review: its goal in a sentence, and 1 to 100 steps.

    A step names a `tool`, its `arguments`, and a `text` that says what it is for. Give a step an `id` where others come
    `after` it or refer to it as `{{steps.<id>.output}}`; a step without one gets one. `effect` and `policy` are the
    tool's, whatever a step says. `notes` tell the person what they should know.
    """

    goal: str
    steps: Sequence[Step]
    notes: str = ""


@dataclass(frozen=True, kw_only=True)
class DraftContext:
    """What a generator may know besides the request.

    `plan` is the plan as it is now, if there is one to change: keep the ids of steps that stay, and never change a
    step that has begun. `feedback` is what the person wants to be different, oldest first. `another`: they want
    another plan, from scratch. `problems` tell why the last draft was not taken. `rules` are the words and rules of the
    packs whose tools there are. `knowledge` are the texts that came with the request. `instructions`
    are what the person wants every version to keep to.

    `ask_model` asks Parley's planning model for a `parley.reply.Reply`, and accounts for its cost. Let its exceptions
    pass: Parley waits for a model that is away, and asks the person when a budget is spent.
    """

    session_id: str
    user: str
    ask_model: AskModel
    plan: Draft | None = None
    feedback: tuple[str, ...] = ()
    another: bool = False
    problems: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    knowledge: tuple[Knowledge, ...] = ()
    instructions: str = ""


class PlanGenerator(ABC):
    """Drafts plans. `seconds` is the deadline of one draft, with the time that a model takes for it."""

    seconds: float = SECONDS

    @abstractmethod
    async def generate(self, request: str, tools: Sequence[ToolSpec], context: DraftContext) -> Draft:
        """A draft for the request, or the next version of `context.plan`. `tools` are all tools there are.

        It has to keep the rules that every plan keeps: known tools that are not denied, arguments that fit their
        schemas, references to other steps, no cycles. A draft that does not is no plan: `generate` is called again with
        the `problems`, twice at most. Raise any exception to say why there can be no plan; its text is told to the
        person, who can try again.
        """
