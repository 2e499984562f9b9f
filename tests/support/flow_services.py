"""For gateway tests of flows: two small flows, and rule-based services that walk them, driven by the feed."""

import asyncio
from contextlib import suppress

from pydantic import JsonValue

from parley.events.values import ActionSpec, PathPlan, Step
from parley.protocol.flows import FlowPage, FlowSpec, ListFlows, NodeSpec, tool_of
from services.gateway.ports import GatewayBus
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import CommandRefused
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Turn
from shared.domain.rules.decide import AnyCommand
from shared.domain.transcript.queries import questions
from shared.domain.turn.batches import next_batch, running_actions
from shared.domain.turn.flow_paths import outputs
from shared.flows import full_path, split_tool_name
from shared.log import Indeterminate, LogUnavailable, ReplicatedLog, VersionConflict
from shared.retry import retry_while_unavailable
from shared.story import Story, finish_action

SQL = "SELECT count(*) AS orders FROM orders WHERE status = 'pending'"
FORM: dict[str, JsonValue] = {
    "kind": "tables",
    "tables": [
        {
            "name": "orders",
            "reason": "it has the status",
            "chosen": True,
            "columns": ["order_id TEXT key", "status TEXT"],
        },
        {"name": "users", "reason": "", "chosen": False, "columns": ["user_id TEXT key", "zip TEXT"]},
    ],
}
OUTPUTS: dict[str, dict[str, JsonValue]] = {
    "classify_prompt": {"kind": "data", "reason": ""},
    "get_relevant_tables": {"tables": [{"name": "orders", "reason": "it has the status"}], "missing": ""},
    "has_user_approved": {"approved_tables": ["orders"]},
    "generate_sql": {"sql": SQL, "explanation": "Counts them.", "cannot": ""},
    "execute_sql": {
        "result": {
            "columns": ["orders"],
            "types": ["INTEGER"],
            "rows": [[163]],
            "truncated": False,
            "seconds": 0.01,
        },
        "problem": "",
    },
    "format_final_response": {"answer": "163 orders are pending.", "chart": "none"},
    "write_reply": {"answer": "We are sorry."},
}


def _node(name: str, inputs: str, outputs: str, following: str, **more: object) -> NodeSpec:
    lists = {"inputs": inputs.split(), "outputs": outputs.split(), "possible_next_nodes": following.split()}
    return NodeSpec.model_validate({"name": name, "description": f"About {name}.", **lists, **more})


TEXT_TO_SQL = FlowSpec(
    name="text_to_sql",
    description="Answers questions from the database.",
    may_start=("sql",),
    nodes=(
        _node("classify_prompt", "request", "kind reason", "get_relevant_tables format_final_response"),
        _node("get_relevant_tables", "request", "tables missing", "has_user_approved generate_sql"),
        _node("has_user_approved", "tables", "approved_tables", "generate_sql get_relevant_tables", asks=True),
        _node("generate_sql", "request tables", "sql explanation cannot", "execute_sql format_final_response"),
        _node(
            "execute_sql", "sql", "result problem", "format_final_response generate_sql", confirm="it is shown first"
        ),
        _node("format_final_response", "request", "answer chart", "", optional=["sql", "result"]),
    ),
)
TRIAGE = FlowSpec(
    name="complaint_triage",
    description="Takes care of a complaint.",
    nodes=(_node("write_reply", "request", "answer", "", optional=["findings"]),),
)
PAGE = FlowPage(flows=(TEXT_TO_SQL, TRIAGE), troubles=("broken.yaml: the node “x” cannot be reached.",))


def flows_for(body: bytes) -> bytes:
    """The executor's answer on `flows.list`."""
    question = ListFlows.model_validate_json(body)
    states: dict[str, dict[str, JsonValue]] = {flow.name: {"request": ""} for flow in PAGE.flows}
    return PAGE.model_copy(update={"states": states if question.session_id else {}}).model_dump_json().encode()


async def answer_flows(_: str, body: bytes) -> bytes:
    return flows_for(body)


