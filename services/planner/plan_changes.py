"""Changes of a plan, instead of the whole plan anew: steps that are replaced, inserted, removed or moved."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parley.reply import Kind, streamed_list
from shared.domain.kernel.state import Plan
from shared.llm.parsing import error_lines

CHANGES_RULE = """changes: say, and what changes in the <plan>, if that is little: goal ("" if it stays), notes (null
   if they stay), changes: a list of {op, id, after, step}, done one after the other: replace (id, step), insert (after,
   step), remove (id), move (id, after). after "" is the beginning; step is null where none is needed."""


class DraftedStep(BaseModel):
    """A step as the model writes it: a new one has no id."""

    model_config = ConfigDict(extra="ignore")

    id: str = ""


class StepOperation[S: DraftedStep](BaseModel):
    """One change. `id`: the step that is replaced, removed or moved; `after`: what it is inserted or moved after."""

    model_config = Kind.model_config

    op: Literal["replace", "insert", "remove", "move"]
    id: str = ""
    after: str = ""
    step: S | None = None


class ChangesDraft[S: DraftedStep](Kind):
    """The plan with some of its steps changed. Without a goal or notes, those of the plan stay."""

    kind: Literal["changes"] = "changes"
    say: str = ""
    goal: str = ""
    notes: str | None = None
    changes: list[StepOperation[S]] = Field(min_length=1, max_length=100)


class Unchangeable(ValueError):
    """The changes do not fit the plan; the text says why."""


def whole_plan[S: DraftedStep, D: Kind](
    draft: ChangesDraft[S], plan: Plan | None, steps: Sequence[S], whole: type[D]
) -> D:
    """The plan that the changes of this one and its steps lead to, as if drafted whole. Raises Unchangeable."""
    changed = list(steps)
    for number, change in enumerate(draft.changes, 1):
        _apply(changed, change, number)
    goal, notes = (plan.goal, plan.notes) if plan else ("", "")
    told = {"goal": draft.goal.strip() or goal, "notes": notes if draft.notes is None else draft.notes}
    try:
        return whole.model_validate({"say": draft.say, "steps": changed, **told})
    except ValidationError as error:
        raise Unchangeable(f"They lead to no valid plan: {error_lines(error)}.") from error


def refusal[S: DraftedStep](draft: Kind, plan: Plan | None, steps: Sequence[S], whole: type[Kind]) -> str:
    """Why changes cannot be applied exactly; "" if they can, and for other kinds of reply."""
    try:
        if isinstance(draft, ChangesDraft):
            whole_plan(draft, plan, steps, whole)
    except Unchangeable as problem:
        return f"{problem} Nothing was changed. Give all changes again, with ids of the <plan>, or the whole plan."
    return ""


def _apply[S: DraftedStep](steps: list[S], change: StepOperation[S], number: int) -> None:
    step = change.step
    if change.op != "insert":
        place = _place(steps, change.id, number)
        before = steps.pop(place)
        step = before if change.op == "move" else step and step.model_copy(update={"id": change.id})
    if change.op == "remove":
        return
    if step is None:
        raise Unchangeable(f"Change {number} ({change.op}) has no step.")
    if change.op == "insert" and any(known.id == step.id for known in steps):
        step = step.model_copy(update={"id": ""})
    if change.op != "replace":
        place = _place(steps, change.after, number) + 1 if change.after else 0
    steps.insert(place, step)


def _place[S: DraftedStep](steps: Sequence[S], id_: str, number: int) -> int:
    places = [place for place, step in enumerate(steps) if step.id and step.id == id_]
    if not places:
        known = ", ".join(step.id for step in steps if step.id)
        raise Unchangeable(f"Change {number} names step “{id_[:80]}”, which is not there: the other steps are {known}.")
    return places[0]


def streamed_steps(partial: Mapping[str, Any]) -> Iterable[Any]:
    """The steps that have been streamed so far, of a whole plan or of changes."""
    changes = (change.get("step") for change in streamed_list(partial, "changes") if isinstance(change, Mapping))
    return streamed_list(partial, "steps") or [step for step in changes if step]
