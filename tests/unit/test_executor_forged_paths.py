"""Nodes run with their path's outputs and the approved arguments, even if an event in the log claims others."""

from pathlib import Path
from typing import Any

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec, PathPlan, SessionSettings
from shared.domain.kernel import commands as c
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import due
from tests.support.flow_walk import Walk, last, waiting
from tests.unit.test_executor_flows import Stove, kitchen


async def append(walk: Walk, kind: type[SessionEvent], /, **fields: Any) -> None:
    """Append this event in the name of the service that is due, without the domain's decision."""
    loaded = await walk.load_at_position()
    work = loaded.session.work
    assert work
    envelope = {"id": f"{walk.id}:{work.version}:x", "session_id": walk.id, "version": loaded.session.version + 1}
    event = kind.model_validate(envelope | {"at": "2030-01-01T00:00:00Z", "actor": work.service} | fields)
    await walk.log.append(event, after=loaded.position, due=due(evolve(loaded.session, event)))


async def run_forged(
    folder: Path, stove: Stove, *specs: ActionSpec, without_path: bool = False, **session_settings: Any
) -> Session:
    """The session after it has run a plan of these actions that the domain did not decide."""
    walk = kitchen(folder, stove)
    await walk.commit(c.Say(text="I feel like soup", workflow="flow", settings=SessionSettings(**session_settings)))
    path = None if without_path else PathPlan(nodes=tuple(spec.tool for spec in specs))
    await append(walk, facts.TurnPlanned, turn=1, sub_goal="cook", actions=specs, path=path)
    return await walk.goes()


def node(name: str, number: int = 1, **more: Any) -> ActionSpec:
    return ActionSpec(id=f"1.{number}", tool=f"kitchen.{name}", policy="never", **more)


async def test_a_node_that_needs_approval_does_not_run_with_arguments_from_the_event(tmp_path: Path) -> None:
    ended = await run_forged(tmp_path, Stove(), node("serve", arguments={"meal": "poison"}))
    assert last(ended).error == "serve needs meal, which nothing before it has made."


async def test_a_node_that_reads_does_not_run_with_arguments_from_the_event(tmp_path: Path) -> None:
    specs = (
        node("read_wish", arguments={"request": "I feel like snails"}),
        node("find_recipe", 2, depends_on=("1.1",)),
    )
    ended = await run_forged(tmp_path, Stove(), *specs)
    assert last(ended).error == "read_wish was to run with other values than its path has made."


async def test_a_node_that_writes_asks_for_approval_with_its_paths_outputs(tmp_path: Path) -> None:
    stove = Stove()
    steps = ("read_wish", "find_recipe")
    first = tuple(node(name, n, depends_on=(f"1.{n - 1}",) if n > 1 else ()) for n, name in enumerate(steps, 1))
    cook = node("cook", 3, depends_on=("1.2",), arguments={"minutes": 99}, effect="write", decision="proceed")
    question = await run_forged(tmp_path, stove, *first, cook, confirm="nothing")
    assert waiting(question).spec.arguments == {"minutes": 20}
    assert stove.calls == []


async def test_a_node_runs_only_on_a_path(tmp_path: Path) -> None:
    """Outside a path, the executor asks for no approval of a node, so it must not run it."""
    ended = await run_forged(tmp_path, Stove(), node("read_wish"), without_path=True)
    assert last(ended).error == "read_wish is a node of a flow: it runs on a path, not by itself."
    changes = node("cook", arguments={"minutes": 99}, effect="write")
    session = await run_forged(tmp_path, stove := Stove(), changes, without_path=True)
    assert (session.phase, stove.calls) == ("verifying", [])


async def test_only_the_next_node_of_a_path_runs_even_if_another_action_is_ready(tmp_path: Path) -> None:
    """The executor prepares only the next node: no other action begins at the same time."""
    look = ActionSpec(id="1.2", tool="cookbook", depends_on=("1.1",))
    question = await run_forged(tmp_path, Stove(), node("refuse"), look, node("serve", 3, depends_on=("1.1",)))
    assert waiting(question).spec.arguments == {"meal": "nothing"}


async def test_an_answer_to_a_forged_question_does_not_approve_a_node(tmp_path: Path) -> None:
    walk = kitchen(tmp_path, Stove())
    await walk.commit(c.Say(text="I feel like soup", workflow="flow"))
    specs = (node("refuse"), node("serve", 2, depends_on=("1.1",)))
    path = PathPlan(nodes=tuple(spec.tool for spec in specs))
    await append(walk, facts.TurnPlanned, turn=1, sub_goal="cook", actions=specs, path=path)
    await append(walk, facts.QuestionAsked, question_id="1.2", kind="action", text="Is the weather fine?")
    session = await walk.answers("yes")
    assert (session.phase, waiting(session).spec.arguments) == ("awaiting_approval", {"meal": "nothing"})
