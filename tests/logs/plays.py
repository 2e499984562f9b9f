"""What people say and do in the sessions that are recorded: a request of each workflow, and what can come between."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from parley.events.values import ActionSpec, SessionSettings, Step, Workflow
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.admissible_reports import KEEPER
from shared.domain.commands import CommandMeta
from shared.domain.decide import AnyCommand
from shared.domain.session import Session
from shared.log import commit, fork
from tests.conftest import person
from tests.support.rehearsed import Rehearsed
from tests.support.stack import Person
from tests.support.stories import approve
from tests.unit.domain.spec import edit_code

REST = ("resting", "failed", "awaiting_input", "awaiting_approval", "escalated")
CALCULATOR = "Help me create a simple calculator"
CUSTOMER = "I am Tara Foster, zip 95837."
CANCEL = f"{CUSTOMER} Cancel order #W3833642, I no longer need it."
LOOKUP = f"{CUSTOMER} What is the state of order #W3833642, and what is in it?"
STATES = "Which 5 states have the most pending orders?"


class Play:
    """One person in one session. Each step waits until nobody but a person is due."""

    def __init__(self, bus: Bus, model: Rehearsed, session_id: str) -> None:
        self.bus, self.model, self.id = bus, model, session_id
        self._ann = Person(bus, session_id)

    async def does(self, command: AnyCommand | Callable[[Session], AnyCommand], *phases: str) -> Session:
        """One command, and the session when it has come to one of these phases."""
        session = (await self._ann.load()).session
        await self._ann.does(command(session) if callable(command) else command)
        return await self._ann.phase(*(phases or REST), seconds=120)

    async def keeps(
        self, command: AnyCommand | Callable[[Session], AnyCommand], meta: CommandMeta, *phases: str
    ) -> Session:
        """What the keeper does, and the session when it has come to rest, or to one of these phases."""
        loaded = await self._ann.load()
        await commit(self.bus.log, loaded, command(loaded.session) if callable(command) else command, meta)
        return await self._ann.phase(*(phases or REST), seconds=120)

    async def says(self, text: str, *phases: str) -> Session:
        return await self.does(c.Say(text=text), *phases)

    async def asks(self, workflow: Workflow, text: str, *phases: str, **settings: object) -> Session:
        """A request with a workflow and settings of its own."""
        chosen = SessionSettings.model_validate(settings)
        return await self.does(c.Say(text=text, workflow=workflow, settings=chosen), *phases)

    async def decides(self, *, yes: bool = True) -> Session:
        """Allow, or refuse, every action that waits."""
        session = await self._ann.phase(*REST, seconds=120)
        while session.phase == "awaiting_approval":
            assert session.turn
            action = next(a for a in session.turn.actions if a.status == "planned" and a.spec.approval_reason)
            about = {"version": session.version, "action_id": action.spec.id}
            no = c.Reject(reason="I have changed my mind.", **about)
            session = await self.does(c.Approve(hash=action.hash, **about) if yes else no)
        return session


async def conversation(play: Play) -> None:
    """Feedback, an edit, approvals, a run, the next request, and the end."""
    await play.asks("conversation", CALCULATOR)
    session = await play.says("Add a step to write a short help text")
    assert session.plan
    await play.does(c.EditPlan(base=session.plan.version, steps=session.plan.steps[1:]))
    await play.does(approve)
    await play.says("Print the result with two decimals")
    await play.does(edit_code("print(1 + 2)\n"))
    await play.does(approve)
    await play.does(c.Run())
    await play.does(c.Continue())
    await play.says("Now a program that prints FizzBuzz")
    await play.does(c.Stop())
    await play.does(c.Complete())


async def another_plan(play: Play) -> None:
    """A plan thrown away, one refused, and one deleted."""
    await play.asks("conversation", CALCULATOR)
    await play.does(c.Reject(replan=True))
    await play.does(c.Reject())
    await play.says("Only adding")
    await play.does(c.CancelPlan())
    await play.does(c.DeletePlan())
    await play.does(c.Rename(title="Nothing came of it"))


async def lookup(play: Play) -> None:
    await play.asks("agentflow", LOOKUP)


async def write(play: Play) -> None:
    """A write with its approval."""
    await play.asks("agentflow", CANCEL, world="own")
    await play.decides()


async def refused_write(play: Play) -> None:
    """A write that is refused, then remembered as never to be asked about, and asked for again."""
    await play.asks("agentflow", CANCEL, world="own")
    await play.decides(yes=False)
    await play.does(c.Remember(tool="cancel_pending_order", policy="deny"))
    await play.says("Please cancel it after all")
    await play.decides()


async def missing(play: Play) -> None:
    """What the request leaves out is asked for."""
    await play.asks("agentflow", "Please cancel my order, I no longer need it.", world="own")
    await play.says(CUSTOMER)
    await play.says("#W3833642")
    await play.decides()


async def handed_over(play: Play) -> None:
    """Escalated, taken over by a person, and handed back."""
    session = await play.asks("agentflow", f"{CUSTOMER} I want to talk to a human.")
    if session.phase == "escalated":
        look = ActionSpec(
            id=f"{session.counts.turns + 1}.1", tool="get_order_details", arguments={"order_id": "#W3833642"}
        )
        await play.does(c.TakeOver(sub_goal="Look at the order", actions=(look,)))
        await play.says("It has been seen to. Tell the customer so.")


async def path(play: Play) -> None:
    """A question to the data: tables, SQL, the answer, one that goes on from it, and a judgement."""
    await play.asks("flow", STATES)
    await play.does(c.Answer(text="yes"))
    await play.decides()
    await play.asks("flow", "only in Texas", confirm="nothing")
    await play.does(c.Judge(accepted=True, saved=True))


async def changed_path(play: Play) -> None:
    """The rest of a path is the person's to change, here to SQL of their own."""
    await play.asks("flow", STATES)
    session = await play.does(c.Answer(text="yes"))
    assert session.turn
    begun = [action.spec.id for action in session.turn.actions if action.status not in ("planned", "approved", "asked")]
    names = ("validate_sql", "execute_sql", "format_final_response")
    rest = tuple(ActionSpec(id="0", tool=f"text_to_sql.{name}") for name in names)
    sql = "SELECT COUNT(*) AS pending FROM orders WHERE status = 'pending'"
    await play.does(c.EditPath(actions=rest, given={"sql": sql}, after=begun[-1]))
    await play.decides()


