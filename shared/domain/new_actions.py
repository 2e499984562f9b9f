"""The actions of the next turn, with ids and checked. Pure."""

from parley.events.values import ActionSpec
from shared.domain import memory
from shared.domain.errors import Invalid
from shared.domain.session import Session

MAX_ACTIONS = 50  # actions of a turn


def new_actions(session: Session, specs: tuple[ActionSpec, ...]) -> tuple[ActionSpec, ...]:
    """The actions of the next turn with ids that are unique in the session: `<turn>.<n>`.

    Raises Invalid for actions that could never all run.
    """
    _check(specs)
    ids = {spec.id: f"{session.counts.turns + 1}.{number}" for number, spec in enumerate(specs, 1)}
    return tuple(
        spec.model_copy(update={"id": ids[spec.id], "depends_on": tuple(ids[need] for need in spec.depends_on)})
        for spec in specs
    )


def _check(specs: tuple[ActionSpec, ...]) -> None:
    """Raises Invalid for too many actions, duplicate ids, unknown or circular dependencies, and duplicate changes."""
    if len(specs) > MAX_ACTIONS:
        raise Invalid(f"A turn has at most {MAX_ACTIONS} actions: plan the rest in the next one.")
    ids = {spec.id for spec in specs}
    if len(ids) < len(specs):
        raise Invalid("Two actions have the same id.")
    changes = [memory.key_of(spec.tool, spec.arguments) for spec in specs if spec.effect != "read"]
    if len(set(changes)) < len(changes):
        raise Invalid("Two actions are the same call, and it changes something: once is enough.")
    if unknown := {need for spec in specs for need in spec.depends_on} - ids:
        raise Invalid(f"An action depends on {min(unknown)}, which is not in this turn.")
    done: set[str] = set()
    while ids - done:
        runnable = {spec.id for spec in specs if spec.id not in done and done.issuperset(spec.depends_on)}
        if not runnable:
            raise Invalid(f"The actions {', '.join(sorted(ids - done))} wait for each other.")
        done |= runnable