class Services:
    """Planner, executor, verifier and generator of the workflow `flow`, without models.

    A request with “which” makes the planner ask the user, one with “fail” fails, and one with “slow” waits for `go`.
    """

    def __init__(self, bus: GatewayBus, log: ReplicatedLog) -> None:
        self._bus, self._log = bus, log
        self._due: asyncio.Queue[str] = asyncio.Queue()
        self.go = asyncio.Event()

    async def __aenter__(self) -> "Services":
        self._subscription = await self._bus.subscribe("feed.>", self._on_feed)
        self._working = asyncio.create_task(self._work())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._working.cancel()
        await self._subscription.stop()
        with suppress(asyncio.CancelledError):
            await self._working  # raises the error that ended it

    async def _on_feed(self, subject: str, _: bytes) -> None:
        self._due.put_nowait(subject.split(".")[1])

    async def _work(self) -> None:
        while True:
            await self._step(await self._due.get())

    @retry_while_unavailable(LogUnavailable, Indeterminate)
    async def _step(self, session_id: str) -> None:
        story = Story(session_id, log=self._log)
        session = await story.load()
        if "slow" in session.words.request and not self.go.is_set():
            await self.go.wait()
        with suppress(CommandRefused, VersionConflict):  # the user was faster: their event is on the feed, too
            if session.work and (command := next_step(session)):
                await story.commit(command)


def next_step(session: Session) -> AnyCommand | None:
    """The next command of the service that is due; None if none is."""
    match session.phase:
        case "planning":
            return _planner_command(session)
        case "executing" if session.turn:
            return _executor_command(session, session.turn)
        case "verifying":
            return c.VerifyTurn(status="success", next_action="complete", reasoning="Walked to its end.")
        case "answering":
            answer = [state["answer"] for state in outputs(session.turn).values() if "answer" in state]
            return c.GiveAnswer(text=str(answer[-1]) if answer else "Nothing was found.", confidence=1)
        case _:
            return None


def _planner_command(session: Session) -> AnyCommand:
    planning = session.settings.planning
    if "fail" in session.words.request:
        return c.Fail(reason="The model does not answer.")
    if "which" in session.words.request and not questions(session):
        return c.Ask(text="Which flow should this go through?", options=("text_to_sql", "complaint_triage"))
    flow = PAGE.flow(planning.flow) or TEXT_TO_SQL
    tools = tuple(tool_of(flow.name, node) for node in full_path(flow))
    reason = "" if planning.use_planning else "The full graph was asked for."
    path = PathPlan(nodes=tools, fallback=not planning.use_planning, fallback_reason=reason)
    if session.settings.confirm == "path":
        steps = tuple(Step(text=f"About {split_tool_name(tool)[1]}.", tool=tool) for tool in tools)
        return c.DraftPlan(goal="Walk it", steps=steps, notes="The ordinary way.", kind="path", path=path)
    turn = session.counts.turns + 1
    actions = tuple(
        ActionSpec(id=f"{turn}.{n}", tool=tool, depends_on=(f"{turn}.{n - 1}",) if n > 1 else ())
        for n, tool in enumerate(tools, 1)
    )
    return c.PlanTurn(sub_goal=f"Walk {flow.name}", actions=actions, final=True, path=path)


def _executor_command(session: Session, turn: Turn) -> AnyCommand | None:
    if running := running_actions(session):
        node = split_tool_name(running[0].spec.tool)[1]
        return finish_action(action_id=running[0].spec.id, ok=True, result=OUTPUTS[node], seconds=0.1)
    action = next_batch(turn)[0]
    node = split_tool_name(action.spec.tool)[1]
    confirms = session.settings.confirm != "nothing"
    if node == "has_user_approved" and confirms and action.result is None:
        return c.Ask(text="Are these the tables?", about="action", action_id=action.spec.id, form=FORM)
    if node == "execute_sql" and confirms and not action.spec.arguments:
        sql = outputs(turn)["text_to_sql"]["sql"]
        shown = action.spec.model_copy(update={"arguments": {"sql": sql}, "approval_reason": "it is shown first"})
        rest = tuple(a.spec for a in turn.actions if a.status == "planned" and a is not action)
        return c.ChangeTurn(actions=(shown, *rest))
    return c.Start()