async def confirmed_path(play: Play) -> None:
    """The path itself is asked about first."""
    session = await play.asks("flow", "How many orders are pending?", confirm="path")
    if session.plan and session.plan.status == "pending_approval":
        await play.does(approve)
    await play.does(c.Answer(text="yes"))
    await play.decides()


async def complaint(play: Play) -> None:
    """A flow with a write."""
    text = "I want to complain: I no longer need order #W3833642, please cancel it. I am Tara Foster, zip 95837."
    await play.asks("flow", text, confirm="nothing", world="own")
    await play.decides()


async def stopped(play: Play) -> None:
    """Stopped while the planner works, retried, spoken to during work, paused and resumed."""
    await play.model.fault(latency=2.0)
    await play.asks("conversation", CALCULATOR, "planning")
    await play.does(c.Stop())
    await play.does(c.Retry(), "planning")
    await play.says("Add a step to write a short help text", "planning")
    await play.model.heal()
    await play.does(c.Pause(), "planning", *REST)
    await play.does(c.Resume())
    await play.does(approve)


async def failed(play: Play) -> None:
    """The model fails, and does not when it is tried again."""
    await play.model.fault(fault="500")
    session = await play.asks("conversation", CALCULATOR)
    assert session.phase == "failed"
    await play.model.heal()
    await play.does(c.Retry())


async def budget(play: Play) -> None:
    """A budget that is gone: raised, gone again, given up."""
    await play.asks("agentflow", LOOKUP, token_budget=100)
    await play.does(c.RaiseBudget(tokens=2_000))
    await play.does(c.Stop())
    await play.does(c.Retry())
    await play.does(c.RaiseBudget(tokens=50_000))


async def remarks(play: Play) -> None:
    """A question in review, and one at rest."""
    await play.asks("conversation", CALCULATOR)
    await play.says("Why are there so many steps?")
    await play.says("Add a step to write a short help text")
    await play.does(approve)
    await play.says("Why is the code like this?")
    await play.does(approve)
    await play.says("Thank you!")


async def waits(play: Play) -> None:
    """A plan of the person's own asks them, waits for a time, and is asked about while it waits."""
    steps = (
        Step(text="Ask", tool="ask_person", id="s1", effect="read", waits_for="person", arguments={"question": "Tea?"}),
        Step(text="Wait", tool="wait_until", id="s2", effect="read", waits_for="time", arguments={"seconds": 60}),
        Step(text="List", tool="list_files", id="s3", effect="read", after=("s1", "s2")),
    )
    await play.does(c.Say(text="Tea", workflow="execution_plan", brings_plan=True))
    await play.does(c.EditPlan(base=1, goal="Tea", steps=steps))
    await play.does(approve)
    await play.does(c.Answer(text="Green"), "waiting")
    await play.says("How long?", "awaiting_input")
    await play.does(c.Stop(), "waiting")
    later = CommandMeta(KEEPER, datetime.now(UTC) + timedelta(seconds=60))
    await play.keeps(c.Wake(), later)


