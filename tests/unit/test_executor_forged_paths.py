"""Nodes run with their path's outputs and the approved arguments, even if an event in the log claims others."""

from pathlib import Path
from typing import Any

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec, PathPlan, SessionSettings
from shared.domain import commands as c
from shared.domain.decide import due
from shared.domain.evolve import evolve
from shared.domain.session import Session
from tests.support.flow_walk import Walk, last, waiting
from tests.unit.test_executor_flows import Stove, kitchen


async def append(walk: Walk, kind: type[SessionEvent], /, **fields: Any) -> None:
    """An event that nothing decided, by the service that is due."""
    loaded = await walk.load_at_position()
    work = loaded.session.work
    assert work
    envelope = {"id": f"{walk.id}:{work.version}:x", "session_id": walk.id, "version": loaded.session.version + 1}
    event = kind.model_validate(envelope | {"at": "2030-01-01T00:00:00Z", "actor": work.service} | fields)
    await walk.log.append(event, after=loaded.position, due=due(evolve(loaded.session, event)))


async def run_forged(
    folder: Path, stove: Stove, *specs: ActionSpec, alone: bool = False, **session_settings: Any
) -> Session:
    walk = kitchen(folder, stove)
    await walk.commit(c.Say(text="I feel like soup", workflow="flow", settings=SessionSettings(**session_settings)))
    path = None if alone else PathPlan(nodes=tuple(spec.tool for spec in specs))
    await append(walk, facts.TurnPlanned, turn=1, sub_goal="cook", actions=specs, path=path)
    return await walk.goes()


def node(name: str, number: int = 1, **more: Any) -> ActionSpec:
    return ActionSpec(id=f"1.{number}", tool=f"kitchen.{name}", policy="never", **more)


async def test_a_node_that_is_shown_first_does_not_run_with_values_of_the_plan(tmp_path: Path) -> None:
    over = await run_forged(tmp_path, Stove(), node("serve", arguments={"meal": "poison"}))
    assert last(over).error == "serve needs meal, which nothing before it has made."


async def test_a_node_that_reads_does_not_run_with_values_of_the_plan(tmp_path: Path) -> None:
    specs = (
        node("read_wish", arguments={"request": "I feel like snails"}),
        node("find_recipe", 2, depends_on=("1.1",)),
    )
    over = await run_forged(tmp_path, Stove(), *specs)
    assert last(over).error == "read_wish was to run with other values than its path has made."


async def test_a_node_that_changes_something_runs_with_its_path_s_outputs_after_approval(tmp_path: Path) -> None:
    stove = Stove()
    steps = ("read_wish", "find_recipe")
    first = tuple(node(name, n, depends_on=(f"1.{n - 1}",) if n > 1 else ()) for n, name in enumerate(steps, 1))
    cook = node("cook", 3, depends_on=("1.2",), arguments={"minutes": 99}, effect="write", decision="proceed")
    question = await run_forged(tmp_path, stove, *first, cook, confirm="nothing")
    assert waiting(question).spec.arguments == {"minutes": 20}
    assert stove.calls == []


async def test_a_node_runs_on_a_path_only(tmp_path: Path) -> None:
    """The guide asks no approval for a node outside of a path."""
    over = await run_forged(tmp_path, Stove(), node("read_wish"), alone=True)
    assert last(over).error == "read_wish is a node of a flow: it runs on a path, not by itself."
    changes = node("cook", arguments={"minutes": 99}, effect="write")
    session = await run_forged(tmp_path, stove := Stove(), changes, alone=True)
    assert (session.phase, stove.calls) == ("verifying", [])


async def test_nodes_that_wait_for_nothing_are_shown_one_after_the_other(tmp_path: Path) -> None:
    """The guide looks at the node that is next: no other begins beside it."""
    look = ActionSpec(id="1.2", tool="cookbook", depends_on=("1.1",))
    question = await run_forged(tmp_path, Stove(), node("refuse"), look, node("serve", 3, depends_on=("1.1",)))
    assert waiting(question).spec.arguments == {"meal": "nothing"}


async def test_the_answer_to_a_question_about_a_node_does_not_let_it_run_unseen(tmp_path: Path) -> None:
    walk = kitchen(tmp_path, Stove())
    await walk.commit(c.Say(text="I feel like soup", workflow="flow"))
    specs = (node("refuse"), node("serve", 2, depends_on=("1.1",)))
    path = PathPlan(nodes=tuple(spec.tool for spec in specs))
    await append(walk, facts.TurnPlanned, turn=1, sub_goal="cook", actions=specs, path=path)
    await append(walk, facts.QuestionAsked, question_id="1.2", kind="action", text="Is the weather fine?")
    session = await walk.answers("yes")
    assert (session.phase, waiting(session).spec.arguments) == ("awaiting_approval", {"meal": "nothing"})
