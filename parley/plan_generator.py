"""Plan generators draft execution plans in place of Parley's model.

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

DEFAULT_TIMEOUT = 600.0


@dataclass(frozen=True)
class Draft:
    """A plan for the user to review: its goal in a sentence, and 1 to 100 steps.

    A step names a `tool`, its `arguments`, and a `text` that says what it is for. Give a step an `id` if others come
    `after` it or refer to it as `{{steps.<id>.output}}`; other steps get a generated id. `effect` and `policy` are the
    tool's, whatever a step says. `notes` tell the user what they should know.
    """

    goal: str
    steps: Sequence[Step]
    notes: str = ""


@dataclass(frozen=True, kw_only=True)
class DraftContext:
    """What a generator knows in addition to the request.

    `plan` is the current plan, if there is one to change: keep the ids of steps that stay, and never change a step that
    has started. `feedback` has the changes that the user asked for, oldest first. `another`: the user wants another
    plan, from scratch. `problems` tell why the last draft was rejected. `rules` are the prompts and rules of the
    available packs. `knowledge` are the texts that came with the request. `instructions` apply to every version of the
    plan.

    `ask_model` asks Parley's planning model for a `parley.reply.Reply`, and accounts for its cost. Let its exceptions
    propagate: Parley waits for an unavailable model, and asks the user when a budget is exhausted.
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
    """Drafts plans. `seconds` is the deadline of one draft, including its model calls."""

    seconds: float = DEFAULT_TIMEOUT

    @abstractmethod
    async def generate(self, request: str, tools: Sequence[ToolSpec], context: DraftContext) -> Draft:
        """A draft for the request, or the next version of `context.plan`. `tools` are all available tools.

        A draft has to satisfy the rules of every plan: known tools that are not denied, arguments that match their
        schemas, valid references, no cycles. If it does not, `generate` is called again with the `problems`, at most
        twice. Raise any exception if no plan is possible: the user sees its text and can retry.
        """