async def polls(play: Play) -> None:
    """A plan of the person's own polls until there is a file, and asks a question that nobody answers in time."""
    looks: dict[str, JsonValue] = {"tool": "list_files", "arguments": {}, "condition": "files", "every": 60}
    steps = (
        Step(text="Wait", tool="poll_until", id="s1", effect="read", waits_for="condition", arguments=looks),
        Step(text="Ask", tool="ask_person", id="s2", effect="read", waits_for="person", arguments={"question": "Tea?"}),
    )
    settings = SessionSettings(approval_timeout=60, call_budget=50, time_budget=600)
    await play.does(c.Say(text="Tea", workflow="execution_plan", settings=settings, brings_plan=True))
    await play.does(c.EditPlan(base=1, goal="Tea", steps=steps))
    await play.does(approve)
    by = CommandMeta(KEEPER, datetime.now(UTC))
    nothing, tea = {"files": [], "bytes": 0}, {"files": [{"name": "tea.md", "size": 5}], "bytes": 5}
    await play.keeps(c.RecordLook(action_id="t2.s1", looks=1, value=nothing), by)
    await play.does(c.RaiseBudget(calls=10))
    await play.keeps(c.RecordLook(action_id="t2.s1", looks=4, value=tea, met=True), by, "awaiting_input")
    await play.keeps(lambda session: c.Expire(requested_version=session.since_version), by)


WRITE = Step(text="Write", tool="write_file", id="s1", effect="write", arguments={"name": "a.txt", "text": "tea"})
COPY = Step(
    text="Copy",
    tool="write_file",
    id="s2",
    effect="write",
    arguments={"name": "b.txt", "text": "{{steps.s1.output.name}}"},
)


async def _own_plan(play: Play, *steps: Step, **settings: object) -> Session:
    """A plan of the person's own."""
    chosen = SessionSettings.model_validate(settings)
    await play.does(c.Say(text="Tea", workflow="execution_plan", brings_plan=True, settings=chosen))
    return await play.does(c.EditPlan(base=1, goal="Tea", steps=steps))


async def approved_for_later(play: Play) -> None:
    """A plan that is approved with a step that may get any values, and started later."""
    await _own_plan(play, WRITE, COPY)
    await play.does(lambda session: approve(session).model_copy(update={"preapprove": ("s2",), "start": False}))
    await play.does(c.Retry())


async def by_setting(play: Play) -> None:
    """Versions of a plan that nobody has to approve, and whose changes are asked about one by one."""
    await _own_plan(play, WRITE, require_plan_approval=False)
    session = await play.decides()
    assert session.plan
    await play.does(c.EditPlan(base=session.plan.version, steps=(WRITE, COPY)))
    await play.decides()


async def outdated(play: Play) -> None:
    """A version of a plan for a tool that has changed since, and one for the tool as it is."""
    wanted = {"tools": ("calculate", "list_files"), "instructions": "Be brief."}
    session = await play.asks("execution_plan", 'Call calculate with {"expression": "2 * 3.5"}', **wanted)
    assert session.plan
    (step,) = session.plan.steps
    older = step.model_copy(update={"fingerprint": "0" * 64})
    await play.does(c.EditPlan(base=session.plan.version, steps=(older,), checks=session.plan.checks))
    session = await play.does(approve)
    assert session.plan
    await play.does(c.EditPlan(base=session.plan.version, steps=(step,), checks=session.plan.checks))
    await play.does(approve)


async def forked(play: Play) -> None:
    """A fork of a program in review goes its own way; it is recorded under the name of the play."""
    before = Play(play.bus, play.model, f"{play.id}-parent")
    await before.asks("conversation", CALCULATOR)
    parent = await before.does(approve)
    await fork(play.bus.log, parent, play.id, person())
    await play.says("Print the result with two decimals")
    await play.does(approve)


PLAYS: tuple[Callable[[Play], Awaitable[None]], ...] = (
    conversation,
    another_plan,
    lookup,
    write,
    refused_write,
    missing,
    handed_over,
    path,
    changed_path,
    confirmed_path,
    complaint,
    stopped,
    failed,
    budget,
    remarks,
    waits,
    polls,
    approved_for_later,
    by_setting,
    outdated,
    forked,
)
